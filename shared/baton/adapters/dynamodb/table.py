"""Asynchronous access to one DynamoDB table with plain Python values and typed failures."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from botocore.exceptions import ClientError

from baton.adapters.aws.blocking_calls import Operations, ThreadedOperations
from baton.adapters.aws.direct_calls import make_operations
from baton.adapters.aws.last_wills import NO_WILLS, LastWills
from baton.adapters.aws.session import CredentialSource
from baton.adapters.dynamodb.attributes import (
    Item,
    deserialize,
    read_response,
    register_item_parser,
    serialize,
    write_request,
)
from baton.adapters.dynamodb.queries import QueryOptions, make_query
from baton.adapters.dynamodb.writes import ConditionFailed, TransactionFailed, Write, without_none
from baton.domain.errors import StoreUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

FIRST_PAUSE_SECONDS = 0.05
"""The unit of the pauses between attempts. They grow with each attempt."""
MAX_IN_VAIN = 6
"""The number of responses in a row without any item after which ``get_many`` fails."""
AT_ONCE = 100
"""The maximum number of keys in one request (a limit of DynamoDB)."""
MAX_SECONDS = 8.0
"""The time limit of one request with all its retries.

A lease (30 s, renewed every 10 s) must outlast a request in progress and the renewal after it."""
MAX_ATTEMPTS = 24
"""The maximum number of attempts to change an item that others change too. If one fails, another writer succeeds."""
MAX_PAUSE_SECONDS = 0.3
"""The longest pause between two attempts to change an item."""
MAX_CONFLICTS = 6
"""The maximum number of attempts at a transaction that conflicts with others or exceeds its partition's throughput."""
CONFLICT_PAUSE_SECONDS = 0.02
"""The longest pause after the first conflict of a transaction. It doubles with each further conflict."""
_CONFLICT = frozenset({"TransactionConflict"})
_THROTTLED = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError"})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the client to reach it with."""

    client: DynamoDBClient
    name: str
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits between the retries of a request, in seconds."""
    seconds: float = MAX_SECONDS
    """The time limit of one request, including the wait for a thread. The request may still take effect later."""
    operations: Operations | None = None
    """DynamoDB's operations; None to call ``client`` in threads."""
    check_partition: Callable[[str], Awaitable[None]] | None = None
    """Called with a partition before each write but a single deletion. Raises if nothing may be written there."""
    wills: LastWills = NO_WILLS
    """Updates that are made if this process dies."""

    @classmethod
    def of(cls, client: DynamoDBClient, name: str, *, seconds: float = MAX_SECONDS) -> Table:
        """Return the table, and let ``client`` read items faster than botocore does."""
        register_item_parser(client)
        return cls(client, name, seconds=seconds)

    @classmethod
    def sent_directly(
        cls, client: DynamoDBClient, name: str, session: CredentialSource | None = None, wills: LastWills = NO_WILLS
    ) -> Table:
        """Return the table, whose requests the event loop sends itself if it can.

        ``session`` is the session that made the client; None for the process's own.
        """
        direct = make_operations(client, session, write=write_request, read=read_response)
        return replace(cls.of(client, name), operations=direct, wills=wills)

    async def get(self, key: Mapping[str, str], *, consistent: bool = True) -> Item | None:
        """Return an item; None if it does not exist. A read that is not consistent costs half."""
        response = await self._ask("GetItem", TableName=self.name, Key=serialize(key), ConsistentRead=consistent)
        return deserialize(response["Item"]) if "Item" in response else None

    async def read(self, key: Mapping[str, str], convert: Callable[[Item], T]) -> T | None:
        """Read an item consistently, and return its value by ``convert``; None if there is no item."""
        item = await self.get(key)
        return convert(item) if item is not None else None

    async def put(
        self,
        item: Item,
        *,
        condition: str | None = None,
        values: Item | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Write an item, without the attributes that are None. Raises ``ConditionFailed`` with the existing item.

        ``names`` maps placeholders in the condition to names of attributes.
        """
        request: dict[str, Any] = {"Item": serialize(without_none(item))}
        if names:
            request["ExpressionAttributeNames"] = names
        await self._check_writable(item)
        await self._write("PutItem", request, condition, values)

    async def update(self, key: Mapping[str, str], expression: str, values: Item, *, condition: str) -> Item:
        """Update an item and return all of it. Raises ``ConditionFailed`` with the existing item."""
        response = await self._update(key, expression, values, condition, "ALL_NEW")
        return deserialize(response["Attributes"])

    async def change(
        self,
        key: Mapping[str, str],
        expression: str,
        values: Item,
        *,
        condition: str,
        names: Mapping[str, str] | None = None,
    ) -> bool:
        """Update an item without returning it, which saves reading it. Return whether the condition held.

        ``names`` maps placeholders in the expression to names of attributes that an expression cannot contain.
        """
        with suppress(ConditionFailed):
            await self._update(key, expression, values, condition, "NONE", names)
            return True
        return False

    async def _update(
        self,
        key: Mapping[str, str],
        expression: str,
        values: Item,
        condition: str,
        returned: str,
        names: Mapping[str, str] | None = None,
    ) -> Any:
        """Update an item. ``returned`` is DynamoDB's ``ReturnValues``. Raises as ``update`` does."""
        request: dict[str, Any] = {"Key": serialize(key), "UpdateExpression": expression, "ReturnValues": returned}
        if names:
            request["ExpressionAttributeNames"] = names
        await self._check_writable(key)
        return await self._write("UpdateItem", request, condition, values)

    def update_at_death(
        self, name: str, key: Mapping[str, str], expression: str, values: Item, *, condition: str
    ) -> None:
        """Let a supervisor update an item if this process dies before ``wills.revoke(name)``."""
        request = {
            "TableName": self.name,
            "Key": serialize(key),
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": serialize(values),
        }
        self.wills.write(name, self.operations, "UpdateItem", request)

    async def delete(
        self,
        key: Mapping[str, str],
        *,
        condition: str | None = None,
        values: Item | None = None,
        names: Mapping[str, str] | None = None,
    ) -> bool:
        """Delete an item. Return whether the condition held; a missing item is not an error."""
        request: dict[str, Any] = {"Key": serialize(key)}
        if names:
            request["ExpressionAttributeNames"] = names
        with suppress(ConditionFailed):
            await self._write("DeleteItem", request, condition, values)
            return True
        return False

    async def add(self, *items: Item) -> bool:
        """Write all of up to 100 items. Return whether they were written.

        None is written if an item exists, or if other transactions wrote the same items during all attempts.
        """
        try:
            await self.transact(*map(Write.put, items))
        except TransactionFailed:
            return False
        return True

    async def transact(self, *writes: Write) -> None:
        """Do all of up to 100 writes, or none of them.

        A transaction that conflicted with another one is repeated, because its conditions may still hold. It is also
        repeated if its partition's thousand write units a second were exceeded. Raises ``StoreUnavailable`` if they
        were exceeded at the last attempt too, and ``TransactionFailed`` if a condition fails or a conflict remains.
        """
        for target in {write.target["PK"]: write.target for write in writes}.values():
            await self._check_writable(target)
        items = [write.make_request(self.name) for write in writes]
        for attempt in range(MAX_CONFLICTS):
            try:
                await self._ask("TransactWriteItems", TransactItems=items)
            except ClientError as error:
                if error.response["Error"]["Code"] != "TransactionCanceledException":
                    raise
                cancellations: Any = error.response.get("CancellationReasons", ())
                reasons = {cancellation.get("Code", "None") for cancellation in cancellations} - {"None"}
                is_last = attempt + 1 == MAX_CONFLICTS
                if is_last and reasons and reasons <= _THROTTLED:
                    raise StoreUnavailable from None
                if is_last or not reasons or not reasons <= _THROTTLED | _CONFLICT:
                    raise TransactionFailed(error.response["Error"].get("Message", "")) from None
            else:
                return
            pause = CONFLICT_PAUSE_SECONDS if reasons == _CONFLICT else FIRST_PAUSE_SECONDS
            await self.sleep(pause * 2**attempt * random.random())  # noqa: S311 - jitter

    async def pace_attempts(self) -> AsyncGenerator[int, None]:
        """Yield the numbers of attempts at a change that may conflict with others, with pauses in between."""
        for attempt in range(MAX_ATTEMPTS):
            if attempt:
                longest = min(FIRST_PAUSE_SECONDS * attempt, MAX_PAUSE_SECONDS)
                await self.sleep(longest * random.random())  # noqa: S311 - jitter
            yield attempt

    def query(self, partition: str, **options: Unpack[QueryOptions]) -> AsyncGenerator[list[Item], None]:
        """Yield pages of a partition's items, chosen by ``options``."""
        return self._read_pages("Query", make_query(partition, **options))

    async def read_all(
        self, partition: str, *, enough: float = math.inf, **options: Unpack[QueryOptions]
    ) -> list[Item]:
        """Return the items of all pages of ``query``, or of the first pages that hold ``enough``."""
        items: list[Item] = []
        async with aclosing(self.query(partition, **options)) as pages:
            async for page in pages:
                items += page
                if len(items) >= enough:
                    break
        return items

    def scan(self, index: str, attribute: str) -> AsyncGenerator[list[Item], None]:
        """Yield pages of all entries of a secondary index, with one attribute each. It reads the whole index."""
        names = {"#attribute": attribute}
        request = {"IndexName": index, "ProjectionExpression": "#attribute", "ExpressionAttributeNames": names}
        return self._read_pages("Scan", request)

    async def scan_keys(
        self,
        *,
        prefix: str | None = None,
        where: tuple[str, Item] | None = None,
        after: Mapping[str, str] | None = None,
        limit: int | None = None,
        consistent: bool = False,
    ) -> AsyncGenerator[tuple[list[Item], Mapping[str, str] | None], None]:
        """Yield pages of the keys of all items, each with the key after which the next page begins; None on the last.

        ``prefix`` selects partitions, or ``where``, a condition with its values, selects items. The whole table is read
        in any case, ``limit`` items with one request; None reads up to 1 MB. ``after`` continues an earlier scan.
        """
        request: dict[str, Any] = {"ProjectionExpression": "PK, SK"}
        if prefix is not None:
            where = "begins_with(PK, :prefix)", {":prefix": prefix}
        if where is not None:
            request |= {"FilterExpression": where[0], "ExpressionAttributeValues": serialize(where[1])}
        if consistent:
            request["ConsistentRead"] = True
        if limit is not None:
            request["Limit"] = limit
        position: Mapping[str, str] | None = after
        while True:
            start = {"ExclusiveStartKey": serialize(position)} if position is not None else {}
            response = await self._ask("Scan", TableName=self.name, **request, **start)
            last = response.get("LastEvaluatedKey")
            position = deserialize(last) if last else None
            yield [deserialize(item) for item in response["Items"]], position
            if position is None:
                return

    async def _read_pages(self, operation: str, request: dict[str, Any]) -> AsyncGenerator[list[Item], None]:
        """Yield the pages of a query or scan, and write the position of the next page into ``request``."""
        while True:
            response = await self._ask(operation, TableName=self.name, **request)
            yield [deserialize(item) for item in response["Items"]]
            if "LastEvaluatedKey" not in response:
                return
            request["ExclusiveStartKey"] = response["LastEvaluatedKey"]

    async def get_many(self, keys: Sequence[dict[str, str]], *, consistent: bool = False) -> list[Item]:
        """Return items by key, in no order, without those that do not exist. A request asks for 100.

        Unprocessed keys (the table throttles, or the response would exceed 16 MB) are requested again with back-off.
        Raises ``StoreUnavailable`` after ``MAX_IN_VAIN`` responses in a row without any item.
        """
        items: list[Item] = []
        # DynamoDB refuses a key that occurs twice. An index may list an item twice while the item moves in the index.
        distinct_keys = list({(key["PK"], key["SK"]): key for key in keys}.values())
        for start in range(0, len(distinct_keys), AT_ONCE):
            batch = [serialize(key) for key in distinct_keys[start : start + AT_ONCE]]
            unprocessed: dict[str, Any] = {self.name: {"Keys": batch, "ConsistentRead": consistent}}
            in_vain = 0
            while unprocessed:
                response = await self._ask("BatchGetItem", RequestItems=unprocessed)
                received = response["Responses"].get(self.name, [])
                items += map(deserialize, received)
                unprocessed = response["UnprocessedKeys"]
                if unprocessed:
                    in_vain = 0 if received else in_vain + 1
                    if in_vain == MAX_IN_VAIN:
                        raise StoreUnavailable
                    await self.sleep(FIRST_PAUSE_SECONDS * 2**in_vain)
        return items

    async def get_listed(self, entries: Sequence[Item], *, consistent: bool = False) -> list[Item]:
        """Return the items that entries of an index list, as ``get_many`` does. The index may be behind the items."""
        return await self.get_many([get_key(entry) for entry in entries], consistent=consistent)

    async def _check_writable(self, target: Mapping[str, Any]) -> None:
        """Raise the error of ``check_partition`` if the partition of ``target`` must not be written."""
        if self.check_partition is not None:
            await self.check_partition(target["PK"])

    async def _ask(self, operation: str, **request: Any) -> Any:
        """Send a request. Raises ``StoreUnavailable`` for an outage and after the time limit."""
        calls = self.operations or ThreadedOperations(self.client)
        return await calls.call(operation, request, seconds=self.seconds)

    async def _write(self, operation: str, request: dict[str, Any], condition: str | None, values: Item | None) -> Any:
        """Send a write. Raises ``ConditionFailed`` with the existing item."""
        if condition is not None:
            request["ConditionExpression"] = condition
            request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if values:
            request["ExpressionAttributeValues"] = serialize(values)
        try:
            return await self._ask(operation, TableName=self.name, **request)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            old: dict[str, Any] = error.response.get("Item", {})  # type: ignore[assignment]
            raise ConditionFailed(deserialize(old) if old else None) from None


def get_key(item: Item) -> dict[str, str]:
    """Return the key of an item, from the item itself or from its entry in an index."""
    return {"PK": item["PK"], "SK": item["SK"]}
