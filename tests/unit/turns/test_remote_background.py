"""Remote agents that work in the background: each look at their task is one request, and the result enters once."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import Unauthorized
from baton.domain.schedules.background_task import MAX_RESULT, BackgroundStatus, BackgroundTask
from baton.ports.agents.agent_client import (
    AgentData,
    AgentDone,
    AgentFailed,
    AgentProgress,
    AgentStarted,
    AgentTask,
    TaskLost,
)
from baton.threads.background.callbacks import TaskReport
from baton_testing.fakes.agents.agent_client import Reply, ScriptedAgentClient
from tests.harness.due import DueHarness
from tests.harness.handoffs import calling
from tests.harness.harness import ASSISTANT

WEATHER = AgentDefinition.model_validate(
    {
        "id": "weather",
        "name": "Weather",
        "description": "Knows the weather.",
        "remote": {"card_url": "https://weather.example/card.json"},
    }
)
MAIN = AgentDefinition.model_validate(
    ASSISTANT.model_dump() | {"sub_agents": [{"agent": "weather", "background": True}]}
)
STARTED = AgentStarted("remote-1", {"artifact a": 3})


def make_progress(*pieces: Any) -> Reply:
    """Return the reply of a task in progress."""
    return Reply(pieces, end=None)


class Forecast:
    """A conversation whose agent asks a remote one in the background."""

    def __init__(self) -> None:
        self.client = ScriptedAgentClient()
        self.due = DueHarness(
            assistant=MAIN, others=(WEATHER,), agent_client=self.client, public_url="https://baton.example"
        )

    async def ask(self, *replies: Reply | AgentFailed | str, message_id: str = "m1", **arguments: Any) -> None:
        """Have the agent ask. The worker that sends the message gets the first of the replies."""
        self.client.script("weather", *replies)
        message = {"message": "How will May be?"} | arguments
        self.due.model.script(calling("ask_weather", **message), "I have asked.")
        await self.due.say(message_id, "How will May be?")
        await self.due.run_queue()

    async def look(self, *replies: Reply | AgentFailed | str) -> None:
        """Look at the task when it is due."""
        self.client.script("weather", *replies)
        await self.due.pass_time(hours=1)

    @property
    def sent(self) -> AgentTask:
        return self.client.requests[-1][1]

    async def task(self) -> BackgroundTask:
        return (await self.due.background_tasks.of_thread(self.due.ada, self.due.thread_id))[0]

    async def list_said_texts(self) -> list[str]:
        return [message.text for message in await self.due.messages() if message.is_said and message.text]


@pytest.fixture
def forecast() -> Forecast:
    return Forecast()


async def test_the_agent_gets_the_message_once_and_its_result_enters_once(forecast: Forecast) -> None:
    await forecast.ask(make_progress(STARTED, AgentProgress("Looking it up")))
    task = await forecast.task()
    assert (task.kind, task.status, task.progress) == ("remote_agent", "working", "Looking it up")
    sent = forecast.sent
    assert (sent.task_id, sent.message, sent.follows, sent.is_background) == (task.id, "How will May be?", None, True)
    await forecast.look(make_progress(AgentProgress("Half of it")))
    assert (await forecast.task()).progress == "Half of it"
    assert forecast.sent.follows is not None
    assert (forecast.sent.follows.remote_task_id, forecast.sent.follows.known) == ("remote-1", {"artifact a": 3})
    forecast.due.model.script("May will be warm.")
    await forecast.look("Warm.")
    assert (await forecast.list_said_texts())[-2:] == ["Warm.", "May will be warm."]
    questions = len(forecast.client.requests)
    await forecast.look()
    assert (len(forecast.client.requests), (await forecast.task()).status) == (questions, BackgroundStatus.COMPLETED)


async def test_an_agent_that_answers_at_once_has_answered(forecast: Forecast) -> None:
    await forecast.ask("Warm.")
    assert "Warm." in await forecast.list_said_texts()


async def test_a_long_answer_is_cut_and_says_so_even_before_a_question(forecast: Forecast) -> None:
    await forecast.ask(Reply((STARTED, "x" * 40_000), end=AgentDone("remote-1")))
    [result] = [text for text in await forecast.list_said_texts() if text.startswith("xxx")]
    assert len(result) == MAX_RESULT
    assert "[Cut: 40000 characters in all.]" in result
    assert "Then ask this agent again with the answer" in result


async def test_a_notification_only_has_the_task_read(forecast: Forecast) -> None:
    await forecast.ask(make_progress(STARTED))
    callback, task = forecast.sent.callback, await forecast.task()
    assert callback is not None
    assert callback.url == f"https://baton.example/v1/callbacks/{task.id}/notifications"
    callbacks = forecast.due.app.self_started.background_work.callbacks
    for token in ("", "acme.x.y", callback.token[:-1]):
        with pytest.raises(Unauthorized):
            await callbacks.take_notification(token, task.id, "digest")
    with pytest.raises(Unauthorized):  # the agent says that it has ended, and Baton asks
        await callbacks.take_report(callback.token, task.id, TaskReport(BackgroundStatus.COMPLETED, "Forged."))
    await callbacks.take_notification(callback.token, task.id, None)
    assert await forecast.due.run_queue() == 0
    forecast.client.script("weather", make_progress(), "Warm.")
    for digest in ("completed", "completed", "working"):
        await callbacks.take_notification(callback.token, task.id, digest)
    await forecast.due.run_queue()
    await callbacks.take_notification(callback.token, task.id, "late")
    assert await forecast.due.run_queue() == 0
    assert (await forecast.list_said_texts()).count("Warm.") == 1


@pytest.mark.parametrize(
    ("pieces", "end", "advice"),
    [
        (("Which city?",), AgentDone("remote-1"), "Then ask this agent again with the answer"),
        (("Sign in at x.example.",), AgentDone("remote-1", needs_sign_in=True), "when the user has signed in"),
        ((AgentData({"type": "object"}),), AgentDone("remote-1"), "with the answers in `data`"),
    ],
)
async def test_a_question_of_the_agent_comes_as_its_result_and_the_next_message_answers_it(
    forecast: Forecast, pieces: tuple[Any, ...], end: AgentDone, advice: str
) -> None:
    await forecast.ask(Reply((STARTED, *pieces), end=end))
    question = next(message for message in await forecast.due.messages() if message.begun_by is not None)
    assert advice in question.text
    await forecast.ask(make_progress(AgentStarted("remote-1")), message_id="m2", data={"city": "Graz"})
    assert (forecast.sent.remote_task_id, forecast.sent.data) == ("remote-1", {"city": "Graz"})
    await forecast.ask(make_progress(AgentStarted("remote-2")), message_id="m3")
    assert forecast.sent.remote_task_id is None


async def test_the_answer_to_a_task_that_the_agent_has_ended_begins_another(forecast: Forecast) -> None:
    await forecast.ask(Reply((STARTED, "Which city?"), end=AgentDone("remote-1")))
    await forecast.ask(TaskLost("It is gone."), "Warm.", message_id="m2")
    assert forecast.sent.remote_task_id is None
    assert "Warm." in await forecast.list_said_texts()


async def test_a_cancelled_task_is_cancelled_at_the_agent(forecast: Forecast) -> None:
    await forecast.ask(make_progress(STARTED))
    task = await forecast.task()
    await forecast.due.app.self_started.background_work.cancel(forecast.due.ada, forecast.due.thread_id, task.id)
    await forecast.due.run_queue()
    assert forecast.client.cancelled == [("weather", "remote-1")]
    await forecast.look()
    assert len(await forecast.list_said_texts()) == 2


async def test_a_task_that_is_cancelled_before_the_agent_has_answered_is_cancelled_there(forecast: Forecast) -> None:
    forecast.due.model.script(calling("ask_weather", message="How will May be?"), "I have asked.")
    await forecast.due.say("m1", "How will May be?")
    task, work = await forecast.task(), forecast.due.app.self_started.background_work

    class Slow(ScriptedAgentClient):
        async def _pass(self, reply: Reply, index: int) -> None:
            await work.cancel(forecast.due.ada, forecast.due.thread_id, task.id)

    slow = Slow()
    slow.script("weather", make_progress(STARTED))
    vars(forecast.due)["agent_client"] = slow
    await forecast.due.run_queue()
    assert slow.cancelled == [("weather", "remote-1")]
    assert len(await forecast.list_said_texts()) == 2


async def test_a_task_that_takes_too_long_is_cancelled_at_the_agent(forecast: Forecast) -> None:
    await forecast.ask(make_progress(STARTED))
    forecast.due.model.script("Sorry, that took too long.")
    await forecast.due.pass_time(hours=24)
    assert (await forecast.task()).status is BackgroundStatus.EXPIRED
    assert forecast.client.cancelled == [("weather", "remote-1")]
    assert (await forecast.list_said_texts())[-1] == "Sorry, that took too long."


async def test_an_agent_that_cannot_be_reached_is_asked_again(forecast: Forecast) -> None:
    await forecast.ask(AgentFailed("The agent cannot be reached."))
    assert (await forecast.task()).status is BackgroundStatus.WORKING
    await forecast.look("Warm.")
    assert [task.task_id for _, task in forecast.client.requests] == [(await forecast.task()).id] * 2
    assert "Warm." in await forecast.list_said_texts()


@pytest.mark.parametrize(
    "failure", [AgentFailed("The agent failed: no data.", is_final=True), TaskLost("The task was stopped.")]
)
async def test_a_failure_of_the_agent_comes_as_the_result(forecast: Forecast, failure: AgentFailed) -> None:
    await forecast.ask(make_progress(STARTED))
    await forecast.look(failure)
    assert f"[failed] {failure.reason}" in await forecast.list_said_texts()


async def test_an_agent_that_cannot_be_reached_for_long_has_failed(forecast: Forecast) -> None:
    down = AgentFailed("The agent cannot be reached.")
    await forecast.ask(down)
    for _ in range(7):
        await forecast.look(down)
    assert "[failed] The agent cannot be reached." in await forecast.list_said_texts()


async def test_a_message_whose_worker_died_is_sent_by_the_next_look(forecast: Forecast) -> None:
    forecast.due.model.script(calling("ask_weather", message="How will May be?"), "I have asked.")
    await forecast.due.say("m1", "How will May be?")
    forecast.due.queue.sent.clear()
    await forecast.look("Warm.")
    assert "Warm." in await forecast.list_said_texts()
