"""How a run is stopped, how a session ends, and what the sweeper does about those that just stop."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from baton.conversation.approvals import Approvals
from baton.conversation.closing import EpisodeWriter
from baton.domain.episode import EndReason, EpisodeStatus, episode_id
from baton.domain.errors import StoreUnavailable, ThreadUnavailable, WorkflowUnavailable
from baton.domain.identity import Scope, ThreadRef, thread_ref
from baton.domain.message import MessageStatus
from baton.domain.thread import RunStatus, ThreadStatus
from baton.domain.tool_call import ToolCall
from baton.memory.context import STOPPED_NOTE
from baton.ports.connections import ConnectionBusy
from tests.fakes.chat_model import Answer
from tests.unit.conversation.stage import Said, Stage

GOODBYE = ToolCall("call-1", "end_conversation", '{"reason": "The user said goodbye."}')


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def close(stage: Stage, reason: EndReason = EndReason.USER_CLOSED) -> str | None:
    return (await stage.closer.close(stage.ada, stage.thread_id, reason, patience=5)).episode_id


async def cancelled_mid_answer(stage: Stage) -> Said:
    stage.model.script(Answer(("Half an ", "answer"), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(stage.say("m1"))
    await stage.model_is_asked()
    assert await stage.controls.cancel(stage.ada, stage.thread_id, None) is not None
    return await running


# Cancel


async def test_a_cancelled_run_stops_and_keeps_what_was_streamed(stage: Stage) -> None:
    said = await cancelled_mid_answer(stage)
    assert said.types[-2:] == ["TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert said.last["outcome"] == {"type": "cancelled"}
    assert said.finished is not None
    assert said.finished.messages[-1].content == "Half an "
    assert said.finished.messages[-1].status is MessageStatus.CANCELLED
    assert stage.model.abandoned == 1


async def test_the_next_turn_sees_that_the_answer_was_stopped(stage: Stage) -> None:
    await cancelled_mid_answer(stage)
    await stage.say("m2")
    assert ("assistant", f"Half an \n{STOPPED_NOTE}") in stage.model.asked[1].contents


async def test_a_cancel_never_stops_the_next_turn(stage: Stage) -> None:
    await cancelled_mid_answer(stage)
    assert (await stage.say("m2")).last["outcome"] == {"type": "success"}


async def test_with_nothing_running_a_cancel_does_nothing(stage: Stage) -> None:
    await stage.say()
    assert await stage.controls.cancel(stage.ada, stage.thread_id, None) is None
    assert stage.audit.records == []


async def test_a_run_that_is_cancelled_while_it_waits_asks_no_model(stage: Stage) -> None:
    await stage.say("m1")
    await stage.controls.cancel(stage.ada, stage.thread_id, "run-2")
    said = await stage.say("m2", run_id="run-2")
    assert (said.types, said.last["outcome"]) == (["RUN_STARTED", "RUN_FINISHED"], {"type": "cancelled"})
    assert len(stage.model.asked) == 1


async def test_a_repeat_of_a_cancelled_message_is_answered_by_the_same_cancelled_run(stage: Stage) -> None:
    first = await cancelled_mid_answer(stage)
    assert [e.body for e in (await stage.say("m1")).events] == [e.body for e in first.events]


async def test_what_nobody_has_begun_is_refused_and_nobody_is_denied_anything(stage: Stage) -> None:
    unused = str(uuid.uuid4())
    with pytest.raises(ThreadUnavailable):
        await stage.controls.cancel(stage.ada, unused, "run-1")
    with pytest.raises(ThreadUnavailable):
        await stage.controls.close(stage.ada, unused, request_id="r")
    with pytest.raises(ThreadUnavailable):
        await stage.controls.leaving(stage.ada, unused, request_id="r")
    with pytest.raises(WorkflowUnavailable):  # so it is in a foreign thread
        await stage.controls.continuing(stage.ada, ThreadRef(unused, may_create=False), str(uuid.uuid4()))
    with pytest.raises(ThreadUnavailable):
        await stage.closer.close(stage.ada, unused, EndReason.USER_CLOSED, patience=1)
    with pytest.raises(ThreadUnavailable):
        await stage.forks.fork(stage.ada, unused, agent_id="assistant")
    with pytest.raises(ThreadUnavailable):
        await stage.say(thread_id=str(uuid.uuid5(uuid.NAMESPACE_DNS, "never begun")))
    with pytest.raises(ThreadUnavailable):
        await Approvals(stage.store, stage.audit).owner(stage.ada, unused, [])
    actions = ["run.cancel", "thread.close", "thread.exit", "thread.continue", "thread.close", "thread.fork"]
    told = [(record.action, record.outcome) for record in stage.audit.records]
    assert told == [(action, "not_found") for action in (*actions, "thread.write", "tool.approve")]


async def test_a_foreign_id_that_begins_no_conversation_is_a_denial(stage: Stage) -> None:
    stage.thread_id = thread_ref(stage.ada, "booking-4711").id
    begun = stage.request(thread_id="booking-4711")
    await stage.turns.run(stage.ada, begun, lambda event: None, seconds=20)
    with pytest.raises(ThreadUnavailable):
        await stage.say("m2", scope=Scope("rivals", "ada"))
    assert [(r.action, r.outcome) for r in stage.audit.records] == [("thread.write", "denied")]


@pytest.mark.parametrize("stranger", [Scope("acme", "eve"), Scope("rivals", "ada")])
async def test_strangers_cancel_and_close_nothing(stage: Stage, stranger: Scope) -> None:
    await stage.say()
    with pytest.raises(ThreadUnavailable):
        await stage.controls.cancel(stranger, stage.thread_id, "run-1")
    with pytest.raises(ThreadUnavailable):
        await stage.controls.close(stranger, stage.thread_id, request_id="r")
    with pytest.raises(ThreadUnavailable):
        await stage.closer.close(stranger, stage.thread_id, EndReason.USER_CLOSED, patience=1)
    assert {r.outcome for r in stage.audit.records} == {"denied"}
    assert stage.queue.sent == []


# Close


async def test_closing_ends_the_session_and_starts_its_pipeline(stage: Stage) -> None:
    await stage.say()
    closed = await close(stage)
    assert closed == episode_id(stage.thread_id, 1)
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    assert thread.status is ThreadStatus.CLOSED
    assert [ref.id for ref in stage.closings.started.values()] == [closed]


async def test_closing_again_gives_the_same_answer_and_starts_nothing(stage: Stage) -> None:
    await stage.say()
    assert await close(stage) == await close(stage)
    assert len(stage.closings.started) == 1


async def died_after_closing(stage: Stage) -> None:
    """A worker closes the thread and dies before it can tell anybody."""
    stage.connections.script("tab", *[ConnectionBusy()] * 6)
    closing = asyncio.ensure_future(close(stage))
    async with asyncio.timeout(10):
        while (await stage.store.get_thread(stage.ada, stage.thread_id)).status is not ThreadStatus.CLOSED:  # noqa: ASYNC110 - the fake has no event
            await asyncio.sleep(0.01)
    closing.cancel()
    await asyncio.wait([closing])
    assert stage.closings.started == {}
    assert stage.audit.records == []


async def test_a_closing_that_comes_again_makes_up_for_a_worker_that_died(stage: Stage) -> None:
    await stage.say(listener=stage.listener("tab"))
    await died_after_closing(stage)
    for _ in range(2):
        stage.clock.advance(45)
        closed = await stage.closer.close(stage.ada, stage.thread_id, EndReason.USER_CLOSED, patience=5, episode=1)
        assert [ref.id for ref in stage.closings.started.values()] == [closed.episode_id]
        assert [(r.action, r.outcome, r.detail["episodeId"]) for r in stage.audit.records] == [
            ("thread.close", "closed", closed.episode_id)
        ]


async def test_a_closing_that_comes_again_after_a_new_beginning_still_makes_up_for_it(stage: Stage) -> None:
    await stage.say(listener=stage.listener("tab"))
    await died_after_closing(stage)
    await stage.say("m2")
    await stage.closer.close(stage.ada, stage.thread_id, EndReason.USER_CLOSED, patience=5, episode=1)
    assert [ref.number for ref in stage.closings.started.values()] == [1]
    assert [r.detail["episodeId"] for r in stage.audit.records] == [episode_id(stage.thread_id, 1)]
    assert (await stage.store.get_thread(stage.ada, stage.thread_id)).status is ThreadStatus.ACTIVE


async def test_what_nobody_delivers_again_the_sweeper_makes_up_for(stage: Stage) -> None:
    await stage.say(listener=stage.listener("tab"))
    await died_after_closing(stage)
    stage.clock.advance(6 * 60)
    await stage.sweeper.sweep(seconds=5)
    await close(stage)
    assert {ref.number for ref in stage.closings.started.values()} == {1}
    assert [(r.action, r.outcome) for r in stage.audit.records] == [("thread.close", "closed")]


async def test_a_closing_that_fails_keeps_nobody_waiting(stage: Stage) -> None:
    await stage.say()
    stage.episodes.is_down = True
    with pytest.raises(StoreUnavailable):
        await close(stage)
    stage.episodes.is_down = False
    assert (await stage.say("m2", patience=0)).last["outcome"] == {"type": "success"}
    assert await close(stage) == episode_id(stage.thread_id, 1)


async def test_everybody_watching_is_told_that_the_thread_is_closed(stage: Stage) -> None:
    said = await stage.say(listener=stage.listener("tab"))
    closed = await close(stage)
    event = stage.connections.events("tab")[-1]
    assert (event["name"], event["value"]) == ("thread_closed", {"reason": "UserClosed", "episodeId": closed})
    assert event["metadata"]["seq"] == (said.seqs[-1] or 0) + 1
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    replay = await stage.replays.after(stage.ada, thread, said.seqs[-1] or 0)
    assert [e.body for e in replay.events] == [event]


async def test_a_message_reopens_a_closed_thread_and_begins_the_next_session(stage: Stage) -> None:
    await stage.say("m1", "I am Ada")
    await close(stage)
    said = await stage.say("m2", "Who am I?")
    assert ("user", "I am Ada") in stage.model.asked[1].contents
    assert said.events[1].body["snapshot"]["status"] == "active"
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    assert (thread.status, thread.episode) == (ThreadStatus.ACTIVE, 2)
    assert await close(stage) == episode_id(stage.thread_id, 2)


async def test_closing_waits_for_the_run_in_progress(stage: Stage) -> None:
    gate = asyncio.Event()
    stage.model.script(Answer(("slow",), gate=gate, gate_at=0))
    running = asyncio.ensure_future(stage.say())
    await stage.model_is_asked()
    closing = asyncio.ensure_future(close(stage))
    await asyncio.sleep(0.05)
    assert not closing.done()
    gate.set()
    await running
    assert await closing == episode_id(stage.thread_id, 1)


async def test_an_episode_holds_what_was_said_since_the_last_end(stage: Stage) -> None:
    writer = EpisodeWriter(stage.store, stage.episodes)
    for number in (1, 2):
        for turn in range(number):
            await stage.say(f"m{number}-{turn}")
        await close(stage)
        episode = await writer.write(stage.ada, stage.thread_id, number)
        assert (episode.status, episode.message_count) == (EpisodeStatus.COMPLETE, 2 * number)
        assert await writer.write(stage.ada, stage.thread_id, number) == episode


# The agent's decision


async def test_an_agent_ends_the_conversation_with_its_answer(stage: Stage) -> None:
    stage.model.script(Answer.calling(GOODBYE, text="Goodbye, Ada!"))
    said = await stage.say(content="bye")
    assert said.types[-3:] == ["TEXT_MESSAGE_END", "CUSTOM", "RUN_FINISHED"]
    closed = said.events[-2].body
    assert closed["value"] == {"reason": "AgentClosed", "episodeId": episode_id(stage.thread_id, 1)}
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    assert thread.status is ThreadStatus.CLOSED
    assert len(stage.model.asked) == 1


async def test_a_model_that_only_calls_is_asked_again_for_its_goodbye(stage: Stage) -> None:
    stage.model.script(Answer.calling(GOODBYE), "Take care!")
    said = await stage.say(content="bye")
    assert said.text == "Take care!"
    assert [role for role, _ in stage.model.asked[1].contents][-2:] == ["assistant", "tool"]


@pytest.mark.parametrize("bad", [ToolCall("c", "launch", "{}"), ToolCall("c", "end_conversation", "{")])
async def test_a_call_that_makes_no_sense_goes_back_to_the_model(stage: Stage, bad: ToolCall) -> None:
    stage.model.script(Answer.calling(bad), "Never mind.")
    said = await stage.say()
    assert (said.text, said.last["outcome"]) == ("Never mind.", {"type": "success"})
    assert str(stage.model.asked[1].contents[-1][1]).startswith("Error")
    assert (await stage.store.get_thread(stage.ada, stage.thread_id)).status is ThreadStatus.ACTIVE


# The sweeper


async def test_an_idle_session_is_closed_by_timeout(stage: Stage) -> None:
    await stage.say(listener=stage.listener("tab"))
    stage.clock.advance(31 * 60)
    report = await stage.sweeper.sweep(seconds=5)
    assert report.closed == 1
    assert [ref.reason for ref in stage.closings.started.values()] == [EndReason.TIMEOUT]


async def test_a_session_that_went_on_is_looked_at_later(stage: Stage) -> None:
    await stage.say("m1")
    stage.clock.advance(20 * 60)
    await stage.say("m2")
    stage.clock.advance(11 * 60)
    report = await stage.sweeper.sweep(seconds=5)
    assert (report.closed, report.postponed) == (0, 1)
    stage.clock.advance(20 * 60)
    assert (await stage.sweeper.sweep(seconds=5)).closed == 1


async def test_a_message_that_comes_while_the_sweeper_looks_keeps_the_session(stage: Stage) -> None:
    await stage.say("m1")
    stage.clock.advance(31 * 60)
    stage.idle.seen = lambda: stage.say("m2")
    report = await stage.sweeper.sweep(seconds=5)
    assert (report.closed, report.postponed) == (0, 1)
    assert (await stage.store.get_thread(stage.ada, stage.thread_id)).status is ThreadStatus.ACTIVE
    assert (await stage.say("m3", patience=0)).seqs[0] == 13


async def test_a_run_that_dies_while_the_sweeper_looks_stays_to_be_taken_over(stage: Stage) -> None:
    async def die() -> None:
        stage.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1))
        dead = asyncio.ensure_future(stage.say("m2"))
        await stage.model_is_asked(2)
        dead.cancel()
        await asyncio.wait([dead])

    await stage.say("m1")
    stage.clock.advance(31 * 60)
    stage.idle.seen = die
    assert (await stage.sweeper.sweep(seconds=5)).postponed == 1
    stage.idle.seen = None
    stage.clock.advance(60)
    assert (await stage.sweeper.sweep(seconds=5)).resumed == 1
    assert [queued.action for _, queued in stage.queue.sent] == ["takeover"]


async def test_sweeps_at_the_same_time_close_a_session_once(stage: Stage) -> None:
    await stage.say()
    stage.clock.advance(31 * 60)
    await asyncio.gather(*(stage.sweeper.sweep(seconds=5) for _ in range(4)))
    assert len(stage.closings.started) == 1
    closed = [r for r in stage.audit.records if r.outcome == "closed"]
    assert len(closed) == 1


async def test_a_thread_that_cannot_be_swept_is_counted_and_hinders_no_other(stage: Stage) -> None:
    await stage.say()
    await close(stage)
    await stage.say("m1", thread_id=str(uuid.uuid4()))
    stage.clock.advance(31 * 60)
    stage.closings.failure = RuntimeError("no such state machine")
    report = await stage.sweeper.sweep(seconds=5)
    assert (report.looked_at, report.closed, report.failed) == (2, 1, 1)


async def test_a_sweep_queues_the_run_of_a_dead_worker(stage: Stage) -> None:
    stage.model.script(Answer(("lost",), gate=asyncio.Event(), gate_at=1), "taken over")
    dead = asyncio.ensure_future(stage.say())
    await stage.model_is_asked()
    dead.cancel()
    await asyncio.wait([dead])
    stage.clock.advance(31 * 60)
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    assert thread.run is not None
    assert thread.run.status is RunStatus.INTERRUPTED
    assert (await stage.sweeper.sweep(seconds=5)).resumed == 1
    assert [queued.action for _, queued in stage.queue.sent] == ["takeover"]
    await stage.turns.finish_interrupted(stage.ada, stage.thread_id)
    thread = await stage.store.get_thread(stage.ada, stage.thread_id)
    assert (thread.run, thread.next_ordinal) == (None, 2)


async def test_a_closing_that_got_stuck_is_started_again(stage: Stage) -> None:
    await stage.say()
    await close(stage)
    stage.clock.advance(6 * 60)
    await stage.sweeper.sweep(seconds=5)
    assert sorted(attempt for _, attempt in stage.closings.started) == [1, 3]


async def test_a_settled_thread_is_not_looked_at_any_more(stage: Stage) -> None:
    await stage.say()
    await close(stage)
    await EpisodeWriter(stage.store, stage.episodes).write(stage.ada, stage.thread_id, 1)
    stage.clock.advance(3600)
    assert (await stage.sweeper.sweep(seconds=5)).looked_at == 0


async def test_the_end_of_a_run_is_in_no_log_before_the_commit(stage: Stage) -> None:
    stage.model.script("long " * 100_000)
    said = await stage.say()
    assert said.types[-1] == "RUN_FINISHED"
    pieces = await stage.log.read(stage.ada, stage.thread_id, after=0)
    logged = [event["type"] for piece in pieces for event in piece.events]
    assert "TEXT_MESSAGE_CONTENT" in logged
    assert "RUN_FINISHED" not in logged
