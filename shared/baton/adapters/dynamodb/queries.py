"""Requests for the items of one partition of a table or of a secondary index."""

from __future__ import annotations

from typing import Any, TypedDict, Unpack

from baton.adapters.dynamodb.attributes import Item, serialize


class QueryOptions(TypedDict, total=False):
    """The choice of a partition's items. Without options, all of its items are chosen, in the order of sort keys."""

    first: str | None
    """The first sort key, which is included. It has no effect without ``last``."""
    last: str | int | None
    """The last sort key, which is included."""
    prefix: str | None
    """The prefix of the sort keys. With it, ``first`` and ``last`` have no effect."""
    newest_first: bool
    """Whether the items come in the descending order of their sort keys."""
    limit: int | None
    """The maximum number of items that one request reads; by default they take up to 1 MB."""
    index: tuple[str, str, str] | None
    """The name of a secondary index, its hash key and its range key."""
    where: tuple[str, Item] | None
    """A condition on the items, with its values. Other items are read, but not returned."""
    consistent: bool
    """False for eventually consistent reads, which cost half. Reads of an index always are."""


def make_query(partition: str, **options: Unpack[QueryOptions]) -> dict[str, Any]:
    """Return the parameters of ``Query`` for a partition, without the table."""
    first, last, prefix = options.get("first"), options.get("last"), options.get("prefix")
    name, hash_key, range_key = options.get("index") or (None, "PK", "SK")
    expression = f"{hash_key} = :partition"
    values: Item = {":partition": partition}
    if prefix is not None:
        expression += f" AND begins_with({range_key}, :prefix)"
        values[":prefix"] = prefix
    elif first is not None and last is not None:
        expression += f" AND {range_key} BETWEEN :first AND :last"
        values |= {":first": first, ":last": last}
    elif last is not None:
        expression += f" AND {range_key} <= :last"
        values[":last"] = last
    request: dict[str, Any] = {}
    where = options.get("where")
    if where is not None:
        request["FilterExpression"] = where[0]
        values |= where[1]
    request |= {
        "KeyConditionExpression": expression,
        "ExpressionAttributeValues": serialize(values),
        "ScanIndexForward": not options.get("newest_first", False),
    }
    limit = options.get("limit")
    if limit is not None:
        request["Limit"] = limit
    if name is not None:
        request["IndexName"] = name
    elif options.get("consistent", True):
        request["ConsistentRead"] = True
    return request
