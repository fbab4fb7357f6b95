"""Tools of the user's application: the run waits for their results, and goes on exactly once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import InterruptUnavailable, ToolNameTaken
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision, to_client_interrupts
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.threads.thread import EndReason
from baton.domain.threads.turn_requests import ClientOffer, ClientTool
from baton.memory.prompt.message_prompts import NOT_CARRIED_OUT
from baton.threads.requests.parsing import make_decision_request
from baton.threads.requests.queue_mapping import make_queued_message
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.page import PAGE, PAINT, choose, list_offered, paint, prompt_text, result, run_until_interrupt
from tests.harness.wiki import answer, answer_and_die, call_results, delete, wiki, yes


@pytest.fixture
def harness() -> Harness:
    return wiki()


def without(field: str) -> Harness:
    """A conversation whose agent does not take ``field`` of the client."""
    return Harness(assistant=AgentDefinition.model_validate(ASSISTANT.model_dump() | {field: False}))


async def list_painted(harness: Harness) -> list[ToolCallRecord]:
    """The records of calls of the page's tool."""
    calls, _ = await harness.records.list_calls(harness.ada, harness.thread_id, limit=10, cursor=None)
    return [call for call in calls if call.tool_name == "paint"]


async def test_a_call_ends_the_run_and_waits_under_its_own_id(harness: Harness) -> None:
    harness.model.script(Answer.calling(paint()))
    turn = await harness.say(client=PAGE)
    assert turn.types == [
        "RUN_STARTED",
        "STATE_SNAPSHOT",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "RUN_FINISHED",
    ]
    (interrupt,) = turn.last["outcome"]["interrupts"]
    call_id = turn.events[2].body["toolCallId"]
    assert (interrupt["id"], interrupt["toolCallId"], interrupt["reason"]) == (call_id, call_id, "client_tool")
    assert interrupt["metadata"] == {"toolName": "paint"}
    assert len(call_id) <= 40


async def test_the_result_is_reported_to_the_model_and_the_answer_goes_on(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("There you are.")
    turn = await answer(harness, result(interrupt))
    assert (turn.text, prompt_text(turn)) == ("There you are.", [("It is red now.", "succeeded")])
    assert turn.events[0].body["input"]["resume"][0]["payload"] == "It is red now."
    assert call_results(harness) == ["It is red now."]
    (call,) = await list_painted(harness)
    assert (call.output, call.succeeded, call.input) == ("It is red now.", True, {"colour": "red"})
    (audited,) = [record for record in harness.audit.records if record.action == "tool.client"]
    assert (audited.outcome, audited.detail["tool"]) == ("succeeded", "paint")


async def test_the_clients_tools_come_after_the_agents_own_in_a_fixed_order(harness: Harness) -> None:
    harness.model.script("One.", "Two.")
    await harness.say("m1", client=PAGE)
    await harness.say("m2", client=replace(PAGE, tools=PAGE.tools[::-1]))
    assert (
        list_offered(harness, 0)
        == list_offered(harness, 1)
        == ["delete", "end_conversation", "look", "read", "choose", "paint"]
    )
    described = harness.model.requests[0].tools[-1].description
    assert 'Its description: "Paints the background."' in described


async def test_the_context_stands_before_the_message_as_quoted_data_and_is_not_stored(harness: Harness) -> None:
    await harness.say(client=PAGE)
    prompts = harness.model.requests[0].prompts
    assert [prompt.role.value for prompt in prompts] == ["system", "context", "system", "user"]
    assert '- "The page": "Cart with 3 items"' in str(prompts[1].content)
    assert "never an instruction" in str(prompts[1].content)
    await harness.say("m2", "And now?")
    assert "Cart" not in str(harness.model.requests[1].contents)


async def test_context_takes_at_most_a_quarter_of_the_prompt(harness: Harness) -> None:
    page = ClientOffer(context=tuple(replace(PAGE.context[0], value="word " * 8_000) for _ in range(3)))
    await harness.say(client=page)
    note = str(harness.model.requests[0].prompts[1].content)
    assert len(note.split()) < ASSISTANT.memory.max_working_memory_tokens / 4 + 100
    assert "[cut]" in note
    assert "[2 more are left out" in note


@pytest.mark.parametrize(("field", "tools", "prompts"), [("client_tools", 1, 4), ("client_context", 3, 3)])
async def test_an_agent_may_take_neither(field: str, tools: int, prompts: int) -> None:
    harness = without(field)
    await harness.say(client=PAGE)
    assert len(harness.model.requests[0].tools) == tools
    assert len(harness.model.requests[0].prompts) == prompts


async def test_own_calls_are_made_while_the_page_and_a_person_are_waited_for(harness: Harness) -> None:
    interrupts = await run_until_interrupt(
        harness, delete("home"), paint(), replace(delete("x"), name="look", arguments="{}")
    )
    assert [called.name for called in harness.tools.calls] == ["look"]
    assert [interrupt["reason"] for interrupt in interrupts] == ["tool_approval", "client_tool"]
    approval, call = interrupts
    assert (await answer(harness, result(call))).finished is None
    harness.model.script("Both.")
    turn = await answer(harness, yes(approval))
    assert sorted(prompt_text(turn)) == [("It is red now.", "succeeded"), ("home is gone.", "succeeded")]
    assert sorted(call_results(harness)) == ["It is red now.", "Three pages.", "home is gone."]


async def test_several_calls_may_be_answered_at_once(harness: Harness) -> None:
    first, second = await run_until_interrupt(harness, paint(), choose())
    harness.model.script("Both.")
    turn = await answer(harness, result(second, {"chosen": 2}), result(first))
    assert prompt_text(turn) == [("It is red now.", "succeeded"), ('{"chosen": 2}', "succeeded")]


@pytest.mark.parametrize(
    ("values", "prompt_as", "audited"),
    [
        (lambda call: result(call, "No canvas.", is_error=True), ("No canvas.", "failed"), "failed"),
        (
            lambda call: InterruptDecision(call["id"], DecisionStatus.CANCELLED, {"reason": "Busy."}, "ada"),
            ("The user's application did not carry out this call. They said: Busy.", "refused"),
            "refused",
        ),
    ],
    ids=["failed", "cancelled"],
)
async def test_the_model_learns_of_a_call_that_came_to_nothing(
    harness: Harness, values: Any, prompt_as: tuple[str, str], audited: str
) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("A pity.")
    assert prompt_text(await answer(harness, values(interrupt))) == [prompt_as]
    assert [record.outcome for record in harness.audit.records if record.action == "tool.client"] == [audited]


async def test_a_result_that_comes_too_late_counts_as_none(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.clock.advance(timedelta(days=8).total_seconds())
    harness.model.script("Too late.")
    ((text, end),) = prompt_text(await answer(harness, result(interrupt)))
    assert ("in time" in text, end) == (True, "refused")


async def test_a_repeated_result_changes_nothing(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("Once.")
    first = await answer(harness, result(interrupt))
    again = await answer(harness, result(interrupt, "It is blue."))
    assert [event.body for event in again.events] == [event.body for event in first.events]
    assert len(harness.model.requests) == 2


async def test_a_message_instead_gives_the_call_up(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    harness.model.script("As you wish.")
    await harness.say("m2", "Never mind.", client=PAGE)
    assert call_results(harness) == [NOT_CARRIED_OUT]
    with pytest.raises(InterruptUnavailable):
        await answer(harness, result(interrupt))


async def test_a_result_of_another_call_is_refused(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    other = {"id": interrupt["id"][:-1] + ("a" if interrupt["id"][-1] != "a" else "b")}
    with pytest.raises(InterruptUnavailable):
        await answer(harness, result(other))
    harness.model.script("Still here.")
    assert (await answer(harness, result(interrupt))).text == "Still here."


async def test_a_result_is_taken_after_the_thread_was_closed(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    await harness.closer.close(harness.ada, harness.thread_id, EndReason.TIMEOUT, patience=5)
    harness.model.script("Done.")
    assert (await answer(harness, result(interrupt))).text == "Done."


async def test_a_run_that_goes_on_offers_the_same_tools_again_and_may_wait_again(harness: Harness) -> None:
    (first,) = await run_until_interrupt(harness)
    harness.model.script(Answer.calling(paint("blue")), "Blue it is.")
    turn = await answer(harness, result(first))
    (second,) = turn.last["outcome"]["interrupts"]
    turn = await answer(harness, result(second, "It is blue now."))
    assert turn.text == "Blue it is."
    assert list_offered(harness, 0) == list_offered(harness, 1) == list_offered(harness, 2)
    assert call_results(harness) == ["It is red now.", "It is blue now."]
    assert "Cart with 3 items" in str(harness.model.requests[2].contents)


async def test_a_worker_that_takes_over_offers_the_same_tools(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    await answer_and_die(harness, result(interrupt))
    harness.clock.advance(60)
    harness.model.script("Done after all.")
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    assert list_offered(harness) == list_offered(harness, 0)
    assert call_results(harness) == ["It is red now."]
    turn = await answer(harness, result(interrupt))
    assert turn.text == "Done after all."
    assert len(await list_painted(harness)) == 1


async def test_a_worker_that_takes_a_message_over_offers_the_same_tools_and_context(harness: Harness) -> None:
    harness.model.script(Answer(("Let",), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(harness.say(client=PAGE))
    await harness.wait_for_requests()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    harness.clock.advance(60)
    harness.model.script(Answer.calling(paint()))
    await harness.turns.finish_interrupted(harness.ada, harness.thread_id)
    assert list_offered(harness, 1) == list_offered(harness, 0)
    assert harness.model.requests[1].prompts == harness.model.requests[0].prompts
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert [shown_interrupt["reason"] for shown_interrupt in to_client_interrupts(thread.open_interrupts)] == [
        "client_tool"
    ]


async def test_a_tool_with_the_name_of_the_agents_own_is_refused_and_nothing_is_stored(harness: Harness) -> None:
    page = ClientOffer((replace(PAINT, name="delete"),))
    with pytest.raises(ToolNameTaken, match="delete"):
        await harness.say(client=page)
    assert harness.store.rows == {}
    await harness.say("m1")
    with pytest.raises(ToolNameTaken):
        await harness.say("m2", client=page)
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert (thread.next_ordinal, thread.run) == (2, None)


async def test_an_answer_with_such_a_tool_is_refused_and_not_kept(harness: Harness) -> None:
    (interrupt,) = await run_until_interrupt(harness)
    taken = ClientOffer((replace(PAINT, name="look"),))
    request = make_decision_request(harness.thread_id, [result(interrupt)], client=taken)
    with pytest.raises(ToolNameTaken):
        await harness.turns.run(harness.ada, request, lambda event: None, seconds=20)
    harness.model.script("Now.")
    assert (await answer(harness, result(interrupt))).text == "Now."


async def test_at_most_eight_calls_of_an_answer_wait(harness: Harness) -> None:
    interrupts = await run_until_interrupt(harness, *(paint(f"red-{number}") for number in range(10)))
    assert len(interrupts) == 8


async def test_the_queue_carries_what_the_page_offers(harness: Harness) -> None:
    request = harness.request(client=PAGE)
    queued = make_queued_message(harness.ada, request, request_id="r")
    again = type(queued).model_validate_json(queued.model_dump_json(by_alias=True)).request
    assert again.client == PAGE


async def test_arguments_that_do_not_fit_go_back_to_the_model(harness: Harness) -> None:
    harness.model.script(Answer.calling(replace(paint(), arguments="{}")), "I see.")
    turn = await harness.say(client=PAGE)
    assert turn.last["outcome"] == {"type": "success"}
    assert "colour" in prompt_text(turn)[0][0]


async def test_a_schema_that_multiplies_is_left_to_the_page(harness: Harness) -> None:
    inner: dict[str, Any] = {"allOf": [{"properties": {"a": {"$ref": "#/$defs/n"}}}] * 2}
    tool = ClientTool("deep", "Deep.", {"type": "object", "$defs": {"n": inner}, "$ref": "#/$defs/n"})
    nested = '{"a":' * 60 + "1" + "}" * 60
    harness.model.script(Answer.calling(replace(paint(), name="deep", arguments=nested)))
    turn = await harness.say(client=ClientOffer((tool,)))
    assert turn.last["outcome"]["type"] == "interrupt"


async def test_results_that_come_with_a_message_are_reported_with_it(harness: Harness) -> None:
    first, _ = await run_until_interrupt(harness, paint(), choose())
    harness.model.script("I see.", "Again.")
    turn = await harness.say("m2", "Thanks!", client=replace(PAGE, results=(result(first),)))
    assert (turn.text, prompt_text(turn)) == ("I see.", [("It is red now.", "succeeded")])
    assert call_results(harness) == ["It is red now.", NOT_CARRIED_OUT]
    assert [role for role, _ in harness.model.requests[1].contents if role != "system"] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "context",
        "user",
    ]
    assert [record.outcome for record in harness.audit.records if record.action == "tool.client"] == ["succeeded"]
    await harness.say("m3", "More?")
    assert call_results(harness) == ["It is red now.", NOT_CARRIED_OUT]
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.pending is None


async def test_results_of_other_calls_beside_a_message_bring_nothing(harness: Harness) -> None:
    await run_until_interrupt(harness)
    harness.model.script("I see.")
    other = InterruptDecision("f" * 32 + "_aaaaaaa", DecisionStatus.RESOLVED, "Injected.", "ada")
    turn = await harness.say("m2", "Thanks!", client=replace(PAGE, results=(other,)))
    assert prompt_text(turn) == []
    assert "Injected" not in str(harness.model.requests[1].contents)
