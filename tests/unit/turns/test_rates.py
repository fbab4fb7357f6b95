"""Runs, messages and tokens over a limit are refused before anything is stored, and can be sent again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton.domain.errors import CountsBusy, RateLimited, ThreadUnavailable
from baton.domain.tenants.activity import Activity, Counter, CounterKind
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.tenant_limits import DeploymentLimits, TenantLimits
from baton.domain.threads.queued import RecordDelivery
from baton.ports.tenants.tenants import Change, CountsTooLarge
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.sockets import Socketed

ANOTHER = "5c2f3a7e-6d55-4b62-9f0e-3a1c2f7f9f10"
A_THIRD = "9a1f0f5e-1f0a-4b7e-8a55-0d7b1c9e4f10"


def harness_with(**limits: Any) -> Harness:
    harness = Harness()
    harness.deployment_limits = DeploymentLimits(**limits)
    return harness


async def test_a_refused_message_is_not_stored_and_is_accepted_after_the_window_with_the_same_id() -> None:
    harness = harness_with(user_messages_per_minute=1)
    await harness.say("m1")
    before = await harness.store.get_thread(harness.ada, harness.thread_id)
    with pytest.raises(RateLimited) as refused:
        await harness.say("m2")
    after = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (after.next_ordinal, after.last_seq, after.run) == (before.next_ordinal, before.last_seq, None)
    assert await harness.store.get_turn(harness.ada, harness.thread_id, "m2") is None
    harness.clock.advance(refused.value.retry_after or 0)
    assert (await harness.say("m2")).types[-1] == "RUN_FINISHED"


async def test_a_message_over_the_rate_is_refused_without_a_look_at_other_conversations() -> None:
    harness = harness_with(messages_per_minute=1, runs_at_once=9)
    await harness.say("m1")

    async def read(*_: object) -> Any:
        raise AssertionError("threads were read")

    harness.activity.threads = read
    with pytest.raises(RateLimited):
        await harness.say("m2", thread_id=ANOTHER)


async def test_a_refused_message_begins_no_conversation() -> None:
    harness = harness_with(messages_per_minute=0)
    with pytest.raises(RateLimited):
        await harness.say("m1")
    with pytest.raises(ThreadUnavailable):
        await harness.store.get_thread(harness.ada, harness.thread_id)


async def test_a_message_that_was_answered_is_never_limited() -> None:
    harness = harness_with(user_messages_per_minute=1)
    first = await harness.say("m1")
    again = await harness.say("m1")
    assert again.text == first.text
    assert len(harness.model.requests) == 1


async def test_a_run_in_progress_takes_a_place_until_it_ends() -> None:
    harness = harness_with(runs_at_once=1)
    goes_on = asyncio.Event()
    harness.model.script(Answer(("Hello there.",), gate=goes_on))
    running = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    with pytest.raises(RateLimited) as refused:
        await harness.say("m2", thread_id=ANOTHER)
    assert 1 <= (refused.value.retry_after or 0) <= 30
    others = await harness.say("m3", scope=Scope("other", "ada"), thread_id=A_THIRD)
    assert others.types[-1] == "RUN_FINISHED"
    goes_on.set()
    await running
    assert (await harness.say("m2", thread_id=ANOTHER)).types[-1] == "RUN_FINISHED"


async def test_the_next_message_of_a_conversation_waits_for_its_turn_and_is_not_refused() -> None:
    harness = harness_with(runs_at_once=1)
    goes_on = asyncio.Event()
    harness.model.script(Answer(("Hello there.",), gate=goes_on))
    running = [asyncio.ensure_future(harness.say("m1"))]
    await harness.wait_for_requests()
    running.append(asyncio.ensure_future(harness.say("m2")))
    await asyncio.sleep(1)
    goes_on.set()
    assert [exchange.types[-1] for exchange in await asyncio.gather(*running)] == ["RUN_FINISHED"] * 2


@pytest.mark.parametrize("message_id", ["m2", "m1"])
async def test_no_more_requests_over_http_wait_for_a_conversation_than_runs_are_allowed(message_id: str) -> None:
    harness = harness_with(user_runs_at_once=1)
    goes_on = asyncio.Event()
    harness.model.script(Answer(("Hello there.",), gate=goes_on))
    running = [asyncio.ensure_future(harness.say("m1"))]
    await harness.wait_for_requests()
    running.append(asyncio.ensure_future(harness.say(message_id)))
    while not any(counter.kind is CounterKind.WAITS for _, counter in harness.activity.counts):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    with pytest.raises(RateLimited, match="requests waiting for answers in progress"):
        await harness.say(message_id)
    goes_on.set()
    assert [exchange.types[-1] for exchange in await asyncio.gather(*running)] == ["RUN_FINISHED"] * 2
    assert not [
        count
        for (_, counter), count in harness.activity.counts.items()
        if counter.kind is CounterKind.WAITS and count.places
    ]


async def test_tokens_of_the_day_are_counted_with_the_next_message() -> None:
    harness = harness_with(user_tokens_per_day=1)
    await harness.say("m1")
    with pytest.raises(RateLimited) as refused:
        await harness.say("m2")
    assert refused.value.retry_after == 12 * 3600  # the clock stands at noon
    with pytest.raises(RateLimited):
        await harness.say("m3", thread_id=ANOTHER)
    await harness.say("m4", scope=Scope("acme", "bob"), thread_id=A_THIRD)
    harness.clock.advance(12 * 3600)
    assert (await harness.say("m2")).types[-1] == "RUN_FINISHED"


async def test_the_lower_of_the_tenants_and_the_deployments_limit_holds() -> None:
    harness = harness_with(messages_per_minute=2)
    await harness.tenant_limits.put(harness.ada, TenantLimits(messages_per_minute=1, revision=1))
    await harness.say("m1")
    with pytest.raises(RateLimited):
        await harness.say("m2")
    other = Scope("other", "ada")
    for number in range(2):
        await harness.say(f"m{number}", scope=other, thread_id=ANOTHER)
    with pytest.raises(RateLimited):
        await harness.say("m3", scope=other, thread_id=ANOTHER)


async def test_without_limits_nothing_is_counted_and_with_them_one_write_a_turn() -> None:
    unlimited, limited = harness_with(), harness_with(runs_at_once=9, user_tokens_per_day=10**6, connections=9)
    for harness in (unlimited, limited):
        for number in range(3):
            await harness.say(f"m{number}")
    assert (unlimited.activity.writes, limited.activity.writes) == (0, 3)


async def test_a_turn_whose_activity_cannot_be_stored_for_its_size_continues_uncounted() -> None:
    harness = harness_with(user_messages_per_minute=1)

    class Full:
        get, threads = harness.activity.get, harness.activity.threads

        async def change(self, *about: object, **fields: object) -> bool:
            raise CountsTooLarge

    harness.activity = Full()
    for message_id in ("m1", "m2"):
        assert (await harness.say(message_id)).types[-1] == "RUN_FINISHED"


async def test_over_a_websocket_the_refusal_is_a_run_error_with_the_time_to_wait() -> None:
    harness = harness_with(user_messages_per_minute=1)
    socketed = Socketed(harness)
    for message_id in ("m1", "m2"):
        await socketed.send("message", messageId=message_id, content="Hello")
        await socketed.run_queue()
    refusal = socketed.take_events()[-1]
    assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "rate_limited")
    about = refusal["metadata"]
    assert (about["messageId"], about["action"], about["retryable"], about["retryAfter"]) == ("m2", "message", True, 60)
    harness.clock.advance(60)
    await socketed.send("message", messageId="m2", content="Hello")
    await socketed.run_queue()
    assert socketed.take_events()[-1]["type"] == "RUN_FINISHED"


class BusyCounts:
    """The harness's counts, which others change at each attempt while ``is_busy``."""

    def __init__(self, harness: Harness) -> None:
        self.is_busy = True
        self._counts = harness.activity
        self.get, self.threads = harness.activity.get, harness.activity.threads

    async def change(self, scope: Scope, counter: Counter, change: Change, *, known: Activity | None = None) -> bool:
        if not self.is_busy:
            return await self._counts.change(scope, counter, change, known=known)
        await change(await self.get(scope, counter))
        return False


async def test_a_queued_message_that_cannot_be_counted_stays_in_the_queue_and_is_not_refused() -> None:
    harness = harness_with(user_runs_at_once=9)
    counts = harness.activity = BusyCounts(harness)
    socketed = Socketed(harness)
    await socketed.send("message", messageId="m1", content="Hello")
    body = harness.queue.sent[-1][1].model_dump_json(by_alias=True)
    with pytest.raises(CountsBusy):  # so that the queue delivers it again
        await harness.app.queued_turns.run(body, "", RecordDelivery("r", 1), seconds=20)
    assert [event["type"] for event in socketed.take_events()] == ["CUSTOM"]
    counts.is_busy = False
    await harness.app.queued_turns.run(body, "", RecordDelivery("r", 2), seconds=20)
    assert socketed.take_events()[-1]["type"] == "RUN_FINISHED"


async def test_finished_work_whose_tokens_cannot_be_counted_keeps_its_result() -> None:
    harness = harness_with(user_tokens_per_day=100)
    harness.activity = BusyCounts(harness)
    await harness.app.limits.runs.spend(harness.ada, 10)


async def test_another_attempt_at_a_run_is_not_refused_when_it_cannot_be_counted() -> None:
    harness = harness_with(user_runs_at_once=9)
    counts = harness.activity = BusyCounts(harness)
    counts.is_busy = False
    harness.model.script(Answer(("Hello there.",), gate=asyncio.Event()))
    running = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    running.cancel()  # as when its worker dies
    await asyncio.wait([running])
    counts.is_busy = True
    assert (await harness.say("m1")).types[-1] == "RUN_FINISHED"
