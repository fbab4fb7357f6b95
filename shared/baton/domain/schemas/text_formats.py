"""The formats of texts in JSON Schemas that are checked: those of dates, times, addresses and ids."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from datetime import date, datetime, time

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")


def _date(text: str) -> None:
    if _DATE.fullmatch(text) is None:
        raise ValueError  # a week, or without hyphens, which RFC 3339 does not have
    date.fromisoformat(text)


def _time(text: str) -> None:
    if time.fromisoformat(text).tzinfo is None or ":" not in text:
        raise ValueError


def _date_time(text: str) -> None:
    _date(text[:10])
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError


def _uuid(text: str) -> None:
    if str(uuid.UUID(text)) != text.lower():
        raise ValueError


def _matching(pattern: re.Pattern[str]) -> Callable[[str], None]:
    def check(text: str) -> None:
        if pattern.fullmatch(text) is None:
            raise ValueError

    return check


CHECKED: Mapping[str, Callable[[str], None]] = {
    "date": _date,
    "date-time": _date_time,
    "email": _matching(_EMAIL),
    "time": _time,
    "uri": _matching(_URI),
    "uuid": _uuid,
}
"""Checks by format. Each raises ``ValueError`` for a text of another form. Times need an offset, as in RFC 3339."""


def has_format(text: object, name: str) -> bool:
    """Return whether a text has a format. Other values, and formats that are not checked, always do."""
    check = CHECKED.get(name)
    if check is None or not isinstance(text, str):
        return True
    try:
        check(text)
    except ValueError:
        return False
    return True
