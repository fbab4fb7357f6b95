"""The tools of a test: Python functions are called, stubs answer from the test, and other tools are not called."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton.adapters.agents.agent_modules import describe_code_problem
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import HttpTool, McpServer, PythonTool, ToolDefinition
from baton.domain.tenants.identity import Scope
from baton.ports.agents.chat_model import ToolSpec
from baton.ports.agents.tools import CallContext, OfferedTools, Tool, ToolFailed, ToolResult, Tools
from baton_testing.conversation_test import ToolStub
from baton_testing.virtual_time import real_time

ANY_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


class StubbedTools:
    """``ports.agents.tools.Tools`` over the project's own tools, some of which are stubbed."""

    def __init__(self, real: Tools, stubs: Mapping[str, ToolStub], reach: Sequence[str]) -> None:
        self._real = real
        self._stubs = stubs
        self._reach = frozenset(reach)
        self.notes: list[str] = []
        """Notes about tools that agents did not get, and about failed calls."""
        self.unanswered: list[str] = []
        """The notes about calls for which a stub has no answer."""
        self.before: Callable[[str], Awaitable[None]] | None = None
        """A function that is called with a tool's name before the tool is called, or None."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        permitted = [tool for tool in agent.tools if all(scope.has(name) for name in tool.required_permissions)]
        real_tools = [tool for tool in permitted if self._is_asked(tool)]
        tools = OfferedTools()
        if real_tools:
            with_these = agent.model_copy(update={"tools": tuple(real_tools)})
            if all(isinstance(tool, PythonTool) for tool in real_tools):
                tools = await self._real.offered(with_these, scope)
            else:
                async with real_time():
                    tools = await self._real.offered(with_these, scope)
        offered = [self._apply_stub(tool) for tool in tools.tools]
        for definition in permitted:
            if definition in real_tools:
                continue
            stubs = self._find_stubs(definition)
            offered += stubs
            if not stubs:
                # If it counted as missing, all answers would begin with `limited_resources`, even if they need no tool.
                self._note(f"{agent.id} went without {definition.name}: stub it under `tools`, or name it in `reach`.")
        return OfferedTools(tuple(offered), tools.missing)

    async def read_task(
        self, agent: AgentDefinition, name: str, location: str, context: CallContext, *, deletes: bool = False
    ) -> ToolResult:
        async with real_time():
            return await self._real.read_task(agent, name, location, context, deletes=deletes)

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        if self.before is not None:
            await self.before(name)
        stub = self._stubs.get(name)
        if stub is None and name not in self._reach and any(guardrail.name == name for guardrail in agent.guardrails):
            self._note(f"The guardrail {name} was not asked: stub it under `tools`, or name it in `reach`.")
            raise ToolFailed("The test neither stubs nor reaches it.", is_outage=True)
        if stub is None:
            try:
                async with real_time():
                    return await self._real.call(agent, name, arguments, context)
            except ToolFailed as failure:
                if isinstance(failure.__context__, Exception) and not isinstance(failure.__context__, ToolFailed):
                    self._note(f"{name} raised {describe_code_problem(failure.__context__)}")
                raise
        case = stub.answer_to(dict(arguments))
        if case is None:
            shown_arguments = json.dumps(dict(arguments), ensure_ascii=False)
            note = f"The stub of {name} has no case for {shown_arguments}."
            self._note(note)
            self.unanswered = list(dict.fromkeys([*self.unanswered, note]))
            raise ToolFailed(f"The test has no answer to {shown_arguments}.")
        if case.fails is not None:
            raise ToolFailed(case.fails)
        if case.refuses is not None:
            raise ToolFailed(case.refuses, is_refused=True, state=case.state)
        return ToolResult(
            case.returns if isinstance(case.returns, str) else json.dumps(case.returns, ensure_ascii=False)
        )

    def _is_asked(self, definition: ToolDefinition) -> bool:
        """Return whether the tools of a definition are listed by their real source, and not by stubs."""
        if definition.name in self._reach:
            return True
        return isinstance(definition, PythonTool) and not self._is_described(definition)

    def _is_described(self, definition: ToolDefinition) -> bool:
        stub = self._stubs.get(definition.name)
        return stub is not None and stub.parameters is not None

    def _find_stubs(self, definition: ToolDefinition) -> list[Tool]:
        """Return the stubs for a definition whose real source is not called."""
        if isinstance(definition, McpServer):
            return [
                replace(
                    _make_tool(name, stub, stub.description, "mcp:" + definition.name, definition.needs_approval(name)),
                    label=definition.label.get(name),
                    asks=definition.asks.get(name),
                )
                for name, stub in self._stubs.items()
                if stub.server == definition.name
            ]
        stub = self._stubs.get(definition.name)
        if stub is None:
            return []
        declared = definition.parameters if isinstance(definition, HttpTool | PythonTool) else None
        description = getattr(definition, "description", None) or stub.description
        needs_approval = bool(getattr(definition, "requires_approval", False))
        tool = _make_tool(definition.name, stub, description, definition.type, needs_approval, declared)
        return [replace(tool, label=definition.label, asks=definition.asks)]

    def _apply_stub(self, tool: Tool) -> Tool:
        stub = self._stubs.get(tool.spec.name)
        if stub is None or stub.requires_approval is None:
            return tool
        return replace(tool, requires_approval=stub.requires_approval)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _make_tool(
    name: str,
    stub: ToolStub,
    description: str,
    origin: str,
    needs_approval: bool,
    declared: Mapping[str, Any] | None = None,
) -> Tool:
    parameters = stub.parameters or declared or ANY_ARGUMENTS
    approval = needs_approval if stub.requires_approval is None else stub.requires_approval
    return Tool(ToolSpec(name, description, parameters), origin, approval)
