"""Find the JSON object in what a model has written."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, NoReturn


def json_object(text: str, *, mends_lists: bool = False) -> dict[str, Any] | None:
    """Return the JSON object of a text, which may stand in a code block or between other words; None without one.

    ``NaN`` and infinities are no JSON. ``mends_lists`` keeps the whole objects of a list that was cut.
    """
    whole = _loaded(text)
    if whole is not None:
        return whole if isinstance(whole, dict) else None
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None
    for ending in ("", "]}") if mends_lists else ("",):
        found = _loaded(text[start : end + 1] + ending)
        if isinstance(found, dict):
            return found
    return None


def _loaded(text: str) -> Any:
    """Return the value of a JSON text; None for one that is no JSON, or null."""
    with suppress(ValueError, RecursionError):
        return json.loads(text, parse_constant=_refuse)
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
