"""Changes of a tenant's own agents: checks, versions, restoration and deletion."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.agents.agent_version import AgentEntry, AgentVersion, Candidate, EntryChange
from baton.domain.agents.model_providers import OfferedModels
from baton.domain.errors import (
    AgentIdTaken,
    AgentInUse,
    InvalidRequest,
    StoreUnavailable,
    UnknownAgent,
    UnknownAgentVersion,
)
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis
from baton.ports.agents.agents import AgentDefinitions, AgentsChanged, ShippedAgents
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog, Once
from baton.tenants.registry.agent_changes import ANY_STATE, AgentChange, ExpectedState
from baton.tenants.registry.evaluation_gate import EvaluationGate
from baton.tenants.registry.own_agents import OwnAgents
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.tenants.registry.tenant_agents import (
    AgentBelongings,
    AgentDraft,
    TenantAgents,
    check_permissions,
    find_changes,
    make_draft,
)
from baton.tenants.tenant_copies import CurrentLimits

MAX_TRIES = 24
"""Attempts at a change while others change the tenant's agents too. At each attempt one of them succeeds."""
PAUSE_SECONDS = 0.03
"""The longest pause after the first attempt. Each further attempt adds as much to the longest pause."""
MAX_PAUSE_SECONDS = 0.3
_AUDIT_NAMESPACE = uuid.UUID("0e6a3a51-6d0e-4c0e-9f5a-7a3f2d7f6f10")


@dataclass(frozen=True, slots=True)
class AgentEditing:
    """Changes of tenants' own agents, by callers with the permission ``agent:write``.

    For a caller who lacks a permission of an agent, that agent does not exist: they can neither change it nor refer
    to it. A repeated change makes no second version.
    """

    shipped: ShippedAgents
    store: AgentDefinitions
    own: OwnAgents
    audit: AuditLog
    clock: Clock
    models: Callable[[], OfferedModels]
    """A function that returns the models that a tenant's agent may name."""
    belongings: AgentBelongings
    limits: CurrentLimits
    gate: EvaluationGate
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def put(
        self,
        scope: Scope,
        agent_id: str,
        values: Mapping[str, Any],
        *,
        as_served: bool,
        expected: ExpectedState = ANY_STATE,
        comment: str | None = None,
        is_dry: bool = False,
        share: int | None = None,
        override: str | None = None,
    ) -> AgentChange:
        """Make or replace an agent. With ``as_served``, fields may have the names that the API serves.

        ``share`` is the percentage of new sessions that use the version, which is then a candidate. Without it the
        version is in force at once. ``override`` is the reason for which the version needs no evaluation.

        Raises ``InvalidAgent``, ``AgentIdTaken``, ``UnknownAgent`` (the caller lacks a permission of it),
        ``AgentVersionMismatch``, ``AgentLimitReached``, ``EvaluationRequired``, ``InvalidRequest`` for a share of a new
        agent, and ``StoreUnavailable``.
        """
        self.check_not_shipped(agent_id)
        draft = await off_loop(LARGE, make_draft, agent_id, values, as_served=as_served, models=self.models)
        return await self._store_version(
            scope, draft, expected, comment=comment, is_dry=is_dry, share=share, override=override
        )

    async def restore(
        self,
        scope: Scope,
        agent_id: str,
        number: int,
        *,
        expected: ExpectedState = ANY_STATE,
        comment: str | None = None,
        override: str | None = None,
    ) -> AgentChange:
        """Put an older version in force again, of a deleted agent too, and withdraw all later versions.

        Running sessions leave the withdrawn versions with their next turn. The version is checked by today's rules. A
        version that was never in force needs an evaluation, like a promoted one. Raises what ``put`` raises, and
        ``UnknownAgentVersion``.
        """
        self.check_not_shipped(agent_id)
        _, old = await self.read_version(scope, agent_id, number)
        if old.values is None:
            raise InvalidRequest(f"version: {number} is a deletion; choose one with a definition.")
        draft = await off_loop(LARGE, make_draft, agent_id, old.values, as_served=False, models=self.models)
        return await self._store_version(scope, draft, expected, comment=comment, restores=number, override=override)

    async def delete(self, scope: Scope, agent_id: str, *, expected: ExpectedState = ANY_STATE) -> None:
        """Delete an agent; its versions are kept. A repetition changes nothing.

        Raises ``AgentInUse`` while another agent of the tenant refers to it or it has documents, sources or procedures,
        which nobody could reach afterwards; ``AgentIdTaken`` for a shipped agent, ``UnknownAgent``,
        ``AgentVersionMismatch`` and ``StoreUnavailable``.
        """
        self.check_not_shipped(agent_id)
        for attempt in range(MAX_TRIES):
            state = await self.read_state(scope, agent_id, attempt)
            newest = state.newest
            if newest is None:
                raise UnknownAgent
            if newest.values is None:
                await self._audit_change(scope, newest, "deleted")
                return
            check_permissions(scope, newest)
            expected.check(newest)
            referring = state.list_referring(scope, agent_id)
            if referring:
                raise AgentInUse(f"It is a handoff or a sub-agent of {', '.join(referring)}: change that first.")
            belongings = await self.belongings.of(scope, agent_id)
            if belongings:
                raise AgentInUse(f"First {', '.join(belongings)}.")
            entry = state.entry
            deletion = AgentVersion(agent_id, entry.newest + 1, None, scope.user_id, self.clock.now())
            if await self.store_entry(scope, state, agent_id, entry.delete(deletion.number), deletion):
                await self._audit_change(scope, deletion, "deleted")
                return
        raise StoreUnavailable

    async def read_version(self, scope: Scope, agent_id: str, number: int) -> tuple[AgentEntry, AgentVersion]:
        """Return the agent's entry and one version. Raises ``UnknownAgent`` and ``UnknownAgentVersion``.

        The caller needs the permissions of that version and of the one in force.
        """
        state = await self.read_state(scope, agent_id)
        if state.newest is None:
            raise UnknownAgent
        check_permissions(scope, state.newest)
        versions = await self.store.read(scope, [(agent_id, number)]) if 1 <= number <= state.entry.newest else []
        if not versions:
            raise UnknownAgentVersion
        check_permissions(scope, versions[0])
        return state.entry, versions[0]

    async def list_versions(
        self, scope: Scope, agent_id: str, *, limit: int, before: int | None
    ) -> tuple[AgentEntry, Sequence[AgentVersion], int | None]:
        """Return an agent's entry, its versions, the newest first, and the ``before`` of the next page.

        ``before`` is None after the last page. Raises ``UnknownAgent`` and ``StoreUnavailable``.
        """
        state = await self.read_state(scope, agent_id)
        if state.newest is None:
            raise UnknownAgent
        check_permissions(scope, state.newest)
        versions = await self.store.versions(scope, agent_id, limit=limit, before=before)
        following = versions[-1].number if len(versions) == limit and versions[-1].number > 1 else None
        return state.entry, versions, following

    async def read_state(self, scope: Scope, agent_id: str, attempt: int = 0) -> TenantAgents:
        """Return the tenant's agents for an attempt to change one of them. Further attempts pause first, for others."""
        if attempt:  # all changes of a tenant's agents write one item
            await self.sleep(min(PAUSE_SECONDS * attempt, MAX_PAUSE_SECONDS) * random.random())  # noqa: S311 - jitter
        listed = await self.store.list(scope)
        entry = listed.entries.get(agent_id)
        # An unknown id is looked up as well, so that the answer takes as long as for an agent hidden from the caller.
        versions = await self.store.read(scope, [(agent_id, entry.number if entry is not None else 1)])
        own = await self.own.of(scope, since=timedelta(0), patience=None)
        newest = versions[0] if versions else None
        deleted: Sequence[AgentVersion] = ()
        if entry is not None and newest is not None and newest.values is None:
            deleted = await self.store.read(scope, [(agent_id, entry.deleted or newest.number - 1)])
        registered = RegisteredAgents(self.shipped, own)
        entry = entry or AgentEntry(0, 0)
        candidates = await self.own.read_candidates(scope)
        return TenantAgents(listed, registered, own, entry, newest, deleted[0] if deleted else None, candidates)

    async def store_entry(
        self, scope: Scope, state: TenantAgents, agent_id: str, entry: AgentEntry, version: AgentVersion | None = None
    ) -> bool:
        """Replace the agent's entry and store a version. Return False if others have changed the list meanwhile."""
        try:
            await self.store.put(scope, state.listed.with_entry(agent_id, entry), version)
        except AgentsChanged:
            return False
        finally:
            self.own.forget(scope)
        return True

    def check_not_shipped(self, agent_id: str) -> None:
        """Raise ``AgentIdTaken`` for an agent that ships with the deployment."""
        if self.shipped.get(agent_id) is not None:
            raise AgentIdTaken

    def sign(self, scope: Scope, entry: AgentEntry, outcome: str) -> AgentEntry:
        """Return the entry with the author and the time of a change that makes no version."""
        return replace(entry, changed=EntryChange(self.clock.now(), scope.user_id, outcome))

    async def audit_rollout(
        self, scope: Scope, agent_id: str, entry: AgentEntry, outcome: str, number: int, **details: Any
    ) -> None:
        """Audit a change of the entry that made no version, once. Nothing if another request has changed it."""
        change = entry.changed
        if change is None or (change.by, change.outcome) != (scope.user_id, outcome):
            return
        names = scope.tenant_id, agent_id, number, outcome, details.get("share"), to_millis(change.at)
        once = Once(str(uuid.uuid5(_AUDIT_NAMESPACE, "\0".join(map(str, names)))), change.at)
        detail = {"agentId": agent_id, "version": number} | details
        detail = {name: value for name, value in detail.items() if value is not None}
        await self.audit.record(scope, "agent.write", thread_id=None, outcome=outcome, detail=detail, once=once)

    async def _store_version(
        self,
        scope: Scope,
        draft: AgentDraft,
        expected: ExpectedState,
        *,
        comment: str | None,
        restores: int | None = None,
        is_dry: bool = False,
        share: int | None = None,
        override: str | None = None,
    ) -> AgentChange:
        """Make a version of the definition, unless the version in force or the candidate with this share equals it."""
        definition, size = draft.definition, draft.size
        outcome = "restored" if restores is not None else None
        for attempt in range(MAX_TRIES):
            state = await self.read_state(scope, definition.id, attempt)
            present, before, entry = state.present, state.own.get(definition.id), state.entry
            # Documents and other belongings of a deleted agent belong to its successor.
            for predecessor in filter(None, (state.newest, state.deleted)):
                check_permissions(scope, predecessor)
            if share is not None and present is None:
                raise InvalidRequest("share: the agent is new, so there is no other version. Leave the share out.")
            changes = find_changes(before, definition)
            is_same = before is not None and present is not None and not changes
            change = AgentChange(
                definition,
                entry.number if is_same else entry.newest + 1,
                entry.number if is_same or share is not None else entry.newest + 1,
                is_new=present is None,
                is_stored=not is_dry and not is_same,
                changes=changes,
                warnings=(),
                share=share if not is_same else None,
                restores=restores if not is_same else None,
            )
            if is_same:
                assert present is not None  # noqa: S101 - the definition is the same as this one
                after = entry.withdraw(restores) if restores is not None else entry
                if after != entry:
                    expected.check(present)
                    after = self.sign(scope, after, "withdrawn")
                    if not await self.store_entry(scope, state, definition.id, after):
                        continue
                if restores is not None:
                    await self.audit_rollout(scope, definition.id, after, "withdrawn", entry.newest, restores=restores)
                if after == entry and not is_dry and present.created_by == scope.user_id:
                    await self._audit_change(scope, present, outcome or ("created" if entry.number == 1 else "changed"))
                return change
            if share is not None and state.is_candidate(definition, share):
                assert entry.candidate is not None  # noqa: S101 - the definition is the same as this one
                for version in await self.store.read(scope, [(definition.id, entry.candidate.number)]):
                    if not is_dry and version.created_by == scope.user_id:
                        await self._audit_change(scope, version, "changed", {"share": share, "override": override})
                return replace(change, version=entry.candidate.number, is_stored=False)
            expected.check(present)
            state.check_limits(
                definition.id, size, (await self.limits.read_current(scope)).agents, is_added=share is not None
            )
            state.check_references(scope, definition)
            # A version of a deleted agent needs one too: otherwise a deletion would be a way around the gate.
            if (entry.newest > 0) if restores is None else not entry.was_in_force(restores):
                await self.gate.check(scope, definition.id, restores, share, override, is_deleted=present is None)
            change = replace(change, warnings=tuple(state.list_warnings(scope, definition)))
            if is_dry:
                return change
            version = AgentVersion(
                definition.id,
                change.version,
                draft.values,
                scope.user_id,
                self.clock.now(),
                comment=comment,
                restores=restores,
            )
            if share is not None:
                after = entry.with_candidate(Candidate(version.number, size, share))
            else:
                after = entry.put(version.number, size)
                after = after.withdraw(restores) if restores is not None else after
            if await self.store_entry(scope, state, definition.id, after, version):
                detail = {"share": share, "override": override}
                await self._audit_change(scope, version, outcome or ("created" if change.is_new else "changed"), detail)
                return change
        raise StoreUnavailable

    async def _audit_change(
        self, scope: Scope, version: AgentVersion, outcome: str, more: Mapping[str, Any] | None = None
    ) -> None:
        """Audit a change, once, without the text of the definition. ``more`` has further details."""
        key = uuid.uuid5(_AUDIT_NAMESPACE, f"{scope.tenant_id}\0{version.agent_id}\0{version.number}")
        detail: dict[str, Any] = {"agentId": version.agent_id, "version": version.number, "restores": version.restores}
        detail |= more or {}
        detail = {name: value for name, value in detail.items() if value is not None}
        author = replace(scope, user_id=version.created_by)
        once = Once(str(key), version.created_at)
        await self.audit.record(author, "agent.write", thread_id=None, outcome=outcome, detail=detail, once=once)
