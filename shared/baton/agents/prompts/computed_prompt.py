"""The part of a prompt that an agent's own function computes for each turn."""

from __future__ import annotations

import asyncio

from baton.agents.attempt_context import Attempt
from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Prompt
from baton.ports.agents.tools import TurnContext

SECONDS = 10.0
"""The time limit of the function."""
MAX_CHARACTERS = 20_000


async def compute_prompt(agent: AgentDefinition, context: Attempt) -> list[Prompt]:
    """Return the computed part as an instruction of the turn; nothing if the agent has no such function.

    It stands behind the history, so that it changes nothing that a prompt cache holds. Raises what the function raises,
    ``TimeoutError``, and ``ValueError`` for a result that is not text or is too long: no turn goes on without it.
    """
    function = agent.code.prompt
    if function is None:
        return []
    about = TurnContext(
        context.scope,
        context.thread_id,
        context.run.run_id,
        agent.id,
        time_zone=context.today.known_zone,
        state=context.data.copy(),
    )
    async with asyncio.timeout(SECONDS):
        text = await context.services.functions.call(function, about, {})
    if text is None or text == "":
        return []
    name = getattr(function, "__qualname__", "the function")
    if not isinstance(text, str):
        raise ValueError(f"{name} of {agent.id} returned {type(text).__name__}; a prompt is text")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"{name} of {agent.id} returned {len(text)} characters; at most {MAX_CHARACTERS} are possible")
    return [Prompt(Role.SYSTEM, text)]
