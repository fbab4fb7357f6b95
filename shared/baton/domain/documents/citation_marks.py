"""Citations by number in the text of an answer, such as ``[2]``: they name passages that its prompt has numbered."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from baton.domain.json_values import load_json

MAX_RANGE = 50
"""Numbers of one range, such as ``[1-3]``. A longer one is no citation."""
_NEAR = 200
"""Characters around a mark in which its link or its word is searched."""

_NUMBER = r"\d{1,3}(?:\s?[-\u2010-\u2015]\s?\d{1,3})?"
_MARK = re.compile(
    rf"[\[\uff3b\u3010]\s?[\^#]?(?P<numbers>{_NUMBER}(?:\s?[,;\u3001\uff0c\uff1b]\s?\^?{_NUMBER}){{0,30}})"
    r"(?:\s?[,;:\u2020|\uff0c\uff1a]\s?[^\W\d][^\[\]\u3010\u3011\n]{0,120})?\s?[\]\uff3d\u3011]"
)
"""One or several numbers in brackets, perhaps with a place behind them, as in ``[2, page 3]``."""
_BARRED = re.compile(
    r"^[ \t>]*+(?:[-*+]|\d{1,3}[.)])?[ \t]*+(?P<fence>`{3,}|~{3,})[^\n]*"
    r"(?:\n.*?(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)|\Z)"
    r"|(?P<ticks>(?<!`)`{1,8}(?!`))(?:(?!\n[ \t]*\n).){1,2000}?(?<!`)(?P=ticks)(?!`)"
    r"|<(?P<tag>code|pre)\b[^>\n]{0,200}>.*?(?:</(?P=tag)>|\Z)"
    r"|</?[a-z][^<>\n]{0,400}>|\]\([^()\n]{0,2000}\)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_JSON = re.compile(r"\s*(?:\{|\[\s*[\[{\"])")
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_DEFINITION = re.compile(r"^[ \t>]{0,8}\[\^?(\d{1,3})\]:[ \t]*([^\n]*)", re.MULTILINE)
_IDENTIFIER = re.compile(r"(?:[A-Za-z_$][\w$]*|[)\]}])\Z", re.ASCII)
_LIKE_CODE = re.compile(r"[A-Za-z]|\w*[_$0-9]\w*|[a-z]+[A-Z]\w*|[)\]}]", re.ASCII)
"""A name that prose does not have: of one letter, with a digit or an underscore, with capitals inside."""
_ARRAYS = frozenset(
    """
    arg args argv arr array arrays buffer cell cells col cols column columns data element elements entries field fields
    index items list lists map matrix nums numbers output outputs params props result results row rows tuple tuples
    values vec vector
    """.split()  # noqa: SIM905
)
"""Names of arrays that are words of English, too."""
_ASSIGNED = re.compile(r"(?:[\"']\s*:|=)\s*\Z")


@dataclass(frozen=True, slots=True)
class CitationMark:
    """A place of a text where passages are cited by number."""

    start: int
    """The offset of its first character."""
    end: int
    """The offset behind its last one."""
    numbers: tuple[int, ...]


def find_marks(text: str) -> Iterator[CitationMark]:
    """Yield the marks of a text in their order, whether or not anything has their numbers.

    Marks are ``[2]``, ``[1][2]``, ``[1, 2]``, ``[1-3]``, ``[^2]``, ``[2, page 3]``, and those in full-width brackets.
    What stands in code, belongs to a link or indexes an array is no mark. Of JSON, only strings are looked at.
    """
    if "[" not in text and "\u3010" not in text and "\uff3b" not in text:
        return
    barred = _find_barred(text)
    starts = [start for start, _ in barred]
    last_end = 0
    for match in _MARK.finditer(text):
        index = bisect_right(starts, match.start()) - 1
        if index >= 0 and match.start() < barred[index][1]:
            continue
        follows_mark = bool(last_end) and match.start() == last_end
        numbers = _parse_numbers(match["numbers"])
        if (
            numbers
            and (follows_mark or not _is_index(text, match.start(), match.end()))
            and not _is_linked(text, match)
        ):
            last_end = match.end()
            yield CitationMark(match.start(), match.end(), numbers)


def find_definitions(text: str) -> dict[int, str]:
    """Return the footnotes and references that a text defines itself, as in ``[^2]: ...``, by number."""
    return {int(match[1]): match[2] for match in _DEFINITION.finditer(text)} if "]:" in text else {}


def replace_marks(text: str, write: Callable[[CitationMark], str | None]) -> str:
    """Return the text with what ``write`` makes of each mark; None leaves it as it is."""
    parts: list[str] = []
    position = 0
    for mark in find_marks(text):
        replacement = write(mark)
        if replacement is not None:
            parts += [text[position : mark.start], replacement]
            position = mark.end
    return "".join([*parts, text[position:]]) if parts else text


def _parse_numbers(numbers: str) -> tuple[int, ...]:
    """Return the numbers of a mark, each once; none if one of its ranges is descending or too long."""
    cited: list[int] = []
    for part in re.split(r"[,;\u3001\uff0c\uff1b]", numbers):
        ends = [int(digits) for digits in re.findall(r"\d+", part)]
        if not 0 <= ends[-1] - ends[0] < MAX_RANGE:
            return ()
        cited += range(ends[0], ends[-1] + 1)
    return tuple(dict.fromkeys(cited))


def _find_barred(text: str) -> list[tuple[int, int]]:
    """Return the parts of a text in which no citation can stand."""
    if _JSON.match(text) and load_json(text) is not None:
        return _find_outside_strings(text)
    if not any(sign in text for sign in ("`", "~~~", "<", "](")):
        return []
    return [match.span() for match in _BARRED.finditer(text)]


def _find_outside_strings(text: str) -> list[tuple[int, int]]:
    """Return the spans (start, end) of a JSON text outside its strings. Quotation marks belong to the spans."""
    spans, position = [], 0
    for match in _JSON_TEXT.finditer(text):
        spans.append((position, match.start() + 1))
        position = match.end() - 1
    return [*spans, (position, len(text))]


def _is_index(text: str, start: int, end: int) -> bool:
    """Return whether brackets belong to a formula, an array or a path, or are escaped."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + 2]
    if before.endswith(("\\", "!")) or after.startswith(("{", "=")) or _ASSIGNED.search(before):
        return True
    name = _IDENTIFIER.search(before)
    if name is None:
        return False
    if _LIKE_CODE.fullmatch(name[0]) or name[0].casefold() in _ARRAYS:
        return True
    if before[: name.start()].endswith(("](", "\\", ".", "::")):
        return True
    return bool(re.match(r"[.(]\w|->|\s?[=+*]", after))  # a word with a citation is followed by prose


def _is_linked(text: str, match: re.Match[str]) -> bool:
    """Return whether brackets are the text of a link, or a part of it."""
    end = match.end()
    if text.startswith("(", end):
        return True
    rest = re.match(r"[^\[\]\n]{0,200}\]\(", text[end : end + _NEAR + 2])
    line = text[max(0, match.start() - _NEAR) : match.start()].rpartition("\n")[2]
    return rest is not None and line.rfind("[") > line.rfind("]")
