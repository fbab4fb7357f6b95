"""A tenant's agents at one moment, and the checks of changes to them and of what belongs to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import reference_problems
from baton.domain.agents.agent_version import AgentList, AgentVersion
from baton.domain.errors import AgentLimitReached, UnknownAgent
from baton.domain.memory.procedure import ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Scope
from baton.ports.documents.documents import DocumentStore
from baton.ports.documents.sources import SourceStore
from baton.ports.memory.procedures import ProcedureStore
from baton.tenants.registry.agent_drafts import field_name, invalid
from baton.tenants.registry.registered_agents import RegisteredAgents

MAX_IDS = 1_000
"""Ids that a tenant has ever used. If a deleted agent is made again, its version numbers continue."""
MAX_DEFINITIONS = 512 * 1024
"""Characters of all definitions of a tenant. Every worker that serves the tenant keeps them."""

PAGE = 100
MAX_PAGES = 20
"""Pages of procedures that are read: an agent's own are listed among those of all agents."""
_LIVE = (ProcedureStatus.APPROVED, ProcedureStatus.PENDING)


@dataclass(frozen=True, slots=True)
class TenantAgents:
    """The tenant's agents at an attempt to change one."""

    listed: AgentList
    registered: RegisteredAgents
    own: Mapping[str, AgentDefinition]
    newest: AgentVersion | None
    """The newest version of the agent in question, a deletion too."""
    deleted: AgentVersion | None = None
    """The deleted version, if the newest version is a deletion."""

    @property
    def present(self) -> AgentVersion | None:
        """The newest version, unless the agent is deleted."""
        return self.newest if self.newest is not None and self.newest.values is not None else None

    def check_limits(self, agent_id: str, size: int, most: int) -> None:
        """Raise ``AgentLimitReached`` if the agent would be one too many; an existing one may be changed."""
        others = {other_id: entry for other_id, entry in self.listed.present.items() if other_id != agent_id}
        if (agent_id not in self.listed.present and len(others) >= most) or (
            agent_id not in self.listed.entries and len(self.listed.entries) >= MAX_IDS
        ):
            raise AgentLimitReached(f"A tenant has at most {most} agents, and uses {MAX_IDS} ids over time.")
        if sum(entry.size for entry in others.values()) + size > MAX_DEFINITIONS:
            kilobytes = MAX_DEFINITIONS // 1024
            raise AgentLimitReached(f"The definitions of a tenant's agents are at most {kilobytes} KB together.")

    def check_references(self, scope: Scope, definition: AgentDefinition) -> None:
        """Raise ``InvalidAgent`` for references to agents that do not exist or that the caller may not talk to."""
        agents = {agent.id: agent for agent in self.registered.visible(scope)} | {definition.id: definition}
        problems = list(reference_problems(definition, agents))
        if problems:
            raise invalid(problems)

    def warnings(self, scope: Scope, definition: AgentDefinition) -> Iterator[str]:
        """Yield warnings about allowed settings that may surprise the author."""
        missing = [name for name in definition.required_permissions if not scope.has(name)]
        if missing:
            yield f"required_permissions: you lack {', '.join(missing)}, so the agent will not exist for you."
        agents = {agent.id: agent for agent in self.registered.all()} | {definition.id: definition}
        for other in self.own.values():
            if other.id == definition.id or _is_hidden(scope, other) or not _refers(other, definition.id):
                continue
            for problem in reference_problems(other, agents):
                yield f"{other.id}: {field_name(problem.place)}: {problem.what}."

    def referring_to(self, scope: Scope, agent_id: str) -> list[str]:
        """Return ids of agents that refer to this one, or a phrase for them if the caller may know none of them."""
        referring = [other for other in self.own.values() if other.id != agent_id and _refers(other, agent_id)]
        agent_ids = [definition.id for definition in referring if not _is_hidden(scope, definition)]
        return agent_ids or ["another agent"] if referring else []


@dataclass(frozen=True, slots=True)
class AgentBelongings:
    """The documents, sources and procedures that must go before their agent can be deleted."""

    documents: DocumentStore
    sources: SourceStore
    procedures: ProcedureStore

    async def of(self, scope: Scope, agent_id: str) -> list[str]:
        """Return the steps that the caller must take before the agent can be deleted."""
        (sources, _), (documents, _), has_procedures = await gather_all(
            self.sources.of_agent(scope, agent_id, limit=1, cursor=None),
            self.documents.of_agent(scope, agent_id, limit=1, cursor=None),
            self._has_procedures(scope, agent_id),
        )
        steps = {
            "delete its sources": sources,
            "delete its documents": documents,
            "retire or reject its procedures": has_procedures,
        }
        return [step for step, is_needed in steps.items() if is_needed]

    async def _has_procedures(self, scope: Scope, agent_id: str) -> bool:
        cursor = None
        for _ in range(MAX_PAGES):
            procedures, cursor = await self.procedures.of_agents(scope, [agent_id], _LIVE, limit=PAGE, cursor=cursor)
            if any(procedure.scope is ProcedureScope.AGENT for procedure in procedures):
                return True
            if cursor is None:
                break
        return False


def check_permissions(scope: Scope, version: AgentVersion) -> None:
    """Raise ``UnknownAgent`` if the caller lacks a permission of the version."""
    required = (version.values or {}).get("required_permissions", ())  # it may no longer be a valid definition
    for permission in map(str, required if isinstance(required, list | tuple) else ()):
        if not scope.has(permission):
            raise UnknownAgent(permission=permission)


def _refers(agent: AgentDefinition, agent_id: str) -> bool:
    return agent_id in agent.sub_agents or any(handoff.agent == agent_id for handoff in agent.handoffs)


def _is_hidden(scope: Scope, agent: AgentDefinition) -> bool:
    return not all(map(scope.has, agent.required_permissions))
