"""A tenant's agents at one moment, drafts of their definitions, and the checks of changes to them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import (
    Problem,
    check_agent,
    find_library_problems,
    find_model_problems,
    find_reference_problems,
    find_sentence_problems,
    find_tenant_problems,
)
from baton.domain.agents.agent_version import AgentEntry, AgentList, AgentVersion
from baton.domain.agents.model_providers import OfferedModels
from baton.domain.errors import AgentLimitReached, FieldProblem, InvalidAgent, UnknownAgent
from baton.domain.memory.procedure import ProcedureScope, ProcedureStatus
from baton.domain.tenants.identity import Scope
from baton.ports.documents.documents import DocumentStore
from baton.ports.documents.sources import SourceStore
from baton.ports.memory.procedures import ProcedureStore
from baton.tenants.registry.registered_agents import RegisteredAgents

MAX_IDS = 1_000
"""The most ids that a tenant may ever use. If a deleted agent is made again, its version numbers continue."""
MAX_DEFINITIONS = 512 * 1024
"""The most characters of all definitions of a tenant. Every worker that serves the tenant has them in memory."""

PAGE = 100
"""The number of procedures in a page."""
_LIVE = (ProcedureStatus.APPROVED, ProcedureStatus.PENDING)


@dataclass(frozen=True, slots=True)
class TenantAgents:
    """The tenant's agents at an attempt to change one."""

    listed: AgentList
    registered: RegisteredAgents
    own: Mapping[str, AgentDefinition]
    entry: AgentEntry
    """The entry of the agent in question; its number is 0 if the agent has never existed."""
    newest: AgentVersion | None
    """The version in force of the agent in question. It may be a deletion."""
    deleted: AgentVersion | None = None
    """The version that was deleted, if ``newest`` is a deletion."""
    candidates: Mapping[str, AgentDefinition] = field(default_factory=dict)
    """The candidates of all agents, by the agent's id."""

    @property
    def present(self) -> AgentVersion | None:
        """The version in force, unless the agent is deleted."""
        return self.newest if self.newest is not None and self.newest.values is not None else None

    def is_candidate(self, definition: AgentDefinition, share: int) -> bool:
        """Return whether the agent's candidate has this definition and this share."""
        candidate, before = self.entry.candidate, self.candidates.get(definition.id)
        if candidate is None or before is None or before.version != candidate.number:
            return False
        return candidate.share == share and not find_changes(before, definition)

    def check_limits(self, agent_id: str, size: int, max_agents: int, *, is_added: bool = False) -> None:
        """Raise ``AgentLimitReached`` if the tenant would have too many agents, ids or characters.

        ``size`` is the number of characters of the definition. ``is_added`` is True if it is stored beside the version
        in force. At the limit of agents, an existing agent may still be changed.
        """
        others = {other_id: entry for other_id, entry in self.listed.present.items() if other_id != agent_id}
        if (agent_id not in self.listed.present and len(others) >= max_agents) or (
            agent_id not in self.listed.entries and len(self.listed.entries) >= MAX_IDS
        ):
            raise AgentLimitReached(f"A tenant has at most {max_agents} agents, and uses {MAX_IDS} ids over time.")
        size += self.entry.size if is_added else 0
        if sum(entry.total_size for entry in others.values()) + size > MAX_DEFINITIONS:
            kilobytes = MAX_DEFINITIONS // 1024
            raise AgentLimitReached(f"The definitions of a tenant's agents are at most {kilobytes} KB together.")

    def check_references(self, scope: Scope, definition: AgentDefinition) -> None:
        """Raise ``InvalidAgent`` for libraries and agents that the caller does not have, and unfilled placeholders."""
        agents = {agent.id: agent for agent in self.registered.list_visible(scope)} | {definition.id: definition}
        libraries = find_library_problems(definition, self.registered.libraries)
        problems = [*find_reference_problems(definition, agents), *libraries, *find_sentence_problems(definition)]
        if problems:
            raise make_invalid(problems)

    def list_warnings(self, scope: Scope, definition: AgentDefinition) -> Iterator[str]:
        """Yield warnings about allowed settings that may surprise the author."""
        missing = [name for name in definition.required_permissions if not scope.has(name)]
        if missing:
            yield f"required_permissions: you lack {', '.join(missing)}, so the agent will not exist for you."
        agents = {agent.id: agent for agent in self.registered.all()} | {definition.id: definition}
        for other in self.own.values():
            if other.id == definition.id or _is_hidden(scope, other) or not _refers_to(other, definition.id):
                continue
            for problem in find_reference_problems(other, agents):
                yield f"{other.id}: {format_field_name(problem.place)}: {problem.what}."

    def list_referring(self, scope: Scope, agent_id: str) -> list[str]:
        """Return ids of agents that refer to this one, or a phrase if the caller may not know any of them.

        Candidates count, because they may be promoted.
        """
        others = [*self.own.values(), *self.candidates.values()]
        referring = [other for other in others if other.id != agent_id and _refers_to(other, agent_id)]
        agent_ids = [definition.id for definition in referring if not _is_hidden(scope, definition)]
        return list(dict.fromkeys(agent_ids)) or ["another agent"] if referring else []


@dataclass(frozen=True, slots=True)
class AgentBelongings:
    """The documents, sources and procedures that must be removed before their agent can be deleted."""

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
        """Return whether the agent has approved or pending procedures.

        All pages may be read, because they also list the procedures of the tenant.
        """
        cursor = None
        while True:
            procedures, cursor = await self.procedures.of_agents(scope, [agent_id], _LIVE, limit=PAGE, cursor=cursor)
            if any(procedure.scope is ProcedureScope.AGENT for procedure in procedures):
                return True
            if cursor is None:
                return False


def check_permissions(scope: Scope, version: AgentVersion) -> None:
    """Raise ``UnknownAgent`` if the caller lacks a permission of the version."""
    required = (version.values or {}).get("required_permissions", ())  # the values may no longer be a valid definition
    for permission in map(str, required if isinstance(required, list | tuple) else ()):
        if not scope.has(permission):
            raise UnknownAgent(permission=permission)


def _refers_to(agent: AgentDefinition, agent_id: str) -> bool:
    return agent_id in agent.sub_agents or any(handoff.agent == agent_id for handoff in agent.handoffs)


def _is_hidden(scope: Scope, agent: AgentDefinition) -> bool:
    return not all(map(scope.has, agent.required_permissions))


MAX_DEFINITION = 64 * 1024
"""The most characters of one definition as JSON."""


@dataclass(frozen=True, slots=True)
class AgentDraft:
    """A definition that is about to be stored."""

    definition: AgentDefinition
    values: Mapping[str, Any]
    size: int
    """Characters of ``values`` as JSON."""

    @classmethod
    def of(cls, definition: AgentDefinition) -> AgentDraft:
        """Return the definition as it will be read again. Raises ``ValueError`` for values that JSON cannot hold."""
        values = definition.model_dump(mode="json", exclude_unset=True)
        if values.get("workflow", ...) is None:  # the API serves None; in a file it is a mistake
            del values["workflow"]
        return cls(AgentDefinition.model_validate(values), values, len(json.dumps(values, ensure_ascii=False)))


def make_draft(
    agent_id: str, values: Mapping[str, Any], *, as_served: bool, models: Callable[[], OfferedModels]
) -> AgentDraft:
    """Return the definition as it would be stored. Raises ``InvalidAgent`` with all its problems.

    With ``as_served``, fields may have the names that the API serves. ``models`` returns the models that the agent may
    name.
    """
    try:
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=str)
        text.encode()
        if len(text) > MAX_DEFINITION:
            raise make_invalid([Problem((), f"it is longer than {MAX_DEFINITION // 1024} KB")])
        definition, problems = check_agent({"id": agent_id, **values}, as_served=as_served)
        draft = AgentDraft.of(definition) if definition is not None else None
    except RecursionError:
        raise make_invalid([Problem((), "it is nested too deeply")]) from None
    except ValueError:  # infinities, and halves of surrogate pairs
        raise make_invalid([Problem((), "it holds a number or a text that JSON does not know")]) from None
    if definition is not None:
        if definition.id != agent_id:
            problems.append(Problem(("id",), f"must be {agent_id!r}, as in the address"))
        problems += find_tenant_problems(definition)
        problems += find_model_problems(definition, models())
    if draft is None or problems:
        raise make_invalid(problems)
    return draft


def make_invalid(problems: Sequence[Problem]) -> InvalidAgent:
    """Return the error with all problems and the fields that have them."""
    return InvalidAgent(
        [FieldProblem(format_field_name(problem.place), problem.what, place=problem.place) for problem in problems]
    )


def format_field_name(path: Sequence[str | int]) -> str:
    """Return a field's name, as in ``handoffs.0.agent``."""
    return ".".join(str(part) for part in path if part != "[key]")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs. Values are as the API serves them."""

    field: str
    """The path of names: ``memory.retrievedTokens``. Lists differ as a whole."""
    before: Any
    """None: there was no such agent, or the field was empty."""
    after: Any


def find_changes(before: AgentDefinition | None, after: AgentDefinition) -> tuple[FieldChange, ...]:
    """Return the fields that differ, by name. For a new agent, return the fields that are not at their defaults."""
    if before is None:
        served = to_wire(after, exclude_defaults=True)
        return tuple(FieldChange(field, None, value) for field, value in sorted(served.items()))
    return tuple(_list_differences(to_wire(before), to_wire(after), ""))


def to_wire(agent: AgentDefinition, *, exclude_defaults: bool = False) -> dict[str, Any]:
    """Return the definition as the API serves it."""
    return agent.model_dump(by_alias=True, mode="json", exclude_defaults=exclude_defaults)


def _list_differences(before: Any, after: Any, field: str) -> Iterator[FieldChange]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            yield from _list_differences(before.get(name), after.get(name), f"{field}.{name}" if field else name)
    elif before != after or type(before) is not type(after):
        yield FieldChange(field, before, after)
