"""A cache of approved procedures and of users' private skills, and the limit of approved procedures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cachetools import LRUCache

from baton.concurrency.tasks import gather_all, off_loop
from baton.domain.errors import TooManyProcedures
from baton.domain.memory.procedure import MAX_APPROVED, Procedure, ProcedureScope
from baton.domain.memory.procedure_set import ProcedureSet
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton.ports.memory.procedures import PrivateSkills, ProcedureStore

MAX_KNOWN = 1_000
"""Agents and tenants whose procedures a worker caches."""
MAX_USERS = 10_000
"""Pairs of user and agent whose private skills a worker caches. Most users have none."""
FRESH = timedelta(minutes=1)
"""The age up to which a conversation in progress uses cached procedures."""
COST = 1_000
"""The cost of indexing one procedure, in the unit of ``off_loop``: bytes."""


async def check_room(
    store: ProcedureStore, scope: Scope, agent_id: str, procedure_id: str, of: ProcedureScope = ProcedureScope.AGENT
) -> None:
    """Raise ``TooManyProcedures`` if an approval of this procedure would exceed ``MAX_APPROVED``.

    Simultaneous approvals may exceed the limit by a few. Raises ``StoreUnavailable``.
    """
    approved = await store.approved(scope, "" if of is ProcedureScope.TENANT else agent_id, of=of)
    if len(approved) >= MAX_APPROVED and all(procedure.id != procedure_id for procedure in approved):
        raise TooManyProcedures


@dataclass(frozen=True, slots=True)
class _Read:
    """Procedures with the time at which they were read."""

    at: datetime
    procedures: Sequence[Procedure]

    def is_fresh(self, now: datetime, since: datetime | None) -> bool:
        """Return whether the procedures may still be used: less than ``FRESH`` old, and read at ``since`` or later."""
        return now - self.at < FRESH and (since is None or self.at >= since)


class ApprovedProcedures:
    """Approved procedures, read once a minute, when a session begins, and after a change in the session.

    Private skills are read at the same times, for their maker.
    """

    def __init__(self, store: ProcedureStore, skills: PrivateSkills, clock: Clock) -> None:
        self._store = store
        self._skills = skills
        self._clock = clock
        self._known: LRUCache[tuple[str, str], _Read] = LRUCache(MAX_KNOWN)
        self._known_skills: LRUCache[tuple[str, str, str], _Read] = LRUCache(MAX_USERS)
        self._sets: LRUCache[tuple[str, str], tuple[_Read, _Read, ProcedureSet]] = LRUCache(MAX_KNOWN)

    async def of(self, scope: Scope, agent_id: str, *, since: datetime | None = None) -> ProcedureSet:
        """Return the procedures an agent may follow: its own and the tenant's approved ones, and the user's skills.

        The agent's and the user's were read at ``since`` or later. The tenant's, which are not made in conversations,
        are at most ``FRESH`` old. Raises ``StoreUnavailable``.
        """
        own, shared, skills = await gather_all(
            self._read(scope, agent_id, ProcedureScope.AGENT, since),
            self._read(scope, "", ProcedureScope.TENANT, None),
            self._read_skills(scope, agent_id, since),
        )
        return (await self._get_set(scope, agent_id, own, shared)).with_skills(skills)

    async def _get_set(self, scope: Scope, agent_id: str, own: _Read, shared: _Read) -> ProcedureSet:
        key = (scope.tenant_id, agent_id)
        cached = self._sets.get(key)
        if cached is not None and cached[0].procedures is own.procedures and cached[1].procedures is shared.procedures:
            return cached[2]
        together = (*own.procedures, *shared.procedures)
        procedure_set = await off_loop(COST * len(together), ProcedureSet, together)
        self._sets[key] = (own, shared, procedure_set)
        return procedure_set

    async def _read(self, scope: Scope, agent_id: str, of: ProcedureScope, since: datetime | None) -> _Read:
        key, now = (scope.tenant_id, agent_id), self._clock.now()
        cached = self._known.get(key)
        if cached is not None and cached.is_fresh(now, since):
            return cached
        procedures = await self._store.approved(scope, agent_id, of=of)
        if cached is not None and cached.procedures == procedures:
            procedures = cached.procedures  # the same objects keep their index in ``_sets``
        self._known[key] = _Read(now, procedures)
        return self._known[key]

    async def _read_skills(self, scope: Scope, agent_id: str, since: datetime | None) -> Sequence[Procedure]:
        key, now = (scope.tenant_id, scope.user_id, agent_id), self._clock.now()
        read = self._known_skills.get(key)
        if read is None or not read.is_fresh(now, since):
            read = _Read(now, await self._skills.in_use(scope, agent_id))
            self._known_skills[key] = read
        return read.procedures
