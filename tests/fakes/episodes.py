"""Episodes and the pipelines that make them, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from baton.domain.episode import Episode, EpisodeRef, EpisodeStatus
from baton.domain.errors import LeaseLost, StoreUnavailable
from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.thread_store import Lease

_Session = tuple[str, str, int]
"""Tenant, thread and number."""


class FakeEpisodes:
    """``ports.episodes.Episodes``."""

    def __init__(self) -> None:
        self._refs: dict[_Session, tuple[int, EpisodeRef]] = {}
        self._episodes: dict[_Session, Episode] = {}
        self.failed: set[_Session] = set()
        self.is_down = False
        """Whether sessions cannot be recorded at the moment."""

    async def begin(self, lease: Lease, ref: EpisodeRef) -> None:
        if self.is_down:
            raise StoreUnavailable
        session = (lease.scope.tenant_id, ref.thread_id, ref.number)
        if session in self._refs and self._refs[session][0] > lease.fence:
            raise LeaseLost
        kept = replace(ref, ended_at=from_millis(to_millis(ref.ended_at)))
        self._refs[session] = (lease.fence, kept)
        # A row is written whole: what stood there before is gone.
        self._episodes.pop(session, None)
        self.failed.discard(session)

    async def get_ref(self, scope: Scope, thread_id: str, number: int) -> EpisodeRef | None:
        known = self._refs.get((scope.tenant_id, thread_id, number))
        return known[1] if known else None

    async def get(self, scope: Scope, thread_id: str, number: int) -> Episode | None:
        return self._episodes.get((scope.tenant_id, thread_id, number))

    async def complete(self, scope: Scope, episode: Episode) -> None:
        session = (scope.tenant_id, episode.ref.thread_id, episode.ref.number)
        started_at = from_millis(to_millis(episode.started_at))
        self._episodes[session] = replace(
            episode, ref=self._refs[session][1], status=EpisodeStatus.COMPLETE, started_at=started_at
        )
        self.failed.discard(session)

    async def fail(self, scope: Scope, ref: EpisodeRef) -> None:
        session = (scope.tenant_id, ref.thread_id, ref.number)
        if session in self._refs and session not in self._episodes:
            self.failed.add(session)


@dataclass
class FakeClosings:
    """``ports.episodes.Closings``: the pipelines that were started, each attempt once."""

    started: dict[tuple[str, int], EpisodeRef] = field(default_factory=dict)
    """By episode id and attempt."""
    failure: Exception | None = None
    """What starting an attempt after the first comes to."""

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        if self.failure is not None and attempt > 1:
            raise self.failure
        self.started.setdefault((ref.id, attempt), ref)
