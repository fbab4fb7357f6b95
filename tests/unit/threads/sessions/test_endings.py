"""Ends of sessions: by the user, or by the agent's decision; and their results."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from baton.domain.errors import StoreUnavailable
from baton.domain.memory.episode import EpisodeStatus, derive_episode_id
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.thread import EndReason, ThreadStatus
from baton.ports.threads.connections import ConnectionBusy
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness
from tests.harness.sessions import close, make_episode

GOODBYE = ToolCall("call-1", "end_conversation", '{"reason": "The user said goodbye."}')


@pytest.fixture
def harness() -> Harness:
    return Harness()


async def test_closing_ends_the_session_and_starts_its_pipeline(harness: Harness) -> None:
    await harness.say()
    closed = await close(harness)
    assert closed == derive_episode_id(harness.thread_id, 1)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.status is ThreadStatus.CLOSED
    assert [ref.id for ref in harness.closings.started.values()] == [closed]


async def test_closing_again_gives_the_same_answer_and_starts_nothing(harness: Harness) -> None:
    await harness.say()
    assert await close(harness) == await close(harness)
    assert len(harness.closings.started) == 1


async def die_after_closing(harness: Harness) -> None:
    """Close the thread with a worker that dies before it audits the closing or starts the pipeline."""

    async def never(*args: Any, **details: Any) -> None:
        await asyncio.Event().wait()

    with pytest.MonkeyPatch.context() as hanging:
        hanging.setattr(harness.audit, "record", never)
        closing = asyncio.ensure_future(close(harness))
        await asyncio.sleep(1)
        closing.cancel()
        await asyncio.wait([closing])
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).status is ThreadStatus.CLOSED
    assert harness.closings.started == {}
    assert harness.audit.records == []


async def test_the_pipeline_does_not_wait_for_a_slow_connection(harness: Harness) -> None:
    await harness.say(subscriber=harness.subscriber("tab"))
    harness.connections.script("tab", *[ConnectionBusy()] * 1000)
    closing = asyncio.ensure_future(close(harness))
    await asyncio.sleep(0.1)
    assert not closing.done()
    assert len(harness.closings.started) == 1
    await closing


async def test_a_closing_that_comes_again_makes_up_for_a_worker_that_died(harness: Harness) -> None:
    await harness.say(subscriber=harness.subscriber("tab"))
    await die_after_closing(harness)
    for _ in range(2):
        harness.clock.advance(45)
        closed = await harness.closer.close(
            harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5, episode=1
        )
        assert [ref.id for ref in harness.closings.started.values()] == [closed.episode_id]
        assert [(r.action, r.outcome, r.detail["episodeId"]) for r in harness.audit.records] == [
            ("thread.close", "closed", closed.episode_id)
        ]


async def test_a_closing_that_comes_again_after_a_new_beginning_still_makes_up_for_it(harness: Harness) -> None:
    await harness.say(subscriber=harness.subscriber("tab"))
    await die_after_closing(harness)
    await harness.say("m2")
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5, episode=1)
    assert [ref.number for ref in harness.closings.started.values()] == [1]
    assert [r.detail["episodeId"] for r in harness.audit.records] == [derive_episode_id(harness.thread_id, 1)]
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).status is ThreadStatus.ACTIVE


async def test_what_nobody_delivers_again_the_sweeper_makes_up_for(harness: Harness) -> None:
    await harness.say(subscriber=harness.subscriber("tab"))
    await die_after_closing(harness)
    harness.clock.advance(6 * 60)
    await harness.sweeper.sweep(seconds=5)
    await close(harness)
    assert {ref.number for ref in harness.closings.started.values()} == {1}
    assert [(r.action, r.outcome) for r in harness.audit.records] == [("thread.close", "closed")]


async def test_a_closing_that_fails_keeps_nobody_waiting(harness: Harness) -> None:
    await harness.say()
    harness.episodes.is_down = True
    with pytest.raises(StoreUnavailable):
        await close(harness)
    harness.episodes.is_down = False
    assert (await harness.say("m2", patience=0)).last["outcome"] == {"type": "success"}
    assert await close(harness) == derive_episode_id(harness.thread_id, 1)


async def test_everybody_watching_learns_that_the_thread_is_closed(harness: Harness) -> None:
    turn = await harness.say(subscriber=harness.subscriber("tab"))
    closed = await close(harness)
    event = harness.connections.events("tab")[-1]
    assert (event["name"], event["value"]) == ("thread_closed", {"reason": "UserClosed", "episodeId": closed})
    assert event["metadata"]["seq"] == (turn.seqs[-1] or 0) + 1
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    replay = await harness.replays.replay_after(harness.ada, thread, turn.seqs[-1] or 0)
    assert [e.body for e in replay.events] == [event]


async def test_a_message_reopens_a_closed_thread_and_begins_the_next_session(harness: Harness) -> None:
    await harness.say("m1", "I am Ada")
    await close(harness)
    turn = await harness.say("m2", "Who am I?")
    assert ("user", "I am Ada") in harness.model.requests[1].contents
    assert turn.events[1].body["snapshot"]["status"] == "active"
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.status, thread.episode) == (ThreadStatus.ACTIVE, 2)
    assert await close(harness) == derive_episode_id(harness.thread_id, 2)


async def test_closing_waits_for_the_run_in_progress(harness: Harness) -> None:
    gate = asyncio.Event()
    harness.model.script(Answer(("slow",), gate=gate, gate_at=0))
    running = asyncio.ensure_future(harness.say())
    await harness.wait_for_requests()
    closing = asyncio.ensure_future(close(harness))
    await asyncio.sleep(0.05)
    assert not closing.done()
    gate.set()
    await running
    assert await closing == derive_episode_id(harness.thread_id, 1)


async def test_an_episode_holds_what_was_said_since_the_last_end(harness: Harness) -> None:
    for number in (1, 2):
        for turn in range(number):
            await harness.say(f"m{number}-{turn}")
        await close(harness)
        episode = await make_episode(harness, number)
        assert (episode.status, episode.message_count) == (EpisodeStatus.COMPLETE, 2 * number)
        assert replace(await make_episode(harness, number), attempts=1) == episode


# The agent's decision


async def test_an_agent_ends_the_conversation_with_its_answer(harness: Harness) -> None:
    harness.model.script(Answer.calling(GOODBYE, text="Goodbye, Ada!"))
    turn = await harness.say(content="bye")
    assert turn.types[-3:] == ["TEXT_MESSAGE_END", "CUSTOM", "RUN_FINISHED"]
    closed = turn.events[-2].body
    assert closed["value"] == {"reason": "AgentClosed", "episodeId": derive_episode_id(harness.thread_id, 1)}
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.status is ThreadStatus.CLOSED
    assert len(harness.model.requests) == 1


async def test_a_model_that_only_calls_is_asked_again_for_its_goodbye(harness: Harness) -> None:
    harness.model.script(Answer.calling(GOODBYE), "Take care!")
    turn = await harness.say(content="bye")
    assert turn.text == "Take care!"
    assert [role for role, _ in harness.model.requests[1].contents][-2:] == ["assistant", "tool"]


@pytest.mark.parametrize("bad", [ToolCall("c", "launch", "{}"), ToolCall("c", "end_conversation", "{")])
async def test_a_call_that_makes_no_sense_goes_back_to_the_model(harness: Harness, bad: ToolCall) -> None:
    harness.model.script(Answer.calling(bad), "Never mind.")
    turn = await harness.say()
    assert (turn.text, turn.last["outcome"]) == ("Never mind.", {"type": "success"})
    assert str(harness.model.requests[1].contents[-1][1]).startswith("Error")
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).status is ThreadStatus.ACTIVE
