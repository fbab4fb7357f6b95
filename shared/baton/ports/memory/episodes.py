"""Ports for episodes, and for the pipeline that closes sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from baton.domain.memory.episode import EndedSession, Episode, EpisodePart, EpisodeRef, Fact
from baton.domain.tenants.identity import Scope
from baton.ports.threads.leases import Lease


class Episodes(Protocol):
    """The episodes of threads. Callers must have checked the thread's ownership.

    Methods raise ``StoreUnavailable``. Methods that add to an episode may be repeated, even by several workers at once:
    the first call counts. They return the changed episode; None, without a change, for a session that is not or no
    longer recorded.
    """

    async def begin(self, lease: Lease, ref: EpisodeRef) -> None:
        """Record that a session is ending. Raises ``LeaseLost``."""

    async def get_ref(self, scope: Scope, thread_id: str, number: int) -> EpisodeRef | None:
        """Return the session as recorded at its end, whatever the state of its episode; None if it is not recorded."""

    async def find(self, scope: Scope, episode_id: str) -> EpisodeRef | None:
        """Return the session of an episode by its id, like ``get_ref``; None if it is not the scope's user's.

        A session whose end was recorded but never committed is found too: compare ``Thread.episode``.
        """

    async def get(self, scope: Scope, thread_id: str, number: int) -> Episode | None:
        """Return the episode; None until it is stored."""

    async def find_ended(self, scope: Scope, thread_id: str, number: int) -> EndedSession | None:
        """Return the results of ``get_ref`` and ``get`` in one request; None for a session that is not recorded."""

    async def put_redaction(self, scope: Scope, thread_id: str, ordinal: int, text: str) -> None:
        """Store the text of a message without its personal data."""

    async def read_redactions(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, end_ordinal: int
    ) -> Mapping[int, str]:
        """Return the redacted texts in a range by ordinal. Messages without personal data have none."""

    async def store(self, scope: Scope, episode: Episode) -> Episode | None:
        """Store the episode and list it. The stored status and parts do not change."""

    async def describe(
        self, scope: Scope, ref: EpisodeRef, summary: str | None, facts: Sequence[Fact]
    ) -> Episode | None:
        """Add summary and facts (``EpisodePart.SUMMARY``). The index part is then missing again.

        Without facts, ``EpisodePart.FACTS`` is added too, because there is nothing to compare.
        """

    async def keep_facts(self, scope: Scope, ref: EpisodeRef, facts: Sequence[Fact]) -> Episode | None:
        """Store the facts left after the comparison (``EpisodePart.FACTS``). The index part is then missing again."""

    async def supersede(
        self, scope: Scope, thread_id: str, number: int, fact_id: str, *, by: str, at: datetime
    ) -> None:
        """Record that a fact of another episode is no longer valid since ``at``. The first record counts."""

    async def mark(self, scope: Scope, ref: EpisodeRef, part: EpisodePart) -> Episode | None:
        """Record that a part was added, or is switched off."""

    async def complete(self, scope: Scope, ref: EpisodeRef) -> Episode | None:
        """Record that the pipeline has run to its end, and return the episode."""

    async def fail(self, scope: Scope, ref: EpisodeRef) -> None:
        """Record that the closing has failed. A complete episode stays complete."""

    async def of_user(self, scope: Scope, *, limit: int, cursor: str | None) -> tuple[Sequence[Episode], str | None]:
        """Return a page of the user's stored episodes, latest end first, and the next cursor.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """

    def of_tenant(self, scope: Scope) -> AsyncIterator[Episode]:
        """Yield every stored episode of the scope's tenant, of all users, latest end first, for operators' tools."""


class Closings(Protocol):
    """The closing pipeline of ended sessions (Step Functions)."""

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        """Start the pipeline. Repeating an ``attempt`` is not an error. Raises ``StoreUnavailable``."""
