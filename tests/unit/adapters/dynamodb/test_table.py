"""A table that does not answer for all items at once, and transactions that meet others."""

from __future__ import annotations

from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from baton.adapters.dynamodb.table import MAX_CONFLICTS, MAX_IN_VAIN, Table
from baton.adapters.dynamodb.writes import TransactionFailed, Write
from baton.domain.errors import StoreUnavailable

KEYS = [{"PK": f"acme#{number}", "SK": "THREAD"} for number in range(6)]


class Throttled:
    """The operation of a DynamoDB client that answers for as many keys as the script says, at each call."""

    def __init__(self, *answered: int) -> None:
        self._answered = list(answered)
        self.pauses: list[float] = []

    @property
    def table(self) -> Table:
        return Table(cast("Any", self), "table", sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - AWS's own name
        keys = RequestItems["table"]["Keys"]
        count = self._answered.pop(0)
        remaining = {"table": {"Keys": keys[count:]}} if keys[count:] else {}
        return {"Responses": {"table": keys[:count]}, "UnprocessedKeys": remaining}


async def test_what_was_left_undone_is_asked_for_again_ever_more_slowly() -> None:
    client = Throttled(2, 0, 0, 1, 3)
    assert await client.table.get_many(KEYS) == KEYS
    assert client.pauses[0] < client.pauses[1] < client.pauses[2]
    assert client.pauses[3] == client.pauses[0] > 0


async def test_a_table_that_answers_at_once_is_not_waited_for() -> None:
    client = Throttled(6)
    await client.table.get_many(KEYS)
    assert client.pauses == []


async def test_an_item_that_an_index_lists_twice_is_asked_for_once() -> None:
    entries = [{**key, "idle_check_at": number} for number, key in enumerate([KEYS[0], KEYS[1], KEYS[0]])]
    assert await Throttled(2).table.get_listed(entries) == KEYS[:2]


async def test_a_table_that_does_nothing_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        await Throttled(1, *[0] * MAX_IN_VAIN).table.get_many(KEYS)


class Cancelling:
    """The operation of a DynamoDB client that cancels a transaction for the reasons that the script says."""

    def __init__(self, *reasons: list[str]) -> None:
        self._reasons = list(reasons)
        self.pauses: list[float] = []

    @property
    def table(self) -> Table:
        return Table(cast("Any", self), "table", sleep=self._sleep)

    @property
    def remaining_failures(self) -> int:
        return len(self._reasons)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def transact_write_items(self, TransactItems: list[Any]) -> dict[str, Any]:  # noqa: N803 - AWS's own name
        assert TransactItems
        if not self._reasons:
            return {}
        reasons = [{"Code": code} for code in self._reasons.pop(0)]
        error: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}
        raise ClientError(error, "TransactWriteItems")


A_WRITE = Write.put({"PK": "acme#1", "SK": "THREAD"}, condition="attribute_not_exists(PK)")


async def test_a_transaction_that_only_meets_others_is_repeated_after_pauses() -> None:
    client = Cancelling(["TransactionConflict", "None"], ["None", "TransactionConflict"])
    await client.table.transact(A_WRITE, A_WRITE)
    assert (client.remaining_failures, len(client.pauses)) == (0, 2)


@pytest.mark.parametrize(
    "reasons", [["ConditionalCheckFailed"], ["TransactionConflict", "ConditionalCheckFailed"], ["ValidationError"], []]
)
async def test_a_transaction_that_fails_for_another_reason_is_not_repeated(reasons: list[str]) -> None:
    client = Cancelling(reasons)
    with pytest.raises(TransactionFailed):
        await client.table.transact(A_WRITE)
    assert client.pauses == []


async def test_a_transaction_is_not_repeated_for_ever() -> None:
    client = Cancelling(*[["TransactionConflict"]] * 100)
    with pytest.raises(TransactionFailed):
        await client.table.transact(A_WRITE)
    assert client.remaining_failures == 100 - MAX_CONFLICTS


async def test_a_transaction_that_its_partition_has_no_room_for_is_repeated_ever_more_slowly() -> None:
    client = Cancelling(["ThrottlingError"], ["None", "ProvisionedThroughputExceeded"], ["TransactionConflict", "None"])
    await client.table.transact(A_WRITE, A_WRITE)
    assert (client.remaining_failures, len(client.pauses)) == (0, 3)


async def test_a_partition_that_has_no_room_for_long_is_unavailable() -> None:
    client = Cancelling(*[["ThrottlingError"]] * 100)
    with pytest.raises(StoreUnavailable):
        await client.table.transact(A_WRITE)
    assert client.remaining_failures == 100 - MAX_CONFLICTS
