"""What happens to a session once it has ended: it is recorded under the lease, then its pipeline is started."""

from __future__ import annotations

from aws_lambda_powertools import Logger

from baton.domain.episode import EndReason, EpisodeRef
from baton.domain.errors import StoreUnavailable
from baton.domain.identity import Scope
from baton.domain.thread import Thread
from baton.ports.audit import AuditLog
from baton.ports.episodes import Closings, Episodes
from baton.ports.thread_store import Lease

logger = Logger(child=True)


class Sessions:
    """The ends of sessions, whoever brings them about: the user, the agent or the sweeper."""

    def __init__(self, episodes: Episodes, closings: Closings, audit: AuditLog) -> None:
        self._episodes = episodes
        self._closings = closings
        self._audit = audit

    async def record(self, lease: Lease, ended: EpisodeRef) -> None:
        """Write down that the session is ending; it has ended once the thread is committed so. Raises ``LeaseLost``."""
        await self._episodes.begin(lease, ended)

    async def finish(self, scope: Scope, thread_id: str, ended: EpisodeRef | None, reason: str) -> None:
        """Audit the end and start the pipeline; ``ended`` is None if nothing had been said in the session.

        A pipeline that does not start is no error: the thread stays in the idle index, and the sweeper starts it.
        """
        detail = {"reason": reason, "episodeId": ended.id if ended else None}
        await self._audit.record(scope, "thread.close", thread_id=thread_id, outcome="closed", detail=detail)
        if ended is None:
            return
        try:
            await self._closings.start(scope, ended, attempt=1)
        except StoreUnavailable:
            logger.warning("closing not started", thread_id=thread_id, episode=ended.number)

    async def last_reason(self, scope: Scope, thread: Thread) -> EndReason:
        """Why a closed thread was closed."""
        ended = await self._episodes.get_ref(scope, thread.id, thread.episode - 1)
        return ended.reason if ended is not None else EndReason.USER_CLOSED
