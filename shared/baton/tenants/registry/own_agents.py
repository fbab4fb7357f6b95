"""A worker's copies of tenants' own agents: one small read for each tenant and minute, during a turn's other reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from aws_lambda_powertools import Logger
from cachetools import LRUCache

from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.agents.agent import AgentDefinition, VersionPolicy
from baton.domain.agents.agent_checks import check_agent, find_tenant_problems
from baton.domain.agents.agent_version import AgentEntry, AgentVersion, draw_percent
from baton.domain.agents.model_providers import OfferedModels
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.agents.agents import AgentDefinitions
from baton.ports.clock import Clock
from baton.tenants.registry.registered_agents import list_missing_permissions
from baton.tenants.tenant_copies import FRESH, PATIENCE_SECONDS, AgedCopies, Copy

logger = Logger(child=True)

RECHECK_AGE = timedelta(seconds=1)
"""The age from which a copy is read again for a caller that names an agent that the copy lacks."""
MAX_TENANTS = 500
"""The number of tenants whose agents a worker keeps."""
MAX_CHARACTERS = 16 * 1024 * 1024
"""The characters of all definitions that a worker keeps. The tenant least recently used is dropped first."""

MAX_OLDER = 100
"""The number of versions, of all tenants, that a worker keeps for the sessions that are pinned to them."""

Agents = Mapping[str, AgentDefinition]
_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class _AgentsCopy:
    """A worker's copy of one tenant's agents."""

    agents: Agents = field(default_factory=dict)
    entries: Mapping[str, AgentEntry] = field(default_factory=dict)
    """The list's entries of these agents, of agents that cannot be used, and of deleted ones."""
    parsed: Mapping[_Key, AgentDefinition | None] = field(default_factory=dict)
    """Definitions by agent and version; None: the definition cannot be used. Versions never change."""
    size: int = 0
    """Characters of the definitions."""

    @property
    def has_candidates(self) -> bool:
        """Whether an agent has a candidate."""
        return any(entry.candidate is not None for entry in self.entries.values())

    def lacks(self, pinned: Mapping[str, int]) -> bool:
        """Return whether a version in ``pinned`` is newer than the copy."""
        entries = self.entries
        return any(name not in entries or entries[name].newest < number for name, number in pinned.items())

    def choose(self, thread: Thread, tenant_id: str) -> dict[str, int]:
        """Return the versions that the thread's session uses instead of those in force, by the agent's id."""
        chosen: dict[str, int] = {}
        for agent_id, agent in self.agents.items():
            entry = self.entries[agent_id]
            pinned = thread.pinned.get(agent_id) if agent.version_policy is VersionPolicy.PINNED else None
            if (pinned is None and entry.candidate is None) or agent.desk is not None:
                continue
            number = entry.choose(pinned, draw_percent(tenant_id, thread.id, str(thread.episode), agent_id))
            if number != entry.number:
                chosen[agent_id] = number
        return chosen


def _measure(copy: Copy[_AgentsCopy]) -> int:
    """Return the share of ``MAX_CHARACTERS`` that a copy takes. A small copy counts as one of ``MAX_TENANTS``."""
    size = copy.value.size if copy.value is not None else 0
    return min(max(size, MAX_CHARACTERS // MAX_TENANTS), MAX_CHARACTERS)


class OwnAgents:
    """The agents that tenants have made, without those that current rules do not allow."""

    def __init__(self, store: AgentDefinitions, clock: Clock, models: Callable[[], OfferedModels]) -> None:
        """``models`` returns the models that a tenant's agent may name."""
        self._store = store
        self._models = models
        self._copies = AgedCopies(
            self._read,
            clock,
            LRUCache(MAX_CHARACTERS, _measure),
            "a tenant's agents",
            note_failure=lambda: count(Metric.AGENTS_UNREADABLE),
        )
        self._older: LRUCache[tuple[str, str, int], AgentDefinition | None] = LRUCache(MAX_OLDER)

    def begin(self, scope: Scope) -> None:
        """Begin to read the tenant's agents if the copy is old, so that the caller can read other things meanwhile."""
        self._copies.begin(scope)

    async def of(self, scope: Scope, *, since: timedelta = FRESH, patience: float | None = PATIENCE_SECONDS) -> Agents:
        """Return the tenant's agents by id: a copy younger than ``since``, otherwise a new one.

        If the read takes longer than ``patience`` (seconds; None: any time), a copy of the last five minutes is used;
        if the read fails, a copy of the last hour. Raises ``StoreUnavailable`` if there is none, or if the read fails
        without a limit of patience.
        """
        return (await self._copies.of(scope, since=since, patience=patience)).agents

    async def read_candidates(self, scope: Scope) -> Agents:
        """Return the agents' candidates by the agent's id, from a copy younger than ``RECHECK_AGE``.

        Raises ``StoreUnavailable``.
        """
        copy = await self._copies.of(scope, since=RECHECK_AGE, patience=None)
        candidates = {name: entry.candidate.number for name, entry in copy.entries.items() if entry.candidate}
        parsed = {agent_id: copy.parsed.get((agent_id, number)) for agent_id, number in candidates.items()}
        return {agent_id: agent for agent_id, agent in parsed.items() if agent is not None}

    async def in_session(self, scope: Scope, thread: Thread) -> Agents:
        """Return the agents as the current session of ``thread`` uses them. Raises what ``of`` raises."""
        [agents] = await self.in_sessions(scope, [thread])
        return agents

    async def in_sessions(self, scope: Scope, threads: Sequence[Thread]) -> list[Agents]:
        """Return the agents as the current session of each thread uses them.

        A session keeps the versions of the agents that have taken part in it. A version that can no longer be read or
        used is replaced by the version in force, whose permissions are required in any case. A desk is always as in
        force: its people, hours and waits concern all conversations at once. Raises what ``of`` raises.
        """
        copy = await self._copies.of(scope)
        if any(thread.pinned and copy.lacks(thread.pinned) for thread in threads):  # another worker saw a newer list
            copy = await self._copies.of(scope, since=RECHECK_AGE)
        chosen = [
            copy.choose(thread, scope.tenant_id) if thread.pinned or copy.has_candidates else {} for thread in threads
        ]
        versions = await self._find_versions(scope, copy, {key for numbers in chosen for key in numbers.items()})
        return [
            _with_versions(scope, copy.agents, thread, [versions[key] for key in numbers.items() if key in versions])
            for thread, numbers in zip(threads, chosen, strict=True)
        ]

    async def _find_versions(
        self, scope: Scope, copy: _AgentsCopy, keys: Collection[_Key]
    ) -> dict[_Key, AgentDefinition]:
        """Return the versions, without those that do not exist or cannot be used. Raises ``StoreUnavailable``."""
        agents = {key: copy.parsed[key] for key in keys if key in copy.parsed}
        older = {key: (scope.tenant_id, *key) for key in keys if key not in agents}
        agents |= {key: self._older[name] for key, name in older.items() if name in self._older}
        missing = [key for key in older if key not in agents]
        if missing:
            versions = await self._store.read(scope, missing)
            parsed = await off_loop(LARGE, self._parse_all, scope.tenant_id, versions)
            for key in missing:
                agents[key] = self._older[older[key]] = parsed.get(key)
        return {key: agent for key, agent in agents.items() if agent is not None}

    def forget(self, scope: Scope) -> None:
        """Read the tenant's agents again when they are next needed, because they have changed."""
        self._copies.forget(scope)

    async def _read(self, scope: Scope, last_copy: _AgentsCopy | None) -> _AgentsCopy:
        parsed_before = last_copy.parsed if last_copy is not None else {}
        agent_list = await self._store.list(scope)
        listed = agent_list.present
        in_force = [(agent_id, entry.number) for agent_id, entry in listed.items()]
        candidates = [(agent_id, entry.candidate.number) for agent_id, entry in listed.items() if entry.candidate]
        references = [*in_force, *candidates]
        missing = [key for key in references if key not in parsed_before]
        versions = await self._store.read(scope, missing) if missing else ()
        size = sum(listed[version.agent_id].total_size for version in versions)
        parsed = await off_loop(size, self._parse_all, scope.tenant_id, versions) if versions else {}
        # A version that is not found is read again with the next copy.
        definitions = {**parsed_before, **parsed}
        copies = {key: definitions[key] for key in references if key in definitions}
        agents = {key[0]: agent for key in in_force if (agent := copies.get(key)) is not None}
        return _AgentsCopy(agents, agent_list.entries, copies, sum(entry.total_size for entry in listed.values()))

    def _parse_all(self, tenant_id: str, versions: Sequence[AgentVersion]) -> dict[_Key, AgentDefinition | None]:
        return {(version.agent_id, version.number): self.parse_usable(tenant_id, version) for version in versions}

    def parse_usable(self, tenant_id: str, version: AgentVersion) -> AgentDefinition | None:
        """Return the definition if current rules allow it, which may be stricter than earlier rules; None otherwise."""
        try:
            definition, problems = check_agent(version.values or {})
        except RecursionError:
            definition, problems = None, []
        if definition is not None:
            problems += find_tenant_problems(definition)
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
        fallback = tuple(model for model in choice.fallback if model in offered)
        model = choice.model_copy(update={"name": name, "fallback": fallback})
        return definition.model_copy(update={"model": model})


def _with_versions(scope: Scope, agents: Agents, thread: Thread, versions: Sequence[AgentDefinition]) -> Agents:
    """Return the agents with these versions, as far as a session of the thread may use them."""
    if not versions:
        return agents
    used = dict(agents)
    for version in versions:
        is_new = thread.pinned.get(version.id) != version.version
        if version.desk is None and not (is_new and list_missing_permissions(scope, version)):
            used[version.id] = _require_permissions(version, agents[version.id])
    return used


def _require_permissions(version: AgentDefinition, in_force: AgentDefinition) -> AgentDefinition:
    """Return the version, which also needs the permissions of the version in force: some may have been added since."""
    added = [name for name in in_force.required_permissions if name not in version.required_permissions]
    if not added:
        return version
    return version.model_copy(update={"required_permissions": (*version.required_permissions, *added)})
