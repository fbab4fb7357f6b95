"""Agents with ``run`` that have others work in the background: a task begins once, and its result calls ``run``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from baton import Agent, RunContext, ToolFailed
from baton.domain.errors import StoreUnavailable
from baton.domain.schedules.background_task import BackgroundStatus, BackgroundTask
from baton.threads.background.background_work import MAX_OPEN
from tests.harness.coded import make_coded_harness
from tests.harness.due import run_queue
from tests.harness.failing_store import fail_once
from tests.harness.harness import Harness

researcher = Agent("researcher", "Find out.", description="Finds out.")


def desk_of(**fields: Any) -> Agent:
    """The main agent of the tests."""
    agents = {"sub_agents": [researcher], "background_agents": [researcher]}
    return Agent("assistant", "Help.", main=True, **{**agents, **fields})


def make_beginning_agent() -> Agent:
    """An agent that has each message of the user worked on, and shows each result."""
    agent = desk_of()

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        if context.begun_by is not None:
            return f"{context.begun_by.kind} {context.begun_by.type} {context.begun_by.id}: {message}"
        task_id = await context.begin(researcher, message)
        await context.say("I am on it.")
        return f"Task {task_id}."

    return agent


async def tasks_of(harness: Harness) -> Sequence[BackgroundTask]:
    return await harness.background_tasks.of_thread(harness.ada, harness.thread_id)


async def list_texts(harness: Harness) -> list[str]:
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    page = await harness.store.read_messages(harness.ada, thread, limit=100, before=None)
    return [message.text for message in page.messages if message.is_said and message.text]


async def test_a_task_begins_at_once_and_its_result_calls_run_once() -> None:
    harness = make_coded_harness(make_beginning_agent(), researcher)
    await harness.say("m1", "Why is the sky blue?")
    [task] = await tasks_of(harness)
    assert (task.name, task.agent_id, task.message) == ("researcher", "assistant", "Why is the sky blue?")
    assert await list_texts(harness) == ["Why is the sky blue?", "I am on it.", f"Task {task.id}."]
    harness.model.script("Because of Rayleigh.")
    while await run_queue(harness):
        pass
    result = ["Because of Rayleigh.", f"task researcher {task.id}: Because of Rayleigh."]
    assert (await list_texts(harness))[3:] == result
    await harness.app.self_started.background_work.results.report(
        harness.ada, harness.thread_id, task, BackgroundStatus.COMPLETED, "Because of Rayleigh."
    )
    await run_queue(harness)
    assert (await list_texts(harness))[3:] == result


@pytest.mark.parametrize(
    ("store", "operation", "after"), [("records", "put_call", 0), ("records", "put_step", 0), ("store", "commit", 0)]
)
async def test_a_worker_that_takes_over_begins_no_second_task(
    monkeypatch: pytest.MonkeyPatch, store: str, operation: str, after: int
) -> None:
    harness = make_coded_harness(make_beginning_agent(), researcher)
    fail_once(monkeypatch, getattr(harness, store), operation, after=after)
    with pytest.raises(StoreUnavailable):
        await harness.say("m1", "Why?")
    harness.clock.advance(60)
    await harness.say("m1", "Why?")
    [task] = await tasks_of(harness)
    assert (await list_texts(harness))[-1] == f"Task {task.id}."
    assert len([queued for _, queued in harness.queue.sent if queued.thread_id == task.id]) == 1


async def test_code_may_wait_for_an_agent_that_can_work_in_the_background() -> None:
    agent = desk_of()

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        return await context.ask(researcher, message)

    harness = make_coded_harness(agent, researcher, answers=("Because of Rayleigh.",))
    await harness.say("m1", "Why?")
    assert (await list_texts(harness))[-1] == "Because of Rayleigh."
    assert await tasks_of(harness) == []


async def test_equal_questions_are_separate_tasks_and_the_number_of_open_tasks_is_bounded() -> None:
    agent = desk_of()

    async def begin(context: RunContext) -> str:
        try:
            return await context.begin(researcher, "Why?")
        except ToolFailed as failure:
            return "refused" if failure.is_refused else "failed"

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        started = await context.gather(*(begin(context) for _ in range(MAX_OPEN + 2)))
        return " ".join(sorted(started, reverse=True)[:3])

    harness = make_coded_harness(agent, researcher)
    await harness.say("m1", "Why?")
    started = {task.id for task in await tasks_of(harness)}
    first, second, third = (await list_texts(harness))[-1].split()
    assert (first, second, third in started, len(started)) == ("refused", "refused", True, MAX_OPEN)


async def test_code_cancels_a_task_by_its_id() -> None:
    agent = desk_of()

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        task_id = await context.begin(researcher, message)
        return await context.call("cancel_background", task_id=task_id)

    harness = make_coded_harness(agent, researcher)
    await harness.say("m1", "Why?")
    assert (await list_texts(harness))[-1] == "Its status is cancelled."
    assert [task.status for task in await tasks_of(harness)] == [BackgroundStatus.CANCELLED]


def answer_with_task_id(agent: Agent) -> Agent:
    """Add a coroutine that answers with the id of a new task, or with its refusal. Return the agent."""

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        try:
            return await context.begin(researcher, message)
        except ToolFailed as failure:
            return f"{failure.is_refused}: {failure.message}"

    return agent


async def test_an_agent_that_is_no_background_agent_does_not_work_in_the_background() -> None:
    harness = make_coded_harness(answer_with_task_id(desk_of(background_agents=[])), researcher)
    await harness.say("m1", "Why?")
    assert (await list_texts(harness))[-1].startswith(
        "True: Assistant cannot have researcher work in the background here."
    )
    assert await tasks_of(harness) == []


async def test_a_consulted_agent_begins_no_task_because_nobody_waits_for_its_result() -> None:
    fields = {"sub_agents": [researcher], "background_agents": [researcher]}
    clerk = answer_with_task_id(Agent("clerk", "Help.", description="Helps.", **fields))
    agent = Agent("assistant", "Help.", main=True, sub_agents=[clerk])

    @agent.run
    async def run(context: RunContext, message: str) -> str:
        return await context.ask(clerk, message)

    harness = make_coded_harness(agent, clerk, researcher)
    await harness.say("m1", "Why?")
    assert (await list_texts(harness))[-1].startswith("True: Clerk cannot have researcher work in the background here.")
    assert await tasks_of(harness) == []
