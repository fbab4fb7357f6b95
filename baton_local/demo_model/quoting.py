"""Answers from retrieved passages: whole sentences in which the question's words occur, the best passage first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from baton_local.demo_model.words import CLEAR, compute_share, find_content_words

MAX_QUOTES = 3
MAX_CHARS = 400
"""The most characters of a quote."""
DEFINITION = 0.5
"""The number added to the match of a sentence that defines the thing asked for."""
CLOSE = 0.75
"""The share of the best passage's match that another passage needs to be quoted too."""
_FENCE = re.compile(r"^ {0,3}```+[ \t]*(\w*).*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]\n]*)\](?:\([^)\n]*(?:\)|\Z)|\[[^\]\n]*\])")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])[”\"')\]]*\s+(?=[\"“(`*\[]*[A-ZÄÖÜ0-9])")
_ENDED = re.compile(r"[.!?][”\"')\]*`]*\Z")
"""The end of a sentence that can stand alone. A sentence that ends with a colon needs the next one."""
_DEFINITION = re.compile(
    r"[\W_]*(?:(?:an?|the|ein|eine|der|die|das) )?(?P<term>[\w`*-]+(?: [\w`*-]+){0,3}?)"
    r"\W* ?(?:is|are|means|ist|sind|:)\s",
    re.IGNORECASE,
)
_CODE = re.compile(r"[{}]|\$\(|/dev/null|\s--?\w+ ['\"]|[=|&]{2}|</|\w\(\)\s*[:{]")
_ASKED = re.compile(r"[\"“][^\"“”]{0,200}\?[\"”]")
"""A question in quotation marks. A sentence with one gives an example of a question, not an answer."""
_ASKS_WHAT = re.compile(
    r"^(?:(?:and|so|please)\W+)*(?:what(?:'s| is| are)|was (?:ist|sind)|who(?:'s| is))\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence, an item of a list, or a row of a table with the names of its columns."""

    text: str
    is_whole: bool
    """Whether neither end is cut off."""
    is_row: bool = False


def find_quotes(recalled: Sequence[Any], question: str) -> list[dict[str, Any]]:
    """Return the recalled passages about the question, each with its ``quote``, best first; at most ``MAX_QUOTES``.

    The list is empty for a question without a word about a subject.
    """
    words = find_content_words(question)
    matches = []
    for passage in recalled:
        if not words or not isinstance(passage, dict) or passage.get("kind") != "chunk":
            continue
        text, source, section = (str(passage.get(name) or "") for name in ("text", "source", "section"))
        best, quote = _quote(_drop_headings(text, [source, *section.split(" > ")]), words)
        match = compute_share(words, f"{text} {source} {section}")
        if best is not None and match >= CLEAR:
            gain = DEFINITION if _ASKS_WHAT.match(question) and _defines(best.text, words) else 0.0
            matches.append((match + compute_share(words, best.text) + gain, best, {**passage, "quote": quote}))
    matches.sort(key=lambda entry: -entry[0])  # equal matches keep the order of recall
    prose = max((match for match, best, _ in matches if not best.is_row), default=0.0)
    if any(best.is_whole for _, best, _ in matches):
        matches = [entry for entry in matches if entry[1].is_whole]
    chosen: list[dict[str, Any]] = []
    for match, best, passage in matches:
        is_wanted = match >= CLOSE * matches[0][0] and (not best.is_row or match > prose)
        if is_wanted and not any(passage["quote"] in other["quote"] for other in chosen):
            chosen.append(passage)
    return chosen[:MAX_QUOTES]


def _defines(sentence: str, words: Sequence[str]) -> bool:
    """Return whether a sentence has the form "X is ...", where X has all of the words."""
    match = _DEFINITION.match(sentence)
    return match is not None and compute_share(words, match["term"]) == 1


def _drop_headings(text: str, headings: Sequence[str]) -> str:
    """Return a passage without its leading headings."""
    while text := text.lstrip("# \n"):
        heading = next((candidate for candidate in headings if candidate and text.startswith(candidate)), None)
        after = text[len(heading) :] if heading else ""
        rest = after.lstrip()
        is_line = after.lstrip(" ").startswith("\n")
        if not rest or not (is_line or (rest[0].isalnum() and not rest[0].islower())):
            return text
        text = rest
    return text


def _quote(text: str, words: Sequence[str]) -> tuple[_Piece | None, str]:
    """Return the sentence with most of the words, and its quote, which includes the next sentence if it fits.

    Returns None and an empty quote if no sentence has any of the words.
    """
    pieces = list(_split_pieces(text))
    usable = [
        piece
        for piece in pieces
        if len(piece.text.split()) > 2
        and compute_share(words, piece.text)
        and not (_CODE.search(piece.text) or _ASKED.search(piece.text))
    ]
    usable = [piece for piece in usable if piece.is_whole] or usable
    if not usable:
        return None, ""
    # The first of equal sentences; a row only if no sentence has as many words.
    best = max(
        usable, key=lambda piece: (compute_share(words, piece.text), _defines(piece.text, words), not piece.is_row)
    )
    quote = best.text if len(best.text) <= MAX_CHARS else f"{best.text[:MAX_CHARS].rsplit(' ', 1)[0]} …"
    for piece in pieces[pieces.index(best) + 1 :][:1]:
        if piece.is_whole and not piece.is_row and not best.is_row and len(quote) + len(piece.text) < MAX_CHARS:
            quote += f" {piece.text}"
    return best, quote


def _split_pieces(text: str) -> Iterator[_Piece]:
    """Yield the sentences and the rows of tables of a passage, whose ends may be cut off."""
    paragraphs = list(_split_paragraphs(_extract_prose(text)))
    for number, (paragraph, is_row) in enumerate(paragraphs):
        if is_row:
            yield _Piece(paragraph, is_whole=True, is_row=True)
            continue
        sentences = [sentence.strip() for sentence in _SENTENCE_END.split(paragraph) if sentence.strip()]
        for index, sentence in enumerate(sentences):
            begins_inside = number == index == 0 and not re.match(r"[\W\d]*[^\W\d_a-zäöü]|\d", sentence)
            ends_the_text = number == len(paragraphs) - 1 and index == len(sentences) - 1
            is_cut = (ends_the_text or len(sentences) > 1) and not _ENDED.search(sentence)
            yield _Piece(sentence, not begins_inside and not is_cut)


def _extract_prose(text: str) -> str:
    """Return a text without code blocks, comments, and the addresses of links."""
    text = _COMMENT.sub(" ", text)
    parts: list[str] = []
    position, is_inside = 0, False
    for fence in _FENCE.finditer(text):
        if not is_inside:
            parts.append(text[position : fence.start()])
        if position == 0 and not fence[1] and len(_FENCE.findall(text)) % 2:
            parts = []  # this fence closes a block that begins before the passage
        else:
            is_inside = not is_inside
        position = fence.end()
    if not is_inside:
        parts.append(text[position:])
    return _LINK.sub(r"\1", "\n\n".join(parts))


def _split_paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs, items of lists and rows of tables, and whether each is a row. Headings are left out."""
    joined: list[str] = []
    header: list[str] = []
    for line in [*text.splitlines(), ""]:
        line = line.strip()
        cells = [cell.strip() for cell in line.strip("|").split("|")] if " | " in line or line.startswith("|") else []
        if joined and (not line or cells or _ITEM.match(line) or line.startswith("#")):
            yield _ITEM.sub("", " ".join(joined)), False
            joined = []
        if cells:
            if header and not set("".join(cells)) <= set("-: "):
                named = [f"{name}: {cell}" for name, cell in zip(header, cells, strict=False) if name and cell]
                yield "; ".join(named) + ".", True
            header = header or cells
        elif line and not line.startswith("#"):
            joined.append(line)
        else:
            header = []
