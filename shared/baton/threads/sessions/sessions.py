"""The end of a session, which is recorded under the lease, then audited and passed to the closing pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from aws_lambda_powertools import Logger

from baton.domain.errors import StoreUnavailable
from baton.domain.memory.episode import EpisodeRef
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope, derive_record_id
from baton.domain.threads.thread import EndReason, Thread
from baton.ports.memory.episodes import Closings, Episodes
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.threads.leases import Lease

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class Sessions:
    """Ends of sessions, caused by the user, the agent or the sweeper.

    Each is recorded, and starts the closing pipeline.
    """

    episodes: Episodes
    closings: Closings
    audit: AuditLog

    async def record(self, lease: Lease, session: EpisodeRef) -> None:
        """Record that the session is ending. The commit of the thread ends it. Raises ``LeaseLost``."""
        await self.episodes.begin(lease, session)

    async def finish(self, scope: Scope, thread_id: str, session: EpisodeRef | None, reason: str) -> None:
        """Audit the end and start the pipeline. ``session`` is None if the session had no messages.

        A pipeline that does not start is not an error: the thread stays in the idle index, and the sweeper starts it.
        A repetition for the same session changes nothing.
        """
        await self._record(scope, thread_id, session, reason)
        if session is None:
            return
        try:
            await self.closings.start(scope, session, attempt=1)
        except StoreUnavailable:
            logger.warning("closing not started", thread_id=thread_id, episode=session.number)
            count(Metric.CLOSINGS_NOT_STARTED)

    async def finish_again(self, scope: Scope, thread_id: str, number: int) -> None:
        """Finish the end of the ``number``-th session, whose worker may have died before ``finish``."""
        if number < 1:
            return
        episode = await self.episodes.get(scope, thread_id, number)
        if episode is not None and episode.is_settled:
            return
        ref = await self.episodes.get_ref(scope, thread_id, number)
        if ref is not None:
            await self.finish(scope, thread_id, ref, ref.reason.value)

    async def restart(self, scope: Scope, session: EpisodeRef, *, attempt: int) -> None:
        """Start the pipeline again for a session without a whole episode. Raises ``StoreUnavailable``."""
        await self._record(scope, session.thread_id, session, session.reason.value)
        await self.closings.start(scope, session, attempt=attempt)

    async def _record(self, scope: Scope, thread_id: str, session: EpisodeRef | None, reason: str) -> None:
        detail = {"reason": reason, "episodeId": session.id if session else None}
        once = Once(derive_record_id(thread_id, "thread.close", session.id), session.ended_at) if session else None
        await self.audit.record(scope, "thread.close", thread_id=thread_id, outcome="closed", detail=detail, once=once)

    async def last_reason(self, scope: Scope, thread: Thread) -> EndReason:
        """Return the reason for which a closed thread was closed."""
        ref = await self.episodes.get_ref(scope, thread.id, thread.episode - 1)
        return ref.reason if ref is not None else EndReason.USER_CLOSED
