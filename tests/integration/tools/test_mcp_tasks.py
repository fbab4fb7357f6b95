"""Tasks of MCP servers: a call that is answered with one, the looks at it, and its end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.ports.agents.tools import ToolFailed, ToolResult
from tests.integration.tools.harness import ADA, Harness, agent_with, context, mcp


async def begin(harness: Harness, agent: AgentDefinition, ending: str = "done", *, later: bool = True) -> ToolResult:
    about = replace(context(agent), may_answer_later=later)
    return await harness.toolbox.call(agent, "later", {"ending": ending}, about)


async def look(harness: Harness, agent: AgentDefinition, task: ToolResult, *, deletes: bool = False) -> ToolResult:
    assert task.location is not None
    return await harness.toolbox.read_task(agent, "later", task.location, context(agent), deletes=deletes)


@pytest.fixture
def agent(files_port: int) -> AgentDefinition:
    return agent_with(mcp(files_port, background={"expires_hours": 2}))


async def test_a_task_is_looked_at_until_it_has_its_result(harness: Harness, agent: AgentDefinition) -> None:
    task = await begin(harness, agent)
    assert (task.is_pending, task.poll_seconds, task.progress) == (True, 7, "Begun")
    working = await look(harness, agent, task)
    assert (working.is_pending, working.poll_seconds, working.progress) == (True, 9, "Half of it")
    done = await look(harness, agent, task)
    assert (done.is_pending, done.text.splitlines()[0]) == (False, "42 pages.")


async def test_a_pause_beyond_all_floats_is_ignored(harness: Harness, agent: AgentDefinition) -> None:
    task = await begin(harness, agent, "late")
    await look(harness, agent, task)
    assert (await look(harness, agent, task)).poll_seconds is None


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("failed", "No paper."),
        ("refused", "Out of ink."),
        ("cancelled", "The server has cancelled the task."),
        ("asks", "Which city?"),
    ],
)
async def test_another_end_is_a_failure(harness: Harness, agent: AgentDefinition, ending: str, reason: str) -> None:
    task = await begin(harness, agent, ending)
    await look(harness, agent, task)
    with pytest.raises(ToolFailed) as failure:
        await look(harness, agent, task)
    assert reason in failure.value.message
    assert not failure.value.is_outage
    with pytest.raises(ToolFailed, match="cancelled" if ending == "asks" else reason):
        await look(harness, agent, task)


async def test_a_cancelled_task_is_cancelled_at_the_server(harness: Harness, agent: AgentDefinition) -> None:
    task = await begin(harness, agent)
    await look(harness, agent, task, deletes=True)
    with pytest.raises(ToolFailed, match="cancelled"):
        await look(harness, agent, task)


async def test_a_task_that_the_server_does_not_know_has_failed(harness: Harness, agent: AgentDefinition) -> None:
    task = await begin(harness, agent)
    with pytest.raises(ToolFailed, match="Task not found") as failure:
        await look(harness, agent, replace(task, location="another"))
    assert not failure.value.is_outage


async def test_a_call_that_must_be_answered_now_is(harness: Harness, agent: AgentDefinition, files_port: int) -> None:
    waiting = agent_with(mcp(files_port))
    for own, later in ((agent, False), (waiting, True)):
        assert await begin(harness, own, later=later) == ToolResult("At once: done.")


async def test_every_task_can_be_cancelled(harness: Harness, agent: AgentDefinition) -> None:
    rules = next(
        tool for tool in (await harness.toolbox.offered(agent, ADA)).tools if tool.spec.name == "later"
    ).background
    assert rules is not None
    assert (rules.expires_hours, rules.cancel) == (2, True)
