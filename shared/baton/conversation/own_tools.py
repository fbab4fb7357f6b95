"""The tools that are Baton's own: what an agent does about the conversation itself."""

from __future__ import annotations

import json
from dataclasses import dataclass

from baton.domain.agent import AgentDefinition
from baton.ports.chat_model import ToolCall, ToolSpec

END_CONVERSATION = ToolSpec(
    name="end_conversation",
    description=(
        "Close this conversation after your answer. Call it only when the user has made clear that they are done, "
        "and say goodbye in the same answer."
    ),
    parameters={
        "type": "object",
        "properties": {"reason": {"type": "string", "description": "Why the conversation is over, in a few words."}},
        "required": ["reason"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What came of a call."""

    content: str
    """What the model is told."""
    ends_conversation: bool = False


def offered_tools(agent: AgentDefinition) -> tuple[ToolSpec, ...]:
    """Baton's own tools that the agent may call."""
    return (END_CONVERSATION,) if agent.ends_conversations else ()


def carry_out(agent: AgentDefinition, call: ToolCall) -> ToolOutcome:
    """Do what the call asks. A call that makes no sense goes back to the model as an error."""
    if call.name not in {tool.name for tool in offered_tools(agent)}:
        return ToolOutcome(f"Error: there is no tool {call.name[:64]!r}.")
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict) or not isinstance(arguments.get("reason"), str):
        return ToolOutcome('Error: the arguments must be {"reason": "..."}.')
    return ToolOutcome("The conversation will be closed after this answer.", ends_conversation=True)
