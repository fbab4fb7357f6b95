"""Agents that work in the background: the user goes on talking, and the result begins one run."""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from baton.api.threads.background import SentTaskReport
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import HttpTool
from baton.domain.errors import NotFound, StoreUnavailable, TaskExpired, ThreadUnavailable, Unauthorized
from baton.domain.runs.tool_call import ToolCall
from baton.domain.schedules.background_task import (
    MAX_ENDED_MESSAGE,
    MAX_INPUT_BYTES,
    MAX_LISTED,
    BackgroundKind,
    BackgroundStatus,
    BackgroundTask,
)
from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult
from baton.threads.background.background_work import MAX_OPEN
from tests.contracts.schedules import new_background_task
from tests.fakes.chat_model import Answer
from tests.harness.due import MAIN, RESEARCHER, DueHarness
from tests.harness.handoffs import calling
from tests.harness.harness import ASSISTANT
from tests.harness.sessions import close
from tests.unit.api.served import Served


@pytest.fixture
def due() -> DueHarness:
    harness = DueHarness(assistant=MAIN, others=(RESEARCHER,))
    harness.model.script(calling("ask_researcher", message="Why is the sky blue?"), "I am on it.")
    return harness


async def task_of(due: DueHarness) -> BackgroundTask:
    [task] = await due.background_tasks.of_thread(due.ada, due.thread_id)
    return task


def with_background(**settings: Any) -> AgentDefinition:
    """The assistant, with settings of its work in the background."""
    return AgentDefinition.model_validate(MAIN.model_dump() | {"background": settings})


async def with_closed_conversation(**settings: Any) -> DueHarness:
    """A conversation that was closed before the researcher has worked."""
    due = DueHarness(assistant=with_background(**settings), others=(RESEARCHER,))
    due.model.script(calling("ask_researcher", message="Why is the sky blue?"), "I am on it.")
    await due.say("m1", "Research this.")
    await close(due)
    due.model.script("Because of Rayleigh.")
    return due


def list_changes(due: DueHarness, connection_id: str) -> list[dict[str, Any]]:
    """Return the values of the events ``background`` that a connection got."""
    frames = [json.loads(frame) for frame in due.connections.frames[connection_id]]
    events = [event for frame in frames for event in (frame if isinstance(frame, list) else [frame])]
    return [event["value"] for event in events if event.get("name") == "background"]


def list_texts(messages: list[Any]) -> list[str]:
    return [message.text for message in messages if message.is_said and message.text]


async def test_calls_of_one_answer_begin_no_more_tasks_than_a_conversation_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    due = DueHarness(assistant=MAIN, others=(RESEARCHER,))
    of_thread = due.background_tasks.of_thread

    async def read_slowly(*arguments: Any) -> Any:
        tasks = await of_thread(*arguments)
        await asyncio.sleep(0)
        return tasks

    monkeypatch.setattr(due.background_tasks, "of_thread", read_slowly)
    questions = [json.dumps({"message": f"Question {number}"}) for number in range(MAX_OPEN + 2)]
    calls = [ToolCall(f"c{number}", "ask_researcher", question) for number, question in enumerate(questions)]
    due.model.script(Answer.calling(*calls), "I am on it.")
    await due.say("m1", "Research all this.")
    assert len(await of_thread(due.ada, due.thread_id)) == MAX_OPEN


async def test_the_user_goes_on_talking_and_the_result_comes_by_itself(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    due.model.script("Meanwhile: hello.", "Because of Rayleigh.", "It is Rayleigh scattering.")
    await due.say("m2", "And hello.")
    assert (await task_of(due)).status is BackgroundStatus.WORKING
    while await due.run_queue():
        pass
    task = await task_of(due)
    assert task.status is BackgroundStatus.COMPLETED
    messages = await due.messages()
    assert list_texts(messages)[-2:] == ["Because of Rayleigh.", "It is Rayleigh scattering."]
    cause = next(message for message in messages if message.begun_by is not None)
    assert cause.make_metadata()["source"] == {"kind": "task", "id": task.id, "type": "researcher"}
    assert task.result_run_id == cause.run_id
    assert "No person has written this" in str(due.model.requests[-1].prompts[-1].content)


async def test_the_agent_works_in_a_fork_that_has_only_its_task(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    due.model.script("Because of Rayleigh.")
    await due.run_queue()
    task = await task_of(due)
    assert list_texts(await due.messages(task.id)) == ["Why is the sky blue?", "Because of Rayleigh."]
    listed, _ = await due.store.list_threads(due.ada, limit=10, cursor=None)
    assert [thread.id for thread in listed] == [due.thread_id]


async def test_a_result_whose_report_was_lost_is_found_by_the_next_look(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    due.queue.sent.clear()  # as if the worker had died before it queued the work
    due.model.script("Because of Rayleigh.", "It is Rayleigh scattering.")
    assert await due.pass_time(minutes=1) == 2
    assert list_texts(await due.messages())[-1] == "It is Rayleigh scattering."


async def test_a_result_enters_once_however_often_it_is_reported(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    task = await task_of(due)
    due.model.script("Because of Rayleigh.", "It is Rayleigh scattering.")
    while await due.run_queue():
        pass
    before = list_texts(await due.messages())
    for text in ("Because of Rayleigh.", "Another result."):
        await due.app.self_started.background_work.results.report(
            due.ada, due.thread_id, task, BackgroundStatus.COMPLETED, text
        )
        await due.run_queue()
    assert list_texts(await due.messages()) == before


async def test_a_repeated_call_begins_no_second_task(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    work, task = due.app.self_started.background_work, await task_of(due)
    for _ in range(2):
        again = await work.begin_agent(due.ada, due.thread_id, "call", task.message, agent=RESEARCHER, asked_by=MAIN)
    assert again is not None
    assert len(await due.background_tasks.of_thread(due.ada, due.thread_id)) == 2
    assert len([queued for _, queued in due.queue.sent if queued.thread_id == again.id]) == 1


async def test_a_cancelled_task_reports_nothing(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    task = await due.app.self_started.background_work.cancel(due.ada, due.thread_id, (await task_of(due)).id)
    assert task.status is BackgroundStatus.CANCELLED
    await due.run_queue()
    assert await due.pass_time(hours=30) == 0
    assert list_texts(await due.messages()) == ["Research this.", "I am on it."]
    assert await due.app.self_started.background_work.cancel(due.ada, due.thread_id, task.id) == task
    with pytest.raises(NotFound):
        await due.app.self_started.background_work.cancel(due.ada, due.thread_id, "none")


async def test_an_agent_cancels_a_task_that_the_user_no_longer_wants(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    task = await task_of(due)
    due.model.script(
        calling("cancel_background", task_id="none"), calling("cancel_background", task_id=task.id), "Done."
    )
    await due.say("m2", "Never mind.")
    assert (await task_of(due)).status is BackgroundStatus.CANCELLED
    results = [message.text for message in await due.messages() if message.tool_name == "cancel_background"]
    assert results == ["Error: This conversation has no task 'none'.", "Its status is cancelled."]


async def test_a_task_that_does_not_end_expires_and_the_agent_says_so(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    due.queue.sent.clear()
    due.clock.advance(24 * 3600)
    due.model.script("Sorry, the research took too long.")
    await due.pass_time()
    assert (await task_of(due)).status is BackgroundStatus.EXPIRED
    assert list_texts(await due.messages())[-1] == "Sorry, the research took too long."


async def test_the_agent_that_asks_says_how_long_a_task_may_take() -> None:
    due = DueHarness(assistant=with_background(expires_hours=2), others=(RESEARCHER,))
    due.model.script(calling("ask_researcher", message="Why is the sky blue?"), "I am on it.")
    await due.say("m1", "Research this.")
    task = await task_of(due)
    assert task.expires_at - task.started_at == timedelta(hours=2)


async def test_a_result_waits_until_the_user_opens_the_conversation_again() -> None:
    due = await with_closed_conversation(after_closing="waits")
    await due.run_queue()
    for _ in range(3):
        await due.pass_time(hours=2)
    assert [record.outcome for record in due.audit.records if record.action == "due.run"] == ["put_off"]
    assert list_texts(await due.messages()) == ["Research this.", "I am on it."]
    due.model.script("Welcome back.", "It is Rayleigh scattering.")
    await due.say("m2", "Hello again.")
    await due.run_queue()
    texts = ["Hello again.", "Welcome back.", "Because of Rayleigh.", "It is Rayleigh scattering."]
    assert list_texts(await due.messages())[2:] == texts
    await due.pass_time(hours=9 * 24)
    assert list_texts(await due.messages())[2:] == texts
    assert due.due_items.later == {}


async def test_a_result_for_which_nobody_comes_back_is_dropped_and_audited() -> None:
    due = await with_closed_conversation(after_closing="waits")
    await due.run_queue()
    while due.due_items.later:
        await due.pass_time(hours=1)
    dropped = [record for record in due.audit.records if record.action == "due.run"][-1]
    assert dropped.outcome == "dropped"
    assert list_texts(await due.messages()) == ["Research this.", "I am on it."]
    assert (await task_of(due)).status is BackgroundStatus.COMPLETED


async def test_a_result_opens_a_closed_conversation_again_by_default() -> None:
    due = await with_closed_conversation()
    due.model.script("It is Rayleigh scattering.")
    await due.run_queue()
    assert list_texts(await due.messages())[-1] == "It is Rayleigh scattering."


async def test_ended_tasks_beyond_a_hundred_are_forgotten_and_the_open_ones_are_not(due: DueHarness) -> None:
    for number in range(MAX_LISTED + 3):
        ended_at = due.clock.now() - timedelta(hours=number)
        task = new_background_task(ended_at, f"t{number}", kind=BackgroundKind.TOOL)
        stored_task = task if number == 2 else task.end(BackgroundStatus.COMPLETED, ended_at)
        await due.background_tasks.add(due.ada, due.thread_id, stored_task)
    await due.say("m1", "Research this.")
    listed = {task.id for task in await due.background_tasks.of_thread(due.ada, due.thread_id)}
    assert len(listed) == MAX_LISTED + 2
    assert {"t0", "t2", f"t{MAX_LISTED}"} <= listed
    assert f"t{MAX_LISTED + 2}" not in listed


async def test_of_an_ended_task_only_the_beginning_of_its_message_is_stored() -> None:
    due = DueHarness(assistant=MAIN, others=(RESEARCHER,))
    due.model.script(calling("ask_researcher", message="Why? " * 1_000), "I am on it.")
    await due.say("m1", "Research this.")
    task = await task_of(due)
    assert len(task.message) == 5_000
    due.model.script("Because.", "It is so.")
    while await due.run_queue():
        pass
    exported = (await Served(due).get("/users/me/export")).raise_for_status().text
    [line] = [line for line in map(json.loads, exported.splitlines()) if line.get("type") == "background"]
    assert (line["taskId"], line["status"], len(line["message"])) == (task.id, "completed", MAX_ENDED_MESSAGE)
    assert list_texts(await due.messages())[-1] == "It is so."


async def test_a_message_that_a_task_cannot_store_is_refused() -> None:
    due = DueHarness(assistant=MAIN, others=(RESEARCHER,))
    due.model.script(calling("ask_researcher", message="\N{GRINNING FACE}" * (MAX_INPUT_BYTES // 4 + 1)), "Too long.")
    await due.say("m1", "Research this.")
    assert await due.background_tasks.of_thread(due.ada, due.thread_id) == []
    [result] = [message.text for message in await due.messages() if message.tool_name == "ask_researcher"]
    assert result.startswith("Error: the message has more than 96 KB")


async def test_others_cancel_nothing(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    task = await task_of(due)
    for other in (replace(due.ada, user_id="bob"), Scope("other", "ada")):
        with pytest.raises(ThreadUnavailable):
            await due.app.self_started.background_work.cancel(other, due.thread_id, task.id)


REPORT = HttpTool.model_validate(
    {
        "type": "http",
        "name": "make_report",
        "description": "Makes a report.",
        "method": "POST",
        "url": "https://reports.example/new",
        "background": {"expires_hours": 48, "cancel": True},
    }
)
PLACE = "https://reports.example/jobs/1"


class Reports:
    """An agent whose tool makes reports for hours."""

    def __init__(self, *, answers: ToolResult | None = None) -> None:
        agent = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"tools": [REPORT.model_dump()]})
        self.due = DueHarness(assistant=agent, public_url="https://baton.example/")
        self.answer = answers or ToolResult("Accepted.", is_pending=True, location=PLACE)
        self.due.tools.add("make_report", self.make, background=REPORT.background)
        self.due.tools.states[PLACE] = ToolResult("", is_pending=True)
        self.due.model.script(calling("make_report"), "The report is being made.")

    async def make(self) -> ToolResult:
        return self.answer

    @property
    def token(self) -> str:
        """The token that the tool was given."""
        callback = self.due.tools.calls[0].context.callback
        assert callback is not None
        return callback.token

    async def report(self, status: str, token: str | None = None, **fields: Any) -> None:
        """Report as the tool does, and run what that begins."""
        task = await task_of(self.due)
        described = SentTaskReport.model_validate({"status": status} | fields).to_report()
        await self.due.app.self_started.background_work.callbacks.take_report(token or self.token, task.id, described)
        await self.due.run_queue()


async def test_a_tool_reports_hours_later_and_its_result_enters_once() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    callback = reports.due.tools.calls[0].context.callback
    task = await task_of(reports.due)
    assert callback is not None
    assert callback.url == f"https://baton.example/v1/callbacks/{task.id}"
    await reports.report("working", progress="3 of 10")
    assert (await task_of(reports.due)).progress == "3 of 10"
    reports.due.model.script("The report has 42 pages.")
    for _ in range(3):
        await reports.report("completed", result={"pages": 42})
    messages = await reports.due.messages()
    assert list_texts(messages)[-2:] == ['{"pages": 42}', "The report has 42 pages."]
    assert (await task_of(reports.due)).status is BackgroundStatus.COMPLETED


async def test_connections_of_the_conversation_learn_of_each_change_of_a_task() -> None:
    reports = Reports()
    due, other = reports.due, str(uuid.uuid4())
    await due.say("m1", "Make a report.")
    for connection_id, thread_id in (("here", due.thread_id), ("elsewhere", other)):
        await due.live.attach(due.ada, thread_id, connection_id, due.clock.now() + timedelta(hours=3))
    for progress in ("3 of 10", "3 of 10", "7 of 10"):
        await reports.report("working", progress=progress)
    task = await task_of(due)
    assert list_changes(due, "here") == [{"taskId": task.id, "status": "working"}] * 2
    await due.pass_time(minutes=1)  # a look that finds nothing new
    await due.app.self_started.background_work.cancel(due.ada, due.thread_id, task.id)
    assert list_changes(due, "here")[2:] == [{"taskId": task.id, "status": "cancelled"}]
    assert list_changes(due, "elsewhere") == []


async def test_connections_learn_that_a_result_is_there(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    await due.live.attach(due.ada, due.thread_id, "here", due.clock.now() + timedelta(hours=3))
    due.model.script("Because of Rayleigh.", "It is Rayleigh scattering.")
    while await due.run_queue():
        pass
    assert list_changes(due, "here") == [{"taskId": (await task_of(due)).id, "status": "completed"}]


async def test_the_state_of_a_tools_work_is_read_where_it_said() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    await reports.due.pass_time(minutes=1)
    assert (reports.due.tools.reads, len(list_texts(await reports.due.messages()))) == ([(PLACE, False)], 2)
    reports.due.tools.states[PLACE] = ToolResult("42 pages.")
    reports.due.model.script("The report is there.")
    await reports.due.pass_time(minutes=5)
    await reports.due.run_queue()
    assert list_texts(await reports.due.messages())[-2:] == ["42 pages.", "The report is there."]


async def test_work_is_read_as_often_as_its_tool_says_and_then_less_often() -> None:
    works_on = ToolResult("", is_pending=True, location=PLACE, poll_seconds=20, progress="Half of it")
    reports = Reports(answers=works_on)
    reports.due.tools.states[PLACE] = works_on
    await reports.due.say("m1", "Make a report.")
    await reports.due.pass_time(minutes=1)
    assert (await task_of(reports.due)).progress == "Half of it"
    pauses = []
    for _ in range(10):
        entry, seconds = reports.due.delay_queue.sent[-1]
        pauses.append(seconds)
        reports.due.clock.advance(seconds)
        await reports.due.app.self_started.due_starts.start(entry)
        await reports.due.run_queue()
    assert (pauses[0], pauses[-1], sorted(pauses)) == (20, 40, pauses)


PUT_OFF = ToolResult("", is_pending=True, location=PLACE, is_put_off=True)


async def test_a_worker_carries_out_a_call_that_was_put_off() -> None:
    reports = Reports(answers=PUT_OFF)
    reports.due.tools.states[PLACE] = ToolResult("42 pages.")
    await reports.due.say("m1", "Make a report.")
    assert reports.due.tools.reads == []
    reports.due.model.script("The report is there.")
    await reports.due.run_queue()
    assert list_texts(await reports.due.messages())[-2:] == ["42 pages.", "The report is there."]
    await reports.due.pass_time(hours=1)
    assert len(reports.due.tools.reads) == 1
    assert (await task_of(reports.due)).location is None  # it held the arguments


async def test_fast_reports_of_a_call_that_a_worker_carries_out_are_noted_now_and_then() -> None:
    reports = Reports(answers=PUT_OFF)
    due, notes = reports.due, []
    await due.say("m1", "Make a report.")
    await due.live.attach(due.ada, due.thread_id, "here", due.clock.now() + timedelta(hours=3))

    async def work(agent: AgentDefinition, name: str, location: str, context: CallContext, **_: Any) -> ToolResult:
        for number in range(1, 1_001):
            context.report(f"{number} of 1000")
            await asyncio.sleep(0.01)
            notes.append((await task_of(due)).progress)
        return ToolResult("42 pages.")

    due.tools.read_task = work  # type: ignore[method-assign]
    await due.run_queue()
    distinct = list(dict.fromkeys(notes))
    assert len(distinct) <= 8
    assert distinct[0] == "1 of 1000"
    assert len(list_changes(due, "here")) == len(distinct) + 1


async def test_a_call_that_was_put_off_is_tried_five_times() -> None:
    reports = Reports(answers=PUT_OFF)
    reports.due.tools.states[PLACE] = ToolFailed("It took too long.", is_outage=True)
    await reports.due.say("m1", "Make a report.")
    await reports.due.run_queue()
    for _ in range(6):
        await reports.due.pass_time(hours=1)
    assert len(reports.due.tools.reads) == 5
    assert (await task_of(reports.due)).status is BackgroundStatus.FAILED


async def test_the_result_of_a_call_that_was_cancelled_while_it_was_carried_out_does_not_enter() -> None:
    reports = Reports(answers=PUT_OFF)
    await reports.due.say("m1", "Make a report.")
    task, work = await task_of(reports.due), reports.due.app.self_started.background_work

    async def finish(*_: Any, **__: Any) -> ToolResult:
        await work.cancel(reports.due.ada, reports.due.thread_id, task.id)
        return ToolResult("42 pages.")

    reports.due.tools.read_task = finish  # type: ignore[method-assign]
    await reports.due.run_queue()
    assert (await task_of(reports.due)).status is BackgroundStatus.CANCELLED
    assert len(list_texts(await reports.due.messages())) == 2


async def test_a_tool_that_answers_at_once_leaves_no_task() -> None:
    reports = Reports(answers=ToolResult("Here it is."))
    await reports.due.say("m1", "Make a report.")
    assert await reports.due.background_tasks.of_thread(reports.due.ada, reports.due.thread_id) == []


@pytest.mark.parametrize(
    "token", ["", "x", "acme..", "acme.{thread}.wrong", "other.{thread}.{secret}", "ACME.{thread}.{secret}"]
)
async def test_a_wrong_token_reports_nothing(token: str) -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    secret, thread_id = reports.token.rpartition(".")[2], reports.due.thread_id
    wrong = token.format(thread=thread_id, secret=secret)
    with pytest.raises(Unauthorized):
        await reports.report("completed", token=wrong or "-", result="Forged.")
    assert (await task_of(reports.due)).is_open


async def test_half_of_a_surrogate_pair_in_a_result_does_not_keep_it_from_entering() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    await reports.report("completed", result="42 \ud83d pages.")
    assert (await task_of(reports.due)).status is BackgroundStatus.COMPLETED
    assert "42 \ufffd pages." in list_texts(await reports.due.messages())


async def test_progress_is_one_line_that_hides_nothing() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    await reports.report("working", progress="3 of\n10 \ud83d\u202e\x1b[2J" + "x" * 2_000_000)
    progress = (await task_of(reports.due)).progress
    assert progress is not None
    assert progress.startswith("3 of 10 \ufffd\ufffd\ufffd[2J")
    assert len(progress) == 200


async def test_a_report_that_comes_too_late_is_refused() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    reports.due.clock.advance(49 * 3600)
    with pytest.raises(TaskExpired):
        await reports.report("completed", result="42 pages.")
    await reports.due.pass_time()
    with pytest.raises(TaskExpired):
        await reports.report("completed", result="42 pages.")
    assert (await task_of(reports.due)).status is BackgroundStatus.EXPIRED


async def test_a_cancelled_task_of_a_tool_is_deleted_where_the_tool_said() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    await reports.due.app.self_started.background_work.cancel(
        reports.due.ada, reports.due.thread_id, (await task_of(reports.due)).id
    )
    await reports.due.run_queue()
    assert reports.due.tools.reads == [(PLACE, True)]
    await reports.report("completed", result="42 pages.")
    assert len(list_texts(await reports.due.messages())) == 2


async def test_a_cancelled_task_is_deleted_and_audited_once_even_if_the_first_worker_died() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    task = await task_of(reports.due)
    reports.due.queue.is_down = True
    with pytest.raises(StoreUnavailable):
        await reports.due.app.self_started.background_work.cancel(reports.due.ada, reports.due.thread_id, task.id)
    reports.due.queue.is_down = False
    for _ in range(2):
        await reports.due.app.self_started.background_work.cancel(reports.due.ada, reports.due.thread_id, task.id)
    await reports.due.run_queue()
    assert reports.due.tools.reads == [(PLACE, True)]
    actions = [record.action for record in reports.due.audit.records]
    assert actions.count("background.cancel") == 1


async def test_a_task_that_waits_for_an_approval_is_looked_at_ever_less_often() -> None:
    delete = {"type": "python", "name": "delete", "description": "Deletes.", "entry_point": "x:y"}
    careful = AgentDefinition.model_validate(RESEARCHER.model_dump() | {"tools": [delete]})
    due = DueHarness(assistant=MAIN, others=(careful,))
    due.tools.add("delete", Reports().make, requires_approval=True)
    due.model.script(calling("ask_researcher", message="Clean up."), "I am on it.", calling("delete"))
    await due.say("m1", "Research this.")
    await due.run_queue()
    for _ in range(5):
        await due.pass_time(hours=1)
        task = await task_of(due)
        assert task.status is BackgroundStatus.WAITING
        assert task.check_at is not None
        assert task.check_at > due.clock.now()


async def test_a_result_that_came_in_time_is_found_when_the_task_is_over(due: DueHarness) -> None:
    await due.say("m1", "Research this.")
    due.model.script("Because of Rayleigh.", "It is Rayleigh scattering.")
    task = await task_of(due)
    due.queue.is_down = True
    with pytest.raises(StoreUnavailable):
        await due.run_queue()
    due.queue.is_down = False
    due.clock.advance(24 * 3600)
    await due.pass_time()
    assert (await task_of(due)).status is BackgroundStatus.COMPLETED
    assert list_texts(await due.messages(task.id))[-1] == "Because of Rayleigh."
    assert list_texts(await due.messages())[-1] == "It is Rayleigh scattering."


async def test_a_change_during_a_report_does_not_leave_the_task_open() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    await reports.due.pass_time(minutes=1)
    work, stale = reports.due.app.self_started.background_work, await task_of(reports.due)
    await reports.report("working", progress="3 of 10")
    await work.results.report(reports.due.ada, reports.due.thread_id, stale, BackgroundStatus.COMPLETED, "42 pages.")
    assert (await task_of(reports.due)).status is BackgroundStatus.COMPLETED


async def test_a_task_has_the_status_of_the_result_that_has_entered() -> None:
    reports = Reports()
    await reports.due.say("m1", "Make a report.")
    task = await task_of(reports.due)
    await reports.report("completed", result="42 pages.")
    reports.due.background_tasks.stored[reports.due.ada.tenant_id, reports.due.thread_id, task.id] = (
        reports.due.ada,
        task,
    )  # as if the worker had died before it could note that
    await reports.due.pass_time(hours=49)
    assert (await task_of(reports.due)).status is BackgroundStatus.COMPLETED
    assert list_texts(await reports.due.messages()).count("42 pages.") == 1
