"""Episodes and the pipelines that make them, in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from baton.domain.cursors import decode_text, encode_text
from baton.domain.errors import LeaseLost, StoreUnavailable
from baton.domain.memory.episode import EndedSession, Episode, EpisodePart, EpisodeRef, EpisodeStatus, Fact
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.threads.leases import Lease

_Session = tuple[str, str, int]
"""Tenant, thread and number."""


class FakeEpisodes:
    """``ports.memory.episodes.Episodes``."""

    def __init__(self) -> None:
        self._refs: dict[_Session, tuple[int, EpisodeRef, str]] = {}
        self._episodes: dict[_Session, Episode] = {}
        self._superseded: dict[str, tuple[datetime, str]] = {}
        self._redactions: dict[tuple[str, str, int], str] = {}
        self.failed: set[_Session] = set()
        self.is_down = False
        """Whether writes fail at the moment."""
        self.dies_at: int | None = None
        """The number, counted from 1, of the write before which the worker dies."""
        self.writes = 0

    @property
    def tenants(self) -> set[str]:
        """The tenants that have episodes."""
        return {tenant_id for tenant_id, _, _ in self._refs}

    async def begin(self, lease: Lease, ref: EpisodeRef) -> None:
        if self.is_down:
            raise StoreUnavailable
        session = (lease.scope.tenant_id, ref.thread_id, ref.number)
        if session in self._refs and self._refs[session][0] > lease.fence:
            raise LeaseLost
        episode_ref = replace(ref, ended_at=from_millis(to_millis(ref.ended_at)))
        self._refs[session] = (lease.fence, episode_ref, lease.scope.user_id)
        # As in the table, a new row replaces the old one completely.
        self._episodes.pop(session, None)
        self.failed.discard(session)

    async def get_ref(self, scope: Scope, thread_id: str, number: int) -> EpisodeRef | None:
        stored_ref = self._refs.get((scope.tenant_id, thread_id, number))
        return stored_ref[1] if stored_ref else None

    async def find(self, scope: Scope, episode_id: str) -> EpisodeRef | None:
        for (tenant_id, _, _), (_, ref, user_id) in self._refs.items():
            if (tenant_id, user_id, ref.id) == (scope.tenant_id, scope.user_id, episode_id):
                return ref
        return None

    async def get(self, scope: Scope, thread_id: str, number: int) -> Episode | None:
        return self._read((scope.tenant_id, thread_id, number))

    async def find_ended(self, scope: Scope, thread_id: str, number: int) -> EndedSession | None:
        ref = await self.get_ref(scope, thread_id, number)
        return EndedSession(ref, await self.get(scope, thread_id, number)) if ref is not None else None

    async def put_redaction(self, scope: Scope, thread_id: str, ordinal: int, text: str) -> None:
        self._write()
        self._redactions[scope.tenant_id, thread_id, ordinal] = text

    async def read_redactions(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, end_ordinal: int
    ) -> Mapping[int, str]:
        return {
            ordinal: text
            for (tenant_id, of_thread, ordinal), text in sorted(self._redactions.items())
            if (tenant_id, of_thread) == (scope.tenant_id, thread_id) and first_ordinal <= ordinal < end_ordinal
        }

    async def store(self, scope: Scope, episode: Episode) -> Episode | None:
        self._write()
        session = (scope.tenant_id, episode.ref.thread_id, episode.ref.number)
        if session not in self._refs:
            return None
        status = EpisodeStatus.FAILED if session in self.failed else EpisodeStatus.PENDING
        earlier = self._episodes.get(session) or replace(
            episode, status=status, summary=None, facts=(), parts=frozenset(), attempts=0
        )
        self._episodes[session] = replace(
            earlier,
            ref=self._refs[session][1],
            user_id=scope.user_id,
            agent_ids=episode.agent_ids,
            started_at=from_millis(to_millis(episode.started_at)),
            message_count=episode.message_count,
            usage=episode.usage,
        )
        return self._read(session)

    async def describe(
        self, scope: Scope, ref: EpisodeRef, summary: str | None, facts: Sequence[Fact]
    ) -> Episode | None:
        self._write()
        episode = self._find(scope, ref)
        if episode is not None and EpisodePart.SUMMARY not in episode.parts:
            added = {EpisodePart.SUMMARY} if facts else {EpisodePart.SUMMARY, EpisodePart.FACTS}
            parts = episode.parts - {EpisodePart.INDEX} | added
            self._put(scope, replace(episode, summary=summary, facts=tuple(facts), parts=parts))
        return self._read((scope.tenant_id, ref.thread_id, ref.number))

    async def keep_facts(self, scope: Scope, ref: EpisodeRef, facts: Sequence[Fact]) -> Episode | None:
        self._write()
        episode = self._find(scope, ref)
        if episode is not None and EpisodePart.FACTS not in episode.parts:
            parts = episode.parts - {EpisodePart.INDEX} | {EpisodePart.FACTS}
            self._put(scope, replace(episode, facts=tuple(facts), parts=parts))
        return self._read((scope.tenant_id, ref.thread_id, ref.number))

    async def supersede(
        self, scope: Scope, thread_id: str, number: int, fact_id: str, *, by: str, at: datetime
    ) -> None:
        self._write()
        episode = self._episodes.get((scope.tenant_id, thread_id, number))
        if episode is not None and episode.user_id == scope.user_id:
            self._superseded.setdefault(fact_id, (from_millis(to_millis(at)), by))

    async def mark(self, scope: Scope, ref: EpisodeRef, part: EpisodePart) -> Episode | None:
        self._write()
        episode = self._find(scope, ref)
        if episode is not None:
            self._put(scope, replace(episode, parts=episode.parts | {part}))
        return self._read((scope.tenant_id, ref.thread_id, ref.number))

    async def complete(self, scope: Scope, ref: EpisodeRef) -> Episode | None:
        self._write()
        episode = self._find(scope, ref)
        if episode is None:
            return None
        self._put(scope, replace(episode, status=EpisodeStatus.COMPLETE, attempts=episode.attempts + 1))
        self.failed.discard((scope.tenant_id, ref.thread_id, ref.number))
        return self._read((scope.tenant_id, ref.thread_id, ref.number))

    async def fail(self, scope: Scope, ref: EpisodeRef) -> None:
        session = (scope.tenant_id, ref.thread_id, ref.number)
        episode = self._episodes.get(session)
        if session in self._refs and (episode is None or episode.status is EpisodeStatus.PENDING):
            self.failed.add(session)
            if episode is not None:
                self._put(scope, replace(episode, status=EpisodeStatus.FAILED))

    async def of_user(self, scope: Scope, *, limit: int, cursor: str | None) -> tuple[Sequence[Episode], str | None]:
        before = decode_text(cursor) if cursor else None
        sessions = [
            (_make_position(episode), session)
            for session, episode in self._episodes.items()
            if (session[0], episode.user_id) == (scope.tenant_id, scope.user_id)
            and (before is None or _make_position(episode) < before)
        ]
        sessions.sort(reverse=True)
        episodes = [
            read_episode for _, session in sessions[:limit] if (read_episode := self._read(session)) is not None
        ]
        return episodes, encode_text(sessions[limit - 1][0]) if len(sessions) > limit else None

    async def of_tenant(self, scope: Scope) -> AsyncIterator[Episode]:
        sessions = [episode for episode in self._episodes if episode[0] == scope.tenant_id]
        for session in sorted(sessions, key=lambda session: _make_position(self._episodes[session]), reverse=True):
            read_episode = self._read(session)
            if read_episode is not None:
                yield read_episode

    def _find(self, scope: Scope, ref: EpisodeRef) -> Episode | None:
        return self._episodes.get((scope.tenant_id, ref.thread_id, ref.number))

    def _put(self, scope: Scope, episode: Episode) -> None:
        self._episodes[scope.tenant_id, episode.ref.thread_id, episode.ref.number] = episode

    def _read(self, session: _Session) -> Episode | None:
        episode = self._episodes.get(session)
        if episode is None:
            return None
        facts = [
            replace(fact, superseded_at=mark[0], superseded_by=mark[1]) if mark is not None else fact
            for fact in episode.facts
            for mark in (self._superseded.get(fact.id),)
        ]
        return replace(episode, facts=tuple(facts))

    def _write(self) -> None:
        self.writes += 1
        if self.is_down:
            raise StoreUnavailable
        if self.dies_at is not None and self.writes >= self.dies_at:
            raise WorkerDied


class WorkerDied(Exception):
    """An error that stands for the death of a worker. Its writes so far are kept."""


@dataclass
class FakeClosings:
    """``ports.memory.episodes.Closings`` that records the started pipelines, each attempt once."""

    started: dict[tuple[str, int], EpisodeRef] = field(default_factory=dict)
    """The episodes by id and attempt."""
    failure: Exception | None = None
    """The error of the start of every attempt after the first."""

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        if self.failure is not None and attempt > 1:
            raise self.failure
        self.started.setdefault((ref.id, attempt), ref)


def _make_position(episode: Episode) -> str:
    return f"{to_millis(episode.ref.ended_at):015d}#{episode.ref.id}"
