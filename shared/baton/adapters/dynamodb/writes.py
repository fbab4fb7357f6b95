"""Conditional writes of items, their transactions, and how they fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from baton.adapters.dynamodb.attributes import Item, serialize

IS_NEW = "attribute_not_exists(PK)"
"""The condition that the item does not exist yet."""


class ConditionFailed(Exception):
    """A conditional write failed. ``item`` is the existing item; None if there is none."""

    def __init__(self, item: Item | None) -> None:
        self.item = item
        super().__init__("condition failed")


class TransactionFailed(Exception):
    """A transaction wrote nothing, because a condition failed or another transaction wrote the same items."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a transaction. It puts ``target`` as an item, or updates or deletes the item with this key.

    Without ``expression`` and ``puts``, the item is deleted. ``values`` are those of placeholders in both expressions.
    """

    target: Mapping[str, Any]
    condition: str
    expression: str | None = None
    values: Mapping[str, Any] | None = None
    puts: bool = False

    @classmethod
    def put(cls, item: Item, *, condition: str = IS_NEW, values: Item | None = None) -> Write:
        """Return the write of an item, without the attributes that are None."""
        return cls(without_none(item), condition, values=values, puts=True)

    def make_request(self, table_name: str) -> dict[str, Any]:
        """Return the write as an element of ``TransactItems``."""
        request: dict[str, Any] = {"TableName": table_name, "ConditionExpression": self.condition}
        request["Item" if self.puts else "Key"] = serialize(self.target)
        if self.expression is not None:
            request["UpdateExpression"] = self.expression
        if self.values:
            request["ExpressionAttributeValues"] = serialize(self.values)
        kind = "Put" if self.puts else "Update" if self.expression is not None else "Delete"
        return {kind: request}


def without_none(item: Item) -> Item:
    """Return the item without the attributes that are None."""
    return {name: value for name, value in item.items() if value is not None}
