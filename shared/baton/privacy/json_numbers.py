"""Numbers in JSON of tools, as texts in which a detector can find personal data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

SHORTEST = 7
"""Digits of the shortest number that is looked at. No personal data that is detected is shorter."""
MAX_DIGITS = 40
"""Digits of the longest one."""
OWN_NAMES = frozenset({"timestamp", "seq"})
"""Members of events that hold numbers of Baton's. A detector may be a service that costs money for each text."""

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]")
_PHONE = re.compile(r"\b(?:phone|call|tel|mobile|cell|fax|whatsapp|telefon|handy|rufnummer)", re.IGNORECASE)


def number_texts(name: str, value: Any) -> Sequence[str]:
    """Return the texts that say what the number ``value`` of a member is; none for what is no long number.

    The member's name comes first: a row of digits alone is seldom recognised. One that is called a telephone number
    is also written as an international one, whose ``+`` numbers of JSON cannot have.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or name in OWN_NAMES:
        return ()
    if not abs(value) < 10**MAX_DIGITS:
        return ()
    whole = isinstance(value, int) or value.is_integer()
    digits = str(abs(int(value))) if whole else repr(abs(value))
    if not SHORTEST <= sum(each.isdigit() for each in digits) <= MAX_DIGITS:
        return ()
    words = _WORDS.sub(" ", name)
    plain = f"{words}: {digits}"
    return (plain, f"{words}: +{digits}") if _PHONE.search(words) else (plain,)


def number_shown(name: str, value: Any, clean: Mapping[str, str]) -> Any:
    """Return the number, or the placeholder for it if one of its texts is in ``clean``, redacted."""
    for text in number_texts(name, value):
        if text in clean:
            shown = clean[text].rpartition(": ")[2]
            # Otherwise it is the member's name that is personal data.
            return shown if "[" in shown else value
    return value
