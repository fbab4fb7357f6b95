"""E-mail addresses in texts, and phone numbers by the numbering plans of libphonenumber."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from phonenumbers import Leniency, PhoneNumberMatcher

from baton.ports.tenants.privacy import PiiKind, PiiSpan

MAX_LOCAL = 64
"""Characters before the ``@`` (RFC 5321, 4.5.3.1.1)."""
_LOCAL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]*\Z")
_DOMAIN = re.compile(r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])")


def emails(text: str) -> Iterator[PiiSpan]:
    """Yield the addresses. Each ``@`` is looked at once, with a bounded number of characters around it."""
    at = text.find("@")
    while at >= 0:
        before = _LOCAL.search(text, max(0, at - MAX_LOCAL), at)
        behind = _DOMAIN.match(text, at + 1, at + 260)
        if before is not None and behind is not None:
            # Punctuation in front belongs to the sentence.
            start = before.start() + len(before[0]) - len(before[0].lstrip(".!#$%&'*/=?^`{|}~-"))
            if start < at:
                yield PiiSpan(start, behind.end(), PiiKind.EMAIL)
        at = text.find("@", at + 1)


DEFAULT_REGIONS = ("US", "GB", "DE", "FR", "CH")
"""Countries whose numbers are known without a country code."""

_RUN = re.compile(r"[+(]{0,2}\d[\d ().\-/\u00a0\u2010-\u2015]*\d")
"""Digits and what may stand between them. A run has no inner alternatives, so it is found in linear time."""
_GAP = re.compile(r"[ \u00a0]{3,}|[.\-/]{2,}")
"""Separators of two numbers."""
_NO_PHONE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)"  # 2026-03-14
    r"|(?<!\d)\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?!\d)"  # 14.03.2026
    r"|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"  # 192.168.0.1
)
_NAMED = re.compile(
    r"\b(?:phone|call|tel|mobile|cell|fax|whatsapp|telefon|handy|rufnummer|t[ée]l)\w*[^\d\n.;,!?]{0,20}[.:]?\s?\Z",
    re.IGNORECASE,
)
_NEAR = 40
"""Characters before a number in which a word may say that it is a phone number."""
_WINDOW = 80
MAX_MATCHED = 400
"""Runs of a text that are checked against numbering plans. Beyond them every long run counts as a phone number, so that
a text of digits costs seconds at most and hides nothing."""


def phone_numbers(text: str, regions: Sequence[str] = DEFAULT_REGIONS) -> Iterator[PiiSpan]:
    """Yield phone numbers.

    One without a country code must be grouped as in its country, or a word such as "call" must stand before it: a row
    of digits alone is more often an order's or a customer's number.
    """
    masked = _NO_PHONE.sub(lambda match: "#" * len(match[0]), text)
    checked = 0
    for run in _RUN.finditer(masked):
        for start, end in _pieces(masked, run.start(), run.end()):
            digits = sum(character.isdigit() for character in masked[start:end])
            if digits < 7:
                continue
            checked += 1
            if checked > MAX_MATCHED:
                yield PiiSpan(start, end, PiiKind.PHONE)
            elif digits <= 15 or any(character in " ()-./\u00a0" for character in masked[start:end]):
                yield from _match(masked, start, end, regions)


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a run, each bounded: long ones as windows that overlap by half."""
    for piece_start, piece_end in _between_gaps(text, start, end):
        if piece_end - piece_start <= _WINDOW:
            yield piece_start, piece_end
            continue
        for first in range(piece_start, piece_end, _WINDOW // 2):
            yield first, min(first + _WINDOW, piece_end)


def _between_gaps(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for gap in _GAP.finditer(text, start, end):
        yield start, gap.start()
        start = gap.end()
    yield start, end


def _match(text: str, start: int, end: int, regions: Sequence[str]) -> Iterator[PiiSpan]:
    piece = text[start:end]
    if start and text[start - 1].isalnum():
        return  # the end of a word or of a version, such as v1.2
    if end < len(text) and text[end].isalpha():
        return
    is_named = _NAMED.search(text, max(0, start - _NEAR), start) is not None
    taken = [(match.start, match.end) for match in PhoneNumberMatcher(piece, None, leniency=Leniency.VALID)]
    if not taken:
        leniency = Leniency.VALID if is_named else Leniency.STRICT_GROUPING
        for region in regions:
            matches = PhoneNumberMatcher(piece, region, leniency=leniency)
            taken = [(match.start, match.end) for match in matches if is_named or not match.raw_string.isdigit()]
            if taken:
                break
    for first, last in taken:
        yield PiiSpan(start + first, start + last, PiiKind.PHONE)
