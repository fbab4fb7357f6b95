"""How a run is stopped, how a session ends, and what the sweeper does about those that just stop."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from baton.agents.approvals import Approvals
from baton.domain.episode import EndReason, EpisodeStatus, episode_id
from baton.domain.errors import StoreUnavailable, ThreadUnavailable, WorkflowUnavailable
from baton.domain.identity import Scope, ThreadRef, thread_ref
from baton.domain.message import MessageStatus
from baton.domain.thread import RunStatus, ThreadStatus
from baton.domain.tool_call import ToolCall
from baton.memory.context import STOPPED_NOTE
from baton.ports.connections import ConnectionBusy
from baton.turns.closing import EpisodeWriter
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness, Said

GOODBYE = ToolCall("call-1", "end_conversation", '{"reason": "The user said goodbye."}')


@pytest.fixture
def harness() -> Harness:
    return Harness()


async def close(harness: Harness, reason: EndReason = EndReason.USER_CLOSED) -> str | None:
    return (await harness.closer.close(harness.ada, harness.thread_id, reason, patience=5)).episode_id


async def cancelled_mid_answer(harness: Harness) -> Said:
    harness.model.script(Answer(("Half an ", "answer"), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(harness.say("m1"))
    await harness.model_is_asked()
    assert await harness.controls.cancel(harness.ada, harness.thread_id, None) is not None
    return await running


# Cancel


async def test_a_cancelled_run_stops_and_keeps_what_was_streamed(harness: Harness) -> None:
    said = await cancelled_mid_answer(harness)
    assert said.types[-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert said.last["outcome"] == {"type": "cancelled"}
    assert said.finished is not None
    assert said.finished.messages[-1].content == "Half an "
    assert said.finished.messages[-1].status is MessageStatus.CANCELLED
    assert harness.model.abandoned == 1


async def test_the_next_turn_sees_that_the_answer_was_stopped(harness: Harness) -> None:
    await cancelled_mid_answer(harness)
    await harness.say("m2")
    assert ("assistant", f"Half an \n{STOPPED_NOTE}") in harness.model.asked[1].contents


async def test_a_cancel_never_stops_the_next_turn(harness: Harness) -> None:
    await cancelled_mid_answer(harness)
    assert (await harness.say("m2")).last["outcome"] == {"type": "success"}


async def test_with_nothing_running_a_cancel_does_nothing(harness: Harness) -> None:
    await harness.say()
    assert await harness.controls.cancel(harness.ada, harness.thread_id, None) is None
    assert harness.audit.records == []


async def test_a_run_that_is_cancelled_while_it_waits_asks_no_model(harness: Harness) -> None:
    await harness.say("m1")
    await harness.controls.cancel(harness.ada, harness.thread_id, "run-2")
    said = await harness.say("m2", run_id="run-2")
    assert (said.types, said.last["outcome"]) == (
        ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_FINISHED"],
        {"type": "cancelled"},
    )
    assert len(harness.model.asked) == 1


async def test_a_repeat_of_a_cancelled_message_is_answered_by_the_same_cancelled_run(harness: Harness) -> None:
    first = await cancelled_mid_answer(harness)
    assert [e.body for e in (await harness.say("m1")).events] == [e.body for e in first.events]


async def test_what_nobody_has_begun_is_refused_and_nobody_is_denied_anything(harness: Harness) -> None:
    unused = str(uuid.uuid4())
    with pytest.raises(ThreadUnavailable):
        await harness.controls.cancel(harness.ada, unused, "run-1")
    with pytest.raises(ThreadUnavailable):
        await harness.controls.close(harness.ada, unused, request_id="r")
    with pytest.raises(ThreadUnavailable):
        await harness.controls.leaving(harness.ada, unused, request_id="r")
    with pytest.raises(WorkflowUnavailable):  # so it is in a foreign thread
        await harness.controls.continuing(harness.ada, ThreadRef(unused, may_create=False), str(uuid.uuid4()))
    with pytest.raises(ThreadUnavailable):
        await harness.closer.close(harness.ada, unused, EndReason.USER_CLOSED, patience=1)
    with pytest.raises(ThreadUnavailable):
        await harness.forks.fork(harness.ada, unused, agent_id="assistant")
    with pytest.raises(ThreadUnavailable):
        await harness.say(thread_id=str(uuid.uuid5(uuid.NAMESPACE_DNS, "never begun")))
    with pytest.raises(ThreadUnavailable):
        await Approvals(harness.store, harness.audit).owner(harness.ada, unused, [])
    actions = ["run.cancel", "thread.close", "thread.exit", "thread.continue", "thread.close", "thread.fork"]
    told = [(record.action, record.outcome) for record in harness.audit.records]
    assert told == [(action, "not_found") for action in (*actions, "thread.write", "tool.approve")]


async def test_a_foreign_id_that_begins_no_conversation_is_a_denial(harness: Harness) -> None:
    harness.thread_id = thread_ref(harness.ada, "booking-4711").id
    begun = harness.request(thread_id="booking-4711")
    await harness.turns.run(harness.ada, begun, lambda event: None, seconds=20)
    with pytest.raises(ThreadUnavailable):
        await harness.say("m2", scope=Scope("rivals", "ada"))
    assert [(r.action, r.outcome) for r in harness.audit.records] == [("thread.write", "denied")]


@pytest.mark.parametrize("stranger", [Scope("acme", "eve"), Scope("rivals", "ada")])
async def test_strangers_cancel_and_close_nothing(harness: Harness, stranger: Scope) -> None:
    await harness.say()
    with pytest.raises(ThreadUnavailable):
        await harness.controls.cancel(stranger, harness.thread_id, "run-1")
    with pytest.raises(ThreadUnavailable):
        await harness.controls.close(stranger, harness.thread_id, request_id="r")
    with pytest.raises(ThreadUnavailable):
        await harness.closer.close(stranger, harness.thread_id, EndReason.USER_CLOSED, patience=1)
    assert {r.outcome for r in harness.audit.records} == {"denied"}
    assert harness.queue.sent == []


# Close


async def test_closing_ends_the_session_and_starts_its_pipeline(harness: Harness) -> None:
    await harness.say()
    closed = await close(harness)
    assert closed == episode_id(harness.thread_id, 1)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.status is ThreadStatus.CLOSED
    assert [ref.id for ref in harness.closings.started.values()] == [closed]


async def test_closing_again_gives_the_same_answer_and_starts_nothing(harness: Harness) -> None:
    await harness.say()
    assert await close(harness) == await close(harness)
    assert len(harness.closings.started) == 1


async def died_after_closing(harness: Harness) -> None:
    """A worker closes the thread and dies before it can tell anybody."""
    harness.connections.script("tab", *[ConnectionBusy()] * 6)
    closing = asyncio.ensure_future(close(harness))
    async with asyncio.timeout(10):
        while (await harness.store.get_thread(harness.ada, harness.thread_id)).status is not ThreadStatus.CLOSED:  # noqa: ASYNC110 - the fake has no event
            await asyncio.sleep(0.01)
    closing.cancel()
    await asyncio.wait([closing])
    assert harness.closings.started == {}
    assert harness.audit.records == []


async def test_a_closing_that_comes_again_makes_up_for_a_worker_that_died(harness: Harness) -> None:
    await harness.say(subscriber=harness.subscriber("tab"))
    await died_after_closing(harness)
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
    await died_after_closing(harness)
    await harness.say("m2")
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.USER_CLOSED, patience=5, episode=1)
    assert [ref.number for ref in harness.closings.started.values()] == [1]
    assert [r.detail["episodeId"] for r in harness.audit.records] == [episode_id(harness.thread_id, 1)]
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).status is ThreadStatus.ACTIVE


async def test_what_nobody_delivers_again_the_sweeper_makes_up_for(harness: Harness) -> None:
    await harness.say(subscriber=harness.subscriber("tab"))
    await died_after_closing(harness)
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
    assert await close(harness) == episode_id(harness.thread_id, 1)


async def test_everybody_watching_is_told_that_the_thread_is_closed(harness: Harness) -> None:
    said = await harness.say(subscriber=harness.subscriber("tab"))
    closed = await close(harness)
    event = harness.connections.events("tab")[-1]
    assert (event["name"], event["value"]) == ("thread_closed", {"reason": "UserClosed", "episodeId": closed})
    assert event["metadata"]["seq"] == (said.seqs[-1] or 0) + 1
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    replay = await harness.replays.after(harness.ada, thread, said.seqs[-1] or 0)
    assert [e.body for e in replay.events] == [event]


async def test_a_message_reopens_a_closed_thread_and_begins_the_next_session(harness: Harness) -> None:
    await harness.say("m1", "I am Ada")
    await close(harness)
    said = await harness.say("m2", "Who am I?")
    assert ("user", "I am Ada") in harness.model.asked[1].contents
    assert said.events[1].body["snapshot"]["status"] == "active"
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.status, thread.episode) == (ThreadStatus.ACTIVE, 2)
    assert await close(harness) == episode_id(harness.thread_id, 2)


async def test_closing_waits_for_the_run_in_progress(harness: Harness) -> None:
    gate = asyncio.Event()
    harness.model.script(Answer(("slow",), gate=gate, gate_at=0))
    running = asyncio.ensure_future(harness.say())
    await harness.model_is_asked()
    closing = asyncio.ensure_future(close(harness))
    await asyncio.sleep(0.05)
    assert not closing.done()
    gate.set()
    await running
    assert await closing == episode_id(harness.thread_id, 1)


async def test_an_episode_holds_what_was_said_since_the_last_end(harness: Harness) -> None:
    writer = EpisodeWriter(harness.store, harness.episodes)
    for number in (1, 2):
        for turn in range(number):
            await harness.say(f"m{number}-{turn}")
        await close(harness)
        episode = await writer.write(harness.ada, harness.thread_id, number)
        assert (episode.status, episode.message_count) == (EpisodeStatus.COMPLETE, 2 * number)
        assert await writer.write(harness.ada, harness.thread_id, number) == episode


# The agent's decision


async def test_an_agent_ends_the_conversation_with_its_answer(harness: Harness) -> None:
    harness.model.script(Answer.calling(GOODBYE, text="Goodbye, Ada!"))
    said = await harness.say(content="bye")
    assert said.types[-3:] == ["TEXT_MESSAGE_END", "CUSTOM", "RUN_FINISHED"]
    closed = said.events[-2].body
    assert closed["value"] == {"reason": "AgentClosed", "episodeId": episode_id(harness.thread_id, 1)}
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.status is ThreadStatus.CLOSED
    assert len(harness.model.asked) == 1


async def test_a_model_that_only_calls_is_asked_again_for_its_goodbye(harness: Harness) -> None:
    harness.model.script(Answer.calling(GOODBYE), "Take care!")
    said = await harness.say(content="bye")
    assert said.text == "Take care!"
    assert [role for role, _ in harness.model.asked[1].contents][-2:] == ["assistant", "tool"]


@pytest.mark.parametrize("bad", [ToolCall("c", "launch", "{}"), ToolCall("c", "end_conversation", "{")])
async def test_a_call_that_makes_no_sense_goes_back_to_the_model(harness: Harness, bad: ToolCall) -> None:
    harness.model.script(Answer.calling(bad), "Never mind.")
    said = await harness.say()
    assert (said.text, said.last["outcome"]) == ("Never mind.", {"type": "success"})
    assert str(harness.model.asked[1].contents[-1][1]).startswith("Error")
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).status is ThreadStatus.ACTIVE


# The sweeper


async def test_an_idle_session_is_closed_by_timeout(harness: Harness) -> None:
    await harness.say(subscriber=harness.subscriber("tab"))
    harness.clock.advance(31 * 60)
    report = await harness.sweeper.sweep(seconds=5)
    assert report.closed == 1
    assert [ref.reason for ref in harness.closings.started.values()] == [EndReason.TIMEOUT]


async def test_a_session_that_went_on_is_looked_at_later(harness: Harness) -> None:
    await harness.say("m1")
    harness.clock.advance(20 * 60)
    await harness.say("m2")
    harness.clock.advance(11 * 60)
    report = await harness.sweeper.sweep(seconds=5)
    assert (report.closed, report.postponed) == (0, 1)
    harness.clock.advance(20 * 60)
    assert (await harness.sweeper.sweep(seconds=5)).closed == 1


async def test_a_message_that_comes_while_the_sweeper_looks_keeps_the_session(harness: Harness) -> None:
    await harness.say("m1")
    harness.clock.advance(31 * 60)
    harness.idle.seen = lambda: harness.say("m2")
    report = await harness.sweeper.sweep(seconds=5)
    assert (report.closed, report.postponed) == (0, 1)
    assert (await harness.store.get_thread(harness.ada, harness.thread_id)).status is ThreadStatus.ACTIVE
    assert (await harness.say("m3", patience=0)).seqs[0] == 13


async def test_a_run_that_dies_while_the_sweeper_looks_stays_to_be_taken_over(harness: Harness) -> None:
    async def die() -> None:
        harness.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1))
        dead = asyncio.ensure_future(harness.say("m2"))
        await harness.model_is_asked(2)
        dead.cancel()
        await asyncio.wait([dead])

    await harness.say("m1")
    harness.clock.advance(31 * 60)
    harness.idle.seen = die
    assert (await harness.sweeper.sweep(seconds=5)).postponed == 1
    harness.idle.seen = None
    harness.clock.advance(60)
    assert (await harness.sweeper.sweep(seconds=5)).resumed == 1
    assert [queued.action for _, queued in harness.queue.sent] == ["takeover"]


async def test_sweeps_at_the_same_time_close_a_session_once(harness: Harness) -> None:
    await harness.say()
    harness.clock.advance(31 * 60)
    await asyncio.gather(*(harness.sweeper.sweep(seconds=5) for _ in range(4)))
    assert len(harness.closings.started) == 1
    closed = [r for r in harness.audit.records if r.outcome == "closed"]
    assert len(closed) == 1


async def test_a_thread_that_cannot_be_swept_is_counted_and_hinders_no_other(harness: Harness) -> None:
    await harness.say()
    await close(harness)
    await harness.say("m1", thread_id=str(uuid.uuid4()))
    harness.clock.advance(31 * 60)
    harness.closings.failure = RuntimeError("no such state machine")
    report = await harness.sweeper.sweep(seconds=5)
    assert (report.looked_at, report.closed, report.failed) == (2, 1, 1)


async def test_a_sweep_queues_the_run_of_a_dead_worker(harness: Harness) -> None:
    harness.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1), "taken over")
    dead = asyncio.ensure_future(harness.say())
    await harness.model_is_asked()
    dead.cancel()
    await asyncio.wait([dead])
    harness.clock.advance(31 * 60)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.run is not None
    assert thread.run.status is RunStatus.INTERRUPTED
    assert (await harness.sweeper.sweep(seconds=5)).resumed == 1
    assert [queued.action for _, queued in harness.queue.sent] == ["takeover"]
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.run, thread.next_ordinal) == (None, 2)


async def test_a_closing_that_got_stuck_is_started_again(harness: Harness) -> None:
    await harness.say()
    await close(harness)
    harness.clock.advance(6 * 60)
    await harness.sweeper.sweep(seconds=5)
    assert sorted(attempt for _, attempt in harness.closings.started) == [1, 3]


async def test_a_settled_thread_is_not_looked_at_any_more(harness: Harness) -> None:
    await harness.say()
    await close(harness)
    await EpisodeWriter(harness.store, harness.episodes).write(harness.ada, harness.thread_id, 1)
    harness.clock.advance(3600)
    assert (await harness.sweeper.sweep(seconds=5)).looked_at == 0


async def test_the_end_of_a_run_is_in_no_log_before_the_commit(harness: Harness) -> None:
    harness.model.script("long " * 100_000)
    said = await harness.say()
    assert said.types[-1] == "RUN_FINISHED"
    pieces = await harness.log.read(harness.ada, harness.thread_id, after=0)
    logged = [event["type"] for piece in pieces for event in piece.events]
    assert "TEXT_MESSAGE_CONTENT" in logged
    assert "RUN_FINISHED" not in logged
