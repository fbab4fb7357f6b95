"""Agents that think before they answer, whatever their model."""

from __future__ import annotations

import pytest

from baton.agents.agent_loop import AgentLoop
from baton.domain.threads.events import make_reasoning_content, make_reasoning_end, make_reasoning_start


def let_agents_think(patch: pytest.MonkeyPatch, *pieces: str) -> None:
    """Every agent thinks aloud, in these pieces, before each of its answers."""
    answer = AgentLoop.answer

    async def think_and_answer(loop: AgentLoop) -> None:
        message_id = loop._work.transcript.new_reasoning_id()
        loop._context.emit_all(make_reasoning_start(message_id, loop._agent))
        for piece in pieces:
            loop._context.emit_all(make_reasoning_content(message_id, piece))
        loop._context.emit_all(make_reasoning_end(message_id))
        await answer(loop)

    patch.setattr(AgentLoop, "answer", think_and_answer)
