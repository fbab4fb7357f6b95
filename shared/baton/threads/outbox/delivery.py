"""Posting a thread's events to its connections. The run never waits for a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from baton.concurrency.tasks import gather_all
from baton.domain.errors import BatonError
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.domain.threads.queued import Subscriber, WaitingMessage
from baton.domain.threads.thread import USUAL_TIMES, LeaseMark, LeaseTimes
from baton.ports.clock import Clock, read_machine_time
from baton.ports.threads.connections import ConnectionBusy, Connections, LiveRegistry
from baton.ports.threads.leases import Lease
from baton.threads.outbox.connection_sender import WORKER_SECONDS, ConnectionSender
from baton.threads.outbox.frames import EncodedEvent, encode_events

DRAIN_SECONDS = WORKER_SECONDS
"""Seconds that an ended run waits for slow connections. Their clients notice the gap or the silence, and resume."""


class Delivery:
    """The delivery of one thread's events to its connections, in order. A slow connection does not delay the others."""

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
        self._senders: dict[str, ConnectionSender] = {}
        self._gone: set[str] = set()
        self._recent: list[Event] = []
        """Events that were not logged by the last refresh. A new connection may not find them in the log."""
        self._is_stopped = False
        self._attached: dict[str, datetime] | None = None
        """The connections of the last refresh, with the end of their tokens; None before the first one."""
        self.cancelled_runs: frozenset[str] = frozenset()
        """Ids of runs with a request to stop, as of the last refresh."""
        self.questioned: frozenset[LeaseMark] = frozenset()
        """Leases whose holders were asked for a sign of life, as of the last refresh."""
        self.waiting: tuple[WaitingMessage, ...] = ()
        """Messages that wait for runs of the thread, as of the last refresh."""
        self.is_log_read = False
        """Whether somebody reads the log while it is written, as of the last refresh."""

    @property
    def watchers(self) -> Mapping[str, datetime] | None:
        """The attached connections with the end of their tokens, as of the last refresh; None if they are not known."""
        if self._attached is None:
            return None
        return {name: end for name, end in self._attached.items() if name not in self._gone}

    def begin(self, watchers: Mapping[str, datetime]) -> None:
        """Deliver to ``watchers``, connections that are attached to the thread, with the ends of their tokens."""
        self._attached = dict(watchers)
        for connection_id, token_expires_at in watchers.items():
            self._add(connection_id, token_expires_at)

    async def refresh(self, logged_seq: int) -> None:
        """Read the connections attached to the thread; ``logged_seq`` is the last sequence number in the log.

        A client reads the log again after it is attached. So a new connection has the events logged before the last
        refresh, and gets all later events here. It misses none, and drops repeated events by their sequence numbers.
        Raises ``StoreUnavailable``.
        """
        earlier_ids = set(self._senders)  # another may join during the read
        live = await self._live.live(self._scope, self._thread_id)
        if self._is_stopped:
            return
        self._attached = dict(live.connections)
        for connection_id, token_expires_at in live.connections.items():
            if connection_id not in self._senders and connection_id not in self._gone:
                self._add(connection_id, token_expires_at)
                self._add_events(connection_id, encode_events(self._recent))
        self.cancelled_runs, self.questioned = live.cancelled_runs, live.asked
        self.waiting, self.is_log_read = live.waiting, live.is_log_read
        for connection_id in earlier_ids & self._senders.keys() - live.connections.keys():
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
            encoded_events = encode_events(events)
            for connection_id in list(self._senders):
                self._add_events(connection_id, encoded_events)

    async def drain(self) -> None:
        """Wait until every connection has all events, at most ``DRAIN_SECONDS``, then stop sending.

        Slower clients resume from the log.
        """
        senders = list(self._senders.values())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await gather_all(*(sender.wait_until_idle() for sender in senders))
        for sender in senders:
            sender.stop()
        self._senders.clear()

    def stop(self) -> None:
        """Send nothing more."""
        self._is_stopped = True
        for sender in self._senders.values():
            sender.stop()
        self._senders.clear()

    def _add_events(self, connection_id: str, events: Sequence[EncodedEvent]) -> None:
        if not self._senders[connection_id].add(events):
            self._senders.pop(connection_id).stop()  # the next refresh adds it again, and its client sees the gap

    def _add(self, connection_id: str, token_expires_at: datetime) -> None:
        async def send(frame: str) -> None:
            if read_machine_time(self._clock) >= token_expires_at:
                return
            if self._clock.now() >= self._lease_until() - self._margin:
                raise ConnectionBusy  # retried until the lease is renewed; a run that loses its lease stops its senders
            await self._connections.post(connection_id, frame)

        async def forget() -> None:
            self._senders.pop(connection_id, None)
            self._gone.add(connection_id)
            await self._live.detach(self._scope, self._thread_id, connection_id)

        self._senders[connection_id] = ConnectionSender(connection_id, send, forget)


async def announce(
    lease: Lease,
    events: Sequence[Event],
    last_seq: int,
    *,
    live: LiveRegistry,
    connections: Connections,
    clock: Clock,
    subscriber: Subscriber | None = None,
) -> None:
    """Deliver events outside a run to the thread's connections and to ``subscriber``. Connections may miss them.

    All of the events are in the log, whose last number is ``last_seq``.
    """
    delivery = Delivery(
        lease.scope, lease.thread_id, live=live, connections=connections, clock=clock, lease_until=lambda: lease.until
    )
    try:
        with contextlib.suppress(BatonError):  # clients that miss them read them in the log
            if subscriber is not None:
                await delivery.join(subscriber.connection_id, subscriber.token_expires_at)
            await delivery.refresh(last_seq)
        delivery.post(events)
        await delivery.drain()
    finally:
        delivery.stop()
