"""A cache of agents' approved procedures."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from baton.domain.identity import Scope
from baton.domain.procedure import Procedure, ProcedureScope
from baton.gather_all import gather_all
from baton.ports.clock import Clock
from baton.ports.procedures import ProcedureStore

MAX_KNOWN = 1_000
"""Agents whose procedures a worker caches."""
FRESH = timedelta(minutes=1)
"""The age up to which a conversation in progress uses cached procedures."""


class ApprovedProcedures:
    """Reads approved procedures: once a minute, at the beginning of a session, and after a change in the session."""

    def __init__(self, store: ProcedureStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[datetime, Sequence[Procedure]]] = {}

    async def of(self, scope: Scope, agent_id: str, *, since: datetime | None = None) -> Sequence[Procedure]:
        """Return what the agent may follow: its own approved procedures and the tenant's.

        The agent's own are as they were at ``since`` or later. The tenant's, which no conversation makes, are at most a
        minute old. Raises ``StoreUnavailable``.
        """
        own, shared = await gather_all(
            self._read(scope, agent_id, ProcedureScope.AGENT, since), self._read(scope, "", ProcedureScope.TENANT, None)
        )
        return (*own, *shared)

    async def _read(
        self, scope: Scope, agent_id: str, of: ProcedureScope, since: datetime | None
    ) -> Sequence[Procedure]:
        key, now = (scope.tenant_id, agent_id), self._clock.now()
        read_at, procedures = self._known.get(key, (None, ()))
        if read_at is None or now - read_at >= FRESH or (since is not None and read_at < since):
            procedures = await self._store.approved(scope, agent_id, of=of)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = (now, procedures)
        return procedures
