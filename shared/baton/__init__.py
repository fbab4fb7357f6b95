"""Baton: a serverless back end for conversations in which several AI agents take part."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baton.authoring.agent import Agent, Desk
    from baton.authoring.errors import UnusableDefinition
    from baton.authoring.parts import (
        Completion,
        Condition,
        Guardrail,
        Handoff,
        HttpTool,
        McpServer,
        OpenApiTool,
        State,
        Transition,
        Workflow,
    )
    from baton.authoring.resources import resource
    from baton.authoring.run_context import RunContext
    from baton.authoring.run_time import now
    from baton.authoring.tools import Tool, tool
    from baton.domain.agents.agent_settings import LearningSettings as Learning
    from baton.domain.agents.agent_settings import MemorySettings as Memory
    from baton.domain.agents.agent_settings import ModelChoice as Model
    from baton.domain.agents.agent_settings import RemoteAgent as Remote
    from baton.domain.agents.agent_settings import Timeouts
    from baton.domain.agents.agent_settings import ToolLimits as Limits
    from baton.domain.agents.guardrail import HandOver, Refuse, Replace
    from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult, TurnContext

__all__ = [
    "Agent",
    "CallContext",
    "Completion",
    "Condition",
    "Desk",
    "Guardrail",
    "HandOver",
    "Handoff",
    "HttpTool",
    "Learning",
    "Limits",
    "McpServer",
    "Memory",
    "Model",
    "OpenApiTool",
    "Refuse",
    "Remote",
    "Replace",
    "RunContext",
    "State",
    "Timeouts",
    "Tool",
    "ToolFailed",
    "ToolResult",
    "Transition",
    "TurnContext",
    "UnusableDefinition",
    "Workflow",
    "now",
    "resource",
    "tool",
]
__version__: str

_EXPORTS = {
    "Agent": "authoring.agent:Agent",
    "UnusableDefinition": "authoring.errors:UnusableDefinition",
    "Guardrail": "authoring.parts:Guardrail",
    "Desk": "authoring.agent:Desk",
    "Handoff": "authoring.parts:Handoff",
    "HttpTool": "authoring.parts:HttpTool",
    "McpServer": "authoring.parts:McpServer",
    "OpenApiTool": "authoring.parts:OpenApiTool",
    "State": "authoring.parts:State",
    "Transition": "authoring.parts:Transition",
    "Completion": "authoring.parts:Completion",
    "Condition": "authoring.parts:Condition",
    "Workflow": "authoring.parts:Workflow",
    "resource": "authoring.resources:resource",
    "RunContext": "authoring.run_context:RunContext",
    "now": "authoring.run_time:now",
    "Tool": "authoring.tools:Tool",
    "tool": "authoring.tools:tool",
    "Learning": "domain.agents.agent_settings:LearningSettings",
    "Memory": "domain.agents.agent_settings:MemorySettings",
    "Model": "domain.agents.agent_settings:ModelChoice",
    "Remote": "domain.agents.agent_settings:RemoteAgent",
    "Timeouts": "domain.agents.agent_settings:Timeouts",
    "Limits": "domain.agents.agent_settings:ToolLimits",
    "HandOver": "domain.agents.guardrail:HandOver",
    "Refuse": "domain.agents.guardrail:Refuse",
    "Replace": "domain.agents.guardrail:Replace",
    "CallContext": "ports.agents.tools:CallContext",
    "ToolFailed": "ports.agents.tools:ToolFailed",
    "ToolResult": "ports.agents.tools:ToolResult",
    "TurnContext": "ports.agents.tools:TurnContext",
}
"""Names for projects, each with its module. They are loaded on demand: most programs need none of them."""


def __getattr__(name: str) -> Any:
    """Return what is loaded on demand: a name for projects, or ``__version__``, whose reading takes 50 ms."""
    if name in _EXPORTS:
        module, _, attribute = _EXPORTS[name].partition(":")
        return getattr(import_module(f"baton.{module}"), attribute)
    if name != "__version__":
        raise AttributeError(f"module 'baton' has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("baton-conversations")
    except PackageNotFoundError:  # the Lambda layer ships the package without its metadata
        return "0.1.0"


def __dir__() -> list[str]:
    return [*globals(), *_EXPORTS, "__version__"]
