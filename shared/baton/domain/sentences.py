"""The fixed sentences that Baton itself says, where an agent's definition has no words of its own for them."""

from __future__ import annotations

from baton.domain.agent import AgentDefinition

SENTENCES: dict[str, str] = {
    "limited_resources": "I'm working with limited resources right now, but here's what I know...",
    "still_waiting": "This is taking longer than expected. I'll let you know when I have results...",
    "researching": "Researching...",
    "approval_needed": "May I use {tool}?",
}
"""By name, in English; ``{...}`` is filled in."""


def sentence(agent: AgentDefinition, name: str, **filled: str) -> str:
    """The sentence ``name`` in the agent's words, else Baton's."""
    text = agent.sentence(name) or SENTENCES[name]
    for key, value in filled.items():
        text = text.replace("{" + key + "}", value)
    return text
