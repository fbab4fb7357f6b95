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
"""The maximum length of the part before the ``@``, in characters (RFC 5321, 4.5.3.1.1)."""
_LOCAL = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]*\Z")
_DOMAIN_WINDOW = 260
"""The number of characters from the ``@`` on that are read. Domains have at most 253."""
_DOMAIN = re.compile(r"(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24}(?![\w-])")


def find_emails(text: str) -> Iterator[PiiSpan]:
    """Yield the positions of e-mail addresses.

    The work is linear: a bounded number of characters around each ``@`` is read.
    """
    at = text.find("@")
    while at >= 0:
        local_part = _LOCAL.search(text, max(0, at - MAX_LOCAL), at)
        domain = _DOMAIN.match(text, at + 1, at + _DOMAIN_WINDOW)
        if local_part is not None and domain is not None:
            # Punctuation in front belongs to the sentence.
            start = local_part.start() + len(local_part[0]) - len(local_part[0].lstrip(".!#$%&'*/=?^`{|}~-"))
            if start < at:
                yield PiiSpan(start, domain.end(), PiiKind.EMAIL)
        at = text.find("@", at + 1)


DEFAULT_REGIONS = ("US", "GB", "DE", "FR", "CH")
"""Countries (ISO 3166-1 alpha-2) whose phone numbers are recognised without a country code."""

_RUN = re.compile(r"[+(]{0,2}\d[\d ().\-/\u00a0\u2010-\u2015]*\d")
"""A run of digits and separators. The pattern has no inner alternatives, so it is matched in linear time."""
_GAP = re.compile(r"[ \u00a0]{3,}|[.\-/]{2,}")
"""Separators between two numbers."""
_NO_PHONE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)"  # 2026-03-14
    r"|(?<!\d)\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})(?!\d)"  # 14.03.2026
    r"|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"  # 192.168.0.1
)
_PHONE_WORD = re.compile(
    r"\b(?:phone|call|tel|mobile|cell|fax|whatsapp|telefon|handy|rufnummer|t[ée]l)\w*[^\d\n.;,!?]{0,20}[.:]?\s?\Z",
    re.IGNORECASE,
)
_MIN_DIGITS, _MAX_DIGITS = 7, 15
"""The number of digits of phone numbers. The maximum is the maximum of E.164."""
_PHONE_WORD_DISTANCE = 40
"""The maximum distance of a word that marks a phone number from the number, in characters."""
_WINDOW = 80
"""The maximum length of a piece of a run, in characters."""
MAX_CHECKED_RUNS = 400
"""The maximum number of a text's pieces that are checked against numbering plans. Further pieces with enough digits
count as phone numbers, so that a text of digits costs seconds at most and hides nothing."""


def find_phone_numbers(text: str, regions: Sequence[str] = DEFAULT_REGIONS) -> Iterator[PiiSpan]:
    """Yield the positions of phone numbers. Those of a long run of digits may overlap.

    ``regions`` are countries whose numbers need no country code. Such a number must be grouped as in its country, or
    follow a word such as "call", because digits alone are more often the number of an order or a customer.
    """
    masked = _NO_PHONE.sub(lambda match: "#" * len(match[0]), text)
    checked = 0
    for run in _RUN.finditer(masked):
        for start, end in _divide_run(masked, run.start(), run.end()):
            digits = sum(character.isdigit() for character in masked[start:end])
            if digits < _MIN_DIGITS:
                continue
            checked += 1
            if checked > MAX_CHECKED_RUNS:
                yield PiiSpan(start, end, PiiKind.PHONE)
            elif digits <= _MAX_DIGITS or any(character in " ()-./\u00a0" for character in masked[start:end]):
                yield from _match_phone_numbers(masked, start, end, regions)


def _divide_run(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of a run's pieces. Long pieces are divided into windows that overlap by half."""
    for piece_end, next_start in [*(gap.span() for gap in _GAP.finditer(text, start, end)), (end, end)]:
        step = _WINDOW if piece_end - start <= _WINDOW else _WINDOW // 2
        for first in range(start, piece_end, step):
            yield first, min(first + _WINDOW, piece_end)
        start = next_start


def _match_phone_numbers(text: str, start: int, end: int, regions: Sequence[str]) -> Iterator[PiiSpan]:
    """Yield the phone numbers in a piece of ``text`` by the numbering plans."""
    piece = text[start:end]
    if start and text[start - 1].isalnum():
        return  # the end of a word or of a version, such as v1.2
    if end < len(text) and text[end].isalpha():
        return
    has_word = _PHONE_WORD.search(text, max(0, start - _PHONE_WORD_DISTANCE), start) is not None
    spans = [(match.start, match.end) for match in PhoneNumberMatcher(piece, None, leniency=Leniency.VALID)]
    if not spans:
        leniency = Leniency.VALID if has_word else Leniency.STRICT_GROUPING
        for region in regions:
            matches = PhoneNumberMatcher(piece, region, leniency=leniency)
            spans = [(match.start, match.end) for match in matches if has_word or not match.raw_string.isdigit()]
            if spans:
                break
    for first, last in spans:
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


def find_card_numbers(text: str) -> Iterator[PiiSpan]:
    """Yield the positions of payment card numbers, by issuers' ranges and lengths and the check digit (Luhn)."""
    for match in _CARD.finditer(text):
        digits = _PAYMENT_GROUPS.sub("", match[0])
        if digits.isascii() and _ISSUERS.fullmatch(digits) and luhn.is_valid(digits):
            yield PiiSpan(match.start(), match.end(), PiiKind.CARD)


def find_account_numbers(text: str) -> Iterator[PiiSpan]:
    """Yield the positions of IBANs, which have a country's form and length and the right check digits."""
    end = 0
    for start in _IBAN_START.finditer(text):
        if start.start() < end:
            continue
        rest = _IBAN_REST.match(text, start.end())
        if rest is None:
            continue
        # The next word may look like a part of the number ("... 957 and"), so shorter numbers are tried too.
        for stop in range(rest.end(), start.end() + 10, -1):
            if not text[stop - 1].isalnum() or (stop < len(text) and text[stop].isalnum()):
                continue  # not the end of a word
            number = text[start.start() : stop]
            compact = _PAYMENT_GROUPS.sub("", number).upper()
            # The remainder (ISO 7064) is checked first, because it takes a tenth of the time of the country's form.
            remainder = int((compact[4:] + compact[:4]).translate(_LETTER_VALUES)) % 97
            if remainder == 1 and iban.is_valid(number):
                end = stop
                yield PiiSpan(start.start(), stop, PiiKind.IBAN)
                break


def find_national_ids(text: str) -> Iterator[PiiSpan]:
    """Yield the positions of national ids of persons whose form and check digits are right."""
    for pattern, module in _IDS:
        for match in pattern.finditer(text):
            if import_module(module).is_valid(match[0]):
                yield PiiSpan(match.start(), match.end(), PiiKind.NATIONAL_ID)


_WORK_PER_CHARACTER = 64
"""The work for a character of a text with personal data, in the unit of ``off_loop``."""


class InProcessPiiDetector:
    """``PiiDetector`` by patterns whose matches are validated by check digits, numbering plans and issuers' ranges.

    It does not find data without a form, such as names and street addresses.
    """

    def __init__(self, regions: Sequence[str] = DEFAULT_REGIONS) -> None:
        """``regions`` are ISO countries whose phone numbers are recognised without their country code."""
        self._regions = tuple(regions)

    async def detect(self, text: str) -> Sequence[PiiSpan]:
        """See ``PiiDetector``."""
        return await off_loop(len(text) * _WORK_PER_CHARACTER, lambda: list(self._find_spans(text)))

    def _find_spans(self, text: str) -> Iterator[PiiSpan]:
        yield from find_emails(text)
        if any(character.isdigit() for character in text):
            yield from find_card_numbers(text)
            yield from find_account_numbers(text)
            yield from find_national_ids(text)
            yield from find_phone_numbers(text, self._regions)
