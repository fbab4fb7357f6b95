"""Times as people write them: ``3 days``, ``90 minutes``, ``1 hour 30 minutes``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_UNITS = {"s": "seconds", "second": "seconds", "m": "minutes", "minute": "minutes", "h": "hours", "hour": "hours"}
_UNITS |= {"d": "days", "day": "days", "w": "weeks", "week": "weeks"}
_PART = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]+?)s?(?:\s+|$)")
LONGEST = timedelta(days=3660)
"""Ten years."""
_EXAMPLES = "90 minutes, 3 days or 1 hour 30 minutes"


def _parse(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value
    if not isinstance(value, str):
        raise ValueError(f"must be a time with its unit, such as {_EXAMPLES}")
    rest, total = value.strip().lower(), timedelta()
    try:
        while rest:
            part = _PART.match(rest)
            unit = _UNITS.get(part["unit"]) if part is not None else None
            if part is None or unit is None:
                raise ValueError(f"must be a time such as {_EXAMPLES}")
            total += timedelta(**{unit: float(part["number"])})
            rest = rest[part.end() :]
    except OverflowError:
        total = timedelta.max
    if not timedelta() < total <= LONGEST:
        raise ValueError("must be longer than nothing, and at most ten years")
    return total


Duration = Annotated[
    timedelta, BeforeValidator(_parse), WithJsonSchema({"type": "string", "examples": ["30 minutes", "3 days"]})
]
