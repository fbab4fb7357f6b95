"""Events of a run reach the client while its lease is sure, all of them, and none once it is lost."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ag_ui.core import BaseEvent

from baton.agents.attempt_context import Attempt
from baton.domain.errors import LeaseLost
from baton.domain.threads.events import Event, RunStamp, make_text_content
from baton.ports.threads.leases import Lease
from baton.threads.outbox.delivery import Delivery
from baton.threads.outbox.event_log import EventLog
from baton.threads.outbox.outbox import Outbox
from baton.turns.lease_keeper import LeaseHolder, LeaseKeeper
from baton_testing.fakes.threads.connections import FakeConnections
from tests.contracts.fake_stores import Stores, in_memory
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness

THREAD = "7d444840-9dc0-41d1-b245-5ffdce74fad2"


class Run:
    """A run under its lease, over stores in memory whose renewals take ``slow`` seconds, or fail."""

    def __init__(self, stores: Stores, lease: Lease) -> None:
        self.slow, self.failure = 0.0, cast("Exception | None", None)
        self.sent: list[Event] = []
        self.attempt = SimpleNamespace(
            run=SimpleNamespace(run_id="r1"), stop=asyncio.Event(), passed_on=asyncio.Event()
        )
        self._renew = stores.store.renew
        log = EventLog(stores.log, RunStamp(THREAD, "r1", 1), first_seq=1)
        delivery = Delivery(
            lease.scope,
            THREAD,
            live=stores.live,
            connections=FakeConnections(),
            clock=stores.clock,
            lease_until=lambda: stores.clock.now() + timedelta(hours=1),
        )
        self.outbox = Outbox(log, delivery, self.sent.append)
        self.holder = LeaseHolder(cast("Any", SimpleNamespace(renew=self._slow_renew)), lease, stores.clock)
        self.keeper = LeaseKeeper(self.holder, self.outbox, cast("Attempt", self.attempt))

    async def _slow_renew(self, *args: Any, **kwargs: Any) -> Lease:
        await asyncio.sleep(self.slow)
        if self.failure is not None:
            raise self.failure
        return await self._renew(*args, **kwargs)

    def send(self, text: str) -> None:
        self.keeper.send(piece(text))

    @property
    def texts(self) -> list[str]:
        return [str(event.body["delta"]) for event in self.sent if "delta" in event.body]


def piece(text: str) -> BaseEvent:
    return make_text_content("m1", text)


async def make_leased_run() -> Run:
    stores = in_memory()
    return Run(stores, await stores.acquire(THREAD))


async def test_an_answer_that_ends_before_its_question_is_stored_is_sent_whole_by_a_slow_table() -> None:
    run = await make_leased_run()
    run.slow = 5.0
    async with run.keeper:
        run.send("Hello ")
        run.send("there.")
        await asyncio.sleep(14)  # the question's write, during which a renewal has begun
        run.keeper.open()
        await run.keeper.flush()
    assert run.texts == ["Hello ", "there."]


async def test_nothing_is_sent_after_the_lease_was_lost() -> None:
    run = await make_leased_run()
    run.keeper.open()

    async def lose() -> None:
        async with run.keeper:
            run.send("Hello ")
            run.failure = LeaseLost()
            try:
                await asyncio.sleep(60)
            finally:
                run.send("there.")

    with pytest.raises(LeaseLost):
        await lose()
    assert run.texts == ["Hello "]
    assert run.attempt.passed_on.is_set()


async def test_code_that_swallows_the_end_of_its_run_leaves_no_cancelled_task() -> None:
    run = await make_leased_run()
    run.keeper.open()
    run.failure = LeaseLost()

    async def swallow() -> None:
        async with run.keeper:
            with contextlib.suppress(asyncio.CancelledError):  # as a prompt function with `except BaseException` does
                await asyncio.sleep(60)

    with pytest.raises(LeaseLost):
        await swallow()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("slow", ["refresh", "renew"])
@pytest.mark.parametrize("seconds", [4.5, 5.0, 9.5, 10.5])
async def test_an_answer_is_seen_whatever_a_slow_table_does_last(
    slow: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question is stored after the answer has been written, while the keeper of the lease waits for the table."""
    harness = Harness()
    harness.model.script(Answer(("Hello ", "there.")))

    def delay(store: object, operation: str, wait: float) -> None:
        method = getattr(store, operation)

        async def call_later(*args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(wait)
            return await method(*args, **kwargs)

        monkeypatch.setattr(store, operation, call_later)

    delay(harness.store, "put_message", seconds)
    delay(harness.store if slow == "renew" else harness.live, "renew" if slow == "renew" else "live", 5.5)
    turn = await harness.say()
    assert turn.text == "Hello there."
