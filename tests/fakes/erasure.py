"""Removals and their requests, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from baton.domain.memory.forgetting import EpisodeTrace, ForgetRequest, Retention, ThreadTrace
from baton.domain.tenants.identity import Scope
from baton_testing.fakes.clock import FakeClock

_Thread = tuple[str, str]
_User = tuple[str, str]


@dataclass
class FakeErasure:
    """``ports.tenants.privacy.Erasure`` over threads of which only a number of items is known."""

    clock: FakeClock = field(default_factory=FakeClock)
    traces: dict[_Thread, ThreadTrace] = field(default_factory=dict)
    parents: dict[_Thread, str] = field(default_factory=dict)
    items: Counter[_Thread] = field(default_factory=Counter)
    of_users: Counter[_User] = field(default_factory=Counter)
    noted: set[tuple[str, str, str]] = field(default_factory=set)
    """Tenant, user and thread of uploads."""
    listed: dict[EpisodeTrace, tuple[str, datetime]] = field(default_factory=dict)
    """Episodes with their tenants and ends."""
    stubborn: set[str] = field(default_factory=set)
    """Threads whose items cannot be removed."""
    steps: int = 0
    """The number of calls; ``crash_at`` is the one that fails."""
    crash_at: int | None = None

    def put(self, scope: Scope, thread_id: str, *, items: int = 1, parent: str | None = None) -> ThreadTrace:
        """A thread in use."""
        now = self.clock.now()
        trace = ThreadTrace(thread_id, scope.user_id, now, now)
        self.traces[scope.tenant_id, thread_id] = trace
        self.items[scope.tenant_id, thread_id] += items
        if parent is not None:
            self.parents[scope.tenant_id, thread_id] = parent
        return trace

    async def note_upload(self, scope: Scope, thread_id: str) -> None:
        self.noted.add((scope.tenant_id, scope.user_id, thread_id))

    async def threads(self, scope: Scope) -> AsyncIterator[Sequence[ThreadTrace]]:
        self._step()
        for tenant_id, user_id, thread_id in sorted(self.noted):
            if (tenant_id, user_id) == (scope.tenant_id, scope.user_id):
                yield [self.traces.get((tenant_id, thread_id)) or ThreadTrace(thread_id)]
        own = [
            key for key, trace in self.traces.items() if key[0] == scope.tenant_id and trace.user_id == scope.user_id
        ]
        for key in own:
            if key not in self.parents and key in self.traces:
                yield [self.traces[key]]

    async def list_inactive_threads(self, scope: Scope, before: datetime) -> AsyncIterator[Sequence[ThreadTrace]]:
        self._step()
        for key, trace in list(self.traces.items()):
            old = trace.created_at is not None and trace.created_at < before
            if key[0] == scope.tenant_id and key not in self.parents and old:
                yield [trace]

    async def list_forks(self, scope: Scope, thread_id: str) -> Sequence[ThreadTrace]:
        self._step()
        keys = [key for key, parent in self.parents.items() if key[0] == scope.tenant_id and parent == thread_id]
        return [self.traces[key] for key in keys if key in self.traces]

    async def trace(self, scope: Scope, thread_id: str) -> ThreadTrace | None:
        self._step()
        return self.traces.get((scope.tenant_id, thread_id))

    async def bury(self, scope: Scope, thread: ThreadTrace, *, unless_active_since: datetime | None = None) -> bool:
        self._step()
        key = (scope.tenant_id, thread.id)
        existing = self.traces.get(key)
        if existing is None and thread.user_id is not None:
            return False
        if existing is not None and existing.user_id != scope.user_id:
            return False
        if existing is not None and existing.is_buried:
            return True
        active = existing.last_activity_at if existing is not None else None
        if unless_active_since is not None and active is not None and active >= unless_active_since:
            return False
        self.traces[key] = replace(
            existing or thread, user_id=scope.user_id, is_buried=True, buried_at=self.clock.now(), run_id=None
        )
        return True

    async def sweep(self, scope: Scope, thread_id: str, *, deadline: float) -> tuple[Mapping[str, int], bool]:
        self._step()
        if thread_id in self.stubborn:
            return {}, True
        self.noted.discard((scope.tenant_id, scope.user_id, thread_id))
        return {"messages": self.items.pop((scope.tenant_id, thread_id), 0)}, True

    async def mark_swept(self, scope: Scope, thread_id: str, mark: str) -> None:
        self._step()
        key = (scope.tenant_id, thread_id)
        if key in self.traces and self.traces[key].is_buried:
            self.traces[key] = replace(self.traces[key], swept=mark)

    async def count_left(self, scope: Scope, thread_id: str) -> Mapping[str, int]:
        self._step()
        return {"messages": self.items[scope.tenant_id, thread_id]}

    async def unlink(self, scope: Scope, thread_id: str) -> int:
        self._step()
        return 0

    async def unbury(self, scope: Scope, thread_id: str) -> None:
        self._step()
        key = (scope.tenant_id, thread_id)
        if key in self.traces and self.traces[key].is_buried:
            del self.traces[key]
            self.parents.pop(key, None)

    async def sweep_user(self, scope: Scope, *, before: datetime) -> Mapping[str, int]:
        self._step()
        return {"workflows": self.of_users.pop((scope.tenant_id, scope.user_id), 0)}

    async def count_left_of_user(self, scope: Scope, *, before: datetime) -> Mapping[str, int]:
        self._step()
        return {"workflows": self.of_users[scope.tenant_id, scope.user_id]}

    async def sweep_audit(self, scope: Scope, *, before: datetime, deadline: float) -> tuple[Mapping[str, int], bool]:
        self._step()
        return {}, True

    async def list_ended_episodes(self, scope: Scope, before: datetime) -> AsyncIterator[Sequence[EpisodeTrace]]:
        self._step()
        for episode, (tenant_id, ended_at) in list(self.listed.items()):
            if tenant_id == scope.tenant_id and ended_at < before:
                yield [episode]

    async def sweep_episode(self, scope: Scope, episode: EpisodeTrace, *, before: datetime) -> None:
        self._step()

    async def unlist_episode(self, scope: Scope, episode: EpisodeTrace, *, before: datetime) -> None:
        self._step()
        self.listed.pop(episode, None)

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self.crash_at:
            raise ConnectionError("the worker dies here")


@dataclass
class FakeObjectErasure:
    """``ports.tenants.privacy.ObjectErasure``."""

    versions: Counter[_Thread] = field(default_factory=Counter)

    async def sweep(self, scope: Scope, thread_id: str, *, deadline: float) -> tuple[int, bool]:
        return self.versions.pop((scope.tenant_id, thread_id), 0), True

    async def count_left(self, scope: Scope, thread_id: str) -> int:
        return self.versions[scope.tenant_id, thread_id]

    async def sweep_uploads(self, scope: Scope, *, before: datetime, deadline: float) -> tuple[int, bool]:
        return 0, True

    async def count_of_tenant(self, scope: Scope, position: str | None) -> tuple[int, str | None]:
        return sum(count for (tenant_id, _), count in self.versions.items() if tenant_id == scope.tenant_id), None

    async def sweep_tenant(self, scope: Scope) -> tuple[int, bool]:
        own = [key for key in self.versions if key[0] == scope.tenant_id]
        return sum(self.versions.pop(key) for key in own), True


@dataclass
class FakeTenantErasure:
    """``ports.tenants.removal.TenantErasure`` over numbers of items."""

    items: dict[str, Counter[str]] = field(default_factory=dict)
    """The numbers by tenant and kind."""

    async def count(
        self, scope: Scope, position: str | None, *, keeps_audit: bool
    ) -> tuple[Mapping[str, int], str | None]:
        return self.items.get(scope.tenant_id, Counter()), None

    async def sweep(
        self, scope: Scope, position: str | None, *, keeps_audit: bool
    ) -> tuple[Mapping[str, int], str | None]:
        return self.items.pop(scope.tenant_id, Counter()), None


@dataclass
class FakeForgettings:
    """``ports.tenants.privacy.Forgettings``, which notes what was started."""

    started: list[str] = field(default_factory=list)
    failure: Exception | None = None

    async def start_work(self, tenant_id: str, work_id: str, name: str) -> None:
        if self.failure is not None:
            raise self.failure
        if name not in self.started:
            self.started.append(name)

    async def start(self, request: ForgetRequest) -> None:
        if self.failure is not None:
            raise self.failure
        if request.id not in self.started:
            self.started.append(request.id)


@dataclass
class FakeRetentions:
    """``ports.tenants.tenants.Retentions``."""

    retentions: dict[str, Retention] = field(default_factory=dict)
    due: dict[str, datetime] = field(default_factory=dict)

    async def get(self, scope: Scope) -> Retention:
        return self.retentions.get(scope.tenant_id, Retention())

    async def put(self, scope: Scope, retention: Retention) -> None:
        self.retentions[scope.tenant_id] = retention
        if not retention.is_limited:
            self.due.pop(scope.tenant_id, None)
        elif retention.changed_at is not None:
            self.due[scope.tenant_id] = retention.changed_at

    async def find_due_time(self, scope: Scope) -> datetime | None:
        return self.due.get(scope.tenant_id)

    async def repeat_soon(self, scope: Scope) -> None:
        if scope.tenant_id in self.due:
            self.due[scope.tenant_id] = datetime.min.replace(tzinfo=UTC)

    async def claim_due(self, now: datetime) -> Sequence[str]:
        claimed = [tenant_id for tenant_id, at in self.due.items() if at <= now]
        self.due |= dict.fromkeys(claimed, now + timedelta(days=1))
        return claimed
