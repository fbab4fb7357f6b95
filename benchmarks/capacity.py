"""Counts of the requests for which DynamoDB charges, with the capacity units that they consume."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

KIB = 1024
"""The bytes of a block, for which a write is charged one unit."""
READ_OPERATIONS = frozenset({"BatchGetItem", "GetItem", "Query", "Scan", "TransactGetItems"})
TRANSACTION_FACTOR = 2
"""A transaction prepares and commits each write, so it costs double (DynamoDB developer guide, "Transactions")."""

_NOTE = "baton_benchmark"


@dataclass(frozen=True, slots=True)
class Request:
    """One request, with the capacity units that it consumed."""

    operation: str
    """The name of the operation, such as ``"PutItem"``."""
    target: str
    """The kind of item, from its key: ``"MSG"`` for ``MSG#000000000007``."""
    units: float
    """Read or write units, including those of indexes."""
    index_units: float = 0.0
    """The part of ``units`` that secondary indexes consumed."""
    item_bytes: int = 0
    """The size of the item after a write, in bytes by DynamoDB's rules; 0 if it is unknown."""
    attempts: int = 1
    """The number of attempts, of which all but the last were repeated."""
    refused: bool = False
    """Whether the condition of a write did not hold. Such a write is charged too."""

    @property
    def reads(self) -> bool:
        return self.operation in READ_OPERATIONS

    @property
    def write_units(self) -> float:
        return 0.0 if self.reads else self.units

    @property
    def read_units(self) -> float:
        return self.units if self.reads else 0.0


class CapacityMeter:
    """A meter that records the ``Request`` values of all calls of boto3 DynamoDB clients.

    Single operations are counted with ReturnConsumedCapacity=INDEXES. Three cases are counted by formula:

    - A refused conditional write costs the larger of the old and the new item. Its response has no units.
    - TransactWriteItems costs twice the new item, without index entries. DynamoDB Local counts it incorrectly.
    - A read that finds nothing costs one unit if it is consistent, otherwise half a unit. DynamoDB Local counts none.
    """

    def __init__(self) -> None:
        self._requests: list[Request] = []

    def attach(self, client: Any) -> None:
        """Start to count the calls of ``client``."""
        events = client.meta.events
        events.register("provide-client-params.dynamodb", self._request_capacity)
        events.register("before-parameter-build.dynamodb", self._note)
        events.register("after-call.dynamodb", self._count)

    def take(self) -> tuple[Request, ...]:
        """Return the requests since the previous call of ``take``, in the order of their responses."""
        taken, self._requests = self._requests, []
        return tuple(taken)

    def _request_capacity(self, params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
        if "ReturnConsumedCapacity" not in model.input_shape.members:
            return params
        return {**params, "ReturnConsumedCapacity": "INDEXES"}

    def _note(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        context[_NOTE] = params

    def _count(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any) -> None:
        params: dict[str, Any] = context[_NOTE]
        attempts = 1 + parsed.get("ResponseMetadata", {}).get("RetryAttempts", 0)
        self._requests += find_requests(model.name, params, parsed, attempts)


def find_requests(
    operation: str, params: Mapping[str, Any], answer: Mapping[str, Any], attempts: int = 1
) -> list[Request]:
    """Return the charged requests of one call: one for each item of a transaction, otherwise one."""
    if operation == "TransactWriteItems":
        return _find_transaction_requests(params, attempts)
    written = params.get("Item") or answer.get("Attributes") or {}
    target = find_target(params)
    if answer.get("Error", {}).get("Code") == "ConditionalCheckFailedException":
        size = max(measure_item(params.get("Item", {})), measure_item(answer.get("Item", {})))
        return [Request(operation, target, float(_count_blocks(size)), 0.0, size, attempts, refused=True)]
    consumed = answer.get("ConsumedCapacity", [])
    entries = consumed if isinstance(consumed, list) else [consumed]
    units = sum(entry["CapacityUnits"] for entry in entries)
    if operation in ("GetItem", "Query"):
        units = max(units, 1.0 if params.get("ConsistentRead") else 0.5)
    index_units = sum(
        index["CapacityUnits"]
        for entry in entries
        for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
        for index in entry.get(kind, {}).values()
    )
    return [Request(operation, target, float(units), float(index_units), measure_item(written), attempts)]


def find_target(params: Mapping[str, Any]) -> str:
    """Return the kind of item of a request (``THREAD``, ``MSG``, ``~CONN`` and so on), or the index that it reads.

    It is ``other`` for a table of another project, and ``several`` for a request without one key.
    """
    if "IndexName" in params:
        return f"index {params['IndexName']}"
    values = params.get("ExpressionAttributeValues", {})
    key = params.get("Key") or params.get("Item")
    if key is not None and "PK" not in key:
        return "other"  # a table that is not Baton's
    if key is not None:
        partition, sort = key["PK"]["S"], key["SK"]["S"]
    elif ":partition" in values:
        partition = values[":partition"]["S"]
        sort = next((values[name]["S"] for name in (":prefix", ":first", ":last") if name in values), "*")
    else:
        return "several"
    return str(partition if partition.startswith("~") else sort).partition("#")[0]


def measure_item(item: Mapping[str, Any]) -> int:
    """Return the size in bytes of an item in DynamoDB's JSON (developer guide, "Item sizes and formats")."""
    return sum(len(name.encode()) + _measure_value(value) for name, value in item.items())


def _measure_value(value: Mapping[str, Any]) -> int:
    """Return the size in bytes of a value in DynamoDB's JSON."""
    content: Any
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(str(content).encode())
        case "N":
            digits = len(str(content).lstrip("-").replace(".", "").strip("0"))
            return math.ceil(digits / 2) + 1 + bool(content.startswith("-"))
        case "B":
            return len(content)
        case "BOOL" | "NULL":
            return 1
        case "L":
            return 3 + sum(1 + _measure_value(element) for element in content)
        case "M":
            return 3 + len(content) + measure_item(content)
        case _:
            return sum(_measure_value({kind[0]: element}) for element in content)


def _find_transaction_requests(params: Mapping[str, Any], attempts: int) -> list[Request]:
    """Return the requests of a transaction of puts. Raises ``NotImplementedError`` for other actions."""
    requests = []
    for action in params["TransactItems"]:
        [(kind, put)] = action.items()
        if kind != "Put":
            # Baton has no such action. To support one, measure the item before and after it.
            raise NotImplementedError(f"the size of the item of a transaction's {kind} is not in the request")
        size = measure_item(put["Item"])
        units = float(TRANSACTION_FACTOR * _count_blocks(size))
        requests.append(Request("TransactWriteItems", find_target(put), units, 0.0, size, attempts))
    return requests


def _count_blocks(size: int) -> int:
    """Return the number of KiB that are charged for a size in bytes, at least one."""
    return max(1, math.ceil(size / KIB))


def count_by_operation(requests: Iterable[Request]) -> dict[str, int]:
    """Return the number of requests per operation, including retries, in alphabetical order."""
    counts: dict[str, int] = {}
    for request in sorted(requests, key=lambda request: request.operation):
        counts[request.operation] = counts.get(request.operation, 0) + request.attempts
    return counts
