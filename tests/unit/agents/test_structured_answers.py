"""The answers of an agent with an answer schema: valid JSON after one repair at most, or a clear error."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from baton.agents.agent_loop import LAST_ANSWER
from baton.agents.model_answer import TOO_LONG
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.events import Event
from baton.domain.threads.message import MessageStatus, Role, StoredMessage
from baton.ports.agents.chat_model import FinishReason
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import HandoffHarness, transfer
from tests.harness.harness import ASSISTANT, Harness, Turn
from tests.harness.structured import OSLO, SCHEMA, WRITTEN
from tests.harness.timed import in_virtual_time
from tests.harness.wiki import answer, run_until_interrupt, wiki, yes

UNFIT = {"city": "Oslo", "degrees": "cold"}


def with_schema(**fields: Any) -> AgentDefinition:
    tool = {"type": "python", "name": "weather", "description": "Tells it.", "entry_point": "weather:tell"}
    options = {"answer_schema": SCHEMA, "tools": [tool], "timeouts": {"turn_seconds": 60}}
    return AgentDefinition.model_validate(ASSISTANT.model_dump() | options | fields)


def harness_of(assistant: AgentDefinition, *others: AgentDefinition) -> Harness:
    harness = Harness(assistant=assistant, others=others)

    async def weather() -> str:
        return "Cold."

    harness.tools.add("weather", weather)
    return harness


@pytest.fixture
def harness() -> Harness:
    return harness_of(with_schema())


CALL = ToolCall("call-1", "weather", "{}")


def answers(turn: Turn) -> list[StoredMessage]:
    assert turn.finished is not None
    return [message for message in turn.finished.messages if message.role is Role.ASSISTANT]


def problem(turn: Turn) -> tuple[str, str]:
    assert turn.last["type"] == "RUN_ERROR"
    assert not answers(turn)
    assert turn.text == ""
    return turn.last["code"], turn.last["message"]


@pytest.mark.parametrize(
    "pieces",
    [
        (WRITTEN,),
        (WRITTEN[:9], WRITTEN[9:]),
        ("Here it is:\n```json\n", json.dumps(OSLO, indent=2), "\n```\nAnything else?"),
    ],
    ids=["whole", "in pieces", "in words and a code block"],
)
async def test_the_answer_is_shown_and_stored_as_nothing_but_json(harness: Harness, pieces: tuple[str, ...]) -> None:
    harness.model.script(Answer(pieces))
    turn = await harness.say()

    check_run([event.body for event in turn.events])
    assert turn.text == WRITTEN
    [answer] = answers(turn)
    assert (answer.text, answer.result) == (WRITTEN, OSLO)
    assert turn.last["result"] == OSLO
    [start] = [event.body for event in turn.events if event.type == "TEXT_MESSAGE_START"]
    assert start["metadata"]["isStructured"] is True
    assert harness.model.requests[0].settings.answer_schema == SCHEMA


async def test_answers_of_other_agents_have_no_result() -> None:
    turn = await Harness().say()
    assert "result" not in turn.last
    [start] = [event.body for event in turn.events if event.type == "TEXT_MESSAGE_START"]
    assert "isStructured" not in start["metadata"]
    assert answers(turn)[0].result is None
    assert "result" not in answers(turn)[0].make_metadata()


def test_nothing_is_shown_before_the_answer_is_checked() -> None:
    async def talk() -> None:
        harness, gate = harness_of(with_schema()), asyncio.Event()
        events: list[Event] = []
        harness.model.script(Answer((WRITTEN, " "), gate=gate, gate_at=1))
        turn = asyncio.ensure_future(harness.turns.run(harness.ada, harness.request(), events.append, seconds=60))
        await asyncio.sleep(30)
        assert harness.model.requests
        assert "TEXT_MESSAGE_START" not in [event.type for event in events]
        gate.set()
        await turn
        assert "TEXT_MESSAGE_CONTENT" in [event.type for event in events]

    in_virtual_time(talk)


async def test_the_message_says_its_value_when_the_history_is_read_again(harness: Harness) -> None:
    harness.model.script(WRITTEN)
    await harness.say()
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    page = await harness.store.read_messages(harness.ada, thread, limit=9, before=None)
    assert page.messages[-1].make_metadata()["result"] == OSLO


async def test_a_repeated_message_gets_the_same_result(harness: Harness) -> None:
    harness.model.script(WRITTEN)
    await harness.say()
    assert (await harness.say()).last["result"] == OSLO
    harness.clock.advance(25 * 3600)  # the log is gone
    assert (await harness.say()).last["result"] == OSLO


async def test_the_value_is_stored_once(harness: Harness) -> None:
    harness.model.script(WRITTEN)
    turn = await harness.say()
    end = answers(turn)[0].end
    assert end is not None
    assert "Oslo" not in json.dumps(end.tail)


async def test_an_answer_that_does_not_fit_is_corrected_once(harness: Harness) -> None:
    harness.model.script(json.dumps(UNFIT), WRITTEN)
    turn = await harness.say()

    check_run([event.body for event in turn.events])
    assert turn.text == WRITTEN
    assert [message.text for message in answers(turn)] == [WRITTEN]
    first, second = harness.model.requests
    assert second.prompts[: len(first.prompts)] == first.prompts
    unfit, note = second.prompts[len(first.prompts) :]
    assert (unfit.role, unfit.content) == (Role.ASSISTANT, json.dumps(UNFIT))
    assert note.role is Role.SYSTEM
    assert "`degrees` must be of type integer" in str(note.content)
    assert json.dumps(SCHEMA, separators=(",", ":")) in str(note.content)
    assert second.tools == first.tools
    usage = turn.last["usage"][0]
    assert usage["totalTokens"] == 24  # both calls are paid for


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (json.dumps(UNFIT), "`degrees` must be of type integer"),
        ('{"city": "Oslo"}', "it lacks `degrees`"),
        ("It is cold in Oslo.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"city": "Oslo", "degrees": 1e999}', "no JSON object"),
        ("", "no JSON object"),
        (json.dumps({**OSLO, "more": [1] * 20_000}), "more than 10000 values"),
    ],
    ids=["wrong type", "missing", "prose", "list", "infinite", "empty", "too many values"],
)
async def test_a_second_answer_that_does_not_fit_is_an_error(harness: Harness, text: str, why: str) -> None:
    harness.model.script(text or Answer(()), text or Answer(()))
    code, message = problem(await harness.say())
    assert code == "answer_invalid"
    assert why in message
    assert "cold" not in message
    assert len(harness.model.requests) == 2


async def test_the_next_question_is_answered_after_an_invalid_answer(harness: Harness) -> None:
    harness.model.script("No.", "Never.", WRITTEN)
    problem(await harness.say("m1"))
    assert (await harness.say("m2")).last["result"] == OSLO


@pytest.mark.parametrize("text", [WRITTEN[:-5], WRITTEN], ids=["incomplete", "complete"])
async def test_a_cut_answer_is_an_error_that_says_so(harness: Harness, text: str) -> None:
    harness.model.script(Answer((text,), reason=FinishReason.LENGTH))
    assert problem(await harness.say()) == ("answer_invalid", TOO_LONG)
    assert len(harness.model.requests) == 1


async def test_an_answer_that_breaks_off_is_not_shown(harness: Harness) -> None:
    harness.model.script(Answer((WRITTEN,), error=ModelUnavailable()))
    assert problem(await harness.say())[0] == "model_unavailable"


async def test_what_is_said_beside_a_call_is_no_answer(harness: Harness) -> None:
    harness.model.script(Answer.calling(CALL, text="Let me see."), WRITTEN)
    turn = await harness.say()

    check_run([event.body for event in turn.events])
    assert [(message.text, message.result) for message in answers(turn)] == [("Let me see.", None), (WRITTEN, OSLO)]
    assert turn.last["result"] == OSLO
    assert [prompt.content for prompt in harness.model.requests[1].prompts[-2:]] == ["Let me see.", "Cold."]


async def test_a_corrected_answer_may_call_a_tool_first(harness: Harness) -> None:
    harness.model.script("No idea.", Answer.calling(CALL), WRITTEN)
    assert (await harness.say()).last["result"] == OSLO
    harness.model.script("No idea.", Answer.calling(CALL), "Still none.")
    assert (await harness.say("m2")).last["code"] == "answer_invalid"


async def test_a_repair_stays_within_the_agents_model_calls() -> None:
    harness = harness_of(with_schema(limits={"model_calls": 1}))
    harness.model.script("No.", WRITTEN)
    assert problem(await harness.say())[0] == "answer_invalid"
    assert len(harness.model.requests) == 1


async def test_the_last_answer_of_a_turn_is_checked_and_corrected_too() -> None:
    harness = harness_of(with_schema(limits={"tool_calls": 1}))
    harness.model.script(Answer.calling(CALL), Answer.calling(CALL, text="More?"), WRITTEN)
    assert (await harness.say()).last["result"] == OSLO
    assert harness.model.requests[2].settings.tool_choice == "none"
    assert LAST_ANSWER in [content for _, content in harness.model.requests[2].contents]


async def test_an_agent_that_waits_for_an_approval_owes_its_answer_until_then() -> None:
    harness = wiki(answer_schema=SCHEMA)
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("Done.", WRITTEN)
    turn = await answer(harness, yes(interrupt))
    assert turn.last["result"] == OSLO
    assert len(harness.model.requests) == 3


async def test_a_stopped_answer_is_not_shown(harness: Harness) -> None:
    harness.model.script(Answer((WRITTEN, " "), gate=asyncio.Event(), gate_at=1))
    turn = asyncio.ensure_future(harness.say())
    await harness.wait_for_requests()
    await harness.controls.cancel(harness.ada, harness.thread_id, None)
    answered_turn = await turn
    assert answered_turn.last["outcome"] == {"type": "cancelled"}
    assert answered_turn.text == ""
    assert "result" not in answered_turn.last


async def test_an_agent_says_goodbye_by_a_structured_answer(harness: Harness) -> None:
    goodbye = ToolCall("call-1", "end_conversation", '{"reason": "Done."}')
    harness.model.script(Answer.calling(goodbye, text="Goodbye."), WRITTEN)
    turn = await harness.say()
    assert turn.last["result"] == OSLO
    assert "thread_closed" in [event.body.get("name") for event in turn.events]


async def test_the_asking_agent_gets_the_json_as_the_result_of_its_call() -> None:
    expert = with_schema(id="expert", main=False, ends_conversations=False, tools=[])
    harness = harness_of(ASSISTANT.model_copy(update={"sub_agents": ("expert",)}), expert)
    asking = Answer.calling(ToolCall("call-1", "ask_expert", json.dumps({"message": "How cold?"})))
    harness.model.script(asking, f"Sure: {WRITTEN}", "It is -3 degrees.")
    turn = await harness.say()
    assert turn.text == "It is -3 degrees."
    assert "result" not in turn.last
    assert harness.model.requests[2].contents[-1] == ("tool", WRITTEN)


async def test_the_asking_agent_learns_that_an_answer_was_invalid() -> None:
    expert = with_schema(id="expert", main=False, ends_conversations=False, tools=[])
    harness = harness_of(ASSISTANT.model_copy(update={"sub_agents": ("expert",)}), expert)
    asking = Answer.calling(ToolCall("call-1", "ask_expert", json.dumps({"message": "How cold?"})))
    harness.model.script(asking, "Cold.", "Very cold.", "I could not find out.")
    await harness.say()
    assert "no JSON object" in str(harness.model.requests[3].contents[-1][1])


MAKER = with_schema(id="maker", main=False, ends_conversations=False)


async def test_a_specialist_answers_by_its_own_schema() -> None:
    harness = HandoffHarness(transfer("maker"), Answer((WRITTEN,)), maker=MAKER)
    turn = await harness.say()
    assert turn.last["result"] == OSLO
    assert [request.settings.answer_schema for request in harness.model.requests] == [None, SCHEMA]


async def test_a_specialist_in_a_fork_answers_in_a_message_of_its_own() -> None:
    begins = transfer("maker", context_summary="All of it.")
    seeing = Answer.calling(replace(CALL, id="call-2"), text="Let me see.")
    harness = HandoffHarness(begins, seeing, Answer((WRITTEN,)), maker=MAKER, context_mode="forked")

    async def weather() -> str:
        return "Cold."

    harness.tools.add("weather", weather)
    turn = await harness.say()
    check_run([event.body for event in turn.events])
    assert [(m.text, m.result) for m in answers(turn)][-2:] == [("Let me see.", None), (WRITTEN, OSLO)]
    assert all(message.status is MessageStatus.COMPLETE for message in answers(turn))
    assert turn.last["result"] == OSLO


async def test_an_agent_that_lacks_tools_says_nothing_of_it_within_the_json(harness: Harness) -> None:
    harness.tools.lose("python", "it is broken")
    harness.model.script(WRITTEN)
    assert (await harness.say()).text == WRITTEN
