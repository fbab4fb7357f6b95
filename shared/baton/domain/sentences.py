"""The default texts of Baton's fixed sentences, for agents whose definition has no own ones."""

from __future__ import annotations

import re
from collections.abc import Mapping

from baton.domain.agent import AgentDefinition

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
SENTENCES: dict[str, str] = {
    "limited_resources": "I'm working with limited resources right now, but here's what I know...",
    "still_waiting": "This is taking longer than expected. I'll let you know when I have results...",
    "researching": "Researching...",
    "approval_needed": "May I use {tool}?",
    "client_tool_waiting": "Waiting for {tool} in your application.",
    "sign_in_needed": "{agent} goes on when you have done that. Tell it here then.",
    "connecting": "Connecting you with {agent}...",
    "unavailable": (
        "The {agent} is currently unavailable. Would you like me to help you with something else, or try again later?"
    ),
    "forbidden": "You don't have permission to use {agent}. Can I help with something else?",
    "busy": "You're currently in a {session} session. Would you like to finish that first?",
    "exit": "No problem! Returning you to the main assistant.",
    "saved_for_later": "Let me know if you'd like to continue that later.",
    "completed": "Returning you to the main assistant.",
    "main_confirms": "You're back with me. What else can I do for you?",
    "continued_elsewhere": "You went on with {workflow} in another conversation.",
    "back_with": "You are talking to {agent} again.",
    "welcome_back": "Welcome back! Would you like to continue {workflow}?",
    "workflow_changed": "The steps have changed since you were last here, so we go on with {label}.",
}
"""By name, in English; ``{...}`` is filled in."""


def filled_sentence(
    agent: AgentDefinition, name: str, values: Mapping[str, str], *, locale: str | None = None
) -> str | None:
    """Return the sentence ``name`` with ``values`` filled in; None if a placeholder has no value."""
    said = sentence(agent, name, locale=locale, **values)
    return None if _PLACEHOLDER.search(said) else said


def sentence(agent: AgentDefinition, name: str, /, *, locale: str | None = None, **filled: str) -> str:
    """Return the sentence ``name`` from the agent's definition, in ``locale`` if it has that, or Baton's default.

    A placeholder that is not filled stays as it is.
    """
    text = agent.sentence(name, locale) or SENTENCES[name]
    return _PLACEHOLDER.sub(lambda match: filled.get(match[1], match[0]), text)
