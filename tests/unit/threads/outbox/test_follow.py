"""Following a thread's events by way of the log."""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing
from dataclasses import replace

import pytest

from baton.domain.threads.events import Event
from baton.domain.threads.thread import USUAL_TIMES
from baton.threads.outbox import event_log
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness


@pytest.fixture
def harness() -> Harness:
    return Harness()


async def follow(harness: Harness, *, seconds: float) -> list[Event]:
    events: list[Event] = []
    async for replay in harness.app.follower.follow(harness.ada, harness.thread_id, after=0, seconds=seconds):
        events += replay.events
    return events


async def leave_dead_worker(harness: Harness, successor: Answer | str = "taken over") -> None:
    harness.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1), successor)
    dead = asyncio.ensure_future(harness.say())
    await harness.wait_for_requests()
    dead.cancel()
    await asyncio.wait([dead])
    harness.clock.advance(60)


async def test_a_run_whose_worker_died_is_followed_through_its_takeover_to_its_end(harness: Harness) -> None:
    await leave_dead_worker(harness)
    following = asyncio.ensure_future(follow(harness, seconds=10))
    await asyncio.sleep(0.05)
    assert not following.done()
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    events = await following
    assert [event.type for event in events if event.body["metadata"]["attempt"] == 2][-1] == "RUN_FINISHED"
    assert "".join(e.body["delta"] for e in events if e.type == "TEXT_MESSAGE_CONTENT") == "taken over"


async def test_a_takeover_is_followed_before_its_model_says_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "MAX_SECONDS", math.inf)
    harness, gate = Harness(), asyncio.Event()
    await leave_dead_worker(harness, Answer(("taken over",), gate=gate))
    taking_over = asyncio.ensure_future(harness.turns.finish_interrupted(harness.ada, harness.thread_id))
    following = harness.app.follower.follow(harness.ada, harness.thread_id, after=0, seconds=10)
    async with aclosing(following):
        async for replay in following:
            if any(event.body["metadata"]["attempt"] == 2 for event in replay.events):
                break
    assert not gate.is_set()
    assert replay.events[0].type == "RUN_STARTED"
    gate.set()
    await taking_over


async def test_a_run_that_nobody_takes_over_is_followed_until_the_time_is_over(harness: Harness) -> None:
    await leave_dead_worker(harness)
    assert await follow(harness, seconds=0) == []


async def test_without_a_run_what_is_there_is_all_there_is(harness: Harness) -> None:
    turn = await harness.say()
    assert [event.body for event in await follow(harness, seconds=10)] == [event.body for event in turn.events]


async def test_a_reader_gets_text_while_it_comes_although_nothing_is_logged_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(event_log, "FIRST_PIECE_SECONDS", 0.01)
    monkeypatch.setattr(event_log, "MAX_SECONDS", math.inf)
    harness = Harness(lease_times=replace(USUAL_TIMES, refresh=0.02))
    for number, reads in enumerate((False, True)):
        gate = asyncio.Event()
        harness.model.script(Answer(("Hello ", "there."), gate=gate, gate_at=1))
        running = asyncio.ensure_future(harness.say(f"m{number}"))
        await harness.wait_for_requests(number + 1)
        if not reads:
            gate.set()
            await running
            continue
        thread = await harness.store.get_thread(harness.ada, harness.thread_id)
        read: list[Event] = []
        following = harness.app.follower.follow(harness.ada, thread.id, after=thread.last_seq, seconds=10)
        async with aclosing(following):
            async for replay in following:
                read += replay.events
                if any(event.type == "TEXT_MESSAGE_CONTENT" for event in replay.events):
                    gate.set()
        assert gate.is_set()
        assert [event.body for event in read] == [event.body for event in (await running).events]
    runs = {piece.run_id for piece in (await harness.log.read(harness.ada, harness.thread_id, after=0)).pieces}
    assert len(runs) == 1
