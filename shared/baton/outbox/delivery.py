"""Posting a thread's events to its connections. The run never waits for a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta

from aws_lambda_powertools import Logger

from baton.domain.errors import BatonError
from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.domain.lease_times import USUAL_TIMES, LeaseTimes
from baton.domain.metrics import Metric, count
from baton.domain.thread import LeaseMark
from baton.outbox.frames import EncodedEvent, FrameQueue, encoded, frames
from baton.outbox.subscriber import Subscriber
from baton.ports.clock import Clock
from baton.ports.connections import ConnectionBusy, ConnectionGone, Connections
from baton.ports.live import LiveRegistry

logger = Logger(child=True)

FIRST_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 2.0
DRAIN_SECONDS = 10.0
SEND_SECONDS = 10.0
"""Well below the 25 s that a function has to handle a WebSocket frame."""
MAX_BACKLOG = 4 * 1024 * 1024
"""Bytes that may wait for one connection. Beyond that they are dropped: its client sees a gap and asks for them."""


class Delivery:
    """Delivers one thread's events to its connections, in order, to each connection at its own pace."""

    def __init__(
        self,
        scope: Scope,
        thread_id: str,
        *,
        live: LiveRegistry,
        connections: Connections,
        clock: Clock,
        lease_until: Callable[[], datetime],
        times: LeaseTimes = USUAL_TIMES,
    ) -> None:
        self._scope = scope
        self._thread_id = thread_id
        self._live = live
        self._connections = connections
        self._clock = clock
        self._lease_until = lease_until
        self._margin = timedelta(seconds=times.margin)
        self._senders: dict[str, _Sender] = {}
        self._gone: set[str] = set()
        self._recent: list[Event] = []
        """Events that were not logged by the last refresh. A new connection may not find them in the log."""
        self._stopped = False
        self.cancelled_runs: frozenset[str] = frozenset()
        """Ids of runs with a request to stop, as of the last refresh."""
        self.asked: frozenset[LeaseMark] = frozenset()
        """Leases whose holders were asked for a sign of life, as of the last refresh."""

    async def refresh(self, logged_seq: int) -> None:
        """Read the connections attached to the thread; ``logged_seq`` is the last sequence number in the log.

        A client reads the log again after it is attached. So a new connection has the events logged before the last
        refresh, and gets all later events here. It misses none, and drops repeated events by their sequence numbers.
        """
        known = set(self._senders)  # another may join during the read
        live = await self._live.live(self._scope, self._thread_id)
        if self._stopped:
            return
        for connection_id, token_expires_at in live.connections.items():
            if connection_id not in self._senders and connection_id not in self._gone:
                self._add(connection_id, token_expires_at)
                self._give(connection_id, encoded(self._recent))
        self.cancelled_runs, self.asked = live.cancelled_runs, live.asked
        for connection_id in known & self._senders.keys() - live.connections.keys():
            self._senders.pop(connection_id).stop()
        self._recent = [event for event in self._recent if event.seq is not None and event.seq > logged_seq]

    async def join(self, connection_id: str, token_expires_at: datetime) -> None:
        """Attach a connection, unless it is attached already. It gets all events posted from now on."""
        if connection_id in self._senders:
            return
        await self._live.attach(self._scope, self._thread_id, connection_id, token_expires_at)
        if connection_id not in self._senders:
            self._add(connection_id, token_expires_at)

    def post(self, events: Sequence[Event]) -> None:
        """Send the events to all attached connections, without waiting.

        Events that are posted without a pause in between, or while a frame is being sent, share the next frame.
        """
        self._recent += events
        if self._senders:
            ready = encoded(events)
            for connection_id in list(self._senders):
                self._give(connection_id, ready)

    async def drain(self) -> None:
        """Wait until every connection has all events, for at most ten seconds. Slower clients resume from the log."""
        senders = list(self._senders.values())
        if senders:
            await asyncio.wait([asyncio.ensure_future(sender.idle()) for sender in senders], timeout=DRAIN_SECONDS)
        for sender in senders:
            sender.stop()
        self._senders.clear()

    def stop(self) -> None:
        """Send nothing more."""
        self._stopped = True
        for sender in self._senders.values():
            sender.stop()
        self._senders.clear()

    def _give(self, connection_id: str, events: Sequence[EncodedEvent]) -> None:
        if not self._senders[connection_id].add(events):
            logger.warning("connection too slow", connection_id=connection_id)
            self._senders.pop(connection_id).stop()  # the next refresh adds it again, and its client sees the gap

    def _add(self, connection_id: str, token_expires_at: datetime) -> _Sender:
        async def send(frame: str) -> None:
            now = self._clock.now()
            if now >= token_expires_at:
                return
            if now >= self._lease_until() - self._margin:
                raise ConnectionBusy  # retried until the lease is renewed; a run that loses its lease stops its senders
            await self._connections.post(connection_id, frame)

        async def forget() -> None:
            self._senders.pop(connection_id, None)
            self._gone.add(connection_id)
            await self._live.detach(self._scope, self._thread_id, connection_id)

        sender = self._senders[connection_id] = _Sender(send, forget)
        return sender


async def send_to(
    connections: Connections, connection_id: str, events: Iterable[Event], *, patience: float = SEND_SECONDS
) -> bool:
    """Post events to one connection, in order and in as few frames as possible. Return whether it took all of them.

    Stops without an error when the client has gone, or when the gateway has throttled for ``patience`` seconds in
    total, because a client asks for events that it misses.
    """
    for frame in frames(events):
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            try:
                await connections.post(connection_id, frame)
            except ConnectionBusy:
                patience -= backoff
                if patience < 0:
                    logger.warning("connection too busy", connection_id=connection_id)
                    count(Metric.FRAMES_GIVEN_UP)
                    return False
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, MAX_BACKOFF_SECONDS)
                continue
            except ConnectionGone:
                return False
            break
    return True


class _Sender:
    """The backlog of one connection, and the task that sends it."""

    def __init__(self, send: Callable[[str], Awaitable[None]], forget: Callable[[], Awaitable[None]]) -> None:
        self._send = send
        self._forget = forget
        self._backlog = FrameQueue()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task = asyncio.ensure_future(self._work())

    def add(self, events: Sequence[EncodedEvent]) -> bool:
        """Add the events to the backlog. Return False if the backlog is then too large."""
        self._backlog.add(events)
        if self._backlog.size > MAX_BACKLOG:
            return False
        if self._backlog:
            self._idle.clear()
            self._wake.set()
        return True

    async def idle(self) -> None:
        await self._idle.wait()

    def stop(self) -> None:
        self._task.cancel()
        self._idle.set()

    async def _work(self) -> None:
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            while not self._backlog:
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
            # Build the frame anew for each try, so that events that arrive while the gateway throttles are in it.
            frame, events_in_frame = self._backlog.next_frame()
            try:
                await self._send(frame)
            except ConnectionBusy:
                await asyncio.sleep(backoff)
                backoff = min(backoff * 2, MAX_BACKOFF_SECONDS)
                continue
            except ConnectionGone:
                self._idle.set()
                with contextlib.suppress(BatonError):  # the next run or its TTL removes what is left
                    await self._forget()
                return
            backoff = FIRST_BACKOFF_SECONDS
            self._backlog.remove(events_in_frame)


async def announce(
    delivery: Delivery, events: Sequence[Event], logged_seq: int, subscriber: Subscriber | None = None
) -> None:
    """Deliver events outside a run, which are in the log, to the thread's connections and to ``subscriber``."""
    try:
        with contextlib.suppress(BatonError):  # clients that miss them read them in the log
            if subscriber is not None:
                await delivery.join(subscriber.connection_id, subscriber.token_expires_at)
            await delivery.refresh(logged_seq)
        delivery.post(events)
        await delivery.drain()
    finally:
        delivery.stop()
