"""Workflows that Baton completes by a tool: called once, with the collected data, and refused with a reason."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.errors import StoreUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.ports.agents.tools import ToolFailed, TurnContext
from baton.ports.threads.handoffs import CompletedQuery
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer
from tests.harness.desk import Desk
from tests.harness.failing_store import failing_once
from tests.harness.handoffs import advance, texts
from tests.harness.harness import Said
from tests.harness.state_checks import active, call, check_handoffs, results
from tests.harness.wiki import answer, no, yes


async def test_baton_calls_the_tool_at_the_end_with_the_collected_data() -> None:
    desk = Desk()
    turn = await desk.reach_the_end(advance("DONE"), "It is number 1.")

    assert desk.files == ["Box"]
    assert "file has answered:\nNumber 1." in (await results(desk.harness))[-1]
    assert texts(turn)[0][1] == "It is number 1."
    assert [(record.input, record.output) for record in await desk.records()] == [({"name": "Box"}, "Number 1.")]
    [made] = [event.body for event in turn.events if event.type == "TOOL_CALL_START"]
    assert made["toolCallName"] == "file"
    assert await active(desk.harness) == "assistant"
    check_run([event.body for event in turn.events])
    await check_handoffs(desk.harness)


async def test_the_model_cannot_call_the_tool_itself() -> None:
    desk = Desk()
    await desk.reach_the_end(Answer.calling(ToolCall("c1", "file", '{"name": "Box"}')), "I cannot.")
    assert desk.files == []
    assert "there is no tool 'file'" in (await results(desk.harness))[-1]
    assert all("file" not in [tool.name for tool in asked.tools] for asked in desk.harness.model.asked)


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


async def test_a_completed_workflow_is_announced_and_listed_with_its_data_and_result() -> None:
    desk = Desk()
    turn = await desk.reach_the_end(advance("DONE"), "It is number 1.")
    ada = desk.harness.ada
    [(completed, user_id)], _ = await desk.harness.workflows.completed(
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
    [made] = desk.harness.tools.calls
    assert (made.context.workflow.state, made.context.workflow.data["ASK"]) == ("BUILD", {"name": "Box"})


async def test_the_same_data_has_the_same_idempotency_key_whenever_it_is_tried() -> None:
    desk = Desk()
    desk.failures = [ToolFailed("It did not answer.", is_outage=True)]
    await desk.reach_the_end(advance("DONE"), "Not yet.")
    desk.harness.model.script(advance("DONE"), "Done.")
    await desk.harness.say("m4", "Again")
    first, second = [made.context for made in desk.harness.tools.calls]
    assert first.idempotency_key == second.idempotency_key
    assert first.call_id != second.call_id


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

    async def go_on() -> Said:
        desk.harness.model.forget()
        desk.harness.model.script(*([] if decisions else [advance("DONE")]), "It is number 1.", "It is number 1.")
        return await (answer(desk.harness, *decisions) if decisions else desk.harness.say("m4", "Do it"))

    failing_once(monkeypatch, getattr(desk.harness, store), operation)
    with pytest.raises(StoreUnavailable):
        await go_on()
    await go_on()
    assert len({made.context.idempotency_key for made in desk.harness.tools.calls}) == 1
    assert len(desk.files) == (2 if operation == "put_call" else 1)
    assert [record.succeeded for record in await desk.records()] == [True]
    assert await active(desk.harness) == "assistant"
    assert await desk.harness.workflows.unfinished(desk.harness.ada) == []
    await check_handoffs(desk.harness)
