"""The use cases of the package ``memory``, including those of procedures, built with the ports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from baton.composition.knowledge import KnowledgeUseCases
    from baton.composition.limits import LimitUseCases
    from baton.composition.ports import Ports
    from baton.composition.privacy import PrivacyUseCases


class MemoryUseCases:
    """Use cases that make and search episodes, recall them, and keep the record of each prompt."""

    def __init__(self, ports: Ports, knowledge: KnowledgeUseCases, model: Callable[[], parts.ChatModel]) -> None:
        """``model`` returns the model for calls on behalf of tenants, within their spending limits."""
        self.ports = ports
        self._knowledge = knowledge
        self._model = model

    @property
    def light_model(self) -> parts.LightModel:
        """The model for tasks that need speed more than quality. Its calls count for tenants' spending limits."""
        return parts.LightModel(self._model(), self.ports.light_model)

    @cached_property
    def session_closing(self) -> parts.SessionClosing:
        """The use case that makes episodes of ended sessions."""
        ports = self.ports
        light_model = self.light_model
        return parts.SessionClosing(
            store=ports.store,
            episodes=ports.episodes,
            detector=ports.pii_detector,
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
        """The use case that puts episodes into the search index."""
        return parts.EpisodeIndex(self.ports.search, self.ports.embedder, self.episode_messages)

    @cached_property
    def episode_search(self) -> parts.EpisodeSearch:
        """The use case that searches episodes."""
        return parts.EpisodeSearch(self.ports.search, self.ports.embedder)

    @cached_property
    def episode_messages(self) -> parts.EpisodeMessages:
        """The use case that reads the messages of episodes."""
        return parts.EpisodeMessages(self.ports.store, self.ports.episodes)

    @cached_property
    def agent_memory(self) -> parts.AgentMemory:
        """The use case that makes prompts with memory."""
        return self.make_memory(self.ports.recall_deadline)

    def make_memory(self, deadline: timedelta) -> parts.AgentMemory:
        """Return a memory of agents whose searches take at most ``deadline``."""
        ports = self.ports
        recall = parts.Recall(ports.search, self._knowledge.search, ports.embedder, deadline=deadline)
        return parts.AgentMemory(recall, ports.counter)

    @cached_property
    def inspector(self) -> parts.Inspector:
        """The use case that keeps and reads the Context Inspector's records."""
        ports = self.ports
        return parts.Inspector(
            ports.context_records, ports.store, ports.counter, ports.inspection_policy, ports.pii_detector, ports.clock
        )

    @cached_property
    def history_summaries(self) -> parts.HistorySummaries:
        """The use case that summarises messages that no longer fit an agent's history."""
        ports = self.ports
        return parts.HistorySummaries(ports.store, self._model(), ports.light_model)


class ProcedureUseCases:
    """Use cases that capture, administer and find procedures."""

    def __init__(
        self,
        ports: Ports,
        memory: MemoryUseCases,
        privacy: PrivacyUseCases,
        agents: Callable[[], parts.AgentRegistry],
        limits: LimitUseCases,
    ) -> None:
        """``agents`` returns a use case of ``App``. It is called when a use case first needs it."""
        self.ports = ports
        self._memory = memory
        self._privacy = privacy
        self._agents = agents
        self._limits = limits

    @cached_property
    def learning(self) -> parts.Learning:
        """The use case that learns from runs that were committed."""
        ports = self.ports
        return parts.Learning(self._agents(), ports.procedures, lambda: ports.captures, is_on=ports.with_learning)

    @cached_property
    def session_learning(self) -> parts.SessionLearning:
        """The use case that starts captures that were missed during a session."""
        ports = self.ports
        return parts.SessionLearning(ports.store, ports.episodes, ports.capture_records, self.learning)

    @cached_property
    def capture(self) -> parts.ProcedureCapture:
        """The use case that makes procedures from completed tasks."""
        ports = self.ports
        return parts.ProcedureCapture(
            store=ports.store,
            captures=ports.capture_records,
            agents=self._agents(),
            records=parts.TaskRecords(ports.store, ports.pii_detector),
            light_model=self._memory.light_model,
            procedures=ports.procedures,
            embedder=ports.embedder,
            announcements=ports.announcements,
            clock=ports.clock,
            limits=self._limits.current,
        )

    @cached_property
    def approved(self) -> parts.ApprovedProcedures:
        """The use case that finds the procedures that agents may follow."""
        return parts.ApprovedProcedures(self.ports.procedures, self.ports.private_skills, self.ports.clock)

    @cached_property
    def administration(self) -> parts.ProcedureAdministration:
        """The use case that reads and writes procedures, and takes decisions on them."""
        ports = self.ports
        return parts.ProcedureAdministration(
            ports.procedures, self.approved, self._memory.make_memory(parts.DEADLINE), ports.audit, ports.clock
        )

    @cached_property
    def skills(self) -> parts.SkillAdministration:
        """The use case that reads, offers, shares and removes private skills."""
        ports = self.ports
        return parts.SkillAdministration(ports.private_skills, ports.procedures, ports.audit, ports.clock)

    @cached_property
    def skill_making(self) -> parts.SkillMaking:
        """The use case that makes private skills from completed workflows."""
        return parts.SkillMaking(self.ports.procedures, self.ports.private_skills, self.approved, self.ports.audit)

    @cached_property
    def sources(self) -> parts.ProcedureSources:
        """The use case that reads the sources of procedures."""
        return parts.ProcedureSources(self.ports.store, self._privacy.readers, self.ports.audit)
