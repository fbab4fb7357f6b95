"""JSON objects as values of settings. A name that occurs twice is an error, and not the last of both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BeforeValidator


def parsed_object(text: Any) -> Any:
    """Return the JSON object in ``text``. Raises ``ValueError`` that says where it is broken, without quoting it."""
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"is no JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError('must be a JSON object, such as {"name": {...}}')
    return value


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name!r} occurs twice in one object")
        found[name] = value
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


JsonObject = BeforeValidator(parsed_object)
"""Reads a setting's text as a JSON object."""
