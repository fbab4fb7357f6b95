"""One agent asks others: at the same time, within their time, and never at the price of the turn."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from baton.api.threads.record_schemas import ServedTask
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import LeaseLost, ModelUnavailable
from baton.domain.runs.task import RemoteTask, TaskStatus
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.memory.prompt.message_prompts import CUT_NOTE
from baton.ports.agents.agent_client import (
    AgentData,
    AgentDone,
    AgentFailed,
    AgentFile,
    AgentProgress,
    AgentStarted,
    Attachment,
    NotSent,
    TaskLost,
)
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, TextTakenBack
from baton.ports.threads.leases import Lease
from baton_testing.fakes.agents.agent_client import Reply
from baton_testing.fakes.clock import FakeClock
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, TODAY, Harness, Turn
from tests.unit.api.served import Served

KNOWLEDGE = AgentDefinition(
    id="knowledge", name="Knowledge", description="Knows the documents.", system_prompt="Quote exactly."
)
WEB = AgentDefinition.model_validate(
    {
        "id": "web-research",
        "name": "Web Research",
        "description": "Reads the web.",
        "remote": {"card_url": "https://agents.example.com"},
    }
)
SECRET = AgentDefinition(
    id="vault", name="Vault", description="Knows secrets.", system_prompt="Hush.", required_permissions=("vault:open",)
)
FALLBACK = "I'm working with limited resources right now, but here's what I know...\n\n"


def make_asking_agent(**fields: Any) -> AgentDefinition:
    request = {"sub_agents": ["knowledge", "web-research", "vault"]}
    return AgentDefinition.model_validate(ASSISTANT.model_dump() | request | fields)


@pytest.fixture
def harness() -> Harness:
    return Harness(assistant=make_asking_agent(), others=(KNOWLEDGE, WEB, SECRET))


def ask(agent: str, message: str = "What about errors?") -> ToolCall:
    return ToolCall(f"call-{agent}", f"ask_{agent}", json.dumps({"message": message}))


def of_type(turn: Turn, kind: str) -> list[dict[str, Any]]:
    return [event.body for event in turn.events if event.type == kind]


async def tasks(harness: Harness) -> list[dict[str, Any]]:
    page_items, _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=50, cursor=None)
    return [ServedTask.of(task).wire() for task in page_items]


async def test_two_agents_are_asked_and_the_user_hears_one_voice(harness: Harness) -> None:
    harness.model.script(Answer.calling(ask("knowledge"), ask("web_research")), "Types, says the book.", "Both agree.")
    harness.agent_client.script("web-research", "The web says the same.")
    turn = await harness.say()

    assert turn.text == "Both agree."
    assert [event["subagentRunId"] for event in of_type(turn, "SUBAGENT_STARTED")] == [
        task["taskId"] for task in sorted(await tasks(harness), key=lambda task: str(task["agentId"]))
    ]
    assert len(of_type(turn, "SUBAGENT_FINISHED")) == 2
    visible = of_type(turn, "ACTIVITY_SNAPSHOT")
    assert visible[0]["activityType"] == "research"
    assert visible[0]["content"]["label"] == "Researching..."
    assert [agent["name"] for agent in visible[0]["content"]["agents"]] == ["Knowledge", "Web Research"]
    results = [json.loads(event["content"]) for event in of_type(turn, "TOOL_CALL_RESULT")]
    assert {result["status"] for result in results} == {"completed"}
    assert sorted(map(str, (result["taskId"] for result in results))) == sorted(
        t["taskId"] for t in await tasks(harness)
    )
    sources = of_type(turn, "TEXT_MESSAGE_END")[-1]["metadata"]["sources"]
    assert [(source["kind"], source["id"]) for source in sources] == [("agent", "knowledge"), ("agent", "web-research")]


async def test_the_asking_model_reads_what_they_said_and_the_user_does_not(harness: Harness) -> None:
    harness.model.script(Answer.calling(ask("knowledge")), "Types, says the book.", "Use types.")
    turn = await harness.say()
    assert harness.model.requests[2].contents[-1] == ("tool", "Types, says the book.")
    assert "says the book" not in json.dumps([event.body for event in turn.events])


async def test_a_sub_agent_sees_nothing_but_its_task(harness: Harness) -> None:
    await harness.say("m1", "My name is Ada.")
    harness.model.script(Answer.calling(ask("knowledge", "What are types?")), "Types are sorts.", "Sorts.")
    await harness.say("m2", "And types?")
    assert harness.model.requests[2].contents == [("system", "Quote exactly."), TODAY, ("user", "What are types?")]


async def test_a_sub_agent_that_needs_a_permission_is_not_even_offered(harness: Harness) -> None:
    await harness.say()
    assert "ask_vault" not in [tool.name for tool in harness.model.requests[0].tools]
    may = replace(harness.ada, permissions=frozenset({"vault:open"}))
    await harness.say("m2", scope=may)
    assert "ask_vault" in [tool.name for tool in harness.model.requests[1].tools]


async def test_each_consultation_is_a_task_with_its_messages_time_and_tokens(harness: Harness) -> None:
    harness.model.script(Answer.calling(ask("knowledge")), "Types.", "Use types.")
    turn = await harness.say()
    (visible,) = await tasks(harness)
    assert (visible["status"], visible["result"], visible["error"]) == ("completed", "Types.", None)
    assert visible["parentTaskId"] == visible["runId"] == turn.events[0].body["runId"]
    assert visible["usage"]["totalTokens"] == 12
    task = await harness.records.task(harness.ada, harness.thread_id, visible["taskId"])
    assert task is not None
    assert [(m.role, m.content) for m in task.messages] == [("user", "What about errors?"), ("assistant", "Types.")]
    assert turn.last["usage"][0]["totalTokens"] == 36, "the turn has paid for all three model calls"


async def test_a_remote_agent_gets_thread_task_and_tenant(harness: Harness) -> None:
    harness.model.script(Answer.calling(ask("web_research")), "Fine.")
    turn = await harness.say()
    ((agent_id, task),) = harness.agent_client.requests
    assert agent_id == "web-research"
    assert (task.thread_id, task.scope.tenant_id, task.scope.user_id) == (harness.thread_id, "acme", "ada")
    assert task.parent_task_id == turn.events[0].body["runId"]
    assert task.task_id == (await tasks(harness))[0]["taskId"]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", None])
async def test_a_remote_agent_gets_the_users_time_zone_if_it_is_known(harness: Harness, zone: str | None) -> None:
    harness.model.script(Answer.calling(ask("web_research")), "Fine.")
    await harness.say(time_zone=zone)
    ((_, task),) = harness.agent_client.requests
    assert task.time_zone == zone


async def test_a_remote_agents_question_goes_on_with_the_users_answer(harness: Harness) -> None:
    harness.agent_client.script(
        "web-research", Reply(("For which year?",), end=AgentDone("remote-1")), "It was 12 degrees.", "Rain."
    )
    harness.model.script(Answer.calling(ask("web_research", "How warm was it?")), "For which year?")
    await harness.say("m1")
    reported = str(harness.model.requests[1].contents[-1][1])
    assert reported.startswith("For which year?")
    assert "ask this agent again" in reported
    harness.model.script(Answer.calling(ask("web_research", "1999")), "12 degrees.")
    await harness.say("m2", "1999")
    assert harness.model.requests[3].contents[-1] == ("tool", "It was 12 degrees.")
    harness.model.script(Answer.calling(ask("web_research", "And today?")), "Rain.")
    await harness.say("m3", "And today?")
    assert [task.remote_task_id for _, task in harness.agent_client.requests] == [None, "remote-1", None]


async def test_an_open_task_outlasts_a_failure_of_the_remote_agent(harness: Harness) -> None:
    harness.agent_client.script(
        "web-research", Reply(("Which year?",), end=AgentDone("remote-1")), AgentFailed("No answer."), "12 degrees."
    )
    for number, text in enumerate(("How warm was it?", "1999", "1999, please")):
        harness.model.script(Answer.calling(ask("web_research", text)), "Thanks.")
        await harness.say(f"m{number}", text)
    assert [task.remote_task_id for _, task in harness.agent_client.requests] == [None, "remote-1", "remote-1"]


async def test_one_of_two_questions_at_once_continues_a_remote_agents_task(harness: Harness) -> None:
    harness.agent_client.script("web-research", Reply(("Which year?",), end=AgentDone("remote-1")))
    harness.model.script(Answer.calling(ask("web_research", "How warm?")), "Which year?")
    await harness.say("m1")
    harness.model.script(Answer.calling(ask("web_research", "1999"), ask("web_research", "2000")), "Fine.")
    await harness.say("m2", "1999 and 2000")
    assert sorted(str(task.remote_task_id) for _, task in harness.agent_client.requests[1:]) == ["None", "remote-1"]


async def test_a_question_for_a_task_that_a_remote_agent_has_ended_begins_another(harness: Harness) -> None:
    lost = Reply((), TaskLost("The task has ended."))
    harness.agent_client.script("web-research", Reply(("Which year?",), end=AgentDone("remote-1")), lost, "12 degrees.")
    harness.model.script(Answer.calling(ask("web_research", "How warm?")), "Which year?")
    await harness.say("m1")
    harness.model.script(Answer.calling(ask("web_research", "1999")), "12 degrees.")
    await harness.say("m2", "1999")
    assert [task.remote_task_id for _, task in harness.agent_client.requests] == [None, "remote-1", None]
    assert harness.model.requests[3].contents[-1] == ("tool", "12 degrees.")


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (AgentFailed("it cannot be reached."), "failed"),
        (Reply((), end=Reply().end), "failed"),
        (Reply(("  ",)), "failed"),
    ],
)
async def test_an_agent_that_fails_never_fails_the_turn(harness: Harness, reply: Any, status: str) -> None:
    harness.model.script(Answer.calling(ask("web_research")), "From memory: use types.")
    harness.agent_client.script("web-research", reply)
    turn = await harness.say()
    assert turn.text == FALLBACK + "From memory: use types."
    assert turn.last["outcome"] == {"type": "success"}
    assert (await tasks(harness))[0]["status"] == status
    assert of_type(turn, "SUBAGENT_ERROR")[0]["code"] == status


async def test_a_local_agent_whose_model_fails_never_fails_the_turn(harness: Harness) -> None:
    harness.model.script(Answer.calling(ask("knowledge")), ModelUnavailable(), "From memory.")
    turn = await harness.say()
    assert turn.text == FALLBACK + "From memory."


async def test_the_asking_model_does_not_read_what_a_remote_agent_has_taken_back(harness: Harness) -> None:
    harness.agent_client.script("web-research", Reply(("SECRET plan.", TextTakenBack(), "Rain.")))
    harness.model.script(Answer.calling(ask("web_research")), "It rains.")
    await harness.say()
    assert harness.model.requests[-1].prompts[-1].content == "Rain."
    assert "SECRET" not in str(await tasks(harness))


async def test_an_agent_that_hangs_costs_its_time_and_not_the_turn() -> None:
    slow = AgentDefinition.model_validate(WEB.model_dump() | {"timeouts": {"consult_seconds": 0.05}})
    harness = Harness(assistant=make_asking_agent(timeouts={"turn_seconds": 60}), others=(KNOWLEDGE, slow))
    harness.agent_client.script("web-research", Reply(("Half", "way"), gate=asyncio.Event(), gate_at=1))
    harness.model.script(Answer.calling(ask("knowledge"), ask("web_research")), "Types.", "Use types.")
    turn = await harness.say()
    assert turn.text == FALLBACK + "Use types."
    statuses = {task["agentId"]: task["status"] for task in await tasks(harness)}
    assert statuses == {"knowledge": "completed", "web-research": "timed_out"}
    assert len(harness.agent_client.stopped) == 1, "it was asked to stop"


async def test_cancelling_the_run_stops_the_agents_it_has_asked(harness: Harness) -> None:
    harness.agent_client.script("web-research", Reply(("Half", "way"), gate=asyncio.Event(), gate_at=1))
    harness.model.script(Answer.calling(ask("web_research")), "Never.")
    running = asyncio.ensure_future(harness.say())
    async with asyncio.timeout(10):
        while not harness.agent_client.requests:  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0.01)
    await harness.controls.cancel(harness.ada, harness.thread_id, None)
    turn = await running
    assert turn.last["outcome"] == {"type": "cancelled"}
    assert len(harness.agent_client.stopped) == 1
    assert (await tasks(harness))[0]["status"] == "cancelled"
    opened, closed = of_type(turn, "SUBAGENT_STARTED"), of_type(turn, "SUBAGENT_ERROR")
    assert [event["subagentRunId"] for event in opened] == [event["subagentRunId"] for event in closed]


async def test_a_run_that_is_taken_over_asks_nobody_again(harness: Harness) -> None:
    harness.model.script(Answer.calling(ask("web_research")), Answer(("On",), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests(2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    harness.model.script(Answer.calling(ask("web_research")), "Fine.")
    turn = await harness.say("m1")
    assert turn.text == "Fine."
    assert len(harness.agent_client.requests) == 1
    assert len(await tasks(harness)) == 1
    assert of_type(turn, "TEXT_MESSAGE_END")[-1]["metadata"]["sources"][0]["id"] == "web-research"


async def test_consulted_agents_ask_nobody_and_wait_for_nobody(harness: Harness) -> None:
    tooled = {"type": "python", "name": "dig", "description": "Digs.", "entry_point": "a:b"}
    deep = AgentDefinition.model_validate(KNOWLEDGE.model_dump() | {"tools": [tooled], "sub_agents": ["web-research"]})
    harness = Harness(assistant=make_asking_agent(), others=(deep, WEB))

    async def dig() -> str:
        return "Dug."

    harness.tools.add("dig", dig)
    harness.tools.add("bury", dig, requires_approval=True)
    harness.model.script(Answer.calling(ask("knowledge")), "Types.", "Use types.")
    await harness.say()
    assert [tool.name for tool in harness.model.requests[1].tools] == ["dig"]


async def test_every_consultation_is_audited(harness: Harness) -> None:
    harness.model.script(Answer.calling(ask("knowledge")), "Types.", "Use types.")
    await harness.say()
    records, _ = await harness.audit.of_thread(harness.ada, harness.thread_id, limit=10, cursor=None)
    assert [(record.action, record.outcome, record.detail["agentId"]) for record in records] == [
        ("agent.consult", "completed", "knowledge")
    ]


async def test_a_call_of_an_asked_agent_that_runs_out_of_time_is_recorded() -> None:
    tooled = {"type": "python", "name": "dig", "description": "Digs.", "entry_point": "a:b"}
    changed = {"tools": [tooled], "timeouts": {"consult_seconds": 0.3}}
    deep = AgentDefinition.model_validate(KNOWLEDGE.model_dump() | changed)
    harness = Harness(assistant=make_asking_agent(), others=(deep,))

    async def dig() -> str:
        await asyncio.Event().wait()
        return "Never."

    harness.tools.add("dig", dig)
    harness.model.script(
        Answer.calling(ask("knowledge")), Answer.calling(ToolCall("call-1", "dig", "{}")), "Use types."
    )
    assert (await harness.say()).text == FALLBACK + "Use types."
    calls, _ = await harness.records.list_calls(harness.ada, harness.thread_id, limit=10, cursor=None)
    assert {call.tool_name: call.succeeded for call in calls} == {"dig": False, "ask_knowledge": False}


async def test_the_tokens_of_asked_agents_count_against_the_budget_of_the_asking_agent() -> None:
    harness = Harness(assistant=make_asking_agent(limits={"tokens": 1_000}), others=(KNOWLEDGE,))
    harness.model.script(
        Answer.calling(ask("knowledge")), Answer(("Types.",), usage=Usage(900_000, 10)), Answer(("Use types.",))
    )
    turn = await harness.say()
    assert turn.text == "Use types."
    assert [request.settings.tool_choice for request in harness.model.requests] == [None, None, "none"]


async def test_a_task_whose_worker_died_is_ended_by_the_next_attempt(harness: Harness) -> None:
    harness.model.script(Answer.calling(ask("knowledge")), Answer(("Types.",), gate=asyncio.Event()))
    running = asyncio.ensure_future(harness.say("m1"))
    await harness.wait_for_requests(2)
    async with asyncio.timeout(10):
        while not await tasks(harness):  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [task["status"] for task in await tasks(harness)] == ["working"]
    harness.model.script("No need to ask.")
    assert (await harness.say("m1")).text == "No need to ask."
    (task,) = await tasks(harness)
    assert task["status"] == "failed"
    assert task["endedAt"] is not None


class TickingClock(FakeClock):
    """No two things happen at the same millisecond."""

    def now(self) -> datetime:
        self.advance(0.001)
        return super().now()


async def test_a_task_whose_worker_died_is_ended_also_behind_a_page_of_long_ones() -> None:
    harness = Harness(assistant=make_asking_agent(), others=(KNOWLEDGE, WEB, SECRET), clock=TickingClock())
    questions = [ask("knowledge"), *(ask("web_research", f"Question {number}") for number in (1, 2))]
    harness.model.script(Answer.calling(*questions), Answer(("Types.",), gate=asyncio.Event()))
    harness.agent_client.script("web-research", *["word " * 120_000] * 2)
    running = asyncio.ensure_future(harness.say("m1"))
    async with asyncio.timeout(10):
        # the fake has no event for it; the page ends before the third
        while [task["status"] for task in await tasks(harness)] != ["completed"] * 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    harness.model.script("No need to ask.")
    assert (await harness.say("m1")).text == "No need to ask."
    _, cursor = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=50, cursor=None)
    [first], _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=50, cursor=cursor)
    assert (first.agent_id, first.status) == ("knowledge", TaskStatus.FAILED)


def with_file(name: str = "menu.pdf") -> list[dict[str, Any]]:
    source = {"type": "data", "value": "aGk=", "mimeType": "application/pdf"}
    return [{"type": "text", "text": "Read it"}, {"type": "document", "source": source, "metadata": {"name": name}}]


async def test_files_of_the_message_go_along_and_what_cannot_is_reported_and_audited(harness: Harness) -> None:
    menu = Attachment("menu.pdf", "application/pdf", data=b"hi")
    harness.agent_client.script("web-research", Reply((NotSent(menu), "No file, no answer.")))
    harness.model.script(Answer.calling(ask("web_research")), "Fine.")
    await harness.say(content=with_file())
    ((_, task),) = harness.agent_client.requests
    assert task.attachments == (menu,)
    reported = str(harness.model.requests[1].contents[-1][1])
    assert reported.startswith("No file, no answer.")
    assert "did not get: menu.pdf, application/pdf" in reported
    records, _ = await harness.audit.of_thread(harness.ada, harness.thread_id, limit=10, cursor=None)
    assert records[0].detail["notPassedOn"] == {"application/pdf": 1}


async def test_files_of_a_remote_answer_are_kept_and_become_sources_of_the_answer(harness: Harness) -> None:
    stored, linked = (
        Attachment("a.pdf", "application/pdf", data=b"body"),
        Attachment("b", None, url="https://b.example/b"),
    )
    refused = Attachment("c.mp3", "audio/mpeg", data=b"song")
    harness.agent_client.script("web-research", Reply((*map(AgentFile, (stored, linked, refused)), "Here they are.")))
    harness.model.script(Answer.calling(ask("web_research")), "See the files.")
    turn = await harness.say()
    reported = str(harness.model.requests[1].contents[-1][1])
    assert reported.split("\n")[1:] == [
        "[File: a.pdf, application/pdf]",
        "[File: b, https://b.example/b]",
        "[File: c.mp3, audio/mpeg]",
    ]
    sources = [
        source for source in of_type(turn, "TEXT_MESSAGE_END")[-1]["metadata"]["sources"] if source["kind"] == "file"
    ]
    assert [(source["title"], source["isKept"]) for source in sources] == [
        ("a.pdf", True),
        ("b", False),
        ("c.mp3", False),
    ]
    assert [source["url"] for source in sources[1:]] == ["https://b.example/b", None]
    files = harness.files.of_thread(harness.ada, harness.thread_id)
    assert await files.read(sources[0]["id"]) == b"body"


async def test_a_form_of_a_remote_agent_is_shown_and_answered_with_data(harness: Harness) -> None:
    form = {"type": "object", "properties": {"seats": {"type": "integer"}}}
    harness.agent_client.script("web-research", Reply((AgentData(form),), end=AgentDone("remote-1")), "Booked.")
    harness.model.script(Answer.calling(ask("web_research", "Book")), "How many seats?")
    await harness.say("m1")
    reported = str(harness.model.requests[1].contents[-1][1])
    assert json.dumps(form) in reported
    assert "in `data`" in reported
    arguments = json.dumps({"message": "The seats.", "data": {"seats": 2}})
    harness.model.script(Answer.calling(ToolCall("c2", "ask_web_research", arguments)), "Booked.")
    await harness.say("m2", "Two")
    _, task = harness.agent_client.requests[-1]
    assert (task.remote_task_id, task.message, task.data) == ("remote-1", "The seats.", {"seats": 2})


async def test_data_that_are_too_long_for_an_answer_are_cut_and_it_says_so(harness: Harness) -> None:
    data = AgentData("x" * MAX_ANSWER_BYTES)
    harness.agent_client.script("web-research", Reply(("Here.", data), end=AgentDone()))
    harness.model.script(Answer.calling(ask("web_research", "All of it")), "Done.")
    await harness.say("m1")
    [task], _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=2, cursor=None)
    assert (task.result or "").endswith(CUT_NOTE)


async def test_a_sign_in_that_a_remote_agent_wants_is_reported_to_the_asking_agent(harness: Harness) -> None:
    wants = Reply(("Open https://login.example.",), end=AgentDone("remote-1", needs_sign_in=True))
    harness.agent_client.script("web-research", wants, "Rain.")
    harness.model.script(Answer.calling(ask("web_research", "Rain?")), "Please sign in at https://login.example.")
    assert (await harness.say("m1")).last["outcome"] == {"type": "success"}
    assert "has signed in" in str(harness.model.requests[1].contents[-1][1])
    harness.model.script(Answer.calling(ask("web_research", "Done")), "Rain.")
    await harness.say("m2", "Done")
    assert harness.agent_client.requests[-1][1].remote_task_id == "remote-1"


async def test_what_a_remote_agent_says_of_its_work_is_shown_within_bounds(harness: Harness) -> None:
    labels = [AgentProgress("Looking"), AgentProgress("Looking"), *(AgentProgress(f"Step {n}") for n in range(1_000))]
    harness.agent_client.script("web-research", Reply((*labels, "Rain.")))
    harness.model.script(Answer.calling(ask("knowledge"), ask("web_research")), "Types.", "Rain.")
    turn = await harness.say()
    patches = [patch for event in of_type(turn, "ACTIVITY_DELTA") for patch in event["patch"]]
    visible = [patch["value"] for patch in patches if patch["path"] == "/agents/1/label"]
    assert visible[:2] == ["Looking", "Step 0"]
    assert len(visible) < 30


async def lose_lease_while_asking(harness: Harness, *pieces: Any, known_lengths: dict[str, int] | None = None) -> None:
    """Ask as a worker that loses its lease while the remote agent works on the task."""
    started, gate = AgentStarted("remote-1", known_lengths or {}), asyncio.Event()
    harness.agent_client.script("web-research", Reply((started, *pieces), gate=gate, gate_at=1 + len(pieces)))
    harness.model.script(Answer.calling(ask("web_research")))
    running = asyncio.ensure_future(harness.say("m1"))
    async with asyncio.timeout(10):
        while not harness.agent_client.requests:  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_remote_task_of_a_dead_worker_is_followed_by_the_next(harness: Harness) -> None:
    await lose_lease_while_asking(harness, "It ", known_lengths={"artifact a": 3})
    harness.model.script(Answer.calling(ask("web_research")), "Rain.")
    harness.agent_client.script("web-research", "It rains.")
    assert (await harness.say("m1")).text == "Rain."
    (_, first), (_, second) = harness.agent_client.requests
    assert first.follows is None
    assert second.follows == RemoteTask(first.task_id, "web-research", "remote-1", {"artifact a": 3})
    assert harness.agent_client.cancelled == []


async def test_a_remote_task_that_is_lost_with_its_agent_is_sent_the_message_again(harness: Harness) -> None:
    await lose_lease_while_asking(harness)
    harness.model.script(Answer.calling(ask("web_research")), "Rain.")
    harness.agent_client.script("web-research", TaskLost("Which task?"), "It rains.")
    assert (await harness.say("m1")).text == "Rain."
    last = harness.agent_client.requests[-1][1]
    assert (last.follows, last.remote_task_id, last.task_id) == (
        None,
        None,
        harness.agent_client.requests[0][1].task_id,
    )


async def test_a_remote_task_that_the_next_worker_does_not_need_is_stopped(harness: Harness) -> None:
    await lose_lease_while_asking(harness)
    harness.model.script("No need to ask.")
    assert (await harness.say("m1")).text == "No need to ask."
    assert harness.agent_client.cancelled == [("web-research", "remote-1")]


async def test_a_run_that_is_cancelled_after_its_worker_died_stops_its_remote_task(harness: Harness) -> None:
    await lose_lease_while_asking(harness)
    await harness.controls.cancel(harness.ada, harness.thread_id, None)
    assert (await harness.say("m1")).last["outcome"] == {"type": "cancelled"}
    assert harness.agent_client.cancelled == [("web-research", "remote-1")]


async def test_a_worker_that_has_lost_its_lease_leaves_the_remote_task_to_the_next(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lose_lease(lease: Lease, task: RemoteTask) -> None:
        raise LeaseLost

    monkeypatch.setattr(harness.records, "put_remote_task", lose_lease)
    harness.agent_client.script("web-research", Reply((AgentStarted("remote-1"), "It rains.")))
    harness.model.script(Answer.calling(ask("web_research")))
    await harness.say("m1")
    assert harness.agent_client.requests
    assert harness.agent_client.stopped == []


async def test_a_kept_file_has_a_fresh_address_whenever_its_message_is_read(harness: Harness) -> None:
    file = AgentFile(Attachment("a.pdf", "application/pdf", data=b"body"))
    harness.agent_client.script("web-research", Reply((file,)))
    harness.model.script(Answer.calling(ask("web_research")), "See the file.")
    turn = await harness.say()
    served = Served(harness)
    (source,) = [last_source for last_source in last_sources(turn) if last_source["kind"] == "file"]
    harness.files.bodies.clear()
    items, _ = await served.items(f"/threads/{harness.thread_id}/messages")
    visible = [source for source in items[-1]["metadata"]["sources"] if source["kind"] == "file"]
    assert source["url"] == f"https://files.invalid/{source['id']}?download"
    assert visible == [{**source, "url": None}], "it no longer exists"


async def test_files_without_an_address_of_two_answers_are_two_sources(harness: Harness) -> None:
    for name in ("a.pdf", "b.pdf"):
        harness.agent_client.script("web-research", Reply((AgentFile(Attachment(name, "application/pdf")), "Sent.")))
        harness.model.script(Answer.calling(ask("web_research")))
    harness.model.script("Two files.")
    turn = await harness.say()
    assert [source["title"] for source in last_sources(turn) if source["kind"] == "file"] == ["a.pdf", "b.pdf"]


def last_sources(turn: Turn) -> list[dict[str, Any]]:
    sources: list[dict[str, Any]] = of_type(turn, "TEXT_MESSAGE_END")[-1]["metadata"]["sources"]
    return sources
