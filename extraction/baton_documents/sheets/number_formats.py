"""Numbers of workbooks as their formats show them (ISO/IEC 29500-1 section 18.8.31), without losing digits.

Formats decide whether a number is a date, a time, a share or a code, and which unit it has. Numbers are not rounded,
because the cell contains the other digits as well.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal

from baton_documents.sheets.format_sections import FormatSection, Shows, parse_format

EXACT = 2**53
"""The first integer from which not all integers can be stored exactly in a workbook."""
_1904 = datetime(1904, 1, 1)  # noqa: DTZ001 - dates of workbooks have no zone
_1900 = datetime(1899, 12, 31)  # noqa: DTZ001
_DIGITS = 15
"""The significant digits that Excel keeps."""
_LAST_DATE = 2_958_466
"""The number of the day after 9999-12-31."""
_LEAP_DAY = 60
"""The number of the day 1900-02-29, which only exists in Excel."""
_MILLISECONDS = 86_400_000
_MAX_SHOWN = 1e20
"""The number from which numbers are shown with an exponent, unless a format says otherwise."""
_MAX_MASKED = 1e30
"""The number from which numbers have too many digits for a percentage or for fixed places."""
_INTEGER = re.compile(r"([+-]?\d+)(?:\.0*)?")
_DATE = "yyyy-mm-dd"
_BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "m/d/yy h:mm",
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    **dict.fromkeys((14, 15, 16, 17, *range(27, 37), *range(50, 59)), _DATE),
}
"""The formats with fixed numbers. Those of dates differ by country, and are all shown as ISO 8601."""


class NumberFormat:
    """A number format, which all cells with this format share."""

    def __init__(self, code: str, *, from_1904: bool = False) -> None:
        self._is_general = code.strip().lower() in ("", "general", "@")
        self._from_1904 = from_1904
        self._sections = [] if self._is_general else parse_format(code)
        self._is_conditional = any(section.condition for section in self._sections)
        self._hides_texts = len(self._sections) > 3 and self._sections[3].shows is Shows.NOTHING

    def format(self, value: str) -> str:
        """Return the shown text of a number, given as the file stores it. Another value is returned unchanged."""
        if self._is_general:
            return write_plain_number(value)
        try:
            number = float(value)
        except ValueError:
            return value
        index = self._choose_section(number)
        section = self._sections[index]
        match section.shows:
            case Shows.NOTHING:
                return ""
            case Shows.DURATION:
                return _write_duration(number) or write_plain_number(value)
            case Shows.MOMENT:
                return self._write_moment(number, section) or write_plain_number(value)
            case Shows.SHARE if abs(number) < _MAX_MASKED:
                return _write_percentage(write_plain_number(value), section)
            case Shows.WORDS:
                return section.words
            case Shows.PLACES if number.is_integer() and abs(number) < _MAX_MASKED:
                return _mask_integer(
                    f"{Decimal(write_plain_number(value)):f}",
                    section,
                    is_for_negative=index == 1 and not self._is_conditional,
                )
            case Shows.PLACES | Shows.UNIT:
                return _add_unit(write_plain_number(value), section)
        return write_plain_number(value)

    def format_text(self, text: str) -> str:
        """Return the shown text of a text cell; empty if the format's fourth section hides it."""
        return "" if self._hides_texts else text

    def _choose_section(self, number: float) -> int:
        """Return the index of the section that applies to a number."""
        count = len(self._sections)
        if self._is_conditional:
            return next((index for index, section in enumerate(self._sections) if section.is_for(number)), count - 1)
        if count == 1:
            return 0
        if number < 0:
            return 1
        return 2 if number == 0 and count > 2 else 0

    def _write_moment(self, number: float, section: FormatSection) -> str:
        """Return a date, a time or both as ISO 8601 writes them; empty if the number stands for neither."""
        if not 0 <= number < _LAST_DATE:
            return ""
        days, milliseconds = divmod(round(number * _MILLISECONDS), _MILLISECONDS)
        if days >= _LAST_DATE:
            return ""
        time = (_1904 + timedelta(milliseconds=milliseconds)).time().isoformat()
        if days == 0 and (not self._from_1904 or not section.has_date):
            return time if section.has_time else ""  # the number zero is not a day
        return f"{self._write_date(days)} {time}" if milliseconds else self._write_date(days)

    def _write_date(self, days: int) -> str:
        if self._from_1904:
            return (_1904 + timedelta(days=days)).date().isoformat()
        if days == _LEAP_DAY:
            return "1900-02-29"
        return (_1900 + timedelta(days=days if days < _LEAP_DAY else days - 1)).date().isoformat()


def make_format(number: int, codes: dict[int, str], *, from_1904: bool) -> NumberFormat:
    """Return the format with a number, which the workbook (``codes``) or Excel defines; ``General`` if neither does."""
    return NumberFormat(codes.get(number, _BUILT_IN.get(number, "General")), from_1904=from_1904)


def write_plain_number(value: str) -> str:
    """Return a number with its digits, and without an exponent or a fraction of zero if possible.

    A fraction has at most the digits that Excel keeps. A value that is not a number is returned unchanged.
    """
    if value.isdecimal():
        return value
    if integer := _INTEGER.fullmatch(value):
        return integer[1]
    try:
        number = float(value)
    except ValueError:
        return value
    if not abs(number) < EXACT:
        return f"{Decimal(value):f}" if abs(number) < _MAX_SHOWN and number.is_integer() else value.lower()
    if number.is_integer():
        return str(int(number))
    text = f"{number:.{_DIGITS}g}"
    # Excel stores 19.99 as 19.989999999999998.
    return f"{Decimal(text):f}" if "e" in text and abs(number) > 1e-10 else text


def _write_duration(number: float) -> str:
    """Return a number of days as hours, minutes and seconds; empty if it is too large."""
    if not abs(number) < _LAST_DATE:
        return ""
    milliseconds = round(abs(number) * _MILLISECONDS)
    seconds, milliseconds = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{milliseconds:03}" if milliseconds else ""
    return f"{'-' if number < 0 else ''}{hours}:{minutes:02}:{seconds:02}{fraction}"


def _write_percentage(text: str, section: FormatSection) -> str:
    """Return a share as a percentage with at least the decimals of the format."""
    try:
        share = Decimal(text) * 100
    except ArithmeticError:
        return text
    digits = f"{share.normalize():f}"
    _, _, decimals = digits.partition(".")
    is_after_point = False
    minimum = 0
    for kind, piece in section.tokens:
        is_after_point = is_after_point or (kind, piece) == ("sign", ".")
        minimum += is_after_point and kind == "digit" and piece == "0"
    if minimum > len(decimals):
        digits += ("" if decimals else ".") + "0" * (minimum - len(decimals))
    return f"{digits}%"


def _mask_integer(text: str, section: FormatSection, *, is_for_negative: bool) -> str:
    """Return an integer in fixed places: with leading zeros, and the format's characters between digits."""
    zeros = sum(kind == "digit" and piece == "0" for kind, piece in section.tokens)
    digits = list(text.lstrip("+-").lstrip("0").zfill(zeros) if zeros else text.lstrip("+-").lstrip("0"))
    places = sum(kind == "digit" for kind, _ in section.tokens)
    parts: list[str] = []
    for kind, piece in reversed(section.tokens):
        if kind == "digit":
            places -= 1
            parts.append("".join(digits) if places == 0 else digits.pop() if digits else "")
        elif kind == "literal" and not (is_for_negative and piece in "()-"):
            parts.append(piece)
    return ("-" if text.startswith("-") else "") + "".join(reversed(parts)).strip()


def _add_unit(text: str, section: FormatSection) -> str:
    """Return a number with the format's texts around its digits, such as a currency."""
    kinds = [kind in ("digit", "general") for kind, _ in section.tokens]
    first, last = kinds.index(True), len(kinds) - 1 - kinds[::-1].index(True)
    before, behind = (
        "".join(text for kind, text in part if kind == "literal" and text not in "()+-")
        for part in (section.tokens[:first], section.tokens[last + 1 :])
    )
    return f"{'-' if text.startswith('-') else ''}{before.lstrip()}{text.removeprefix('-')}{behind.rstrip()}"
