"""Documents, sources and procedures of an agent, which must be removed before it is deleted."""

from __future__ import annotations

from dataclasses import dataclass

from baton.concurrency.tasks import gather_all
from baton.domain.memory.procedure import ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Scope
from baton.ports.documents.documents import DocumentStore
from baton.ports.documents.sources import SourceStore
from baton.ports.memory.procedures import ProcedureStore

PAGE = 100
MAX_PAGES = 20
"""Pages of procedures that are read: an agent's own are listed among those of all agents."""
_LIVE = (ProcedureStatus.APPROVED, ProcedureStatus.PENDING)


@dataclass(frozen=True, slots=True)
class AgentBelongings:
    """The documents, sources and procedures that must go before their agent can be deleted."""

    documents: DocumentStore
    sources: SourceStore
    procedures: ProcedureStore

    async def of(self, scope: Scope, agent_id: str) -> list[str]:
        """Return the steps that the caller must take before the agent can be deleted."""
        documents, sources, procedures = await gather_all(
            self._has_documents(scope, agent_id),
            self._has_sources(scope, agent_id),
            self._has_procedures(scope, agent_id),
        )
        steps = ["delete its sources"] if sources else []
        steps += ["delete its documents"] if documents else []
        return steps + (["retire or reject its procedures"] if procedures else [])

    async def _has_documents(self, scope: Scope, agent_id: str) -> bool:
        documents, _ = await self.documents.of_agent(scope, agent_id, limit=1, cursor=None)
        return bool(documents)

    async def _has_sources(self, scope: Scope, agent_id: str) -> bool:
        sources, _ = await self.sources.of_agent(scope, agent_id, limit=1, cursor=None)
        return bool(sources)

    async def _has_procedures(self, scope: Scope, agent_id: str) -> bool:
        cursor = None
        for _ in range(MAX_PAGES):
            procedures, cursor = await self.procedures.of_agents(scope, [agent_id], _LIVE, limit=PAGE, cursor=cursor)
            if any(procedure.scope is ProcedureScope.AGENT for procedure in procedures):
                return True
            if cursor is None:
                break
        return False
