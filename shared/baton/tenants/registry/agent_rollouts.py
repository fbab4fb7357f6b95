"""Candidates of tenants' own agents: their share of new sessions, promotion and withdrawal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.agents.agent_version import AgentEntry, AgentVersion, Candidate
from baton.domain.errors import AgentVersionMismatch, StoreUnavailable, UnknownAgent
from baton.domain.tenants.identity import Scope
from baton.tenants.registry.agent_editing import MAX_TRIES, AgentEditing
from baton.tenants.registry.tenant_agents import TenantAgents, check_permissions, make_draft


@dataclass(frozen=True, slots=True)
class Rollout:
    """The versions of an agent that new sessions use."""

    in_force: int
    candidate: Candidate | None

    @classmethod
    def of(cls, entry: AgentEntry) -> Rollout:
        """Return the versions of an entry."""
        return cls(entry.number, entry.candidate)


@dataclass(frozen=True, slots=True)
class AgentRollouts:
    """Changes of candidates, by callers with the permission ``agent:write``.

    A repetition changes nothing. Every method raises ``UnknownAgent``, ``AgentIdTaken``, ``AgentVersionMismatch`` if
    the version is not a candidate, and ``StoreUnavailable``.
    """

    editing: AgentEditing

    async def share(
        self, scope: Scope, agent_id: str, number: int, share: int, *, override: str | None = None
    ) -> Rollout:
        """Set the percentage of new sessions that use the candidate. Raises ``EvaluationRequired`` too."""

        def change(entry: AgentEntry) -> AgentEntry:
            candidate = _get_candidate(entry, number)
            return replace(entry, candidate=replace(candidate, share=share))

        return await self._change(scope, agent_id, number, change, "shared", share=share, override=override)

    async def promote(self, scope: Scope, agent_id: str, number: int, *, override: str | None = None) -> Rollout:
        """Put the candidate in force. Sessions that use the former version keep it.

        The definition is checked by today's rules. Raises ``InvalidAgent`` and ``EvaluationRequired`` too.
        """

        def change(entry: AgentEntry) -> AgentEntry:
            if entry.number == number and entry.candidate is None:
                return entry
            _get_candidate(entry, number)
            return entry.promote()

        return await self._change(scope, agent_id, number, change, "promoted", override=override)

    async def withdraw(self, scope: Scope, agent_id: str) -> Rollout:
        """End the candidate, and withdraw every version after the one in force from running sessions."""
        return await self._change(scope, agent_id, None, lambda entry: entry.withdraw(entry.number), "withdrawn")

    async def _change(
        self,
        scope: Scope,
        agent_id: str,
        number: int | None,
        change: Callable[[AgentEntry], AgentEntry],
        outcome: str,
        **details: Any,
    ) -> Rollout:
        self.editing.check_not_shipped(agent_id)
        for attempt in range(MAX_TRIES):
            state = await self.editing.read_state(scope, agent_id, attempt)
            candidate = await self._read_candidate(scope, agent_id, state)
            entry = change(state.entry)
            version = number if number is not None else state.entry.newest
            if entry == state.entry:  # an earlier request may have ended before its record
                await self.editing.audit_rollout(scope, agent_id, state.entry, outcome, version, **details)
                return Rollout.of(entry)
            if candidate is not None and entry.number == candidate.number:
                values, models = candidate.values or {}, self.editing.models
                draft = await off_loop(LARGE, make_draft, agent_id, values, as_served=False, models=models)
                state.check_references(scope, draft.definition)
            if number is not None and _is_larger(entry, state.entry):
                await self.editing.gate.check(scope, agent_id, number, details.get("share"), details.get("override"))
            entry = self.editing.sign(scope, entry, outcome)
            if await self.editing.store_entry(scope, state, agent_id, entry):
                await self.editing.audit_rollout(scope, agent_id, entry, outcome, version, **details)
                return Rollout.of(entry)
        raise StoreUnavailable

    async def _read_candidate(self, scope: Scope, agent_id: str, state: TenantAgents) -> AgentVersion | None:
        """Return the candidate; None if there is none.

        Raises ``UnknownAgent`` if the caller lacks a permission of the candidate or of the version in force.
        """
        if state.present is None:
            raise UnknownAgent
        check_permissions(scope, state.present)
        candidate = state.entry.candidate
        if candidate is None:
            return None
        version = next(iter(await self.editing.store.read(scope, [(agent_id, candidate.number)])), None)
        if version is not None:
            check_permissions(scope, version)
        return version


def _get_candidate(entry: AgentEntry, number: int) -> Candidate:
    if entry.candidate is None:
        raise AgentVersionMismatch("The agent has no candidate: PUT its definition with a share.")
    if entry.candidate.number != number:
        raise AgentVersionMismatch(f"The candidate is version {entry.candidate.number}, not {number}.")
    return entry.candidate


def _is_larger(entry: AgentEntry, before: AgentEntry) -> bool:
    """Return whether more new sessions use the candidate after the change than before."""
    assert before.candidate is not None  # noqa: S101 - the change has checked it
    return entry.candidate is None or entry.candidate.share > before.candidate.share
