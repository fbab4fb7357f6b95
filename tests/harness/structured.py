"""Answers in a declared shape."""

from __future__ import annotations

from typing import Any

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
}


OSLO = {"city": "Oslo", "degrees": -3}


WRITTEN = '{"city":"Oslo","degrees":-3}'
