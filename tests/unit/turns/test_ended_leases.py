"""Whatever fails once a lease is taken, nobody has to wait until it runs out."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from baton.domain.errors import BatonError, BranchUnavailable, StoreUnavailable, ThreadLed
from baton.domain.threads.thread import EndReason
from baton.ports.threads.leases import LeaseRequest
from baton.threads.leases import holding
from baton.turns.branch_points import BranchPoints
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness
from tests.harness.harness import Harness
from tests.harness.sessions import close

STORES = ("store", "log", "live", "records", "handoffs", "workflows", "episodes", "audit", "time_zones", "closings")


class Faults:
    """The count of calls of all stores since the lease was taken. One of them fails."""

    def __init__(self, harness: Harness, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
        self.failed: str | None = None
        self._failing = failing
        self._calls = -1
        for name in STORES:
            store = getattr(harness, name)
            for operation, _ in inspect.getmembers(type(store), inspect.iscoroutinefunction):
                if not operation.startswith("_"):
                    monkeypatch.setattr(store, operation, self._count_calls(operation, getattr(store, operation)))

    def _count_calls(self, operation: str, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if operation == "acquire":
                result = await method(*args, **kwargs)
                self._calls = max(self._calls, 0)
                return result
            if self._calls >= 0 and operation != "abandon":  # a store that fails for longer leaves the lease
                self._calls += 1
                if self._calls == self._failing:
                    self.failed = operation
                    raise StoreUnavailable
            return await method(*args, **kwargs)

        return call


async def test_a_refusal_is_repeated_if_the_lease_cannot_be_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = Harness()
    await harness.say("m1")
    lease = await harness.store.acquire(harness.ada, LeaseRequest(harness.thread_id))

    async def fail(*_: Any) -> None:
        raise StoreUnavailable

    monkeypatch.setattr(harness.store, "release", fail)
    with pytest.raises(StoreUnavailable):
        async with holding(harness.store, lease, refusals=(ThreadLed,)):
            raise ThreadLed


async def say(harness: Harness) -> None:
    await harness.say("m9", "Hello again")


async def end(harness: Harness) -> None:
    await close(harness)


async def end_again(harness: Harness) -> None:
    """A late request to close a session that has ended."""
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=0, episode=0)


async def time_out(harness: Harness) -> None:
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    await harness.app.sessions.endings.end_idle(harness.ada, thread)


async def time_out_too_late(harness: Harness) -> None:
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    await harness.app.sessions.endings.end_idle(harness.ada, replace(thread, next_ordinal=thread.next_ordinal - 1))


async def take_over(harness: Harness) -> None:
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)


async def select(harness: Harness) -> None:
    await harness.app.branch_selection.select(harness.ada, harness.thread_id, "b2")


async def answer_again(harness: Harness) -> None:
    await harness.say("m8", branch={"from": "m1", "regenerate": True})


OPERATIONS = [say, end, end_again, time_out, time_out_too_late, take_over, select, answer_again]


async def hold_conversation(*, orphaned: bool) -> Harness:
    """A conversation with two branches; ``orphaned``: the worker of its last run has died."""
    harness = HandoffHarness()
    await harness.say("m1", "First")
    await harness.say("m2", "Second")
    await harness.say("m3", "Other", branch={"from": "m2"})
    if orphaned:
        harness.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1))
        requests_before = len(harness.model.requests)
        dead = asyncio.ensure_future(harness.say("m4"))
        await harness.wait_for_requests(requests_before + 1)
        dead.cancel()
        await asyncio.wait([dead])
    return harness


@pytest.mark.parametrize("orphaned", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["free", "orphaned"])
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_store_that_fails_once_leaves_no_lease(
    operation: Callable[[Harness], Awaitable[None]], orphaned: bool
) -> None:
    failing = 0
    while True:
        failing += 1
        harness = await hold_conversation(orphaned=orphaned)
        with pytest.MonkeyPatch.context() as monkeypatch:
            faults = Faults(harness, monkeypatch, failing)
            with contextlib.suppress(BatonError):
                await operation(harness)
        # Raises LeaseBusy if anybody seems to hold the lease.
        lease = await harness.store.acquire(harness.ada, LeaseRequest(harness.thread_id))
        await harness.store.abandon(lease)
        if faults.failed is None:
            break
    assert failing > 1 or orphaned, "the operation has asked no store"


@pytest.mark.parametrize("operation", [say, end, take_over])
async def test_a_dead_run_whose_branch_cannot_be_opened_any_more_is_left(
    operation: Callable[[Harness], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> None:
        raise BranchUnavailable

    harness = HandoffHarness()
    await harness.say("m1", "First")
    harness.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1))
    dead = asyncio.ensure_future(harness.say("m2", "Other", branch={"from": "m1"}))
    await harness.wait_for_requests(2)
    dead.cancel()
    await asyncio.wait([dead])
    monkeypatch.setattr(BranchPoints, "open_branch", refuse)

    await operation(harness)

    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.run is None
    messages = harness.store.committed(harness.ada.tenant_id, harness.thread_id)
    assert [message.id for message in messages if message.is_question] == ["m1", *(["m9"] if operation is say else [])]
