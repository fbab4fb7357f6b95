"""The tools that are Baton's own: what an agent does about the conversation itself."""

from __future__ import annotations

from baton.domain.agent import AgentDefinition
from baton.domain.tool_call import END
from baton.ports.chat_model import ToolSpec

END_CONVERSATION = ToolSpec(
    name=END,
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


def own_tools(agent: AgentDefinition) -> tuple[ToolSpec, ...]:
    """Baton's own tools that the agent may call."""
    return (END_CONVERSATION,) if agent.ends_conversations else ()
