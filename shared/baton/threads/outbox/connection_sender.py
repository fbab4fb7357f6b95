"""Sending frames to one connection, in order and at its own pace."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence

from aws_lambda_powertools import Logger

from baton.concurrency.tasks import gather_all
from baton.domain.errors import BatonError
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.failures.reports import in_background
from baton.ports.clock import Clock, read_machine_time
from baton.ports.threads.connections import ConnectionBusy, ConnectionGone, Connections, FrameRefused, LiveRegistry
from baton.threads.outbox.frames import EncodedEvent, FrameQueue, yield_frames

logger = Logger(child=True)

FIRST_BACKOFF_SECONDS = 0.1
"""Seconds before a frame is sent again. They double with each attempt, up to ``MAX_BACKOFF_SECONDS``."""
MAX_BACKOFF_SECONDS = 2.0
SEND_SECONDS = 10.0
"""Seconds to send a frame: well below the 25 s that a function has to handle a WebSocket frame."""
WORKER_SECONDS = 3.0
"""Seconds that a worker waits for a connection. The conversation's next message waits as long, in its FIFO group."""
TRIES = 3
"""Attempts at a frame that the gateway refuses, unless the frame itself is at fault."""
MAX_BACKLOG = 4 * 1024 * 1024
"""The largest backlog of a connection in bytes. A larger one is dropped: its client asks for the events."""


class ConnectionSender:
    """The backlog of one connection, and the task that sends it.

    A frame that cannot be sent is given up alone: the client sees the gap and asks for the events that it misses.
    """

    def __init__(
        self, connection_id: str, send: Callable[[str], Awaitable[None]], forget: Callable[[], Awaitable[None]]
    ) -> None:
        """``send`` raises what ``Connections.post`` raises; ``forget`` is called once the client has gone."""
        self._connection_id = connection_id
        self._send = send
        self._forget = forget
        self._backlog = FrameQueue()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._has_logged_failure = False
        self._task = in_background(self._run(), "sending to a connection")

    def add(self, events: Sequence[EncodedEvent]) -> bool:
        """Add the events to the backlog. Return False if they will not be sent, because the connection has failed.

        It has failed if its client has gone, or if its backlog exceeds ``MAX_BACKLOG``.
        """
        if self._task.done():
            return False
        self._backlog.add(events)
        if self._backlog.size > MAX_BACKLOG:
            logger.warning("connection too slow", connection_id=self._connection_id)
            return False
        if self._backlog:
            self._idle.clear()
            self._wake.set()
        return True

    async def wait_until_idle(self) -> None:
        """Wait until nothing is left to be sent."""
        await self._idle.wait()

    def stop(self) -> None:
        """Send nothing more."""
        self._task.cancel()
        self._idle.set()

    async def _run(self) -> None:
        try:
            await self._send_all()
        finally:
            self._idle.set()

    async def _send_all(self) -> None:
        """Send the frames of the backlog until the client has gone."""
        backoff, tries = FIRST_BACKOFF_SECONDS, 1
        while True:
            while not self._backlog:
                self._idle.set()
                self._wake.clear()
                await self._wake.wait()
            # Build the frame again for each try, so that events that arrive while the gateway throttles are in it.
            frame, events_in_frame = self._backlog.build_next_frame()
            try:
                await self._send(frame)
            except ConnectionBusy:
                backoff = await _pause(backoff)
                continue
            except ConnectionGone:
                self._idle.set()
                with contextlib.suppress(BatonError):  # the next run or its TTL removes the entry
                    await self._forget()
                return
            except Exception as failure:  # noqa: BLE001 - a later frame may pass
                if isinstance(failure, FrameRefused) and failure.may_pass_later and tries < TRIES:
                    backoff, tries = await _pause(backoff), tries + 1
                    continue
                self._give_up(failure)
            backoff, tries = FIRST_BACKOFF_SECONDS, 1
            self._backlog.remove(events_in_frame)

    def _give_up(self, failure: Exception) -> None:
        """Count a frame that was not sent. Only the first is logged, because the others fail for the same reason."""
        count(Metric.FRAMES_REFUSED)
        if not self._has_logged_failure:
            self._has_logged_failure = True
            logger.error("frame not sent", connection_id=self._connection_id, exc_info=failure)


async def send_to(
    connections: Connections, connection_id: str, events: Iterable[Event], *, patience: float = SEND_SECONDS
) -> bool:
    """Post events to one connection, in order and in as few frames as possible. Return whether it took all of them.

    Stop without an error when the client has gone, when the gateway refuses a frame, or when it has throttled for
    ``patience`` seconds in total, because a client asks for events that it misses.
    """
    for frame in yield_frames(events):
        backoff, tries = FIRST_BACKOFF_SECONDS, 1
        while True:
            try:
                await connections.post(connection_id, frame)
            except ConnectionBusy:
                patience -= backoff
                if patience < 0:
                    logger.warning("connection too busy", connection_id=connection_id)
                    count(Metric.FRAMES_GIVEN_UP)
                    return False
                backoff = await _pause(backoff)
                continue
            except FrameRefused as refused:
                if refused.may_pass_later and tries < TRIES:
                    backoff, tries = await _pause(backoff), tries + 1
                    continue
                logger.error("frame not sent", connection_id=connection_id, exc_info=refused)
                count(Metric.FRAMES_REFUSED)
                return False
            except ConnectionGone:
                return False
            break
    return True


async def send_to_all(
    live: LiveRegistry, connections: Connections, clock: Clock, scope: Scope, thread_id: str, event: Event
) -> None:
    """Post an event without a sequence number to all connections of a thread.

    A failure is not raised: clients can read the change that the event announces.
    """
    with contextlib.suppress(BatonError):
        attached_connections = (await live.live(scope, thread_id)).connections
        now = read_machine_time(clock)
        await gather_all(
            *(
                send_to(connections, connection_id, [event], patience=WORKER_SECONDS)
                for connection_id, token_expires_at in attached_connections.items()
                if token_expires_at > now
            )
        )


async def _pause(backoff: float) -> float:
    """Wait before a frame is sent again, and return the seconds to wait the next time."""
    await asyncio.sleep(backoff)
    return min(backoff * 2, MAX_BACKOFF_SECONDS)
