"""A shop whose assistant has to ask before it books a bike."""

from __future__ import annotations

from typing import Any

from baton.domain.agents.agent import AgentDefinition
from tests.harness.harness import ASSISTANT, Harness

BOOKING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"$ref": "#/$defs/Kind"},
        "day": {"type": "string", "format": "date", "title": "First day"},
        "days": {"type": "integer", "title": "Days", "default": 1},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "price": {"type": "number", "format": "money", "x-currency": "EUR"},
        "customer": {
            "type": "object",
            "properties": {"first_name": {"type": "string", "title": "First Name"}, "member": {"type": "boolean"}},
        },
        "at": {"type": "string", "format": "date-time"},
        "extras": {"type": "array", "items": {"enum": ["child_seat", "lock"]}},
    },
    "$defs": {"Kind": {"title": "Kind", "enum": ["city", "ebike"], "x-labels": {"ebike": "e-bike"}}},
}

ASKS = "Book {days} days of {kind} from {day}[ for {price}]?"


def shop(asks: str | None = ASKS, parameters: dict[str, Any] = BOOKING, **fields: Any) -> Harness:
    """A shop whose assistant has to ask before it books."""
    tool = {"type": "python", "name": "book", "description": "Books.", "entry_point": "shop:book"}
    harness = Harness(assistant=AgentDefinition.model_validate(ASSISTANT.model_dump() | {"tools": [tool]} | fields))

    async def book(**_arguments: object) -> str:
        return "Booked."

    harness.tools.add("book", book, parameters=parameters, requires_approval=True, label="Bike booking", asks=asks)
    return harness
