"""Background work during a run: renew the lease, write the log, refresh connections, send heartbeats."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self

from ag_ui.core import BaseEvent

from baton.agents.attempt_context import Attempt
from baton.domain.errors import StoreUnavailable
from baton.domain.threads.events import make_custom, make_unsequenced
from baton.domain.threads.thread import USUAL_TIMES, LeaseMark, LeaseTimes
from baton.ports.clock import Clock
from baton.ports.threads.leases import Lease
from baton.ports.threads.threads import ThreadStore
from baton.ports.threads.turn_queue import HeldRecord
from baton.threads.outbox.outbox import Outbox

MIN_PAUSE_SECONDS = 0.01
"""The shortest pause, so that work that is always due does not occupy the event loop."""
MAX_PAUSE_SECONDS = 0.5
"""The longest pause. It is shorter than the second after which new text is logged, so it ends before text is due."""
HEARTBEAT_SECONDS = 10.0
"""The time without events after which clients get a heartbeat."""
DAY_SECONDS = 86_400.0


class LeaseHolder:
    """The lease as last renewed, shared by all code that needs to know when it ends.

    A lease taken for a queue record lasts only while the record is hidden. After that the queue delivers the record
    again, and the worker that receives it takes the lease over. A worker that is alive but cannot extend the record's
    time keeps the lease without the record. A caller that waits for the run may ask for a sign of life; the answer is a
    renewal.
    """

    def __init__(
        self,
        store: ThreadStore,
        lease: Lease,
        clock: Clock,
        record: HeldRecord | None = None,
        times: LeaseTimes = USUAL_TIMES,
    ) -> None:
        self._store = store
        self._clock = clock
        self._times = times
        self._record = record
        self._renewing = asyncio.Lock()
        self._renewed_at = asyncio.get_running_loop().time()
        self._vouched_at = self._renewed_at
        """The event loop time at which the worker was last known to be alive."""
        self.lease = lease
        if record is not None and lease.thread.run is not None:
            record.note_attempt(lease.thread.run.attempt)

    @property
    def until(self) -> datetime:
        """The time before which no other worker can have the lease."""
        vouched_seconds = self._vouched_at + self._times.answer - asyncio.get_running_loop().time()
        seconds = min(self._count_record_seconds(), vouched_seconds)
        return min(self.lease.until, self._clock.now() + timedelta(seconds=seconds))

    @property
    def is_due(self) -> bool:
        """True if it is time to renew the lease."""
        return self.is_losing_record or asyncio.get_running_loop().time() - self._renewed_at >= self._times.renew

    @property
    def may_be_lost(self) -> bool:
        """True if another worker may have taken the lease over: a delayed worker must not send more events."""
        return self._clock.now() >= self.until - timedelta(seconds=self._times.margin)

    @property
    def is_losing_record(self) -> bool:
        """True if another worker may soon receive, or may have received, the record that the lease needs."""
        return self._count_record_seconds() < self._times.losing

    async def renew(self, used_seq: int) -> None:
        """Extend the lease, without its record if the record is being lost. Raises ``LeaseLost``."""
        async with self._renewing:
            at = asyncio.get_running_loop().time()
            self.lease = await self._store.renew(self.lease, used_seq=used_seq, without_record=self.is_losing_record)
            self._renewed_at = self._vouched_at = at

    async def ensure_held(self, used_seq: int) -> None:
        """Renew the lease if another worker may have taken it over: a delayed worker must not send more events.

        Raises ``LeaseLost`` if another worker has taken it over.
        """
        if self.may_be_lost:
            await self.renew(used_seq)

    def note_commit(self) -> None:
        """Record that the commit has released the lease, after which no worker can presume its holder dead."""
        self._vouched_at = asyncio.get_running_loop().time() + DAY_SECONDS

    async def give_sign_of_life(self, marks: Collection[LeaseMark], *, looked_at: float, used_seq: int) -> None:
        """Renew the lease if another worker asks for a sign of life in ``marks``.

        ``looked_at`` is the event loop time at which ``marks`` was read: a worker that asks later waits from then on.
        Raises ``LeaseLost``.
        """
        if any(mark.fence == self.lease.fence and mark.until >= self.lease.until for mark in marks):
            await self.renew(used_seq)
        else:
            self._vouched_at = max(self._vouched_at, looked_at)

    def _count_record_seconds(self) -> float:
        """Return the seconds for which the record is still hidden; a day if the lease does not depend on a record."""
        if self._record is None or self.lease.delivery is None:
            return DAY_SECONDS
        return max(-DAY_SECONDS, min(self._record.count_seconds_left(), DAY_SECONDS))


class LeaseKeeper:
    """The background work of one run, as an async context manager around the run.

    When the work fails (the lease is lost, the table does not answer), it cancels the run inside and raises the
    failure instead.
    """

    def __init__(self, holder: LeaseHolder, outbox: Outbox, attempt: Attempt, times: LeaseTimes = USUAL_TIMES) -> None:
        self._holder = holder
        self._outbox = outbox
        self._log = outbox.log
        self._delivery = outbox.delivery
        self._attempt = attempt
        self._refresh_seconds = times.refresh
        self._is_stopping = False
        self._is_paused = False
        """Whether events wait until a lease that may be lost is renewed."""
        self._wake = asyncio.Event()
        self._has_cancelled = False
        self._error: BaseException | None = None
        self._last_seq = self._log.last_seq
        self._heard_at = self._refreshed_at = self._read_loop_time()

    async def __aenter__(self) -> Self:
        self._owner = asyncio.current_task()
        self._task = asyncio.ensure_future(self._keep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_stopping = True
        self._wake.set()
        cancelled = error if isinstance(error, asyncio.CancelledError) else None
        while not self._task.done():  # do not cancel it during a write: the run's tail depends on what was written
            try:
                await asyncio.shield(self._task)
            except asyncio.CancelledError as late:
                cancelled = late
        if self._error is not None:
            if self._owner is not None and self._has_cancelled:
                if cancelled is None:  # the run ended at the same time, or its own code swallowed the cancellation
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(0)
                self._owner.uncancel()
            raise self._error from None
        if cancelled is not None and cancelled is not error:
            raise cancelled

    def open(self) -> None:
        """Send the events of the outbox now, or after a renewal if the lease may be lost."""
        if self._holder.may_be_lost:
            self._is_paused = True
            self._wake.set()
        else:
            self._outbox.open()

    def send(self, event: BaseEvent) -> None:
        """Send the event. If the lease may be lost, hold this and all later events back until it is renewed.

        Events of a run whose lease is lost, such as those of its clean-up, are dropped.
        """
        if self._error is not None:
            return
        if self._outbox.is_open and self._holder.may_be_lost:
            self._outbox.close()
            self.open()
        self._outbox.send(event)

    async def flush(self) -> None:
        """Send the events that were held back. Raises ``LeaseLost``."""
        if self._is_paused:
            await self._holder.ensure_held(self._log.last_seq)
            self._is_paused = False
            self._outbox.open()

    async def look(self) -> None:
        """Read now what other workers and clients ask of the run. Raises ``LeaseLost``."""
        with contextlib.suppress(StoreUnavailable):  # the next regular read reports it
            await self._refresh(self._read_loop_time())

    async def _refresh(self, now: float) -> None:
        self._refreshed_at = now
        await self._delivery.refresh(self._log.logged_seq)
        await self._holder.give_sign_of_life(self._delivery.questioned, looked_at=now, used_seq=self._log.last_seq)
        self._log.is_read = self._delivery.is_log_read

    async def _keep(self) -> None:
        """Until the end, log new text, renew the lease and read other workers' requests, each when it is due."""
        try:
            while not self._is_stopping:
                self._wake.clear()
                await self.flush()
                await self._renew_when_due()
                now = self._read_loop_time()
                if now >= self._log.piece_due:
                    await self._log.write_piece(self._holder.lease)
                    await self._renew_when_due()  # on a slow table the next request may be slow as well
                if now >= self._refreshed_at + self._refresh_seconds:
                    await self._refresh(now)
                if self._attempt.run.run_id in self._delivery.cancelled_runs:
                    self._attempt.stop.set()
                self._send_heartbeat_when_due(now)
                due = min(self._refreshed_at + self._refresh_seconds, self._log.piece_due, now + MAX_PAUSE_SECONDS)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(max(due, now + MIN_PAUSE_SECONDS)):
                        await self._wake.wait()
        except Exception as error:  # noqa: BLE001 - raised again in the run's own task
            self._error = error
            self._attempt.passed_on.set()
            if self._owner is not None and not self._is_stopping:
                self._has_cancelled = True
                self._owner.cancel()

    async def _renew_when_due(self) -> None:
        if self._holder.is_due:
            await self._holder.renew(self._log.last_seq)

    def _send_heartbeat_when_due(self, now: float) -> None:
        if self._log.last_seq != self._last_seq:
            self._last_seq, self._heard_at = self._log.last_seq, now
        elif now - self._heard_at >= HEARTBEAT_SECONDS:
            self._heard_at = now
            self._outbox.send_heartbeat(
                make_unsequenced(make_custom("heartbeat", {}), threadId=self._holder.lease.thread_id)
            )

    @staticmethod
    def _read_loop_time() -> float:
        return asyncio.get_running_loop().time()
