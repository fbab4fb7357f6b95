"""Personal data in texts: its kinds, and the places at which they were found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PiiKind(StrEnum):
    """A kind of personal data. The value is the word of its placeholder, such as ``[email]``."""

    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    IBAN = "iban"
    NATIONAL_ID = "national id"


@dataclass(frozen=True, slots=True)
class PiiSpan:
    """Personal data in a text, from ``start`` up to, but without, ``end`` (characters)."""

    start: int
    end: int
    kind: PiiKind
