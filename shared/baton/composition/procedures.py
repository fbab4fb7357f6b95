"""The use cases of ``procedures``, joined to ports."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from baton.composition import parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from baton.composition.memory import MemoryUseCases
    from baton.composition.ports import Ports
    from baton.composition.privacy import PrivacyUseCases


class ProcedureUseCases:
    """Use cases that capture, administer and find procedures."""

    def __init__(
        self,
        ports: Ports,
        memory: MemoryUseCases,
        privacy: PrivacyUseCases,
        agents: Callable[[], parts.AgentRegistry],
        limits: Callable[[], parts.CurrentLimits],
    ) -> None:
        """``agents`` and ``limits`` return use cases of ``App``, which are built when one needs them."""
        self.ports = ports
        self._memory = memory
        self._privacy = privacy
        self._agents = agents
        self._limits = limits

    @cached_property
    def learning(self) -> parts.Learning:
        """Learns from runs that were committed."""
        ports = self.ports
        return parts.Learning(self._agents(), ports.procedures, lambda: ports.captures, is_on=ports.with_learning)

    @cached_property
    def session_learning(self) -> parts.SessionLearning:
        """Starts captures that were missed during a session."""
        ports = self.ports
        return parts.SessionLearning(ports.store, ports.episodes, ports.capture_records, self.learning)

    @cached_property
    def capture(self) -> parts.ProcedureCapture:
        """Makes procedures of completed tasks."""
        ports = self.ports
        return parts.ProcedureCapture(
            store=ports.store,
            captures=ports.capture_records,
            agents=self._agents(),
            records=parts.TaskRecords(ports.store, ports.pii_detector),
            drafting=parts.Drafting(parts.LightModel(ports.model, ports.light_model)),
            proposals=parts.Proposals(ports.procedures, ports.embedder, ports.clock),
            announcements=ports.announcements,
            clock=ports.clock,
            limits=self._limits(),
        )

    @cached_property
    def approved(self) -> parts.ApprovedProcedures:
        """Finds the procedures that agents may follow."""
        return parts.ApprovedProcedures(self.ports.procedures, self.ports.private_skills, self.ports.clock)

    @cached_property
    def administration(self) -> parts.ProcedureAdministration:
        """Reads, writes and decides on procedures."""
        ports = self.ports
        return parts.ProcedureAdministration(
            ports.procedures, self.approved, self._memory.recalling_within(parts.DEADLINE), ports.audit, ports.clock
        )

    @cached_property
    def skills(self) -> parts.SkillAdministration:
        """Reads, offers, shares and removes private skills."""
        ports = self.ports
        return parts.SkillAdministration(ports.private_skills, ports.procedures, ports.audit, ports.clock)

    @cached_property
    def skill_making(self) -> parts.SkillMaking:
        """Makes private skills of completed workflows."""
        return parts.SkillMaking(self.ports.procedures, self.ports.private_skills, self.approved, self.ports.audit)

    @cached_property
    def sources(self) -> parts.ProcedureSources:
        """Reads the sources of procedures."""
        return parts.ProcedureSources(self.ports.store, self._privacy.readers, self.ports.audit)
