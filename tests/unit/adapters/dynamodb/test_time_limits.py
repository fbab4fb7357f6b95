"""A table that does not answer: known early enough for anybody who holds a lease, in time that only seems to pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest

from baton.adapters.aws import blocking_calls as aws
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.threads.live import DynamoLiveRegistry, DynamoStreamLog
from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from baton.agents.attempt_context import Attempt
from baton.domain.errors import StoreUnavailable
from baton.domain.threads.events import RunStamp, make_text_content
from baton.domain.threads.thread import USUAL_TIMES as TIMES
from baton.ports.threads.leases import Lease
from baton.threads.outbox.delivery import Delivery
from baton.threads.outbox.event_log import EventLog
from baton.threads.outbox.outbox import Outbox
from baton.turns.lease_keeper import LeaseHolder, LeaseKeeper
from baton_testing.fakes.threads.connections import FakeConnections
from tests.contracts.fake_stores import in_memory
from tests.virtual_time import DeterministicLoop

NEVER = 1e9
KEY = {"PK": "acme#t", "SK": "THREAD"}
SAFE_SECONDS = TIMES.lease - TIMES.margin
"""The time for which the holder of a lease may still speak."""

Ask = Callable[[Table], Coroutine[Any, Any, object]]


class Mute:
    """A DynamoDB client: what it is asked for takes effect when the loop says so, and succeeds."""

    def __getattr__(self, operation: str) -> Callable[..., dict[str, Any]]:
        return lambda **request: {"Items": [], "Attributes": {}, "Responses": {}, "UnprocessedKeys": {}}


def table() -> Table:
    return Table(cast("Any", Mute()), "table")


async def pages(of: Table) -> None:
    async for _ in of.query("acme#t"):
        pass


REQUESTS: dict[str, Ask] = {
    "get": lambda of: of.get(KEY),
    "put": lambda of: of.put({**KEY}),
    "update": lambda of: of.update(KEY, "SET x = :x", {":x": 1}, condition="x < :x"),
    "delete": lambda of: of.delete(KEY),
    "query": pages,
    "get many": lambda of: of.get_many([KEY]),
}


def measure_seconds_until_unavailable(
    ask: Callable[[], Coroutine[Any, Any, object]], answers_after: float = NEVER
) -> float:
    """The wait for an answer before the store counts as unavailable."""
    loop = DeterministicLoop(lambda: (answers_after, 0.0))
    try:
        with pytest.raises(StoreUnavailable):
            loop.run_until_complete(ask())
        return loop.time()
    finally:
        loop.close()


@pytest.mark.parametrize("ask", REQUESTS.values(), ids=REQUESTS)
def test_a_request_that_is_never_answered_fails_while_a_renewal_could_still_follow(ask: Ask) -> None:
    waited = measure_seconds_until_unavailable(lambda: ask(table()))
    # Renewals come every ten seconds: one may fall due right after another request has begun.
    assert 10 + waited + waited < SAFE_SECONDS


@pytest.mark.parametrize("ask", REQUESTS.values(), ids=REQUESTS)
def test_an_answer_in_time_is_taken(ask: Ask) -> None:
    loop = DeterministicLoop(lambda: (3.0, 0.0))
    loop.run_until_complete(ask(table()))
    assert loop.time() == pytest.approx(3.0)
    loop.close()


def test_a_process_that_stood_still_takes_the_answer_that_came_meanwhile() -> None:
    """A worker that is starved of its processor must not take its own absence for the table's."""

    async def wait_while_suspended() -> None:
        loop.call_later(0.1, loop.advance, 24.0)
        await table().get(KEY)

    loop = DeterministicLoop(lambda: (25.0, 0.0))
    loop.run_until_complete(wait_while_suspended())
    assert loop.time() == pytest.approx(25.0)
    loop.close()


def attempt(passed_on: asyncio.Event) -> Attempt:
    """The part of an attempt at a run that the keeper of its lease uses."""
    part = SimpleNamespace(run=SimpleNamespace(run_id="r1"), stop=asyncio.Event(), passed_on=passed_on)
    return cast("Attempt", part)


def make_lease() -> Lease:
    async def take() -> Lease:
        stores = in_memory()
        return replace(await stores.acquire("7d444840-9dc0-41d1-b245-5ffdce74fad2"), until=datetime.now(UTC))

    return asyncio.run(take())


@pytest.mark.parametrize("hears_nothing_after", [0.0, 9.9, 10.1, 19.9])
def test_a_run_whose_table_falls_silent_ends_before_its_lease_does(hears_nothing_after: float) -> None:
    lease, clock = make_lease(), in_memory().clock
    renewed: list[float] = []

    async def run() -> None:
        loop = cast("DeterministicLoop", asyncio.get_running_loop())
        loop.latency = lambda: (0.0, 0.0) if loop.time() < hears_nothing_after else (NEVER, 0.0)
        store = DynamoThreadStore(table(), cast("Any", None), clock)
        log = EventLog(DynamoStreamLog(table(), clock), RunStamp(lease.thread_id, "r1", 1), first_seq=1)
        delivery = Delivery(
            lease.scope,
            lease.thread_id,
            live=DynamoLiveRegistry(table(), clock),
            connections=FakeConnections(),
            clock=clock,
            lease_until=lambda: clock.now() + timedelta(hours=1),
        )

        class Noted(LeaseHolder):
            async def renew(self, used_seq: int) -> None:
                await super().renew(used_seq)
                renewed.append(loop.time())

        holder = Noted(store, lease, clock)
        async with LeaseKeeper(holder, Outbox(log, delivery, emit=lambda event: None), attempt(passed_on)):
            try:
                await asyncio.sleep(NEVER)
            finally:
                left_to_others.append(passed_on.is_set())

    loop, passed_on, left_to_others = DeterministicLoop(), asyncio.Event(), list[bool]()
    with pytest.raises(StoreUnavailable):
        loop.run_until_complete(run())
    assert left_to_others == [True], "remote agents go on working for whoever takes the run over"
    assert loop.time() - max(renewed, default=0.0) < SAFE_SECONDS
    loop.close()


def test_a_slow_table_does_not_keep_the_lease_from_being_renewed() -> None:
    """Every answer takes as long as one may: the renewal has its turn between any two of them."""
    lease, clock = make_lease(), in_memory().clock
    requests: list[tuple[float, str]] = []

    class Listed(Mute):
        def __getattr__(self, operation: str) -> Callable[..., dict[str, Any]]:
            def answer(**request: Any) -> dict[str, Any]:
                requests.append((loop.time(), operation))
                return super(Listed, self).__getattr__(operation)(**request)

            return answer

    async def run() -> None:
        slow = Table(cast("Any", Listed()), "table")
        log = EventLog(DynamoStreamLog(slow, clock), RunStamp(lease.thread_id, "r1", 1), first_seq=1)
        delivery = Delivery(
            lease.scope,
            lease.thread_id,
            live=DynamoLiveRegistry(slow, clock),
            connections=FakeConnections(),
            clock=clock,
            lease_until=lambda: clock.now() + timedelta(hours=1),
        )
        holder = LeaseHolder(DynamoThreadStore(slow, cast("Any", None), clock), lease, clock)
        async with LeaseKeeper(holder, Outbox(log, delivery, emit=lambda event: None), attempt(asyncio.Event())):
            for _ in range(100):
                log.number(make_text_content("m1", "a"))
                await asyncio.sleep(1)

    loop = DeterministicLoop(lambda: (0.0, 7.5))
    loop.run_until_complete(run())
    loop.close()
    renewals = [0.0, *(at for at, operation in requests if operation == "update_item")]
    assert len(renewals) > 4
    assert max(later + 7.5 - earlier for earlier, later in pairwise(renewals)) < SAFE_SECONDS


def test_the_clients_own_limits_leave_time_for_a_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    config = aws.create_client("dynamodb", config=aws.QUICK).meta.config
    one_try = config.connect_timeout + config.read_timeout
    longest_first_pause = 1.0  # botocore, "standard": a random part of 2 ** (tries - 1) seconds
    assert one_try + longest_first_pause + one_try <= table().seconds
    assert config.retries["total_max_attempts"] > 1
