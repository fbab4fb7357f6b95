"""The agents, as far as learning needs to know them."""

from __future__ import annotations

from typing import Protocol

from baton.domain.agent import AgentDefinition
from baton.domain.thread import Thread


class KnownAgents(Protocol):
    """Definitions of agents, whatever a caller's permissions."""

    def main(self, thread: Thread) -> AgentDefinition:
        """Return the thread's main agent, or the default one if it is no longer deployed."""
        ...

    def describe(self, agent_id: str) -> AgentDefinition | None:
        """Return an agent; None if there is none."""
        ...
