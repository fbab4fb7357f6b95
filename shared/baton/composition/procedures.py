"""The use cases of ``procedures``, joined to ports.

The methods contain their imports, like those of ``App``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from baton.composition.memory import MemoryUseCases
    from baton.composition.ports import Ports
    from baton.composition.privacy import PrivacyUseCases
    from baton.memory.procedures.administration import ProcedureAdministration
    from baton.memory.procedures.approved_procedures import ApprovedProcedures
    from baton.memory.procedures.learning import Learning, SessionLearning
    from baton.memory.procedures.procedure_capture import ProcedureCapture
    from baton.memory.procedures.procedure_sources import ProcedureSources
    from baton.memory.procedures.skill_administration import SkillAdministration
    from baton.tenants.registry.agent_registry import AgentRegistry
    from baton.tenants.tenant_copies import CurrentLimits
    from baton.threads.handoffs.skill_making import SkillMaking


class ProcedureUseCases:
    """Use cases that capture, administer and find procedures."""

    def __init__(
        self,
        ports: Ports,
        memory: MemoryUseCases,
        privacy: PrivacyUseCases,
        agents: Callable[[], AgentRegistry],
        limits: Callable[[], CurrentLimits],
    ) -> None:
        """``agents`` and ``limits`` return use cases of ``App``, which are built when one needs them."""
        self.ports = ports
        self._memory = memory
        self._privacy = privacy
        self._agents = agents
        self._limits = limits

    @cached_property
    def learning(self) -> Learning:
        """Learns from runs that were committed."""
        from baton.memory.procedures.learning import Learning

        ports = self.ports
        return Learning(self._agents(), ports.procedures, lambda: ports.captures, is_on=ports.with_learning)

    @cached_property
    def session_learning(self) -> SessionLearning:
        """Starts captures that were missed during a session."""
        from baton.memory.procedures.learning import SessionLearning

        ports = self.ports
        return SessionLearning(ports.store, ports.episodes, ports.capture_records, self.learning)

    @cached_property
    def capture(self) -> ProcedureCapture:
        """Makes procedures of completed tasks."""
        from baton.memory.light_model import LightModel
        from baton.memory.procedures.drafting import Drafting
        from baton.memory.procedures.procedure_capture import ProcedureCapture
        from baton.memory.procedures.proposals import Proposals
        from baton.memory.procedures.task_record import TaskRecords

        ports = self.ports
        return ProcedureCapture(
            store=ports.store,
            captures=ports.capture_records,
            agents=self._agents(),
            records=TaskRecords(ports.store, ports.pii_detector),
            drafting=Drafting(LightModel(ports.model, ports.light_model)),
            proposals=Proposals(ports.procedures, ports.embedder, ports.clock),
            announcements=ports.announcements,
            clock=ports.clock,
            limits=self._limits(),
        )

    @cached_property
    def approved(self) -> ApprovedProcedures:
        """Finds the procedures that agents may follow."""
        from baton.memory.procedures.approved_procedures import ApprovedProcedures

        return ApprovedProcedures(self.ports.procedures, self.ports.private_skills, self.ports.clock)

    @cached_property
    def administration(self) -> ProcedureAdministration:
        """Reads, writes and decides on procedures."""
        from baton.memory.procedures.administration import DEADLINE, ProcedureAdministration

        ports = self.ports
        return ProcedureAdministration(
            ports.procedures,
            self.approved,
            self._memory.recalling_within(DEADLINE),
            ports.audit,
            ports.clock,
        )

    @cached_property
    def skills(self) -> SkillAdministration:
        """Reads, offers, shares and removes private skills."""
        from baton.memory.procedures.skill_administration import SkillAdministration

        ports = self.ports
        return SkillAdministration(ports.private_skills, ports.procedures, ports.audit, ports.clock)

    @cached_property
    def skill_making(self) -> SkillMaking:
        """Makes private skills of completed workflows."""
        from baton.threads.handoffs.skill_making import SkillMaking

        return SkillMaking(self.ports.procedures, self.ports.private_skills, self.approved, self.ports.audit)

    @cached_property
    def sources(self) -> ProcedureSources:
        """Reads the sources of procedures."""
        from baton.memory.procedures.procedure_sources import ProcedureSources

        return ProcedureSources(self.ports.store, self._privacy.readers, self.ports.audit)
