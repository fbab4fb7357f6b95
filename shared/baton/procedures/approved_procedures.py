"""A cache of agents' approved procedures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from baton.domain.identity import Scope
from baton.domain.procedure import Procedure, ProcedureScope
from baton.domain.procedure_set import ProcedureSet
from baton.gather_all import gather_all
from baton.off_loop import off_loop
from baton.ports.clock import Clock
from baton.ports.procedures import ProcedureStore

MAX_KNOWN = 1_000
"""Agents whose procedures a worker caches."""
FRESH = timedelta(minutes=1)
"""The age up to which a conversation in progress uses cached procedures."""
COST = 1_000
"""What indexing one procedure counts as, in ``off_loop``'s bytes."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read, and when."""

    at: datetime
    procedures: Sequence[Procedure]


class ApprovedProcedures:
    """Reads approved procedures: once a minute, at the beginning of a session, and after a change in the session."""

    def __init__(self, store: ProcedureStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[str, str], _Read] = {}
        self._sets: dict[tuple[str, str], tuple[_Read, _Read, ProcedureSet]] = {}

    async def of(self, scope: Scope, agent_id: str, *, since: datetime | None = None) -> ProcedureSet:
        """Return what the agent may follow: its own approved procedures and the tenant's.

        The agent's own are as they were at ``since`` or later. The tenant's, which no conversation makes, are at most a
        minute old. Raises ``StoreUnavailable``.
        """
        own, shared = await gather_all(
            self._read(scope, agent_id, ProcedureScope.AGENT, since), self._read(scope, "", ProcedureScope.TENANT, None)
        )
        key = (scope.tenant_id, agent_id)
        known = self._sets.get(key)
        if known is not None and known[0].procedures is own.procedures and known[1].procedures is shared.procedures:
            return known[2]
        together = (*own.procedures, *shared.procedures)
        made = await off_loop(COST * len(together), ProcedureSet, together)
        if len(self._sets) >= MAX_KNOWN:
            self._sets.clear()
        self._sets[key] = (own, shared, made)
        return made

    async def _read(self, scope: Scope, agent_id: str, of: ProcedureScope, since: datetime | None) -> _Read:
        key, now = (scope.tenant_id, agent_id), self._clock.now()
        known = self._known.get(key)
        if known is not None and now - known.at < FRESH and (since is None or known.at >= since):
            return known
        found = await self._store.approved(scope, agent_id, of=of)
        # Equal ones keep the index that was made of them.
        read = _Read(now, known.procedures if known is not None and known.procedures == found else found)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[key] = read
        return read
