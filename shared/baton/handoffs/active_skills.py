"""A cache of agents' active skills."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from baton.domain.identity import Scope
from baton.domain.skill import Skill
from baton.ports.clock import Clock
from baton.ports.skills import SkillStore

MAX_KNOWN = 1_000
"""Agents whose skills a worker caches."""
FRESH = timedelta(minutes=1)
"""The age up to which a conversation in progress uses cached skills."""


class ActiveSkills:
    """Reads active skills: once a minute, at the beginning of a session, and after a change in the session."""

    def __init__(self, store: SkillStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[datetime, Sequence[Skill]]] = {}

    async def of(self, scope: Scope, agent_id: str, *, since: datetime | None = None) -> Sequence[Skill]:
        """Return the agent's active skills, as they were at ``since`` or later. Raises ``StoreUnavailable``."""
        key, now = (scope.tenant_id, agent_id), self._clock.now()
        read_at, skills = self._known.get(key, (None, ()))
        if read_at is None or now - read_at >= FRESH or (since is not None and read_at < since):
            skills = await self._store.active(scope, agent_id)
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[key] = (now, skills)
        return skills
