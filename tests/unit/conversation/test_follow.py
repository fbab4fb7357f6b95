"""Following a thread's events by way of the log."""

from __future__ import annotations

import asyncio

import pytest

from baton.conversation.follow import Follower
from baton.domain.events import Event
from tests.fakes.chat_model import Answer
from tests.unit.conversation.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def followed(stage: Stage, *, seconds: float) -> list[Event]:
    follower = Follower(stage.store, stage.live, stage.replays)
    events: list[Event] = []
    async for replay in follower.follow(stage.ada, stage.thread_id, after=0, seconds=seconds):
        events += replay.events
    return events


async def left_by_a_dead_worker(stage: Stage) -> None:
    stage.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1), "taken over")
    dead = asyncio.ensure_future(stage.say())
    await stage.model_is_asked()
    dead.cancel()
    await asyncio.wait([dead])
    stage.clock.advance(60)


async def test_a_run_whose_worker_died_is_followed_through_its_takeover_to_its_end(stage: Stage) -> None:
    await left_by_a_dead_worker(stage)
    following = asyncio.ensure_future(followed(stage, seconds=10))
    await asyncio.sleep(0.05)
    assert not following.done()
    await stage.turns.finish_interrupted(stage.ada, stage.thread_id)
    events = await following
    assert [event.type for event in events if event.body["metadata"]["attempt"] == 2][-1] == "RUN_FINISHED"
    assert "".join(e.body["delta"] for e in events if e.type == "TEXT_MESSAGE_CONTENT") == "taken over"


async def test_a_run_that_nobody_takes_over_is_followed_until_the_time_is_over(stage: Stage) -> None:
    await left_by_a_dead_worker(stage)
    assert await followed(stage, seconds=0) == []


async def test_without_a_run_what_is_there_is_all_there_is(stage: Stage) -> None:
    said = await stage.say()
    assert [event.body for event in await followed(stage, seconds=10)] == [event.body for event in said.events]
