"""Following a run that another worker carries out, by reading the log."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, Awaitable, Callable

from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.events import Event
from baton.domain.threads.thread import USUAL_TIMES, LeaseMark, LeaseTimes, Thread
from baton.ports.threads.connections import LiveRegistry
from baton.ports.threads.threads import ThreadStore
from baton.threads.leases import LeaseWatch
from baton.threads.outbox.replay import Replay, Replays

NOTE_SECONDS = 30.0
"""Seconds after which a reader marks the log as read again: half of the time for which the mark is valid."""

WhenDead = Callable[[Thread, LeaseMark], Awaitable[bool]]
"""A function that is called with the lease of a run's dead worker, and returns whether to follow the run further."""


class Follower:
    """A reader of a thread's events as they are logged."""

    def __init__(
        self,
        store: ThreadStore,
        live: LiveRegistry,
        replays: Replays,
        *,
        poll_seconds: float,
        times: LeaseTimes = USUAL_TIMES,
    ) -> None:
        self._store = store
        self._live = live
        self._replays = replays
        self._poll_seconds = poll_seconds
        self._times = times

    async def follow(
        self, scope: Scope, thread_id: str, *, after: int, seconds: float, when_dead: WhenDead | None = None
    ) -> AsyncGenerator[Replay, None]:
        """Yield the events after ``after`` in parts, until no run is in progress or ``seconds`` have passed.

        A run whose worker has died is still in progress, because another worker takes it over; its events follow.
        ``when_dead`` is called at most once for each lease of a dead worker. If it returns False, the generator ends.
        Raises ``ThreadUnavailable`` and ``InvalidSequence``.
        """
        loop = asyncio.get_running_loop()
        until, noted_at = loop.time() + seconds, -math.inf
        watch, reported_lease = LeaseWatch(self._live, scope, thread_id, self._times), None
        while True:
            thread = await self._store.get_thread(scope, thread_id)
            replay = await self._replays.replay_after(scope, thread, after)
            yield replay
            after = max(after, replay.last_seq)
            if thread.run is None or loop.time() >= until:
                return
            if loop.time() >= noted_at + NOTE_SECONDS:
                noted_at = loop.time()
                with contextlib.suppress(StoreUnavailable):  # without the mark, text is only written to the log later
                    await self._live.note_reader(scope, thread_id)
            if when_dead is not None:
                dead_lease = await watch.look(thread, has_answered=bool(replay.events))
                if thread.is_interrupted:
                    dead_lease = thread.lease
                if dead_lease is not None and dead_lease != reported_lease:
                    reported_lease = dead_lease
                    if not await when_dead(thread, dead_lease):
                        return
            await asyncio.sleep(self._poll_seconds)

    async def follow_run(
        self, scope: Scope, thread_id: str, run_id: str, *, seconds: float, when_dead: WhenDead
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of the run in progress from its beginning; none if it has ended.

        The events end with the run, after ``seconds``, or when ``when_dead`` returns False for a dead worker.
        """
        thread = await self._store.get_thread(scope, thread_id)
        replays = self.follow(scope, thread_id, after=thread.last_seq, seconds=seconds, when_dead=when_dead)
        async with contextlib.aclosing(replays):
            async for replay in replays:
                for event in replay.events:
                    if event.run_id == run_id:
                        yield event
