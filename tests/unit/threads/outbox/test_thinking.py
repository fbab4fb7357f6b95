"""A model's visible thinking on its way to the clients: like a text, but never part of one, and never kept."""

from __future__ import annotations

import asyncio
import json

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.events import (
    Event,
    RunStamp,
    make_reasoning_content,
    make_reasoning_start,
    make_state_snapshot,
    make_text_content,
)
from baton.threads.outbox.event_log import FIRST_PIECE_SECONDS, MAX_SECONDS, EventLog
from baton_testing.fakes.agents.shipped_agents import agent
from baton_testing.fakes.clock import FakeClock
from baton_testing.fakes.threads.connections import events_in
from baton_testing.fakes.threads.stream_log import FakeStreamLog
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, texts, transfer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.thinking import let_agents_think

THOUGHTS = ("The user greets. ", "I greet back.")
THINKING = [
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_END",
]
ANSWER = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
KNOWLEDGE = AgentDefinition(id="knowledge", name="Knowledge", description="Knows.", system_prompt="Quote.")


@pytest.fixture(autouse=True)
def thinking(monkeypatch: pytest.MonkeyPatch) -> None:
    let_agents_think(monkeypatch, *THOUGHTS)


def join_thoughts(events: list[Event]) -> str:
    return "".join(event.body["delta"] for event in events if event.type == "REASONING_MESSAGE_CONTENT")


async def test_thinking_comes_before_its_answer_and_over_every_connection() -> None:
    harness = Harness()
    turn = await harness.say(subscriber=harness.subscriber("c1"))
    assert turn.types == ["RUN_STARTED", "STATE_SNAPSHOT", *THINKING, *ANSWER, "RUN_FINISHED"]
    assert (join_thoughts(turn.events), turn.text) == ("".join(THOUGHTS), "Hello there.")
    assert len({event.body["messageId"] for event in turn.events if "messageId" in event.body}) == 2
    check_run([event.body for event in turn.events])
    reported = [event for frame in harness.connections.frames["c1"] for event in events_in(frame)]
    assert [event["type"] for event in reported if event["metadata"].get("seq")] == turn.types


async def test_no_message_contains_thinking_however_it_is_read() -> None:
    harness = Harness()
    turn = await harness.say()
    assert turn.finished is not None
    stored = await harness.store.run_messages(harness.ada, harness.thread_id, first_ordinal=0, below=None)
    assert [entry.text for entry in stored] == ["Hello", "Hello there."]
    assert "greet" not in repr(stored)  # not in the end of its run either, which holds events
    harness.clock.advance(25 * 3600)
    again = await harness.say()
    assert again.types == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert "greet" not in repr(again.events)
    await harness.say("m2", "Bye")
    assert "greet" not in repr(harness.model.requests[-1].prompts)


async def test_who_resumes_gets_the_thinking_again_as_long_as_events_are_kept() -> None:
    harness = Harness()
    turn = await harness.say()
    assert [event.body for event in (await harness.say()).events] == [event.body for event in turn.events]
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    replay = await harness.replays.replay_after(harness.ada, thread, 4)
    assert replay.snapshot is None
    assert [event.body for event in replay.events] == [event.body for event in turn.events[4:]]


@pytest.mark.parametrize("event", [*make_reasoning_content("m1", "Hm."), make_text_content("m2", "Hello")])
async def test_what_somebody_reads_as_it_comes_is_logged_within_a_second(event: object) -> None:
    loop = asyncio.get_running_loop()
    log = EventLog(FakeStreamLog(FakeClock()), RunStamp("t1", "r1", 1), first_seq=1)
    log.is_read = True
    log.number(make_state_snapshot({}))
    log.number(make_reasoning_start("m1", agent())[0])
    assert log.piece_due > loop.time() + FIRST_PIECE_SECONDS
    log.number(event)  # type: ignore[arg-type]
    assert log.piece_due <= loop.time() + FIRST_PIECE_SECONDS


async def test_text_that_nobody_reads_in_the_log_is_logged_after_five_seconds() -> None:
    loop = asyncio.get_running_loop()
    log = EventLog(FakeStreamLog(FakeClock()), RunStamp("t1", "r1", 1), first_seq=1)
    log.number(make_text_content("m2", "Hello"))
    assert loop.time() + FIRST_PIECE_SECONDS < log.piece_due <= loop.time() + MAX_SECONDS


async def test_the_thinking_of_a_specialist_in_its_fork_is_shown_apart_from_its_one_message() -> None:
    harness = HandoffHarness(transfer("helper"), Answer(("How can I help?",)), context_mode="forked")
    await harness.say()
    harness.model.script(Answer(("Try turning it off.",)))
    turn = await harness.say("m2", "It is broken")
    assert turn.types == ["RUN_STARTED", "STATE_SNAPSHOT", *THINKING, *ANSWER, "RUN_FINISHED"]
    assert texts(turn) == [("Helper", "Try turning it off.")]
    assert turn.events[3].body["metadata"]["agentName"] == "Helper"
    check_run([event.body for event in turn.events])


async def test_the_thinking_of_an_agent_that_was_asked_is_not_shown() -> None:
    assistant = AgentDefinition.model_validate({**ASSISTANT.model_dump(), "sub_agents": ["knowledge"]})
    harness = Harness(assistant=assistant, others=(KNOWLEDGE,))
    tool_call = ToolCall("c1", "ask_knowledge", json.dumps({"message": "What?"}))
    harness.model.script(Answer.calling(tool_call), Answer(("It says so.",)), Answer(("So it is.",)))
    turn = await harness.say()
    assert join_thoughts(turn.events) == "".join(THOUGHTS)
    assert turn.text == "So it is."
