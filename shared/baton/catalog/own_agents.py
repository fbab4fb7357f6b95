"""A worker's copies of tenants' own agents: one small read a minute and tenant, beside whatever else a turn reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from aws_lambda_powertools import Logger
from cachetools import LRUCache

from baton.background import in_background
from baton.domain.agent import AgentDefinition
from baton.domain.agent_checks import checked, tenant_problems
from baton.domain.agent_version import AgentVersion
from baton.domain.errors import BatonError
from baton.domain.identity import Scope
from baton.domain.metrics import Metric, count
from baton.domain.model_providers import OfferedModels
from baton.off_loop import off_loop
from baton.ports.agent_definitions import AgentDefinitions
from baton.ports.clock import Clock

logger = Logger(child=True)

FRESH = timedelta(minutes=1)
"""The age up to which a copy is used without a read."""
STALE = timedelta(minutes=5)
"""The age up to which a turn goes on with a copy if the read takes longer than ``PATIENCE_SECONDS``."""
GRACE = timedelta(hours=1)
"""The age up to which a copy is used while reads fail."""
AGAIN = timedelta(seconds=5)
"""The age from which a copy is read again for somebody who names an agent that it lacks."""
PATIENCE_SECONDS = 0.2
READING_SECONDS = 20.0
"""Age of a read that is not waited for any more: its event loop may have ended, or its worker was frozen."""
MAX_TENANTS = 500
"""Tenants whose agents a worker keeps."""
MAX_CHARACTERS = 16 * 1024 * 1024
"""Characters of all definitions that a worker keeps. Those of the tenant that was longest away go first."""

Agents = Mapping[str, AgentDefinition]
_Key = tuple[str, int]


@dataclass(slots=True)
class _Copy:
    """What a worker knows of one tenant's agents."""

    read_at: datetime | None = None
    agents: Agents = field(default_factory=dict)
    parsed: Mapping[_Key, AgentDefinition | None] = field(default_factory=dict)
    """Definitions by agent and version; None: one that cannot be used. Versions never change."""
    reading: asyncio.Task[None] | None = None
    size: int = 0
    """Characters of the definitions."""
    asked_at: datetime | None = None
    """When ``reading`` began."""


def _size(copy: _Copy) -> int:
    """Return the share of ``MAX_CHARACTERS`` that a copy takes. A small one counts as one of ``MAX_TENANTS``."""
    return min(max(copy.size, MAX_CHARACTERS // MAX_TENANTS), MAX_CHARACTERS)


class OwnAgents:
    """The agents that tenants have made, without those that the rules of today do not allow."""

    def __init__(self, store: AgentDefinitions, clock: Clock, models: Callable[[], OfferedModels]) -> None:
        """``models`` returns those that a tenant's agent may name."""
        self._store = store
        self._clock = clock
        self._models = models
        self._copies: LRUCache[str, _Copy] = LRUCache(MAX_CHARACTERS, _size)

    def begin(self, scope: Scope) -> None:
        """Begin to read the tenant's agents if the copy is old, so that the read runs beside others."""
        copy = self._copy(scope)
        if copy.read_at is None or self._clock.now() - copy.read_at >= FRESH:
            self._reading(scope, copy)

    async def of(self, scope: Scope, *, since: timedelta = FRESH, patience: float | None = PATIENCE_SECONDS) -> Agents:
        """Return the tenant's agents by id, at most a minute old (or ``since``), as far as the store can be read.

        ``patience`` is how many seconds a read may take before a copy of the last five minutes is used; None: any.

        Raises ``StoreUnavailable`` if it cannot and there is no copy of the last hour.
        """
        copy, now = self._copy(scope), self._clock.now()
        age = now - copy.read_at if copy.read_at is not None else None
        if age is not None and age < since:
            return copy.agents
        reading = self._reading(scope, copy)
        try:
            async with asyncio.timeout(patience if age is not None and age < STALE else None):
                await asyncio.shield(reading)
        except TimeoutError:
            pass  # the read goes on for the next turn
        except BatonError:
            if age is None or age >= GRACE or patience is None:
                raise
            count(Metric.AGENTS_UNREADABLE)
        return copy.agents

    def forget(self, scope: Scope) -> None:
        """Read the tenant's agents again when they are next needed, because they have changed."""
        copy = self._copies.get(scope.tenant_id)
        if copy is not None:
            self._copies[scope.tenant_id] = _Copy(parsed=copy.parsed, size=copy.size)

    def _copy(self, scope: Scope) -> _Copy:
        return self._copies.setdefault(scope.tenant_id, _Copy())

    def _reading(self, scope: Scope, copy: _Copy) -> asyncio.Task[None]:
        """Return the read in progress, or a new one."""
        now, loop = self._clock.now(), asyncio.get_running_loop()
        is_usable = (
            copy.reading is not None
            and not copy.reading.done()
            and copy.reading.get_loop() is loop
            and copy.asked_at is not None
            and (now - copy.asked_at).total_seconds() < READING_SECONDS
        )
        if copy.reading is None or not is_usable:
            copy.asked_at = now
            copy.reading = in_background(self._read(scope, copy, now), "reading of a tenant's agents")
        return copy.reading

    async def _read(self, scope: Scope, copy: _Copy, now: datetime) -> None:
        listed = (await self._store.list(scope)).present
        wanted = [(agent_id, entry.number) for agent_id, entry in listed.items()]
        missing = [key for key in wanted if key not in copy.parsed]
        found = await self._store.read(scope, missing) if missing else ()
        size = sum(listed[version.agent_id].size for version in found)
        parsed = await off_loop(size, self._parsed, scope.tenant_id, found) if found else {}
        # One that is not found is no version of this moment: it is read again with the next copy.
        known = {**copy.parsed, **parsed}
        copy.parsed = {key: known[key] for key in wanted if key in known}
        copy.agents = {key[0]: agent for key, agent in copy.parsed.items() if agent is not None}
        copy.read_at = now
        copy.size = sum(entry.size for entry in listed.values())
        if self._copies.get(scope.tenant_id) is copy:
            self._copies[scope.tenant_id] = copy  # by its new size

    def _parsed(self, tenant_id: str, versions: Sequence[AgentVersion]) -> dict[_Key, AgentDefinition | None]:
        return {(each.agent_id, each.number): self.usable(tenant_id, each) for each in versions}

    def usable(self, tenant_id: str, version: AgentVersion) -> AgentDefinition | None:
        """Return the definition if today's rules allow it: they may be stricter than when it was stored."""
        try:
            definition, problems = checked(version.values or {})
        except RecursionError:
            definition, problems = None, []
        if definition is not None:
            problems += tenant_problems(definition)
        if definition is None or problems or definition.id != version.agent_id:
            fields = [".".join(map(str, problem.place)) for problem in problems[:5]]
            logger.warning("own agent left out", tenant_id=tenant_id, agent_id=version.agent_id, fields=fields)
            count(Metric.AGENTS_UNREADABLE)
            return None
        definition = self._with_offered_models(definition)
        return definition.of_tenant(tenant_id, version.number)

    def _with_offered_models(self, definition: AgentDefinition) -> AgentDefinition:
        """Return the definition without models that are no longer offered: the default model answers for them."""
        choice = definition.model
        if choice.name is None and not choice.fallback:
            return definition
        offered = self._models()
        name = choice.name if choice.name is not None and choice.name in offered else None
        fallback = tuple(each for each in choice.fallback if each in offered)
        model = choice.model_copy(update={"name": name, "fallback": fallback})
        return definition.model_copy(update={"model": model})
