"""Episodes, and the pipeline that closes sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from baton.domain.memory.episode import EndedSession, Episode, EpisodePart, EpisodeRef, Fact
from baton.domain.tenants.identity import Scope
from baton.ports.threads.leases import Lease


class Episodes(Protocol):
    """The episodes of threads. The thread's ownership must have been checked before.

    Methods raise ``StoreUnavailable``. Those that add to an episode may be repeated, by any number of workers at once:
    the first one counts. They return the episode as it is then; None for a session that is not, or no longer, recorded,
    for which they do nothing.
    """

    async def begin(self, lease: Lease, ref: EpisodeRef) -> None:
        """Record that a session is ending. Raises ``LeaseLost``."""

    async def get_ref(self, scope: Scope, thread_id: str, number: int) -> EpisodeRef | None:
        """Return the session as recorded at its end, whatever the state of its episode."""

    async def find(self, scope: Scope, episode_id: str) -> EpisodeRef | None:
        """Return the session of an episode's id, if it is one of the scope's user, like ``get_ref``.

        A session that was recorded and whose end was never committed is found too: compare the thread's number.
        """

    async def get(self, scope: Scope, thread_id: str, number: int) -> Episode | None:
        """Return the episode; None until it is stored."""

    async def ended(self, scope: Scope, thread_id: str, number: int) -> EndedSession | None:
        """Return what ``get_ref`` and ``get`` return, in one request; None for a session that is not recorded."""

    async def put_redaction(self, scope: Scope, thread_id: str, ordinal: int, text: str) -> None:
        """Store the text of a message without its personal data."""

    async def redactions(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, end_ordinal: int
    ) -> Mapping[int, str]:
        """Return the redacted texts in a range by ordinal. Messages without personal data have none."""

    async def store(self, scope: Scope, episode: Episode) -> Episode | None:
        """Store the episode and list it. The state of its closing and its parts are left as they are."""

    async def describe(
        self, scope: Scope, ref: EpisodeRef, summary: str | None, facts: Sequence[Fact]
    ) -> Episode | None:
        """Add summary and facts (``EpisodePart.SUMMARY``). The index part is then missing again.

        Without facts, ``EpisodePart.FACTS`` is added too: there is nothing to compare.
        """

    async def keep_facts(self, scope: Scope, ref: EpisodeRef, facts: Sequence[Fact]) -> Episode | None:
        """Keep the facts left after the comparison (``EpisodePart.FACTS``). The index part is then missing again."""

    async def supersede(
        self, scope: Scope, thread_id: str, number: int, fact_id: str, *, by: str, at: datetime
    ) -> None:
        """Record that a fact of an earlier episode is no longer valid since ``at``. The first record counts."""

    async def mark(self, scope: Scope, ref: EpisodeRef, part: EpisodePart) -> Episode | None:
        """Record that a part was added, or is not wanted."""

    async def complete(self, scope: Scope, ref: EpisodeRef) -> Episode | None:
        """Record that the pipeline has run to its end, and return the episode."""

    async def fail(self, scope: Scope, ref: EpisodeRef) -> None:
        """Record that the closing has failed. A complete episode stays complete."""

    async def of_user(self, scope: Scope, *, limit: int, cursor: str | None) -> tuple[Sequence[Episode], str | None]:
        """Return a page of the user's stored episodes, latest end first, and the next cursor.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """

    def of_tenant(self, scope: Scope) -> AsyncIterator[Episode]:
        """Yield every stored episode of the scope's tenant, of all users, latest end first. For operators' tools."""


class Closings(Protocol):
    """The closing pipeline of ended sessions (Step Functions)."""

    async def start(self, scope: Scope, ref: EpisodeRef, *, attempt: int) -> None:
        """Start the pipeline. Repeating an ``attempt`` is not an error. Raises ``StoreUnavailable``."""
