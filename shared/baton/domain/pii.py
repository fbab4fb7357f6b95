"""Personal data in texts: what kinds there are, and where one was found."""

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
    NAME = "name"
    ADDRESS = "address"
    BIRTH_DATE = "birth date"
    SECRET = "secret"  # noqa: S105 - the word of a placeholder
    """A password, PIN or access key."""
    OTHER = "personal data"


@dataclass(frozen=True, slots=True)
class PiiSpan:
    """Personal data in a text, from ``start`` up to, but without, ``end`` (characters)."""

    start: int
    end: int
    kind: PiiKind
