"""A turn's events, stored messages and refusals."""

from __future__ import annotations

import asyncio
import json

import pytest
from ag_ui.core import Event as AgUiEvent
from pydantic import TypeAdapter

from baton.domain.errors import (
    AgentMismatch,
    MessageIdConflict,
    ModelRateLimited,
    ModelUnavailable,
    StoreUnavailable,
    ThreadBusy,
    ThreadUnavailable,
    UnknownAgent,
)
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import MessageStatus, Role
from baton.memory.prompt.message_prompts import MESSAGE_FRAME_TOKENS, REPLY_TOKENS
from baton_testing.fakes.threads.connections import events_in
from tests.fakes.chat_model import Answer
from tests.harness.failing_store import fail_once
from tests.harness.harness import TODAY, Harness

PLAIN = [
    "RUN_STARTED",
    "STATE_SNAPSHOT",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
]


@pytest.fixture
def harness() -> Harness:
    return Harness()


async def test_a_message_is_answered_by_the_events_of_one_run(harness: Harness) -> None:
    harness.model.script("Good morning")
    exchange = await harness.say()
    assert exchange.types == PLAIN
    assert exchange.text == "Good morning"
    assert exchange.last["outcome"] == {"type": "success"}


async def test_every_event_is_ag_ui_and_numbered_from_one(harness: Harness) -> None:
    exchange = await harness.say()
    ag_ui: TypeAdapter[AgUiEvent] = TypeAdapter(AgUiEvent)
    for event in exchange.events:
        ag_ui.validate_python(event.body)
    assert exchange.seqs == list(range(1, len(exchange.events) + 1))
    metadata = exchange.events[0].body["metadata"]
    assert metadata["threadId"] == harness.thread_id
    assert metadata["messageId"] == "m1"
    assert metadata["attempt"] == 1


async def test_run_started_shows_the_question_to_other_screens(harness: Harness) -> None:
    exchange = await harness.say(content="What time is it?")
    assert exchange.events[0].body["input"]["messages"][0]["content"] == "What time is it?"


async def test_the_second_turn_goes_on_counting_and_knows_the_first(harness: Harness) -> None:
    harness.model.script("Hello Ada", "Ada")
    first = await harness.say("m1", "I am Ada")
    second = await harness.say("m2", "Who am I?")
    assert second.seqs[0] == len(first.events) + 1
    assert harness.model.requests[1].contents == [
        ("system", "Be brief."),
        ("user", "I am Ada"),
        ("assistant", "Hello Ada"),
        TODAY,
        ("user", "Who am I?"),
    ]


async def test_question_and_answer_are_stored_with_what_is_known_about_them(harness: Harness) -> None:
    harness.model.script("Good morning")
    exchange = await harness.say()
    assert exchange.finished is not None
    question, answer = exchange.finished.messages
    assert (question.role, question.ordinal, question.id) == (Role.USER, 0, "m1")
    assert (answer.role, answer.ordinal, answer.content) == (Role.ASSISTANT, 1, "Good morning")
    assert answer.agent_name == "Assistant"
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.next_ordinal == 2
    assert thread.run is None
    assert thread.last_seq == exchange.seqs[-1]


async def test_a_repeated_message_gets_the_same_events_and_no_second_turn(harness: Harness) -> None:
    first = await harness.say()
    again = await harness.say()
    assert [e.body for e in again.events] == [e.body for e in first.events]
    assert len(harness.model.requests) == 1


async def test_a_repeated_message_asked_under_another_run_id_gets_the_first_ones_run(harness: Harness) -> None:
    first = await harness.say(run_id="run-1")
    again = await harness.say(run_id="run-2")
    assert {e.run_id for e in again.events} == {e.run_id for e in first.events} == {"run-1"}


async def test_a_repeat_leaves_the_thread_free_and_its_sequence_without_a_gap(harness: Harness) -> None:
    first = await harness.say()
    await harness.say()
    following = await harness.say("m2")
    assert following.seqs[0] == (first.seqs[-1] or 0) + 1


async def test_a_day_later_a_repeat_is_answered_by_a_snapshot(harness: Harness) -> None:
    harness.model.script("Good morning")
    await harness.say()
    harness.clock.advance(25 * 3600)
    again = await harness.say()
    assert again.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert all(e.body["metadata"]["replayed"] and e.seq is None for e in again.events)
    assert again.events[1].body["messages"][1]["content"] == "Good morning"


async def test_the_same_id_with_other_content_is_a_conflict_and_changes_nothing(harness: Harness) -> None:
    await harness.say("m1", "Hello")
    with pytest.raises(MessageIdConflict):
        await harness.say("m1", "Something else")
    assert (await harness.say("m2")).types == PLAIN


async def test_another_main_agent_later_is_a_mismatch(harness: Harness) -> None:
    scope = Scope("acme", "ada", frozenset({"archive:read"}))
    await harness.say("m1", agent_id="assistant", scope=scope)
    with pytest.raises(AgentMismatch):
        await harness.say("m2", agent_id="librarian", scope=scope)
    assert (await harness.say("m3", scope=scope)).types == PLAIN


async def test_an_agent_whose_permission_is_missing_does_not_exist(harness: Harness) -> None:
    with pytest.raises(UnknownAgent):
        await harness.say(agent_id="librarian")
    with pytest.raises(ThreadUnavailable):
        await harness.store.get_thread(harness.ada, harness.thread_id)
    [denied] = harness.audit.records
    assert (denied.action, denied.outcome, denied.thread_id) == ("thread.write", "denied", harness.thread_id)
    assert denied.detail == {"messageId": "m1", "permission": "archive:read"}


async def test_an_agent_that_really_does_not_exist_is_audited_as_such(harness: Harness) -> None:
    with pytest.raises(UnknownAgent):
        await harness.say(agent_id="nobody")
    [record] = harness.audit.records
    assert (record.action, record.outcome, record.detail) == ("thread.write", "not_found", {"messageId": "m1"})


async def test_a_permission_that_is_lost_in_between_is_audited_too(harness: Harness) -> None:
    await harness.say("m1", agent_id="librarian", scope=Scope("acme", "ada", frozenset({"archive:read"})))
    with pytest.raises(UnknownAgent):
        await harness.say("m2")
    assert [r.detail for r in harness.audit.records] == [{"messageId": "m2", "permission": "archive:read"}]


async def test_a_foreign_thread_is_refused_and_the_attempt_audited(harness: Harness) -> None:
    await harness.say()
    with pytest.raises(ThreadUnavailable):
        await harness.say("m2", scope=Scope("acme", "eve"))
    with pytest.raises(ThreadUnavailable):
        await harness.say("m2", scope=Scope("rivals", "eve"))
    assert [(r.action, r.outcome, r.scope.user_id) for r in harness.audit.records] == [
        ("thread.write", "denied", "eve")
    ] * 2


async def test_a_new_uuid_of_version_5_begins_no_conversation(harness: Harness) -> None:
    with pytest.raises(ThreadUnavailable):
        await harness.say(thread_id="2ed6657d-e927-568b-95e1-2665a8aea6a2")


async def test_a_model_error_ends_the_run_and_the_next_turn_works(harness: Harness) -> None:
    harness.model.script(ModelRateLimited(), "Better now")
    exchange = await harness.say()
    assert exchange.types == ["RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR"]
    assert (exchange.last["code"], exchange.last["metadata"]["retryable"]) == ("model_rate_limited", True)
    assert (await harness.say("m2")).text == "Better now"


async def test_what_was_said_before_the_model_failed_is_kept_and_closed(harness: Harness) -> None:
    harness.model.script(Answer(("Half an ",), error=ModelUnavailable()))
    exchange = await harness.say()
    assert exchange.types[-2:] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
    assert exchange.finished is not None
    assert exchange.finished.messages[-1].content == "Half an "
    assert exchange.finished.messages[-1].status is MessageStatus.CANCELLED


async def test_a_repeat_after_a_failure_shows_the_same_failure(harness: Harness) -> None:
    harness.model.script(ModelRateLimited())
    first = await harness.say()
    again = await harness.say()
    assert [e.body for e in again.events] == [e.body for e in first.events]
    harness.clock.advance(25 * 3600)
    assert (await harness.say()).last["code"] == "model_rate_limited"


async def test_two_empty_answers_are_a_failure_of_the_model(harness: Harness) -> None:
    harness.model.script(Answer(()), Answer(()))
    assert (await harness.say()).last["code"] == "model_unavailable"


async def test_a_second_message_waits_for_the_first(harness: Harness) -> None:
    gate = asyncio.Event()
    harness.model.script(Answer(("slow",), gate=gate, gate_at=0), "quick")
    first = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    second = asyncio.ensure_future(harness.say("m2"))
    await asyncio.sleep(0.05)
    assert not second.done()
    gate.set()
    assert ((await first).text, (await second).text) == ("slow", "quick")
    assert (await second).seqs[0] == ((await first).seqs[-1] or 0) + 1


async def test_an_impatient_caller_learns_that_the_thread_is_busy(harness: Harness) -> None:
    gate = asyncio.Event()
    harness.model.script(Answer(("slow",), gate=gate, gate_at=0))
    first = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    with pytest.raises(ThreadBusy):
        await harness.say("m2", patience=0.01)
    gate.set()
    await first


async def test_a_repeat_while_the_run_goes_on_follows_it_to_its_end(harness: Harness) -> None:
    gate = asyncio.Event()
    harness.model.script(Answer(("one ", "two"), gate=gate, gate_at=1))
    first = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    again = asyncio.ensure_future(harness.say("m1"))
    await asyncio.sleep(0.05)
    gate.set()
    assert [e.body for e in (await again).events] == [e.body for e in (await first).events]
    assert len(harness.model.requests) == 1


async def test_a_message_by_websocket_is_sent_to_its_connection_and_to_the_others(harness: Harness) -> None:
    await harness.say("m1", subscriber=harness.subscriber("tab-1"))
    await harness.say("m2", subscriber=harness.subscriber("tab-2"))
    types = [e["type"] for e in harness.connections.events("tab-1")]
    assert types == PLAIN + PLAIN
    assert [e["type"] for e in harness.connections.events("tab-2")] == PLAIN


async def test_the_beginning_of_a_turn_is_one_frame_and_so_are_its_first_words(harness: Harness) -> None:
    await harness.say("m1", subscriber=harness.subscriber("tab"))
    first, second, *_ = harness.connections.frames["tab"]
    assert [event["type"] for event in events_in(first)] == ["RUN_STARTED", "STATE_SNAPSHOT"]
    assert [event["type"] for event in events_in(second)] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]


async def test_the_last_words_share_their_frame_with_the_end_of_the_message(harness: Harness) -> None:
    gate = asyncio.Event()
    harness.model.script(Answer(("first ", "last"), gate=gate, gate_at=1))
    saying = asyncio.ensure_future(harness.say("m1", subscriber=harness.subscriber("tab")))
    await harness.wait_for_requests()
    await asyncio.sleep(0.05)
    gate.set()
    await saying
    *_, last_words, end = harness.connections.frames["tab"]
    assert [event["type"] for event in events_in(last_words)] == ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert [event["type"] for event in events_in(end)] == ["RUN_FINISHED"]


async def test_a_repeat_by_websocket_is_sent_to_its_own_connection_only(harness: Harness) -> None:
    await harness.say("m1", subscriber=harness.subscriber("tab-1"))
    await harness.say("m1", subscriber=harness.subscriber("tab-2"))
    assert [e["type"] for e in harness.connections.events("tab-1")] == PLAIN
    assert harness.connections.events("tab-2") == harness.connections.events("tab-1")


async def test_the_run_of_a_dead_worker_is_finished_before_the_next_message(harness: Harness) -> None:
    gate = asyncio.Event()
    harness.model.script(Answer(("lost",), gate=gate, gate_at=1), "taken over", "second")
    dead = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests()
    dead.cancel()
    await asyncio.wait([dead])
    harness.clock.advance(60)
    await harness.say("m2", subscriber=harness.subscriber("tab"))
    page = await harness.store.read_messages(
        harness.ada, await harness.store.get_thread(harness.ada, harness.thread_id), limit=10, before=None
    )
    assert [m.content for m in page.messages] == ["Hello", "taken over", "Hello", "second"]


async def test_a_taken_over_run_says_which_attempt_it_is_and_where_to_jump_from(harness: Harness) -> None:
    gate = asyncio.Event()
    harness.model.script("before", Answer(("lost",), gate=gate, gate_at=1), "taken over")
    before = await harness.say("m0")
    dead = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests(2)
    dead.cancel()
    await asyncio.wait([dead])
    harness.clock.advance(60)
    exchange = await harness.say("m1")
    metadata = exchange.events[0].body["metadata"]
    assert (metadata["attempt"], metadata["previousSeq"]) == (2, before.seqs[-1])
    assert exchange.text == "taken over"


async def test_who_read_the_messages_during_an_attempt_that_died_resumes_with_the_one_after_it(
    harness: Harness,
) -> None:
    gate = asyncio.Event()
    harness.model.script("before", Answer(("lost",), gate=gate, gate_at=1), "taken over")
    before = await harness.say("m0")
    dead = asyncio.ensure_future(harness.say("m1", "Is anybody there?"))
    await harness.wait_for_requests(2)
    read = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (read.last_seq, read.run and read.run.message_id) == (before.seqs[-1], "m1")
    dead.cancel()
    await asyncio.wait([dead])
    harness.clock.advance(60)
    exchange = await harness.say("m1", "Is anybody there?")
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    replay = await harness.replays.replay_after(harness.ada, thread, read.last_seq)
    assert [event.body for event in replay.events] == [event.body for event in exchange.events]
    assert replay.events[0].body["input"]["messages"][0]["content"] == "Is anybody there?"
    assert replay.events[0].body["metadata"]["previousSeq"] == read.last_seq


async def test_a_run_that_killed_two_workers_is_given_up(harness: Harness) -> None:
    for _ in range(2):
        gate = asyncio.Event()
        harness.model.script(Answer(("lost",), gate=gate, gate_at=1))
        count_before = len(harness.model.requests)
        dead = asyncio.ensure_future(harness.say("m1"))
        await harness.wait_for_requests(count_before + 1)
        dead.cancel()
        await asyncio.wait([dead])
        harness.clock.advance(60)
    exchange = await harness.say("m1")
    assert (exchange.types, exchange.last["code"]) == (["RUN_STARTED", "STATE_SNAPSHOT", "RUN_ERROR"], "interrupted")
    assert (await harness.say("m2")).types == PLAIN


@pytest.mark.parametrize("cut", range(7))
async def test_a_resume_after_any_event_gives_exactly_what_is_missing(harness: Harness, cut: int) -> None:
    exchange = await harness.say()
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    replay = await harness.replays.replay_after(harness.ada, thread, min(cut, thread.last_seq))
    assert [e.body for e in replay.events] == [e.body for e in exchange.events][cut:]
    assert replay.snapshot is None


async def test_a_whole_answer_whose_commit_failed_is_committed_and_the_model_is_asked_once(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch, harness.store, "commit")
    harness.model.script("First.", "Second.")
    with pytest.raises(StoreUnavailable):
        await harness.say()
    exchange = await harness.say()
    assert exchange.text == "First."
    assert len(harness.model.requests) == 1
    assert [message.text for message in harness.store.committed("acme", harness.thread_id)] == ["Hello", "First."]


async def test_without_the_models_own_figures_the_prompt_and_its_tools_are_counted(harness: Harness) -> None:
    harness.model.script(Answer(("one two",), usage=None))
    exchange = await harness.say("m1", "Hello")
    (model_request,) = harness.model.requests
    messages = sum(len(str(content).split()) + MESSAGE_FRAME_TOKENS for _, content in model_request.contents)
    tools = sum(
        len(text.split())
        for spec in model_request.tools
        for text in (spec.name, spec.description, json.dumps(spec.parameters))
    )
    (usage,) = exchange.last["usage"]
    assert tools > 0
    assert (usage["inputTokens"], usage["outputTokens"]) == (messages + tools + REPLY_TOKENS, 2)


async def test_the_end_of_a_run_is_in_no_log_before_the_commit(harness: Harness) -> None:
    harness.model.script("long " * 100_000)
    exchange = await harness.say()
    assert exchange.types[-1] == "RUN_FINISHED"
    pieces = (await harness.log.read(harness.ada, harness.thread_id, after=0)).pieces
    logged = [event["type"] for piece in pieces for event in piece.events]
    assert "TEXT_MESSAGE_CONTENT" in logged
    assert "RUN_FINISHED" not in logged
