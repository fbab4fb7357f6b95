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


def _parse(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    rest, total = value.strip().lower(), timedelta()
    while rest:
        part = _PART.match(rest)
        unit = part and (_UNITS.get(part["unit"]) or _UNITS.get(f"{part['unit']}s"))
        if part is None or unit is None:
            raise ValueError("must be a time such as 90 minutes, 3 days or 1 hour 30 minutes")
        total += timedelta(**{unit: float(part["number"])})
        rest = rest[part.end() :]
    if not timedelta() < total <= LONGEST:
        raise ValueError("must be longer than nothing, and at most ten years")
    return total


Duration = Annotated[
    timedelta, BeforeValidator(_parse), WithJsonSchema({"type": "string", "examples": ["30 minutes", "3 days"]})
]
