"""The system prompt of an agent: its own, and the rules for what is remembered."""

from __future__ import annotations

from baton.domain.agent import AgentDefinition
from baton.memory.prompt.quoting import MEMORY_RULES


def system_prompt(agent: AgentDefinition) -> str:
    """Return the agent's system prompt, with the rules unless its file switches all retrieval off.

    It is the same in every turn: nothing dated or found stands in it, so that providers can cache it.
    """
    memory = agent.memory
    recalls = (memory.semantic_top_k or memory.episodic_top_k) and memory.retrieved_tokens
    return f"{agent.system_prompt}\n\n{MEMORY_RULES}" if recalls else agent.system_prompt
