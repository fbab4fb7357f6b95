"""Tools outside Baton: what every implementation of the port does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from jsonschema import Draft202012Validator

from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.ports.agents.tools import CallContext, ToolFailed, Tools

ADA = Scope("acme", "ada")
CLERK = Scope("acme", "bob", frozenset({"crm:read"}))


@dataclass(frozen=True)
class ToolsUnderTest:
    """Tools and an agent that has these.

    ``greet {name}`` says ``Hi NAME``; ``hang`` never ends and may take 0.2 s; ``guarded`` is ``greet`` with approval
    for holders of ``crm:read``; those of ``mcp:gone`` cannot be reached.
    """

    tools: Tools
    agent: AgentDefinition
    context: Callable[[AgentDefinition, Scope], CallContext]

    async def call(self, name: str, scope: Scope = ADA, /, **arguments: str) -> str:
        """Call a tool; its answer's text."""
        return (await self.tools.call(self.agent, name, arguments, self.context(self.agent, scope))).text


class ToolsContract:
    """The rules of tools, for the fixture ``tools``."""

    async def test_tools_are_offered_with_what_a_model_needs(self, tools: ToolsUnderTest) -> None:
        offered = await tools.tools.offered(tools.agent, CLERK)

        assert [tool.spec.name for tool in offered.tools] == ["greet", "hang", "guarded"]
        for tool in offered.tools:
            assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.spec.name)
            assert tool.spec.description
            assert tool.spec.parameters["type"] == "object"
            Draft202012Validator.check_schema(dict(tool.spec.parameters))
        assert [tool.requires_approval for tool in offered.tools] == [False, False, True]
        assert [tool.timeout_seconds for tool in offered.tools] == [30, 0.2, 30]

    async def test_what_cannot_be_reached_is_missing(self, tools: ToolsUnderTest) -> None:
        [missing] = (await tools.tools.offered(tools.agent, ADA)).missing
        assert missing.origin == "mcp:gone"
        assert missing.reason

    async def test_a_tool_without_its_permission_does_not_exist(self, tools: ToolsUnderTest) -> None:
        assert [t.spec.name for t in (await tools.tools.offered(tools.agent, ADA)).tools] == ["greet", "hang"]
        with pytest.raises(ToolFailed):
            await tools.call("guarded", name="Ada")
        assert await tools.call("guarded", CLERK, name="Ada") == "Hi Ada"

    async def test_a_call_has_its_answer(self, tools: ToolsUnderTest) -> None:
        assert await tools.call("greet", name="Ada") == "Hi Ada"

    async def test_a_tool_that_is_not_there_fails(self, tools: ToolsUnderTest) -> None:
        with pytest.raises(ToolFailed):
            await tools.call("nothing")

    async def test_arguments_that_do_not_fit_fail(self, tools: ToolsUnderTest) -> None:
        with pytest.raises(ToolFailed):
            await tools.call("greet", nobody="Ada")

    async def test_a_call_whose_time_is_over_fails(self, tools: ToolsUnderTest) -> None:
        with pytest.raises(ToolFailed):
            await tools.call("hang")

    async def test_a_call_can_be_cancelled(self, tools: ToolsUnderTest) -> None:
        call = asyncio.create_task(tools.call("hang"))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
