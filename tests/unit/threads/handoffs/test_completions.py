"""Workflows that Baton completes by a tool: called once, with the collected data, and refused with a reason."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from baton.domain.agents.agent_code import Hook, HookPoint
from baton.domain.agents.guardrail import OnFailure, Refuse
from baton.domain.errors import StoreUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.ports.agents.tools import ToolFailed, TurnContext
from baton.ports.threads.handoffs import CompletedQuery
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.desk import Desk
from tests.harness.failing_store import fail_once
from tests.harness.handoffs import advance, texts, transfer
from tests.harness.harness import Turn
from tests.harness.state_checks import active, call, check_handoffs, results
from tests.harness.wiki import answer, no, yes


async def test_baton_calls_the_tool_at_the_end_with_the_collected_data() -> None:
    desk = Desk()
    turn = await desk.reach_the_end(advance("DONE"), "It is number 1.")

    assert desk.files == ["Box"]
    assert desk.harness.model.requests[-1].settings.metadata["workflow.result"] == "Number 1."
    assert "file has answered:\nNumber 1." in (await results(desk.harness))[-1]
    assert texts(turn)[0][1] == "It is number 1."
    assert [(record.input, record.output) for record in await desk.records()] == [({"name": "Box"}, "Number 1.")]
    [items] = [event.body for event in turn.events if event.type == "TOOL_CALL_START"]
    assert items["toolCallName"] == "file"
    assert await active(desk.harness) == "assistant"
    check_run([event.body for event in turn.events])
    await check_handoffs(desk.harness)


async def test_the_model_cannot_call_the_tool_itself() -> None:
    desk = Desk()
    await desk.reach_the_end(Answer.calling(ToolCall("c1", "file", '{"name": "Box"}')), "I cannot.")
    assert desk.files == []
    assert "there is no tool 'file'" in (await results(desk.harness))[-1]
    assert all("file" not in [tool.name for tool in request.tools] for request in desk.harness.model.requests)


async def test_the_agent_returns_only_after_its_model_has_read_the_answer() -> None:
    desk = Desk()
    both = Answer.calling(
        call("advance_workflow", "a", state="DONE"), call("return_to_main", "b", summary="s", outcome="o")
    )
    turn = await desk.reach_the_end(both, "It is number 1.")
    assert "read the answer of advance_workflow first" in (await results(desk.harness))[-1]
    assert texts(turn)[0] == ("Maker", "It is number 1.")
    assert (desk.files, await active(desk.harness)) == (["Box"], "assistant")


@pytest.mark.parametrize(
    ("failure", "state", "reason"),
    [
        (ToolFailed("There is a Box already.", is_refused=True, state="ASK"), "ASK", "There is a Box already."),
        (ToolFailed("There is a Box already.", is_refused=True), "BUILD", "There is a Box already."),
        (ToolFailed("It did not answer.", is_outage=True), "BUILD", "It did not answer."),
        (ToolFailed("It is broken.", is_fault=True, state="ASK"), "BUILD", "It is broken."),
    ],
)
async def test_a_refusal_or_failure_leaves_the_workflow_unfinished_and_the_model_learns_why(
    failure: ToolFailed, state: str, reason: str
) -> None:
    desk = Desk()
    desk.failures = [failure]
    turn = await desk.reach_the_end(advance("DONE"), "Not yet.")
    assert reason in (await results(desk.harness))[-1]
    assert (await desk.harness.state())["workflow"]["state"] == state
    check_run([event.body for event in turn.events])

    desk.harness.model.script(*([advance("BUILD", name="Box")] if state == "ASK" else []), advance("DONE"), "Done.")
    await desk.harness.say("m4", "Again")
    assert (desk.files, await active(desk.harness)) == (["Box"], "assistant")


async def test_a_hook_that_refuses_the_tools_answer_does_not_undo_what_the_tool_has_done() -> None:
    desk = Desk()
    desk.maker.code.hooks.append(Hook(HookPoint.AFTER_TOOL, lambda: Refuse("It is secret."), OnFailure.CLOSED, 5))
    await desk.reach_the_end(advance("DONE"), "It is filed.")
    assert "file has answered:\nError: It is secret." in (await results(desk.harness))[-1]
    assert (desk.files, await active(desk.harness)) == (["Box"], "assistant")
    [(completed, _)], _ = await desk.harness.workflows.list_completed(
        desk.harness.ada, CompletedQuery("ada"), limit=5, cursor=None
    )
    assert completed.result is None


async def test_what_the_user_agreed_to_before_a_refusal_is_asked_for_again() -> None:
    agree = {"type": "object", "required": ["agreed"], "properties": {"agreed": {"const": True}}}
    desk = Desk(collects=agree)
    desk.failures = [ToolFailed("There is a Box already.", is_refused=True, state="ASK")]
    await desk.reach_the_end(advance("DONE", agreed=True), "Another name?")
    desk.harness.model.script(advance("BUILD", name="Chest"), advance("DONE"), "Do you agree?")
    await desk.harness.say("m4", "Chest")
    assert "Still missing: agreed" in (await results(desk.harness))[-1]
    prompt = "\n".join(one.content for one in desk.harness.model.requests[-1].prompts)
    assert "None of it counts until it is given again" in prompt
    assert desk.files == []

    desk.harness.model.script(advance("DONE", agreed=True), "Done.")
    await desk.harness.say("m5", "Yes")
    assert desk.files == ["Chest"]


async def test_a_completed_workflow_is_announced_and_listed_with_its_data_and_result() -> None:
    desk = Desk()
    turn = await desk.reach_the_end(advance("DONE"), "It is number 1.")
    ada = desk.harness.ada
    [(completed, user_id)], _ = await desk.harness.workflows.list_completed(
        ada, CompletedQuery(ada.user_id), limit=5, cursor=None
    )
    assert (completed.name, completed.state, completed.result, user_id) == ("your Box", "DONE", "Number 1.", "ada")
    assert completed.data["ASK"] == {"name": "Box"}
    [event] = [event.body["value"] for event in turn.events if event.body.get("name") == "workflow_completed"]
    assert event == {
        "workflowId": completed.id,
        "agentId": "maker",
        "name": "your Box",
        "state": "DONE",
        "result": "Number 1.",
    }


async def test_the_closing_sentences_have_the_collected_data_and_the_result_in_words() -> None:
    day = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}, "size": {"type": "integer"}}}
    desk = Desk(collects=day)
    desk.maker.sentences["en"] |= {"completed": "{name}: {result}", "main_confirms": "{size} on {day}, {name}."}
    turn = await desk.reach_the_end(advance("DONE", day="2026-11-20", size=3), "It is number 1.")
    assert texts(turn)[1:] == [("Maker", "Box: Number 1."), ("Assistant", "3 on 20 November 2026, Box.")]


async def test_titles_and_closing_sentences_have_values_of_objects_that_were_collected_or_returned() -> None:
    bike = {"type": "object", "properties": {"part": {"type": "string"}, "until": {"type": "string", "format": "date"}}}
    desk = Desk(collects={"type": "object", "properties": {"bike": bike}}, title="the {bike.part}")
    desk.result = '{"number": 4711, "price": {"currency": "EUR"}}'
    desk.maker.sentences["en"] |= {
        "completed": "{bike.part} until {bike.until}: {result.number}.",
        "main_confirms": "In {result.price.currency}.",
    }
    turn = await desk.reach_the_end(advance("DONE", bike={"part": "saddle", "until": "2026-11-20"}), "Filed.")
    assert texts(turn)[1:] == [("Maker", "saddle until 20 November 2026: 4711."), ("Assistant", "In EUR.")]
    [event] = [event.body["value"] for event in turn.events if event.body.get("name") == "workflow_completed"]
    assert event["name"] == "the saddle"


@pytest.mark.parametrize(
    ("result", "completed", "words"),
    [
        ('"Number 1"', "It is {result}.", "It is Number 1."),
        ("12.50", "It costs {result}.", "It costs 12.50."),
        ('["a", "b"]', "{result}", "a, b"),
        ("[Draft] of the return", "{result}", "[Draft] of the return"),
        ('{"number": 1}', "{result}", None),
        ('{"number": 1}', "{result.name}", None),
        ('{"number": 1, "text": "cut wh', "{result}", None),
        ("Number 1.", "{result.number}", None),
    ],
)
async def test_users_never_read_json_or_a_placeholder_in_a_closing_sentence(
    result: str, completed: str, words: str | None
) -> None:
    desk = Desk()
    desk.result = result
    desk.maker.sentences["en"] |= {"completed": completed}
    turn = await desk.reach_the_end(advance("DONE"), "Filed.")
    assert [text for agent, text in texts(turn)[1:] if agent == "Maker"] == ([words] if words is not None else [])


async def test_a_closing_sentence_whose_data_was_not_collected_is_not_said() -> None:
    desk = Desk(collects={"type": "object", "properties": {"size": {"type": "integer"}}})
    desk.maker.sentences["en"] |= {"completed": "Size {size}.", "main_confirms": "Size {size}."}
    turn = await desk.reach_the_end(advance("DONE"), "It is number 1.")
    assert texts(turn)[1:] == [("Assistant", "You're back with me. What else can I do for you?")]


async def test_code_of_the_specialist_reads_the_state_and_the_data_of_its_workflow() -> None:
    desk = Desk()
    seen: list[tuple[str, dict[str, Any]]] = []

    def note(context: TurnContext) -> str | None:
        if context.workflow is not None:
            seen.append((context.workflow.state, dict(context.workflow.data["ASK"])))
            context.workflow.data["ASK"]["name"] = "changed"  # type: ignore[index]
        return None

    desk.maker.code.prompt = note
    await desk.reach_the_end(advance("DONE"), "It is number 1.")
    assert seen == [("ASK", {}), ("ASK", {}), ("BUILD", {"name": "Box"})]
    [tool_call] = desk.harness.tools.calls
    assert (tool_call.context.workflow.state, tool_call.context.workflow.data["ASK"]) == ("BUILD", {"name": "Box"})


async def test_the_same_data_has_the_same_idempotency_key_whenever_it_is_tried() -> None:
    desk = Desk()
    desk.failures = [ToolFailed("It did not answer.", is_outage=True)]
    await desk.reach_the_end(advance("DONE"), "Not yet.")
    desk.harness.model.script(advance("DONE"), "Done.")
    await desk.harness.say("m4", "Again")
    first, second = [tool_call.context for tool_call in desk.harness.tools.calls]
    assert first.idempotency_key == second.idempotency_key
    assert first.call_id != second.call_id


async def test_a_workflow_that_goes_on_in_another_conversation_has_the_same_idempotency_key() -> None:
    desk = Desk()
    desk.failures = [ToolFailed("It did not answer.", is_outage=True)]
    await desk.reach_the_end(advance("DONE"), "Not yet.")
    desk.harness.thread_id = str(uuid.uuid4())
    await desk.harness.say("m4", "Hello")
    [workflow] = (await desk.harness.state())["resumable"]
    desk.harness.model.script(transfer(workflow_id=workflow["id"]), advance("DONE"), "Done.")
    await desk.harness.say("m5", "Go on")
    first, second = [tool_call.context.idempotency_key for tool_call in desk.harness.tools.calls]
    assert (first, desk.files) == (second, ["Box"])


async def test_a_person_approves_the_call_first() -> None:
    desk = Desk(requires_approval=True, label="Filing", asks="File {name}[ of size {size}]?")
    turn = await desk.reach_the_end(advance("DONE"))
    [interrupt] = turn.last["outcome"]["interrupts"]
    assert (interrupt["metadata"]["toolName"], interrupt["metadata"]["arguments"]) == ("file", '{"name": "Box"}')
    assert (interrupt["metadata"]["label"], interrupt["message"]) == ("Filing", "File Box?")
    starts = [event.body for event in turn.events if event.type == "TOOL_CALL_START"]
    assert [start["metadata"]["label"] for start in starts] == ["Filing"]
    assert (desk.files, (await desk.harness.state())["workflow"]["state"]) == ([], "BUILD")

    desk.harness.model.script("It is number 1.")
    resumed = await answer(desk.harness, yes(interrupt))
    assert texts(resumed)[0] == ("Maker", "It is number 1.")
    assert (desk.files, await active(desk.harness)) == (["Box"], "assistant")
    assert len(await desk.records()) == 1
    check_run([event.body for event in resumed.events])


async def test_what_a_person_declines_leaves_the_workflow_where_it_was() -> None:
    desk = Desk(requires_approval=True)
    turn = await desk.reach_the_end(advance("DONE"))
    [interrupt] = turn.last["outcome"]["interrupts"]
    desk.harness.model.script("Then not.")
    resumed = await answer(desk.harness, no(interrupt))
    assert texts(resumed) == [("Maker", "Then not.")]
    assert "The user refused this call" in (await results(desk.harness))[-1]
    assert (desk.files, (await desk.harness.state())["workflow"]["state"]) == ([], "BUILD")
    [record] = await desk.records()
    assert not record.succeeded


@pytest.mark.parametrize("is_approved", [False, True])
@pytest.mark.parametrize(
    ("store", "operation"),
    [("records", "put_call"), ("store", "put_message"), ("workflows", "put"), ("handoffs", "put"), ("store", "commit")],
)
async def test_a_worker_that_dies_at_any_write_leaves_a_workflow_that_is_completed_once(
    monkeypatch: pytest.MonkeyPatch, store: str, operation: str, is_approved: bool
) -> None:
    desk = Desk(requires_approval=is_approved)
    turn = await desk.reach_the_end(advance("DONE") if is_approved else "Shall I really?")
    decisions = [yes(interrupt) for interrupt in turn.last["outcome"].get("interrupts", ())]

    async def go_on() -> Turn:
        desk.harness.model.forget()
        desk.harness.model.script(*([] if decisions else [advance("DONE")]), "It is number 1.", "It is number 1.")
        return await (answer(desk.harness, *decisions) if decisions else desk.harness.say("m4", "Do it"))

    fail_once(monkeypatch, getattr(desk.harness, store), operation)
    with pytest.raises(StoreUnavailable):
        await go_on()
    await go_on()
    assert len({tool_call.context.idempotency_key for tool_call in desk.harness.tools.calls}) == 1
    assert len(desk.files) == (2 if operation == "put_call" else 1)
    assert [record.succeeded for record in await desk.records()] == [True]
    assert await active(desk.harness) == "assistant"
    assert await desk.harness.workflows.list_unfinished(desk.harness.ada) == []
    await check_handoffs(desk.harness)
