"""Personal data that has a form: e-mail addresses, phone, card and account numbers, national ids.

Phone numbers are found by the numbering plans of libphonenumber, other numbers by their check digits.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from importlib import import_module

from phonenumbers import Leniency, PhoneNumberMatcher
from stdnum import iban, luhn

from baton.concurrency.tasks import off_loop
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
    for piece_end, next_start in [*(gap.span() for gap in _GAP.finditer(text, start, end)), (end, end)]:
        step = _WINDOW if piece_end - start <= _WINDOW else _WINDOW // 2
        for first in range(start, piece_end, step):
            yield first, min(first + _WINDOW, piece_end)
        start = next_start


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


_CARD = re.compile(r"(?<![\w.+-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)")
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|65\d\d|64[4-9]\d)\d{12}"  # Discover
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|3(?:0[0-5]|[689]\d)\d{11}"  # Diners Club
    r"|62\d{14,17}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"  # Maestro
)
_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d\d(?=[ -]?[A-Za-z0-9])")
_IBAN_REST = re.compile(r"(?:[ -]?[A-Za-z0-9]){11,30}")
_PAYMENT_GROUPS = re.compile(r"[ -]")
_LETTER_VALUES = {ord(letter): str(value) for value, letter in enumerate(string.ascii_uppercase, 10)}

_IDS: tuple[tuple[re.Pattern[str], str], ...] = (
    # Only forms that prose does not have by accident: with their usual punctuation, or with letters and a check digit.
    (re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"), "stdnum.us.ssn"),
    (re.compile(r"(?<![\w.-])756\.?\d{4}\.?\d{4}\.?\d{2}(?![\w-])"), "stdnum.ch.ssn"),
    (re.compile(r"(?<![\w-])\d{8}-?[A-Za-z](?![\w-])"), "stdnum.es.dni"),
    (re.compile(r"(?<![\w-])[XYZxyz]-?\d{7}-?[A-Za-z](?![\w-])"), "stdnum.es.nie"),
    (
        re.compile(r"(?<![\w-])[A-Za-z]{6}[\dA-Za-z]{2}[A-Za-z][\dA-Za-z]{2}[A-Za-z][\dA-Za-z]{3}[A-Za-z](?![\w-])"),
        "stdnum.it.codicefiscale",
    ),
    (re.compile(r"(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d{2}(?![\w-])"), "stdnum.br.cpf"),
    (re.compile(r"(?<![\w.-])[12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d(?![\w-])"), "stdnum.fr.nir"),
    (re.compile(r"(?<![\w.-])[2-9]\d{3} \d{4} \d{4}(?![\w-]| \d)"), "stdnum.in_.aadhaar"),
)


def card_numbers(text: str) -> Iterator[PiiSpan]:
    """Yield payment card numbers: of an issuer's range and length, with the right check digit (Luhn)."""
    for match in _CARD.finditer(text):
        digits = _PAYMENT_GROUPS.sub("", match[0])
        if digits.isascii() and _ISSUERS.fullmatch(digits) and luhn.is_valid(digits):
            yield PiiSpan(match.start(), match.end(), PiiKind.CARD)


def account_numbers(text: str) -> Iterator[PiiSpan]:
    """Yield IBANs: of a country's form and length, with the right check digits."""
    end = 0
    for start in _IBAN_START.finditer(text):
        if start.start() < end:
            continue
        rest = _IBAN_REST.match(text, start.end())
        if rest is None:
            continue
        # What follows may look like a part of it ("... 957 and"), so shorter ones are tried too.
        for stop in range(rest.end(), start.end() + 10, -1):
            if not text[stop - 1].isalnum() or (stop < len(text) and text[stop].isalnum()):
                continue  # not the end of a word
            number = text[start.start() : stop]
            compact = _PAYMENT_GROUPS.sub("", number).upper()
            # The remainder of ISO 7064 is a tenth of the work of looking up the country's form.
            remainder = int((compact[4:] + compact[:4]).translate(_LETTER_VALUES)) % 97
            if remainder == 1 and iban.is_valid(number):
                end = stop
                yield PiiSpan(start.start(), stop, PiiKind.IBAN)
                break


def national_ids(text: str) -> Iterator[PiiSpan]:
    """Yield national ids of persons whose form and check digits are right."""
    for pattern, module in _IDS:
        for match in pattern.finditer(text):
            if import_module(module).is_valid(match[0]):
                yield PiiSpan(match.start(), match.end(), PiiKind.NATIONAL_ID)


_WORK = 64
"""The work for a text with personal data, relative to a common text, for ``off_loop``."""


class InProcessPiiDetector:
    """``PiiDetector`` by patterns whose finds are validated: check digits, numbering plans, issuers' ranges.

    It finds nothing that has no form, such as names and street addresses.
    """

    def __init__(self, regions: Sequence[str] = DEFAULT_REGIONS) -> None:
        """``regions``: ISO countries whose phone numbers are known without their country code."""
        self._regions = tuple(regions)

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        return await off_loop(len(text) * _WORK, lambda: list(self._spans(text)))

    def _spans(self, text: str) -> Iterator[PiiSpan]:
        yield from emails(text)
        if any(character.isdigit() for character in text):
            yield from card_numbers(text)
            yield from account_numbers(text)
            yield from national_ids(text)
            yield from phone_numbers(text, self._regions)
