"""Sections and tokens of number formats in workbooks (ISO/IEC 29500-1 section 18.8.31)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

_MAX_FORMAT = 255
"""The most characters of a format (a limit of Excel)."""
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<elapsed>h+|m+|s+)\]'
    r"|\[[^\]]*\]|(?P<halves>AM/PM|A/P)|(?P<general>General)|(?P<exponent>E[+-])|(?P<digit>[0#?])"
    r"|(?P<moment>y+|m+|d+|h+|s+|e+|g+|b+)|(?P<sign>[.,%/@])|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?[\d.]+)\]")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}

Token: TypeAlias = tuple[str, str]
"""A kind and a text."""


class Shows(StrEnum):
    """The form in which a section of a format shows numbers."""

    NOTHING = "nothing"
    DURATION = "duration"
    MOMENT = "moment"
    SHARE = "share"
    WORDS = "words"
    PLACES = "places"
    """Digits in fixed places, such as leading zeros."""
    UNIT = "unit"
    """A number with texts around it."""
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class FormatSection:
    """A section of a format, which applies to some numbers."""

    shows: Shows
    tokens: tuple[Token, ...] = ()
    has_date: bool = False
    has_time: bool = False
    condition: tuple[str, float] | None = None
    """The comparison that a number must meet, with an operator and a number; None without one."""

    def is_for(self, number: float) -> bool:
        """Return whether a number meets the condition, or the section has no condition."""
        return self.condition is None or _COMPARISONS[self.condition[0]](number, self.condition[1])

    @property
    def words(self) -> str:
        """The fixed texts of the section; may be empty."""
        return "".join(text for kind, text in self.tokens if kind == "literal").strip()


def parse_format(code: str) -> list[FormatSection]:
    """Return the sections of a format, from one to four: for positive numbers, negative ones, zero, and texts."""
    parts = _split_sections(code[:_MAX_FORMAT])
    return [_parse_section(part, is_only=len(parts) == 1) for part in parts]


def _split_sections(code: str) -> list[str]:
    """Return the texts between semicolons outside quotes, at most four."""
    parts = [""]
    for match in _TOKEN.finditer(code):
        if match[0] == ";":
            parts.append("")
        else:
            parts[-1] += match[0]
    return parts[:4]


def _parse_section(code: str, *, is_only: bool) -> FormatSection:
    tokens: list[Token] = []
    for match in _TOKEN.finditer(code):
        kind, text = match.lastgroup, match[match.lastgroup] if match.lastgroup else ""
        if kind in ("quoted", "escaped", "currency"):
            kind = "literal"
        if kind is not None and text:
            tokens.append((kind, text))
    kinds = {kind for kind, _ in tokens}
    condition = _CONDITION.search(code)
    moments = {text[0].lower() for kind, text in tokens if kind == "moment"}
    return FormatSection(
        _find_shown_form(code, tokens, is_only=is_only),
        tuple(tokens),
        has_date=not moments.isdisjoint("yd"),
        has_time=not moments.isdisjoint("hs") or "halves" in kinds,
        condition=(condition[1], _parse_float(condition[2])) if condition else None,
    )


def _parse_float(digits: str) -> float:
    """Return a number; 0 if it is malformed."""
    try:
        return float(digits)
    except ValueError:
        return 0.0


def _find_shown_form(code: str, tokens: list[Token], *, is_only: bool) -> Shows:
    """Return the form in which a section shows numbers. An empty section shows nothing, unless it ``is_only``."""
    kinds = {kind for kind, _ in tokens}
    signs = "".join(text for kind, text in tokens if kind == "sign")
    if not code and not is_only:
        return Shows.NOTHING
    if "elapsed" in kinds:
        return Shows.DURATION
    if "moment" in kinds or "halves" in kinds:
        return Shows.MOMENT
    if "%" in signs:
        return Shows.SHARE
    if kinds.isdisjoint(("digit", "general")):
        return Shows.WORDS if "literal" in kinds and "@" not in signs else Shows.NUMBER
    if "exponent" in kinds or "/" in signs or _is_scaled(tokens):
        return Shows.NUMBER
    if not signs and "general" not in kinds:
        return Shows.PLACES
    return Shows.UNIT if "literal" in kinds else Shows.NUMBER


def _is_scaled(tokens: list[Token]) -> bool:
    """Return whether a format shows thousands or millions: a comma follows the last digit."""
    last = max(index for index, (kind, _) in enumerate(tokens) if kind in ("digit", "general"))
    return tokens[last + 1 : last + 2] == [("sign", ",")]
