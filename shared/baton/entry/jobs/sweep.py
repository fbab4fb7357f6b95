"""The sweeper, which closes idle sessions, queues takeovers of dead workers' runs and restarts failed closings."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta

from baton.concurrency.tasks import call_until
from baton.domain.desks.desk_session import DeskStatus
from baton.domain.errors import TenantRemoved
from baton.domain.metrics import Metric, count
from baton.domain.threads.thread import RunStatus, ThreadStatus
from baton.entry.controls import Controls
from baton.failures.reports import report_failure
from baton.ports.clock import Clock
from baton.ports.memory.episodes import Episodes
from baton.ports.threads.threads import DueThread, IdleThread, IdleThreads, ThreadStore
from baton.threads.sessions.sessions import Endings, Sessions

LOOK_AGAIN = timedelta(minutes=1)
"""The time after which a busy thread is checked again."""
CLOSING_AGAIN = timedelta(minutes=5)
"""The time after which the closing pipeline is started again for an incomplete episode."""
MAX_PAUSE = timedelta(hours=6)
"""The longest pause between two checks of a thread. After a failure, a pause is twice the previous pause."""
CONCURRENT = 32
"""Threads that are checked at the same time."""


@dataclass(slots=True)
class SweepReport:
    """The counts of one sweep."""

    looked_at: int = 0
    """Due threads that were checked."""
    closed: int = 0
    """Sessions that were closed."""
    postponed: int = 0
    """Threads that were only postponed."""
    resumed: int = 0
    """Takeovers of runs, returns from desks and closing pipelines that were started."""
    failed: int = 0
    """Checks that failed."""
    is_complete: bool = True
    """True if every due thread was checked. Unchecked threads stay due for the next sweep."""


@dataclass(frozen=True, slots=True)
class Sweeper:
    """The check of every due thread. Sweeps may overlap, because every change has a condition on the thread's state."""

    idle: IdleThreads
    store: ThreadStore
    endings: Endings
    controls: Controls
    episodes: Episodes
    sessions: Sessions
    clock: Clock

    async def sweep(self, *, seconds: float) -> SweepReport:
        """Check due threads, begin no check after ``seconds``, and return the counts."""
        deadline = asyncio.get_running_loop().time() + seconds
        report = SweepReport()
        due = self.idle.due(self.clock.now())
        report.is_complete = await call_until(
            deadline, due, lambda thread: self._check(thread, report), at_once=CONCURRENT
        )
        if not report.is_complete:
            count(Metric.SWEEPS_UNFINISHED)
        return report

    async def _check(self, due: DueThread, report: SweepReport) -> None:
        report.looked_at += 1
        try:
            await self._decide(due, due.read(), report)
        except TenantRemoved:
            report.postponed += 1  # the tenant's items will be removed
        except Exception as failure:  # noqa: BLE001 - one thread must not stop the sweep of the others
            report_failure(failure, "sweep of a thread failed", thread_id=due.thread_id, failures=due.failures + 1)
            count(Metric.SWEEP_FAILURES)
            report.failed += 1
            await self._put_off(due)

    async def _put_off(self, due: DueThread) -> None:
        """Postpone the next check of a thread whose check failed, for twice as long after each failure."""
        pause = min(LOOK_AGAIN * 2 ** min(due.failures, 20), MAX_PAUSE)
        try:
            await self.idle.postpone(due, self.clock.now() + pause, failures=due.failures + 1)
        except Exception as failure:  # noqa: BLE001 - the thread stays due
            report_failure(failure, "thread not put off", thread_id=due.thread_id)
            count(Metric.SWEEP_FAILURES)

    async def _decide(self, due: DueThread, idle: IdleThread, report: SweepReport) -> None:
        now = self.clock.now()
        thread = idle.thread
        closing_again = await self._revive_closing(due, idle, report)
        if thread.run is not None and thread.run.status is RunStatus.RUNNING:
            await self.idle.postpone(due, now + LOOK_AGAIN)
            report.postponed += 1
        elif thread.run is not None:
            # The worker of the run has died. Another worker finishes the run, and a later sweep closes the session.
            await self.controls.revive(idle.scope, thread, request_id=self.clock.new_id())
            await self.idle.postpone(due, now + LOOK_AGAIN)
            report.resumed += 1
        elif thread.status is ThreadStatus.CLOSED:
            if closing_again is None:
                await self.store.settle(idle.scope, thread.id, episode=thread.episode - 1)
            else:
                await self.idle.postpone(due, now + closing_again, failures=due.failures + 1)
        elif thread.conversation.desk is not None:
            await self._check_desk(due, idle, report)
        elif idle.closes_at > now:
            if await self.idle.postpone(due, idle.closes_at):
                report.postponed += 1
        elif await self.endings.end_idle(idle.scope, thread) is not None:
            report.closed += 1
        else:
            await self.idle.postpone(due, now + LOOK_AGAIN)
            report.postponed += 1

    async def _check_desk(self, due: DueThread, idle: IdleThread, report: SweepReport) -> None:
        """Return the thread from its desk or close its session if that is due; otherwise postpone the check.

        A session is not closed while its user waits for people.
        """
        now, session = self.clock.now(), idle.thread.conversation.desk
        check = await self.controls.queue_desk_expiry(idle.scope, idle.thread)
        if check.reason is not None:
            await self.idle.postpone(due, now + LOOK_AGAIN)
            report.resumed += 1
            return
        is_waited_for = session is not None and (session.status is DeskStatus.WAITING or session.unread > 0)
        if not is_waited_for and idle.closes_at <= now:
            if await self.endings.end_idle(idle.scope, idle.thread) is not None:
                report.closed += 1
                return
            check = replace(check, at=now + LOOK_AGAIN)
        ends_at = None if is_waited_for else idle.closes_at
        next_check_at = min((moment for moment in (check.at, ends_at) if moment is not None), default=now + MAX_PAUSE)
        await self.idle.postpone(due, next_check_at)
        report.postponed += 1

    async def _revive_closing(self, due: DueThread, idle: IdleThread, report: SweepReport) -> timedelta | None:
        """Start the closing pipeline again for the previous session if its episode is missing or incomplete.

        Return the pause until the next check; None if the episode is settled or there was no previous session. The
        pause doubles with every run of the pipeline that left the episode incomplete.
        """
        number = idle.thread.episode - 1
        if number < 1 or idle.has_last_episode:
            return None
        episode = await self.episodes.get(idle.scope, idle.thread.id, number)
        if episode is not None and episode.is_settled:
            return None
        ref = await self.episodes.get_ref(idle.scope, idle.thread.id, number)
        if ref is None:
            return None
        # Sweeps within the same five minutes start the same attempt, which the pipeline runs only once.
        attempt = 2 + int((self.clock.now() - ref.ended_at) / CLOSING_AGAIN)
        await self.sessions.restart(idle.scope, ref, attempt=attempt)
        report.resumed += 1
        # A missing episode has no count of attempts, because the pipeline could not store it.
        attempts = episode.attempts if episode is not None else due.failures
        pause: timedelta = CLOSING_AGAIN * 2 ** min(attempts, 20)
        return min(pause, MAX_PAUSE)
