"""The tool with which agents cancel background tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import BatonError, StoreUnavailable
from baton.domain.json_values import make_closed_object
from baton.domain.tenants.identity import Scope
from baton.ports.agents.chat_model import ToolSpec
from baton.ports.agents.tools import CallContext, OfferedTools, Tool, ToolFailed, ToolResult, Tools
from baton.threads.background.background_work import BackgroundWork

CANCEL_BACKGROUND = "cancel_background"
_SPEC = ToolSpec(
    CANCEL_BACKGROUND,
    "Cancel a task that works in the background, where the user no longer wants its result.",
    make_closed_object(
        {"task_id": {"type": "string", "description": "The id that the call has returned which began it."}}
    ),
)


@dataclass(frozen=True, slots=True)
class ToolsWithBackground:
    """``Tools`` with the tool that cancels background tasks, for agents that can begin such tasks."""

    others: Tools
    work: Callable[[], BackgroundWork]

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        """See ``Tools.offered``. A tool of the agent with the same name replaces the tool that cancels tasks."""
        offered_tools = await self.others.offered(agent, scope)
        begins_tasks = agent.background_agents or any(tool.background is not None for tool in offered_tools.tools)
        if not begins_tasks or CANCEL_BACKGROUND in offered_tools.names:
            return offered_tools
        return replace(offered_tools, tools=(*offered_tools.tools, Tool(_SPEC, "baton")))

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """See ``Tools.call``."""
        is_own = name == CANCEL_BACKGROUND and name not in (await self.others.offered(agent, context.scope)).names
        if not is_own:
            return await self.others.call(agent, name, arguments, context)
        try:
            task = await self.work().cancel(context.scope, context.thread_id, arguments["task_id"])
        except StoreUnavailable as error:
            raise ToolFailed(error.detail, is_outage=True) from error
        except BatonError as error:
            raise ToolFailed(error.detail, is_refused=True) from error
        return ToolResult(f"Its status is {task.status.value}.")

    async def read_task(
        self, agent: AgentDefinition, name: str, location: str, context: CallContext, *, deletes: bool = False
    ) -> ToolResult:
        """See ``Tools.read_task``."""
        return await self.others.read_task(agent, name, location, context, deletes=deletes)
