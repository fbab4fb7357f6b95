"""Every prompt names the user's day: in the zone of the request, else of the session, else the user's last one."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import StoreUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role
from baton.threads.requests.queue_mapping import make_queued_message
from baton_testing.fakes.clock import FakeClock
from tests.contracts.stores import new_thread_id
from tests.fakes.chat_model import Answer
from tests.harness.failing_store import fail_once
from tests.harness.handoffs import HandoffHarness
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.sessions import close
from tests.harness.wiki import answer, run_until_interrupt, wiki, yes

LATE = datetime(2026, 11, 26, 23, 30, tzinfo=UTC)
"""A Thursday in Greenwich, and a Friday in Vienna."""
VIENNA, SEATTLE = "Europe/Vienna", "America/Los_Angeles"
IN_VIENNA = "Today is Friday, 27 November 2026 (Europe/Vienna)."
IN_SEATTLE = "Today is Thursday, 26 November 2026 (America/Los_Angeles)."
IN_UTC = "Today is Thursday, 26 November 2026 (UTC)."


@pytest.fixture
def harness() -> Harness:
    return Harness(clock=FakeClock(LATE))


def day_of(harness: Harness, index: int = -1) -> str:
    """Return the sentence about the day, right before the message."""
    reported = harness.model.requests[index].contents
    model_request = max(number for number, (role, _) in enumerate(reported) if role == "user")
    return str(reported[model_request - 1][1])


async def test_the_day_is_that_of_the_requests_time_zone(harness: Harness) -> None:
    await harness.say(time_zone=VIENNA)
    assert day_of(harness) == IN_VIENNA


async def test_without_any_time_zone_the_day_is_that_of_utc_and_says_so(harness: Harness) -> None:
    await harness.say()
    assert day_of(harness) == IN_UTC
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.time_zone is None
    assert await harness.time_zones.last(harness.ada) is None


async def test_a_session_keeps_its_time_zone_until_a_message_names_another(harness: Harness) -> None:
    days = []
    for number, zone in enumerate((VIENNA, None, SEATTLE, None)):
        await harness.say(f"m{number}", time_zone=zone)
        days.append(day_of(harness))
    assert days == [IN_VIENNA, IN_VIENNA, IN_SEATTLE, IN_SEATTLE]


async def test_a_new_conversation_begins_in_the_zone_that_the_user_was_in_last(harness: Harness) -> None:
    await harness.say(time_zone=VIENNA)
    await harness.say("m2", thread_id=new_thread_id(), time_zone=SEATTLE)
    await harness.say("m3", thread_id=new_thread_id())
    assert day_of(harness) == IN_SEATTLE
    for other in (Scope("acme", "bob"), Scope("globex", "ada")):
        await harness.say("m4", scope=other, thread_id=new_thread_id())
        assert day_of(harness) == IN_UTC


async def test_a_new_session_of_a_conversation_begins_there_too(harness: Harness) -> None:
    await harness.say(time_zone=VIENNA)
    await close(harness)
    await harness.say("m2", thread_id=new_thread_id(), time_zone=SEATTLE)
    await harness.say("m3")
    assert day_of(harness) == IN_SEATTLE


async def test_the_question_keeps_the_zone_that_counted_for_it(harness: Harness) -> None:
    await harness.say("m1", time_zone=VIENNA)
    await harness.say("m2")
    await harness.say("m3", thread_id=new_thread_id())
    record = {
        message.id: message.time_zone
        for thread_id in {thread_id for _, thread_id in harness.store.rows}
        for message in harness.store.committed("acme", thread_id)
        if message.role is Role.USER
    }
    assert record == {"m1": VIENNA, "m2": VIENNA, "m3": VIENNA}
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.time_zone == VIENNA


async def test_the_users_zone_is_read_once_a_session_and_written_when_it_changes(harness: Harness) -> None:
    for number in range(3):
        await harness.say(f"m{number}", time_zone=VIENNA)
        harness.clock.advance(1)
    assert harness.time_zones.read_count == 1
    await harness.say("m4", thread_id=new_thread_id(), time_zone=VIENNA)
    last = await harness.time_zones.last(harness.ada)
    assert last is not None
    assert (last.name, last.since) == (VIENNA, LATE)
    await harness.say("m5", time_zone=SEATTLE)
    last = await harness.time_zones.last(harness.ada)
    assert last is not None
    assert (last.name, last.since) == (SEATTLE, LATE + timedelta(seconds=3))


async def test_a_plain_session_without_a_zone_reads_it_once(harness: Harness) -> None:
    for number in range(3):
        await harness.say(f"m{number}")
    assert harness.time_zones.read_count == 1


async def test_what_stands_before_the_day_is_the_same_in_the_next_prompt_whatever_the_day(harness: Harness) -> None:
    for number, zone in enumerate((VIENNA, SEATTLE, VIENNA)):
        await harness.say(f"m{number}", f"Question {number}", time_zone=zone)
        harness.clock.advance(86_400)
    first, second, third = (model_request.prompts for model_request in harness.model.requests)
    assert second[: len(first) - 2] == first[:-2]
    assert third[: len(second) - 2] == second[:-2]
    assert "Today is" not in str(third[:-2])


async def test_the_day_does_not_change_within_a_run(harness: Harness) -> None:
    async def wait() -> str:
        harness.clock.advance(86_400)
        return "Two days later."

    harness.tools.add("wait", wait)
    harness.model.script(Answer.calling(ToolCall("c", "wait", "{}")), "Done.")
    await harness.say(time_zone=VIENNA)
    before, after = (model_request.prompts for model_request in harness.model.requests)
    assert after[: len(before)] == before
    assert day_of(harness) == IN_VIENNA


async def test_a_specialist_and_a_consulted_agent_have_the_same_day() -> None:
    harness = HandoffHarness()
    harness.clock.time = LATE
    helper = harness.shipped_agents.definitions["helper"]
    asks = {**helper.model_dump(), "sub_agents": ["locked"]}
    harness.shipped_agents.definitions["helper"] = AgentDefinition.model_validate(asks)
    ask = ToolCall("c", "ask_locked", json.dumps({"message": "Which weekday is tomorrow?"}))
    harness.model.script("Ada needs help.", Answer.calling(ask), "Saturday.", "It is Saturday.")
    may = Scope("acme", "ada", frozenset({"cave:enter"}))
    await harness.say("m1", "Get me the help desk", scope=may, time_zone=VIENNA)
    _, *agents = harness.model.requests
    assert [str(agent.contents[0][1]) for agent in agents] == ["Help.", "Hush.", "Help."]
    assert {day_of(harness, index) for index in (1, 2, 3)} == {IN_VIENNA}


async def test_a_run_after_an_approval_names_its_own_day_before_the_whole_exchange() -> None:
    harness = wiki()
    harness.clock.time = LATE
    [interrupt] = await run_until_interrupt(harness)
    harness.clock.advance(3_600)
    await answer(harness, yes(interrupt))
    assert [role for role, _ in harness.model.requests[-1].contents] == [
        "system",
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert day_of(harness) == "Today is Friday, 27 November 2026 (UTC)."


async def test_a_worker_that_takes_over_knows_the_zone_and_the_day_of_the_message(harness: Harness) -> None:
    harness.model.script(Answer(("It is",), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(harness.say(time_zone=VIENNA))
    await harness.wait_for_requests()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    harness.clock.advance(86_400)
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    assert harness.model.requests[1].prompts == harness.model.requests[0].prompts
    last = await harness.time_zones.last(harness.ada)
    assert last is not None
    assert last.name == VIENNA
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.time_zone == VIENNA


async def test_an_answer_that_only_lacked_its_commit_leaves_the_zone_with_the_thread(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_once(monkeypatch, harness.store, "commit")
    with pytest.raises(StoreUnavailable):
        await harness.say(time_zone=VIENNA)
    harness.clock.advance(60)
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    assert len(harness.model.requests) == 1
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.time_zone == VIENNA


@pytest.mark.parametrize(("operation", "zone"), [("last", VIENNA), ("last", None), ("put", VIENNA)])
async def test_a_store_that_fails_with_the_zone_leaves_a_turn_that_can_be_repeated(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, operation: str, zone: str | None
) -> None:
    fail_once(monkeypatch, harness.time_zones, operation)
    with pytest.raises(StoreUnavailable):
        await harness.say(time_zone=zone)
    harness.clock.advance(60)
    exchange = await harness.say(time_zone=zone)
    assert exchange.text == "Hello there."
    assert len(harness.store.committed("acme", harness.thread_id)) == 2
    assert (await harness.time_zones.last(harness.ada) is not None) is (zone is not None)


async def test_the_queue_carries_the_zone(harness: Harness) -> None:
    request = harness.request(time_zone=VIENNA)
    queued = make_queued_message(harness.ada, request, request_id="r")
    assert type(queued).model_validate_json(queued.model_dump_json(by_alias=True)).request == request


async def test_the_inspector_shows_the_day_among_the_systems_notes_and_counts_it(harness: Harness) -> None:
    await harness.say(time_zone=VIENNA)
    record = await harness.context()
    blocks = {block["kind"]: [item["text"] for item in block["items"]] for block in record["blocks"]}
    assert blocks["system"] == [ASSISTANT.system_prompt, IN_VIENNA]
    assert blocks["current"] == ["Hello"]
    [call] = record["calls"]
    assert [message["content"] for message in call["messages"]] == [ASSISTANT.system_prompt, IN_VIENNA, "Hello"]
    tools = call["estimatedTokens"] - sum(block["tokens"] for block in record["blocks"])
    assert tools > 0
