"""HTTP operations whose results come later: 202, the address of their state, and the address for their report."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.ports.agents.tools import TaskCallback, ToolFailed, ToolResult
from tests.integration.tools.harness import Harness, agent_with, context, http

CALLBACK = TaskCallback("https://baton.example/v1/callbacks/t1", "acme.t.secret")


async def begin(harness: Harness, agent: AgentDefinition) -> ToolResult:
    return await harness.toolbox.call(agent, "fetch", {}, replace(context(agent), callback=CALLBACK))


async def test_a_tool_gets_the_address_for_its_report_and_gives_that_of_its_state(
    harness: Harness, service: int
) -> None:
    agent = agent_with(http(service, "/later?location=/jobs/1", method="POST", background={}))
    result = await begin(harness, agent)
    assert (result.is_pending, result.location) == (True, f"http://127.0.0.1:{service}/jobs/1")
    sent = json.loads(result.text)
    assert (sent["baton-callback"], sent["baton-callback-token"]) == (CALLBACK.url, CALLBACK.token)


async def test_202_is_an_answer_of_a_tool_that_has_not_said_that_it_answers_later(
    harness: Harness, service: int
) -> None:
    agent = agent_with(http(service, "/later?location=/jobs/1", method="POST"))
    result = await begin(harness, agent)
    assert (result.is_pending, result.location) == (False, None)
    assert "baton-callback" not in json.loads(result.text)


@pytest.mark.parametrize(
    "location", ["https://evil.example/jobs/1", "//evil.example/", "http://127.0.0.1:1/", "http://["]
)
async def test_a_state_at_another_host_is_not_read(harness: Harness, service: int, location: str) -> None:
    agent = agent_with(http(service, f"/later?location={location}", method="POST", background={}))
    assert (await begin(harness, agent)).location is None
    with pytest.raises(ToolFailed):
        await harness.toolbox.read_task(agent, "fetch", location, context(agent))


async def test_the_state_is_read_and_deleted_with_the_tools_headers(harness: Harness, service: int) -> None:
    agent = agent_with(http(service, "/new", method="POST", background={"cancel": True}, headers={"X-Key": "k"}))
    path = f"http://127.0.0.1:{service}"
    read = json.loads((await harness.toolbox.read_task(agent, "fetch", f"{path}/jobs/1", context(agent))).text)
    assert (read["method"], read["path"], read["headers"]["x-key"]) == ("GET", "/jobs/1", "k")
    deleted = await harness.toolbox.read_task(agent, "fetch", f"{path}/jobs/1", context(agent), deletes=True)
    assert json.loads(deleted.text)["method"] == "DELETE"
    assert (await harness.toolbox.read_task(agent, "fetch", f"{path}/later", context(agent))).is_pending
