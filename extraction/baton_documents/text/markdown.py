"""Text of Markdown files, whose blocks keep their source so that they can be quoted as they were written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.token import Token

from baton_documents.media_types import MediaType
from baton_documents.results import BlockKind, ExtractedText, TextBlock
from baton_documents.text.plain_text import divide_into_paragraphs, read_text

_LINES_AT_ONCE = 2_000
"""The lines after which a heading begins a new piece. A parsed piece takes many times the memory of its text."""
_MOST_LINES = 20_000
"""The most lines of a piece. A longer piece, without headings, is read as paragraphs of plain text."""
_MOST_CELLS = 200_000
"""The most cells of tables in a piece, counted by bars. Each becomes three tokens. A piece with more is not parsed."""
_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n((?:.*\n)*?)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)")
"""Fields before the text, in YAML between hyphens or in TOML between plus signs."""
_TITLE = re.compile(r"^title[ \t]*[:=](.*)$\n?", re.MULTILINE)
_FIELD = re.compile(r"\w[\w .-]*[:=]")
_KINDS = {
    "paragraph_open": BlockKind.PARAGRAPH,
    "blockquote_open": BlockKind.PARAGRAPH,
    "html_block": BlockKind.PARAGRAPH,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "table_open": BlockKind.TABLE,
}


def extract(body: bytes, charset: str | None = None) -> ExtractedText:
    """Return the title, headings, paragraphs, items of lists, tables and code.

    The title is that of the front matter, otherwise the first heading of level 1; None without both.
    """
    text = read_text(body, MediaType("text/markdown", charset))
    title = None
    blocks: list[TextBlock] = []
    if (front := _FRONT_MATTER.match(text)) and _FIELD.match(front[2].lstrip()):
        match = _TITLE.search(front[2])
        title, text = _unquote(match[1]) if match else None, text[front.end() :]
        if fields := _TITLE.sub("", front[2], count=1).strip():
            blocks.append(TextBlock(BlockKind.PARAGRAPH, fields))
    blocks += _read_blocks(text)
    if title is None:
        title = next((block.text for block in blocks if block.level == 1), None)
    return ExtractedText(tuple(blocks), title)


def _unquote(value: str) -> str | None:
    return value.strip().strip("\"'").strip() or None


def _read_blocks(text: str) -> Iterator[TextBlock]:
    """Yield the blocks of a text, each with the white space before it.

    Text without a block of the parser becomes paragraphs: rulers, definitions of links, and pieces that are too long.
    """
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    parser = _make_block_parser()
    end = 0
    for first_line, piece in _divide_lines(lines):
        for block, line in _parse(parser, piece):
            start = text.index(block.verbatim, starts[first_line + line])
            between = text[end:start]
            yield from divide_into_paragraphs(between)
            yield replace(block, space=between[len(between.rstrip()) :])
            end = start + len(block.verbatim)
    yield from divide_into_paragraphs(text[end:])


def _make_block_parser() -> MarkdownIt:
    """Return a parser of blocks. Inline markup is not parsed, because that takes most of the time."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _divide_lines(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the pieces to parse separately, each with the number of lines before it."""
    start, fence = 0, ""
    for number, line in enumerate(lines):
        if match := _FENCE.match(line):
            if not fence:
                fence = match[1]
            elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif not fence and number - start >= _LINES_AT_ONCE and _HEADING.match(line):
            yield start, lines[start:number]
            start = number
    yield start, lines[start:]


def _parse(parser: MarkdownIt, lines: list[str]) -> Iterator[tuple[TextBlock, int]]:
    """Yield the blocks of a piece, each with the number of lines before it; none if the piece is too long."""
    if len(lines) > _MOST_LINES or sum(line.count("|") for line in lines) > _MOST_CELLS:
        return
    tokens = parser.parse("\n".join(lines))
    for index, token in enumerate(tokens):
        if token.map is None:
            continue
        is_item = token.type == "list_item_open" and token.level == 1
        if token.level > 0 and not is_item:
            continue
        source, line = _read_source(token, lines), token.map[0]
        if not source:
            continue
        if token.type == "heading_open":
            if text := tokens[index + 1].content.strip():
                yield TextBlock(BlockKind.HEADING, text, level=int(token.tag[1]), source=source), line
        elif (kind := BlockKind.LIST_ITEM if is_item else _KINDS.get(token.type)) is not None:
            yield TextBlock(kind, source), line


def _read_source(token: Token, lines: list[str]) -> str:
    """Return the lines of a token, without blank lines around them."""
    first, end = token.map or (0, 0)
    return "\n".join(lines[first:end]).strip("\n").rstrip()
