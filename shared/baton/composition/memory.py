"""The use cases of ``memory``, joined to ports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from datetime import timedelta

    from baton.composition.knowledge import KnowledgeUseCases
    from baton.composition.ports import Ports


class MemoryUseCases:
    """Use cases that make and search episodes, recall them, and keep the record of each prompt."""

    def __init__(self, ports: Ports, knowledge: KnowledgeUseCases) -> None:
        self.ports = ports
        self._knowledge = knowledge

    @cached_property
    def session_closing(self) -> parts.SessionClosing:
        """Makes episodes of ended sessions."""
        ports = self.ports
        light_model = parts.LightModel(ports.model, ports.light_model)
        return parts.SessionClosing(
            store=ports.store,
            episodes=ports.episodes,
            writer=parts.EpisodeWriter(ports.store, ports.episodes, ports.pii_detector),
            messages=self.episode_messages,
            digester=parts.Digester(light_model, ports.pii_detector),
            fact_changes=parts.FactChanges(
                light_model, ports.search, ports.embedder, ports.episodes, self.episode_index
            ),
            index=self.episode_index,
            with_facts=ports.with_episode_facts,
        )

    @cached_property
    def episode_index(self) -> parts.EpisodeIndex:
        """Puts episodes into the search index."""
        return parts.EpisodeIndex(self.ports.search, self.ports.embedder, self.episode_messages)

    @cached_property
    def episode_search(self) -> parts.EpisodeSearch:
        """Searches episodes."""
        return parts.EpisodeSearch(self.ports.search, self.ports.embedder)

    @cached_property
    def episode_messages(self) -> parts.EpisodeMessages:
        """Reads the messages of episodes."""
        return parts.EpisodeMessages(self.ports.store, self.ports.episodes)

    @cached_property
    def agent_memory(self) -> parts.AgentMemory:
        """Makes prompts with memory."""
        return self.recalling_within(self.ports.recall_deadline)

    def recalling_within(self, deadline: timedelta) -> parts.AgentMemory:
        """Return an agent's memory that searches for at most this time."""
        ports = self.ports
        recall = parts.Recall(ports.search, self._knowledge.search, ports.embedder, deadline=deadline)
        return parts.AgentMemory(recall, ports.counter)

    @cached_property
    def inspector(self) -> parts.Inspector:
        """Keeps and reads the Context Inspector's records."""
        ports = self.ports
        return parts.Inspector(
            ports.context_records, ports.store, ports.counter, ports.inspection_policy, ports.pii_detector, ports.clock
        )

    @cached_property
    def history_summaries(self) -> parts.HistorySummaries:
        """Summarises messages that no longer fit an agent's history."""
        ports = self.ports
        return parts.HistorySummaries(ports.store, ports.model, ports.light_model)
