"""The use cases of ``memory``, joined to ports.

The methods contain their imports, like those of ``App``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import timedelta

    from baton.composition.knowledge import KnowledgeUseCases
    from baton.composition.ports import Ports
    from baton.memory.agent_memory import AgentMemory
    from baton.memory.episodes.episode_index import EpisodeIndex
    from baton.memory.episodes.episode_messages import EpisodeMessages
    from baton.memory.episodes.episode_search import EpisodeSearch
    from baton.memory.episodes.session_closing import SessionClosing
    from baton.memory.inspection.inspector import Inspector
    from baton.memory.prompt.history_summary import HistorySummaries


class MemoryUseCases:
    """Use cases that make and search episodes, recall them, and keep the record of each prompt."""

    def __init__(self, ports: Ports, knowledge: KnowledgeUseCases) -> None:
        self.ports = ports
        self._knowledge = knowledge

    @cached_property
    def session_closing(self) -> SessionClosing:
        """Makes episodes of ended sessions."""
        from baton.memory.episodes.episode_digest import Digester
        from baton.memory.episodes.episode_writing import EpisodeWriter
        from baton.memory.episodes.fact_changes import FactChanges
        from baton.memory.episodes.session_closing import SessionClosing
        from baton.memory.light_model import LightModel

        ports = self.ports
        light_model = LightModel(ports.model, ports.light_model)
        return SessionClosing(
            store=ports.store,
            episodes=ports.episodes,
            writer=EpisodeWriter(ports.store, ports.episodes, ports.pii_detector),
            messages=self.episode_messages,
            digester=Digester(light_model, ports.pii_detector),
            fact_changes=FactChanges(light_model, ports.search, ports.embedder, ports.episodes, self.episode_index),
            index=self.episode_index,
            with_facts=ports.with_episode_facts,
        )

    @cached_property
    def episode_index(self) -> EpisodeIndex:
        """Puts episodes into the search index."""
        from baton.memory.episodes.episode_index import EpisodeIndex

        return EpisodeIndex(self.ports.search, self.ports.embedder, self.episode_messages)

    @cached_property
    def episode_search(self) -> EpisodeSearch:
        """Searches episodes."""
        from baton.memory.episodes.episode_search import EpisodeSearch

        return EpisodeSearch(self.ports.search, self.ports.embedder)

    @cached_property
    def episode_messages(self) -> EpisodeMessages:
        """Reads the messages of episodes."""
        from baton.memory.episodes.episode_messages import EpisodeMessages

        return EpisodeMessages(self.ports.store, self.ports.episodes)

    @cached_property
    def agent_memory(self) -> AgentMemory:
        """Makes prompts with memory."""
        return self.recalling_within(self.ports.recall_deadline)

    def recalling_within(self, deadline: timedelta) -> AgentMemory:
        """Return an agent's memory that searches for at most this time."""
        from baton.memory.agent_memory import AgentMemory
        from baton.memory.recall.recall import Recall

        ports = self.ports
        recall = Recall(ports.search, self._knowledge.search, ports.embedder, deadline=deadline)
        return AgentMemory(recall, ports.counter)

    @cached_property
    def inspector(self) -> Inspector:
        """Keeps and reads the Context Inspector's records."""
        from baton.memory.inspection.inspector import Inspector

        ports = self.ports
        return Inspector(
            ports.context_records,
            ports.store,
            ports.counter,
            ports.inspection_policy,
            ports.pii_detector,
            ports.clock,
        )

    @cached_property
    def history_summaries(self) -> HistorySummaries:
        """Summarises messages that no longer fit an agent's history."""
        from baton.memory.prompt.history_summary import HistorySummaries

        ports = self.ports
        return HistorySummaries(ports.store, ports.model, ports.light_model)
