"""A stored conversation becomes a test: without personal data, with the answers of then."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from baton.adapters.agents.agent_files import AgentFiles, read_agent
from baton.agents.approvals import EXPIRED, REFUSED
from baton.domain.agents.sentences import SENTENCES
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.ports.agents.tools import ToolFailed
from baton.threads.requests.parsing import make_decision_request
from baton_project.project import Project
from baton_testing.errors import CannotRun
from baton_testing.recordings.stored_decisions import StoredDecision, find_decisions, find_waiting_message
from baton_testing.recordings.stored_desks import StoredDesks, find_sentence
from baton_testing.recordings.stored_thread import StoredThread
from baton_testing.recordings.thread_test import ThreadTest
from tests.harness.handoffs import advance, calling, transfer
from tests.harness.harness import Harness
from tests.unit.api.served import Served
from tests.unit.project.conftest import edit
from tests.unit.testing.command import run
from tests.unit.testing.stored import REFUND, REFUND_TOOL, make_recording, read_stored

MAIL = "ada.lovelace@example.com"


async def complaint(project: Project) -> Served:
    """A user asked for an order, and got nonsense."""
    files = [read_agent(project.agents / name)[1] for name in ("assistant.yaml", "orders.yaml")]
    harness = Harness(assistant=files[0], others=tuple(files[1:]))

    async def order_status(number: str) -> str:
        return f"{number} of {MAIL} is lost."

    parameters = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
    harness.tools.add("order_status", order_status, parameters=parameters)
    harness.model.script(
        f"Noted, {MAIL}.",
        calling("ask_orders", message=f"Where is A-1001 of {MAIL}?"),
        calling("order_status", number="A-1001"),
        "It is lost.",
        "Orders are never lost.",
    )
    await harness.say("m1", f"I am {MAIL}.", time_zone="Asia/Tokyo")
    harness.clock.advance(3600)
    await harness.say("m2", "Where is A-1001?")
    return Served(harness)


@pytest.mark.parametrize("permissions", [("context:inspect",), ()], ids=["with the inspector", "without"])
async def test_a_complaint_becomes_a_test_that_passes_as_it_was_and_fails_as_it_should_be(
    project: Project, permissions: tuple[str, ...]
) -> None:
    written = await make_recording(project, await complaint(project), *permissions)
    assert written.result.passed
    assert yaml.safe_load(written.test.read_text())["user"]["time_zone"] == "Asia/Tokyo"
    assert "Today is Thursday, 1 March 2040 (Asia/Tokyo)." in written.cassette.read_text()
    [test] = yaml.safe_load(written.test.read_text())["conversations"]
    assert [step.get("say", step.get("wait")) for step in test["steps"]] == [
        "I am [email].",
        "60 minutes",
        "Where is A-1001?",
    ]
    assert {"tool": "order_status", "arguments": {"number": "A-1001"}} in test["steps"][2]["expect"]
    assert (await asyncio.to_thread(run, project, str(written.test))).code == 0
    edit(written.test, "    - consulted:", "    - says: is lost\n    - consulted:")
    ran = await asyncio.to_thread(run, project, str(written.test))
    assert ran.code == 1
    assert "happened: they said 'Orders are never lost.'" in ran.output


async def test_no_personal_data_is_written(project: Project) -> None:
    written = await make_recording(project, await complaint(project), "context:inspect")
    for file in (written.test, written.cassette):
        assert "lovelace" not in file.read_text()
    assert "A-1001 of [email] is lost." in written.test.read_text()


async def test_a_file_that_is_there_is_not_overwritten(project: Project) -> None:
    served = await complaint(project)
    first = (await make_recording(project, served)).test
    text = first.read_text()
    with pytest.raises(CannotRun, match="is there already"):
        await make_recording(project, served)
    assert first.read_text() == text


async def test_a_conversation_that_cannot_be_read_says_what_is_needed(project: Project) -> None:
    served = await complaint(project)
    served.harness.thread_id = "another"
    with pytest.raises(CannotRun, match="BATON_TOKEN"):
        await read_stored(served)


def test_a_server_that_cannot_be_reached_is_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_TOKEN", "token")
    ran = run(project, "--from", "some-thread", "--url", "http://127.0.0.1:9")
    assert ran.code == 2
    assert "http://127.0.0.1:9 cannot be reached" in ran.errors
    assert not list(Path(project.folder / "tests").glob("some-thread*"))


PARAMETERS = {
    "type": "object",
    "properties": {"number": {"type": "string"}, "euros": {"type": "number"}},
    "required": ["number", "euros"],
}


async def hold_refund_talk(project: Project, *answers: dict[str, object], content: object = "Refund A-1001.") -> Served:
    """A user asked for a refund, which was decided about; the service is down."""
    tools, agent = project.tools / "shop_tools" / "orders.py", project.agents / "assistant.yaml"
    tools.write_text(tools.read_text() + REFUND)
    agent.write_text(agent.read_text() + REFUND_TOOL)
    harness = Harness(assistant=read_agent(agent)[1], others=(read_agent(project.agents / "orders.yaml")[1],))
    harness.ada = replace(harness.ada, tenant_id="globex")

    async def refund(number: str, euros: float) -> str:
        raise ToolFailed("The service is down.")

    harness.tools.add("refund", refund, parameters=PARAMETERS, requires_approval=True)
    harness.model.script(calling("refund", number="A-1001", euros=12.5), "I am sorry.")
    turn = await harness.say("m1", content)
    interrupts = turn.last["outcome"]["interrupts"]
    decided = [
        InterruptDecision(interrupt["id"], DecisionStatus.RESOLVED, payload, "ada")
        for interrupt, payload in zip(interrupts, answers, strict=True)
    ]
    await harness.turns.run(
        harness.ada, make_decision_request(harness.thread_id, decided), lambda event: None, seconds=20
    )
    return Served(harness)


@pytest.mark.parametrize("permissions", [("context:inspect",), ()], ids=["with the inspector", "without"])
async def test_an_approved_call_that_failed_is_approved_in_the_test(
    project: Project, permissions: tuple[str, ...]
) -> None:
    written = await make_recording(project, await hold_refund_talk(project, {"approved": True}), *permissions)
    assert written.result.passed, [run.failures for run in written.result.runs]
    content = yaml.safe_load(written.test.read_text())
    [test] = content["conversations"]
    assert [next(iter(step.items())) for step in test["steps"]] == [("say", "Refund A-1001."), ("approve", True)]
    assert {"approval": "refund"} in test["steps"][0]["expect"]
    assert content["tools"]["refund"]["cases"] == [
        {"when": {"number": "A-1001", "euros": 12.5}, "fails": "The service is down."}
    ]
    assert content["user"]["tenant"] == "globex"
    assert (await asyncio.to_thread(run, project, str(written.test))).code == 0


@pytest.mark.parametrize("permissions", [("context:inspect",), ()], ids=["with the inspector", "without"])
async def test_a_refusal_keeps_its_comment_and_makes_no_stub(project: Project, permissions: tuple[str, ...]) -> None:
    served = await hold_refund_talk(project, {"approved": False, "comment": "Not that much."})
    written = await make_recording(project, served, *permissions)
    assert written.result.passed, [run.failures for run in written.result.runs]
    content = yaml.safe_load(written.test.read_text())
    [_, step] = content["conversations"][0]["steps"]
    assert (step["decline"], step["comment"]) == (True, "Not that much.")
    assert "tools" not in content
    edit(written.test, "decline: true", "approve: true")
    edit(written.test, "    comment: Not that much.\n", "")
    ran = await asyncio.to_thread(run, project, str(written.test))
    assert "+the tool itself answers" in ran.output  # what was not recorded: no stub stands for a call never made


REPORTS = """
id: reports
name: Reports
description: Takes reports.
system_prompt: Take the report.
tools:
  - {type: python, name: file_report, description: File it., entry_point: "shop_tools.orders:file_report"}
workflow:
  name: report
  on_complete: file_report
  states:
    - name: BIKE
      label: The bike
      collects: {type: object, required: [number], properties: {number: {type: string}}}
    - name: CHECK
      label: Agreeing
      collects: {type: object, required: [agreed], properties: {agreed: {const: true}}}
    - {name: DONE, label: Done, final: true}
"""


async def report_bike(project: Project) -> Served:
    """A user reported a bike that the tool did not know, and then the right one."""
    assistant, reports = project.agents / "assistant.yaml", project.agents / "reports.yaml"
    assistant.write_text(assistant.read_text() + "handoffs: [reports]\n")
    reports.write_text(REPORTS)
    tools = project.tools / "shop_tools" / "orders.py"
    tools.write_text(tools.read_text() + "\n\nasync def file_report(number: str) -> str:\n    return 'today'\n")
    files = [read_agent(path)[1] for path in (assistant, reports, project.agents / "orders.yaml")]
    harness = Harness(assistant=files[0], others=tuple(files[1:]))

    async def file_report(number: str) -> str:
        if number == "BK-9":
            raise ToolFailed("There is no bike BK-9.", is_refused=True, state="BIKE")
        return "Report 1."

    def tick() -> datetime:
        harness.clock.advance(0.001)
        return harness.clock.time

    harness.clock.now = tick
    parameters = {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]}
    harness.tools.add("file_report", file_report, parameters=parameters)
    harness.model.script(transfer("reports"), "Which bike?")
    await harness.say("m1", "My bike is broken.")
    harness.model.script(
        advance("DONE"), advance("CHECK", number="BK-9"), advance("DONE", agreed=True), "There is no such bike."
    )
    await harness.say("m2", "BK-9, yes.")
    harness.model.script(advance("CHECK", number="BK-1"), advance("DONE", agreed=True), "It is report 1.")
    await harness.say("m3", "BK-1, yes.")
    return Served(harness)


@pytest.mark.parametrize("permissions", [("context:inspect",), ()], ids=["with the inspector", "without"])
async def test_a_workflow_whose_tool_refused_at_first_is_held_as_it_was(
    project: Project, permissions: tuple[str, ...]
) -> None:
    written = await make_recording(project, await report_bike(project), *permissions)
    assert written.result.passed, [run.failures for run in written.result.runs]
    content = yaml.safe_load(written.test.read_text())
    assert content["tools"]["file_report"]["cases"] == [
        {"when": {"number": "BK-9"}, "refuses": "There is no bike BK-9.", "state": "BIKE"},
        {"when": {"number": "BK-1"}, "returns": "Report 1."},
    ]
    steps = content["conversations"][0]["steps"]
    states = [[item["workflow"] for item in step["expect"] if "workflow" in item] for step in steps]
    assert states == [[], ["BIKE"], ["DONE"]]
    assert (await asyncio.to_thread(run, project, str(written.test))).code == 0


async def test_a_file_is_left_out_and_it_is_said(project: Project) -> None:
    part = {
        "type": "document",
        "source": {"type": "url", "value": "https://example.com/bill.pdf", "mimeType": "application/pdf"},
        "metadata": {"name": "bill.pdf"},
    }
    content = [{"type": "text", "text": "Refund A-1001."}, part]
    written = await make_recording(project, await hold_refund_talk(project, {"approved": True}, content=content))
    [sentence] = written.left_out
    assert sentence.startswith("The file bill.pdf of 'Refund A-1001.' may hold personal data")
    assert f"# Left out: {sentence}" in written.test.read_text().splitlines()


def make_decided(*results: tuple[str, str, str]) -> list[dict[str, Any]]:
    """The results of calls with which a run began: id, tool and text of each."""
    return [
        {"role": "tool", "toolCallId": call, "content": text, "metadata": {"toolName": tool, "outcome": outcome}}
        for call, tool, text in results
        for outcome in ["succeeded" if text == "Done." else "refused"]
    ]


def test_decisions_are_read_from_the_results_that_a_run_begins_with() -> None:
    own = {"role": "assistant", "toolCalls": [{"id": "later"}], "metadata": {}}
    results = make_decided(
        ("a", "refund", "Done."), ("b", "delete", f"{REFUSED} They said: No."), ("c", "send", EXPIRED)
    )
    later = make_decided(("later", "refund", REFUSED))
    assert find_decisions([*results, own, *later]) == [
        StoredDecision("a", "refund", agrees=True),
        StoredDecision("b", "delete", agrees=False, comment="No."),
        StoredDecision("c", "send", agrees=False, is_late=True),
    ]


def test_the_message_whose_calls_wait_is_the_last_one_without_results() -> None:
    asking = {"role": "assistant", "toolCalls": [{"id": "a"}], "metadata": {}}
    assert find_waiting_message([asking]) == asking
    assert find_waiting_message([asking, *make_decided(("a", "refund", "Done."))]) is None
    assert find_waiting_message([{"role": "assistant", "content": "Hello", "metadata": {}}]) is None


PEOPLE = """id: people
kind: desk
name: Support team
description: People.
triggers: ["a human"]
"""


async def test_people_of_a_desk_act_in_the_test_and_none_of_their_words_is_an_agents(project: Project) -> None:
    (project.agents / "people.yaml").write_text(PEOPLE)
    edit(project.agents / "assistant.yaml", "main: true", "main: true\nhandoffs: [{to: people}]")
    files = [read_agent(project.agents / name)[1] for name in ("assistant.yaml", "orders.yaml", "people.yaml")]
    harness = Harness(assistant=files[0], others=tuple(files[1:]))
    served = Served(harness)
    path = f"/threads/{harness.thread_id}/desk"

    async def act(action: str, **body: Any) -> None:
        harness.clock.advance(1)
        (await served.post(f"{path}/{action}", body, "desk:answer", user="Anna")).raise_for_status()
        harness.clock.advance(1)

    harness.model.script("Ada wants a person.", "You are welcome.")
    await harness.say("m1", "I want to talk to a human.")
    await act("take")
    await act("messages", messageId="p1", content="You get 20 euros back.")
    await harness.say("m2", "Fine.")
    await act("return", note="Agreed.")
    await harness.say("m3", "Thanks")
    written = await make_recording(project, served)
    assert written.result.passed, [run.failures for run in written.result.runs]
    [test] = yaml.safe_load(written.test.read_text())["conversations"]
    anna = {"id": "Anna", "name": "Anna"}
    assert [step.get("say") or step["person"] for step in test["steps"]] == [
        "I want to talk to a human.",
        {**anna, "takes": True},
        {**anna, "says": "You get 20 euros back."},
        "Fine.",
        {**anna, "returns": True},
        "Thanks",
    ]
    assert {"delivered": True} in test["steps"][3]["expect"]


def test_a_default_sentence_of_baton_is_no_answer_of_a_model(project: Project) -> None:
    agents = AgentFiles.load(project.agents)
    main = agents.get_default_main().id
    messages = [
        {"role": "user", "content": "Cancel", "metadata": {"runId": "r", "ordinal": 0}},
        {"role": "assistant", "content": SENTENCES["exit"], "metadata": {"runId": "r", "ordinal": 1, "agentId": main}},
    ]
    thread = StoredThread({"threadId": "t", "agentId": main}, messages, [], [], [], {}, "acme")
    [test] = ThreadTest(thread, agents).make_content(with_answers=True)["conversations"]
    assert [step["answers"] for step in test["steps"]] == [[]]


@pytest.mark.parametrize(
    ("sentence", "text", "values"),
    [
        ("{person} is here. Ask {person}!", "Anna is here. Ask Anna!", {"person": "Anna"}),
        ("Order {result.number} is booked.", "Order A-1 is booked.", {"result.number": "A-1"}),
        ("{result}", "Anything", None),
    ],
)
def test_an_agents_own_sentence_is_recognised_by_its_words(
    sentence: str, text: str, values: dict[str, str] | None
) -> None:
    agents: Any = SimpleNamespace(all=lambda: [SimpleNamespace(sentences={"en": {"completed": sentence}})])
    message = {"role": "assistant", "content": text, "metadata": {"agentId": "orders"}}
    assert find_sentence(message, agents) == (("completed", values, "orders") if values is not None else None)


def test_a_person_whom_the_agents_own_sentence_does_not_name_acts_in_the_test() -> None:
    own = {"desk_taken": "A colleague is here.", "desk_returned": "The colleague has left."}
    desks = StoredDesks(cast("Any", SimpleNamespace(all=lambda: [SimpleNamespace(sentences={"en": own})])))
    arrival, departure = (
        [{"role": "assistant", "content": text, "metadata": {"agentId": "orders"}}] for text in own.values()
    )
    assert desks.find_action(arrival) == {"person": {"id": "Anna", "name": "Anna", "takes": True}}
    desks.follow(arrival)
    assert (desks.person, desks.is_at_desk) == ("Anna", True)
    assert desks.find_action(departure) == {"person": {"id": "Anna", "name": "Anna", "returns": True}}


def test_the_user_of_a_test_has_the_permissions_of_agents_tools_and_handoffs(project: Project) -> None:
    file = project.agents / "assistant.yaml"
    file.write_text(
        file.read_text()
        + REFUND_TOOL
        + "    required_permissions: [refund:make]\n"
        + "handoffs:\n  - agent: faq\n    required_permissions: [faq:ask]\n"
        + "required_permissions: [shop:enter]\n"
    )
    (project.agents / "faq.yaml").write_text("id: faq\nname: FAQ\ndescription: Answers.\nsystem_prompt: Answer.\n")
    thread = StoredThread({"threadId": "t", "agentId": "assistant"}, [], [], [], [], {}, "acme")
    content = ThreadTest(thread, AgentFiles.load(project.agents)).make_content(with_answers=True)
    assert content["user"]["permissions"] == ["faq:ask", "refund:make", "shop:enter"]
