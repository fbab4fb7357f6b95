"""Changes of a tenant's own agents: checked, made versions of, restored, and deleted."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from baton.catalog.agent_belongings import AgentBelongings
from baton.catalog.agent_changes import FieldChange, changes_between
from baton.catalog.agent_directory import AgentDirectory
from baton.catalog.own_agents import OwnAgents
from baton.domain.agent import AgentDefinition
from baton.domain.agent_checks import Problem, checked, model_problems, reference_problems, tenant_problems
from baton.domain.agent_version import AgentList, AgentVersion
from baton.domain.errors import (
    AgentIdTaken,
    AgentInUse,
    AgentLimitReached,
    AgentVersionMismatch,
    FieldProblem,
    InvalidAgent,
    InvalidRequest,
    StoreUnavailable,
    UnknownAgent,
    UnknownAgentVersion,
)
from baton.domain.identity import Scope
from baton.limits.current_limits import CurrentLimits
from baton.off_loop import LARGE, off_loop
from baton.ports.agent_catalog import AgentCatalog
from baton.ports.agent_definitions import AgentDefinitions, AgentsChanged
from baton.ports.audit import AuditLog, Once
from baton.ports.clock import Clock

MAX_IDS = 1_000
"""Ids that a tenant has ever used. Numbers of versions go on where a deleted agent is made again."""
MAX_DEFINITION = 64 * 1024
"""Characters of one definition as JSON."""
MAX_DEFINITIONS = 512 * 1024
"""Characters of all definitions of a tenant. Every worker that serves the tenant keeps them."""
MAX_TRIES = 5
"""Attempts at a change while others change the tenant's agents too."""
NOW = timedelta(0)
_AUDITED = uuid.UUID("0e6a3a51-6d0e-4c0e-9f5a-7a3f2d7f6f10")


@dataclass(frozen=True, slots=True)
class Expected:
    """What the caller takes the agent to be. Another state refuses the change."""

    version: int | None = None
    """Its newest version; None: any."""
    exists: bool | None = None
    """Whether there is such an agent; None: either."""


ANYTHING = Expected()


@dataclass(frozen=True, slots=True)
class AgentChange:
    """A change of an agent, or what it would be."""

    agent: AgentDefinition
    version: int
    """The agent's newest version afterwards."""
    is_new: bool
    """Whether there was no such agent before."""
    is_stored: bool
    """Whether a version was made: not for a dry run, nor for what the agent was already."""
    changes: Sequence[FieldChange]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A definition that is about to be stored."""

    definition: AgentDefinition
    values: Mapping[str, Any]
    size: int
    """Characters of ``values`` as JSON."""

    @classmethod
    def of(cls, definition: AgentDefinition) -> _Draft:
        """Return the definition as it will be read again. Raises ``ValueError`` for what is no JSON."""
        values = definition.model_dump(mode="json", exclude_unset=True)
        if values.get("workflow", ...) is None:  # as it is served; in a file it is a mistake
            del values["workflow"]
        return cls(AgentDefinition.model_validate(values), values, len(json.dumps(values, ensure_ascii=False)))


@dataclass(frozen=True, slots=True)
class _State:
    """The tenant's agents when a change is tried."""

    listed: AgentList
    directory: AgentDirectory
    own: Mapping[str, AgentDefinition]
    newest: AgentVersion | None
    """The newest version of the agent in question, a deletion too."""
    deleted: AgentVersion | None = None
    """What was deleted, if the newest version is a deletion."""

    @property
    def present(self) -> AgentVersion | None:
        """The newest version, unless the agent is deleted."""
        return self.newest if self.newest is not None and self.newest.values is not None else None


class AgentEditing:
    """Changes tenants' own agents on behalf of those who hold ``agent:write``.

    An agent whose permissions the caller lacks does not exist for the caller, neither to be changed nor to be referred
    to. A repeated change makes no second version.
    """

    def __init__(
        self,
        shipped: AgentCatalog,
        store: AgentDefinitions,
        own: OwnAgents,
        audit: AuditLog,
        clock: Clock,
        models: Callable[[], Collection[str]],
        belongings: AgentBelongings,
        limits: CurrentLimits,
    ) -> None:
        """``models`` returns those that a tenant's agent may name."""
        self._shipped = shipped
        self._store = store
        self._own = own
        self._audit = audit
        self._clock = clock
        self._models = models
        self._belongings = belongings
        self._limits = limits

    async def put(
        self,
        scope: Scope,
        agent_id: str,
        values: Mapping[str, Any],
        *,
        as_served: bool,
        expected: Expected = ANYTHING,
        comment: str | None = None,
        is_dry: bool = False,
    ) -> AgentChange:
        """Make or replace an agent. ``as_served``: fields may have the names that the API serves.

        Raises ``InvalidAgent``, ``AgentIdTaken``, ``UnknownAgent`` (the caller lacks a permission of it),
        ``AgentVersionMismatch``, ``AgentLimitReached`` and ``StoreUnavailable``.
        """
        self._check_not_shipped(agent_id)
        draft = await off_loop(LARGE, self._checked, agent_id, values, as_served=as_served)
        return await self._store_version(
            scope, draft, expected, comment=comment, restores=None, is_dry=is_dry, outcome=None
        )

    async def restore(
        self, scope: Scope, agent_id: str, number: int, *, expected: Expected = ANYTHING, comment: str | None = None
    ) -> AgentChange:
        """Make an older version the newest again, of a deleted agent too.

        It is checked by today's rules. Raises what ``put`` raises, and ``UnknownAgentVersion``.
        """
        self._check_not_shipped(agent_id)
        old = await self.version(scope, agent_id, number)
        if old.values is None:
            raise InvalidRequest(f"version: {number} is a deletion; choose one with a definition.")
        draft = await off_loop(LARGE, self._checked, agent_id, old.values, as_served=False)
        return await self._store_version(
            scope, draft, expected, comment=comment, restores=number, is_dry=False, outcome="restored"
        )

    async def delete(self, scope: Scope, agent_id: str, *, expected: Expected = ANYTHING) -> None:
        """Delete an agent; its versions are kept. A repetition changes nothing.

        Raises ``AgentInUse`` while another agent of the tenant refers to it or it has documents, sources or procedures,
        which nobody could reach any more; ``AgentIdTaken`` for one that ships, ``UnknownAgent``,
        ``AgentVersionMismatch`` and ``StoreUnavailable``.
        """
        self._check_not_shipped(agent_id)
        for _ in range(MAX_TRIES):
            state = await self._state(scope, agent_id)
            newest = state.newest
            if newest is None:
                raise UnknownAgent
            if newest.values is None:
                await self._note(scope, newest, "deleted")
                return
            _check_permissions(scope, newest)
            _check_expected(expected, newest)
            users = [other.id for other in state.own.values() if other.id != agent_id and _refers(other, agent_id)]
            if users:
                known = [each for each in users if not _is_hidden(scope, state.own[each])] or ["another agent"]
                raise AgentInUse(f"It is a handoff or a sub-agent of {', '.join(known)}: change that first.")
            left = await self._belongings.of(scope, agent_id)
            if left:
                raise AgentInUse(f"First {', '.join(left)}.")
            deletion = AgentVersion(agent_id, newest.number + 1, None, scope.user_id, self._clock.now())
            if await self._append(scope, deletion, 0, state.listed):
                await self._note(scope, deletion, "deleted")
                return
        raise StoreUnavailable

    async def version(self, scope: Scope, agent_id: str, number: int) -> AgentVersion:
        """Return one version. Raises ``UnknownAgent`` and ``UnknownAgentVersion``.

        The caller needs the permissions of that version and of the newest one.
        """
        state = await self._state(scope, agent_id)
        if state.newest is None:
            raise UnknownAgent
        _check_permissions(scope, state.newest)
        found = await self._store.read(scope, [(agent_id, number)]) if 1 <= number <= state.newest.number else []
        if not found:
            raise UnknownAgentVersion
        _check_permissions(scope, found[0])
        return found[0]

    async def versions(
        self, scope: Scope, agent_id: str, *, limit: int, before: int | None
    ) -> tuple[Sequence[AgentVersion], int | None]:
        """Return an agent's versions, the newest first, and the number below which the next page is."""
        state = await self._state(scope, agent_id)
        if state.newest is None:
            raise UnknownAgent
        _check_permissions(scope, state.newest)
        found = await self._store.versions(scope, agent_id, limit=limit, before=before)
        following = found[-1].number if len(found) == limit and found[-1].number > 1 else None
        return found, following

    async def _store_version(
        self,
        scope: Scope,
        draft: _Draft,
        expected: Expected,
        *,
        comment: str | None,
        restores: int | None,
        is_dry: bool,
        outcome: str | None,
    ) -> AgentChange:
        """Make a version of the definition, unless the newest one is the same."""
        definition, values, size = draft.definition, draft.values, draft.size
        for _ in range(MAX_TRIES):
            state = await self._state(scope, definition.id)
            present, before = state.present, state.own.get(definition.id)
            # What belongs to a deleted agent, such as its documents, is its successor's.
            for former in filter(None, (state.newest, state.deleted)):
                _check_permissions(scope, former)
            changes = changes_between(before, definition)
            number = state.newest.number if state.newest is not None else 0
            is_same = before is not None and present is not None and not changes
            if is_same and not is_dry and present is not None and present.created_by == scope.user_id:
                await self._note(scope, present, outcome or ("created" if number == 1 else "changed"))
            if is_same:
                return AgentChange(definition, number, is_new=False, is_stored=False, changes=(), warnings=())
            _check_expected(expected, present)
            _check_limits(state.listed, definition.id, size, (await self._limits.current(scope)).agents)
            self._check_references(scope, definition, state)
            warnings = tuple(_warnings(definition, state, scope))
            change = AgentChange(
                definition, number + 1, is_new=present is None, is_stored=not is_dry, changes=changes, warnings=warnings
            )
            if is_dry:
                return change
            made = AgentVersion(
                definition.id, number + 1, values, scope.user_id, self._clock.now(), comment=comment, restores=restores
            )
            if await self._append(scope, made, size, state.listed):
                await self._note(scope, made, outcome or ("created" if change.is_new else "changed"))
                return change
        raise StoreUnavailable

    async def _append(self, scope: Scope, version: AgentVersion, size: int, after: AgentList) -> bool:
        try:
            await self._store.append(scope, version, size, after=after)
        except AgentsChanged:
            return False
        finally:
            self._own.forget(scope)
        return True

    async def _state(self, scope: Scope, agent_id: str) -> _State:
        listed = await self._store.list(scope)
        entry = listed.entries.get(agent_id)
        found = await self._store.read(scope, [(agent_id, entry.number)]) if entry is not None else []
        own = await self._own.of(scope, since=NOW, patience=None)
        newest = found[0] if found else None
        deleted: Sequence[AgentVersion] = ()
        if newest is not None and newest.values is None:
            deleted = await self._store.read(scope, [(agent_id, newest.number - 1)])
        directory = AgentDirectory(self._shipped, own)
        return _State(listed, directory, own, newest, deleted[0] if deleted else None)

    def _check_not_shipped(self, agent_id: str) -> None:
        if self._shipped.get(agent_id) is not None:
            raise AgentIdTaken

    def _checked(self, agent_id: str, values: Mapping[str, Any], *, as_served: bool) -> _Draft:
        """Return the definition as it would be stored. Raises ``InvalidAgent`` with all its own problems."""
        try:
            text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=str)
            text.encode()
            if len(text) > MAX_DEFINITION:
                raise invalid([Problem((), f"it is longer than {MAX_DEFINITION // 1024} KB")])
            definition, problems = checked({"id": agent_id, **values}, as_served=as_served)
            draft = _Draft.of(definition) if definition is not None else None
        except RecursionError:
            raise invalid([Problem((), "it is nested too deeply")]) from None
        except ValueError:  # infinities, and halves of surrogate pairs
            raise invalid([Problem((), "it holds a number or a text that JSON does not know")]) from None
        if definition is not None:
            if definition.id != agent_id:
                problems.append(Problem(("id",), f"must be {agent_id!r}, as in the address"))
            problems += tenant_problems(definition)
            problems += model_problems(definition, self._models())
        if draft is None or problems:
            raise invalid(problems)
        return draft

    def _check_references(self, scope: Scope, definition: AgentDefinition, state: _State) -> None:
        """Raise ``InvalidAgent`` for references to agents that the caller may not talk to, as to none."""
        known = {agent.id: agent for agent in state.directory.visible(scope)} | {definition.id: definition}
        problems = list(reference_problems(definition, known))
        if problems:
            raise invalid(problems)

    async def _note(self, scope: Scope, version: AgentVersion, outcome: str) -> None:
        """Audit a change, once, without what the definition says."""
        key = uuid.uuid5(_AUDITED, f"{scope.tenant_id}\0{version.agent_id}\0{version.number}")
        detail: dict[str, Any] = {"agentId": version.agent_id, "version": version.number}
        if version.restores is not None:
            detail["restores"] = version.restores
        by = replace(scope, user_id=version.created_by)
        once = Once(str(key), version.created_at)
        await self._audit.record(by, "agent.write", thread_id=None, outcome=outcome, detail=detail, once=once)


def invalid(problems: Sequence[Problem]) -> InvalidAgent:
    """Return the error with all problems, each with its field."""
    return InvalidAgent([FieldProblem(_field(each.place), each.what, place=each.place) for each in problems])


def _field(place: Sequence[str | int]) -> str:
    return ".".join(str(part) for part in place if part != "[key]")


def _required(version: AgentVersion) -> list[str]:
    """Return the permissions of a version, which may be no valid definition any more."""
    required = (version.values or {}).get("required_permissions", ())
    return [str(permission) for permission in required] if isinstance(required, list | tuple) else []


def _check_permissions(scope: Scope, version: AgentVersion) -> None:
    for permission in _required(version):
        if not scope.has(permission):
            raise UnknownAgent(permission=permission)


def _check_expected(expected: Expected, present: AgentVersion | None) -> None:
    if expected.exists is not None and expected.exists is not (present is not None):
        raise AgentVersionMismatch("There is no such agent." if expected.exists else "There is such an agent already.")
    if expected.version is not None and (present is None or present.number != expected.version):
        now = f"Its newest version is {present.number}" if present is not None else "There is no such agent"
        raise AgentVersionMismatch(f"{now}, not version {expected.version}: read it again and repeat your change.")


def _check_limits(listed: AgentList, agent_id: str, size: int, most: int) -> None:
    """Raise ``AgentLimitReached`` if the agent would be one too many; one that is there may be changed."""
    others = {each: entry for each, entry in listed.present.items() if each != agent_id}
    if (agent_id not in listed.present and len(others) >= most) or (
        agent_id not in listed.entries and len(listed.entries) >= MAX_IDS
    ):
        raise AgentLimitReached(f"A tenant has at most {most} agents, and uses {MAX_IDS} ids over time.")
    if sum(entry.size for entry in others.values()) + size > MAX_DEFINITIONS:
        kilobytes = MAX_DEFINITIONS // 1024
        raise AgentLimitReached(f"The definitions of a tenant's agents are at most {kilobytes} KB together.")


def _warnings(definition: AgentDefinition, state: _State, scope: Scope) -> Iterator[str]:
    """Yield what may surprise the author, though it is allowed."""
    missing = [name for name in definition.required_permissions if not scope.has(name)]
    if missing:
        yield f"required_permissions: you lack {', '.join(missing)}, so the agent will not exist for you."
    agents = {agent.id: agent for agent in state.directory.all()} | {definition.id: definition}
    for other in state.own.values():
        if other.id == definition.id or _is_hidden(scope, other) or not _refers(other, definition.id):
            continue
        for problem in reference_problems(other, agents):
            yield f"{other.id}: {_field(problem.place)}: {problem.what}."


def _refers(agent: AgentDefinition, agent_id: str) -> bool:
    return agent_id in agent.sub_agents or any(handoff.agent == agent_id for handoff in agent.handoffs)


def _is_hidden(scope: Scope, agent: AgentDefinition) -> bool:
    return not all(map(scope.has, agent.required_permissions))
