"""Tools of the agent that have the names of Baton's own tools: whichever is offered is called."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from baton.agents.tools.background_tools import CANCEL_BACKGROUND
from baton.agents.tools.schedule_tools import LIST_SCHEDULES
from baton.agents.tools.tool_set import find_taken_name
from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.turn_requests import ClientOffer, ClientTool
from baton.ports.agents.tools import ToolFailed
from tests.harness.harness import ASSISTANT, Harness

SERVER = {"type": "mcp", "name": "calendar", "url": "https://calendar.test/mcp"}
RULES = {"schedules": {"allowed": True}, "sub_agents": ["research"], "background_agents": ["research"]}
AGENT = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"tools": [SERVER]} | RULES)


@pytest.mark.parametrize("name", [LIST_SCHEDULES, CANCEL_BACKGROUND])
async def test_the_page_cannot_offer_a_tool_of_that_name_even_to_an_agent_without_other_tools(name: str) -> None:
    harness, agent = Harness(), AGENT.model_copy(update={"tools": (), "client_tools": True})
    tools = harness.app.agent_services.tools
    offer = ClientOffer((ClientTool(name, "", {}),))
    assert await find_taken_name(agent, harness.ada, tools, offer) == name


@pytest.mark.parametrize("name", [LIST_SCHEDULES, CANCEL_BACKGROUND])
@pytest.mark.parametrize("permissions", [(), ("calendar:use",)], ids=["for the user", "for others"])
async def test_the_tool_that_is_offered_is_the_one_that_is_called(name: str, permissions: tuple[str, ...]) -> None:
    harness, calls = Harness(), []

    async def answer(**arguments: Any) -> str:
        calls.append(arguments)
        return "theirs"

    harness.tools.add(name, answer, required_permissions=permissions)
    tools = harness.app.agent_services.tools
    [offered] = [tool for tool in (await tools.offered(AGENT, harness.ada)).tools if tool.spec.name == name]
    context: Any = SimpleNamespace(scope=harness.ada, thread_id=harness.thread_id, idempotency_key="k")
    with suppress(ToolFailed):  # Baton's own tool knows no such task
        await tools.call(AGENT, name, {"task_id": "a"}, context)
    assert (len(calls) == 1) is (offered.origin != "baton") is (not permissions)
