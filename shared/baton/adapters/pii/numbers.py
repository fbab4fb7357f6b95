"""Numbers with check digits in texts: payment cards, bank accounts, national ids."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator
from importlib import import_module

from stdnum import iban, luhn

from baton.ports.tenants.privacy import PiiKind, PiiSpan

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
            if _has_check_digits(number) and iban.is_valid(number):
                end = stop
                yield PiiSpan(start.start(), stop, PiiKind.IBAN)
                break


def _has_check_digits(account: str) -> bool:
    """Return whether the remainder of ISO 7064 is right. It is a tenth of the work of looking up the country's form."""
    compact = _PAYMENT_GROUPS.sub("", account).upper()
    return int((compact[4:] + compact[:4]).translate(_LETTER_VALUES)) % 97 == 1


def national_ids(text: str) -> Iterator[PiiSpan]:
    """Yield national ids of persons whose form and check digits are right."""
    for pattern, module in _IDS:
        for match in pattern.finditer(text):
            is_valid: Callable[[str], bool] = import_module(module).is_valid
            if is_valid(match[0]):
                yield PiiSpan(match.start(), match.end(), PiiKind.NATIONAL_ID)
