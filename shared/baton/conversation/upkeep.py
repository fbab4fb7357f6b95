"""What has to happen beside a run while it lasts: renewing the lease, logging, finding listeners, heartbeats."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Self

from baton.conversation.delivery import Delivery
from baton.conversation.event_log import EventLog
from baton.domain.events import Event, custom, unsequenced
from baton.ports.thread_store import Lease, ThreadStore

TICK_SECONDS = 0.2
RENEW_SECONDS = 10.0
REFRESH_SECONDS = 2.0
HEARTBEAT_SECONDS = 10.0


class LeaseHolder:
    """The lease as last renewed; one object that everybody who needs its end looks at."""

    def __init__(self, store: ThreadStore, lease: Lease) -> None:
        self._store = store
        self.lease = lease

    async def renew(self, used_seq: int) -> None:
        """Extend the lease. Raises ``LeaseLost``."""
        self.lease = await self._store.renew(self.lease, used_seq=used_seq)


class Upkeep:
    """Background work of one run, as an async context manager around it.

    When it fails (the lease is lost, the table does not answer) the run inside is cancelled and the failure is raised
    in its place.
    """

    def __init__(
        self,
        holder: LeaseHolder,
        log: EventLog,
        delivery: Delivery,
        *,
        run_id: str,
        stop: asyncio.Event,
        emit_heartbeat: Callable[[Event], None],
    ) -> None:
        self._holder = holder
        self._log = log
        self._delivery = delivery
        self._run_id = run_id
        self._stop = stop
        self._emit_heartbeat = emit_heartbeat
        self._stopping = asyncio.Event()
        self._error: BaseException | None = None
        self._last_seq = log.last_seq
        self._heard_at = self._renewed_at = self._loop_time()

    async def __aenter__(self) -> Self:
        self._owner = asyncio.current_task()
        self._task = asyncio.ensure_future(self._work())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Never in the middle of a write: what was written must be known before the run's tail is made.
        self._stopping.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(self._task)
        if self._error is not None:
            if self._owner is not None and isinstance(error, asyncio.CancelledError):
                self._owner.uncancel()
            raise self._error from None

    async def _work(self) -> None:
        refreshed = self._renewed_at = self._loop_time()
        try:
            while not self._stopping.is_set():
                await self._renew_when_due()
                now = self._loop_time()
                if self._log.is_piece_due(now):
                    await self._log.write_piece(self._holder.lease)
                    await self._renew_when_due()  # on a slow table the next request may take its time as well
                if now - refreshed >= REFRESH_SECONDS:
                    await self._delivery.refresh(self._log.logged_seq)
                    refreshed = now
                if self._run_id in self._delivery.cancelled_runs:
                    self._stop.set()
                self._beat(now)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TICK_SECONDS):
                        await self._stopping.wait()
        except Exception as error:  # noqa: BLE001 - raised again in the run's own task
            self._error = error
            if self._owner is not None and not self._stopping.is_set():
                self._owner.cancel()

    async def _renew_when_due(self) -> None:
        now = self._loop_time()
        if now - self._renewed_at >= RENEW_SECONDS:
            await self._holder.renew(self._log.last_seq)
            self._renewed_at = now

    def _beat(self, now: float) -> None:
        if self._log.last_seq != self._last_seq:
            self._last_seq, self._heard_at = self._log.last_seq, now
        elif now - self._heard_at >= HEARTBEAT_SECONDS:
            self._heard_at = now
            self._emit_heartbeat(unsequenced(custom("heartbeat", {}), threadId=self._holder.lease.thread_id))

    @staticmethod
    def _loop_time() -> float:
        return asyncio.get_running_loop().time()
