"""Agents that think before they answer, whatever their model."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

import pytest
from ag_ui.core import BaseEvent

from baton.agents.agent_loop import AgentLoop
from baton.domain.events import reasoning_content, reasoning_end, reasoning_start


def let_agents_think(patch: pytest.MonkeyPatch, *pieces: str) -> None:
    """Every agent thinks aloud, in these pieces, before each of its answers."""
    answer = AgentLoop.events

    async def events(loop: AgentLoop) -> AsyncGenerator[BaseEvent, None]:
        message_id = loop._transcript.new_reasoning_id()
        for event in reasoning_start(message_id, loop._agent):
            yield event
        for piece in pieces:
            for event in reasoning_content(message_id, piece):
                yield event
        for event in reasoning_end(message_id):
            yield event
        async with contextlib.aclosing(answer(loop)) as answered:
            async for event in answered:
                yield event

    patch.setattr(AgentLoop, "events", events)
