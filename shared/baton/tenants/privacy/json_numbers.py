"""Numbers in JSON of tools, as texts in which a detector can find personal data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

SHORTEST = 7
"""Digits of the shortest number that is checked. No personal data that is detected is shorter."""
MAX_DIGITS = 40
"""Digits of the longest one."""
OWN_NAMES = frozenset({"timestamp", "seq"})
"""Members of events that hold Baton's own numbers. A detector may be a service that costs money for each text."""

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]")
_PHONE = re.compile(r"\b(?:phone|call|tel|mobile|cell|fax|whatsapp|telefon|handy|rufnummer)", re.IGNORECASE)


def number_texts(name: str, value: Any) -> Sequence[str]:
    """Return texts in which a detector can recognise the number ``value`` of a member; none for a short number.

    The member's name comes first: a row of digits alone is seldom recognised. A number with the name of a telephone
    number is also written as an international one, whose ``+`` numbers of JSON cannot have.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or name in OWN_NAMES:
        return ()
    if not abs(value) < 10**MAX_DIGITS:
        return ()
    whole = isinstance(value, int) or value.is_integer()
    digits = str(abs(int(value))) if whole else repr(abs(value))
    if not SHORTEST <= sum(digit.isdigit() for digit in digits) <= MAX_DIGITS:
        return ()
    words = _WORDS.sub(" ", name)
    plain = f"{words}: {digits}"
    return (plain, f"{words}: +{digits}") if _PHONE.search(words) else (plain,)


def redact_number(name: str, value: Any, clean: Mapping[str, str]) -> Any:
    """Return the number, or the placeholder for it if one of its texts is in ``clean``, redacted."""
    for text in number_texts(name, value):
        if text in clean:
            redacted = clean[text].rpartition(": ")[2]
            # Otherwise the personal data is in the member's name.
            return redacted if "[" in redacted else value
    return value
