"""Following a run that another worker is carrying out, by way of the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from baton.conversation.replay import Replay, Replays
from baton.domain.events import Event
from baton.domain.identity import Scope
from baton.domain.thread import RunStatus
from baton.ports.thread_store import ThreadStore

POLL_SECONDS = 0.5


class Follower:
    """Reads a thread's events as they are logged."""

    def __init__(self, store: ThreadStore, replays: Replays, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._store = store
        self._replays = replays
        self._poll_seconds = poll_seconds

    async def follow(
        self, scope: Scope, thread_id: str, *, after: int, seconds: float, until_worker_dies: bool = False
    ) -> AsyncGenerator[Replay, None]:
        """What follows ``after``, piece by piece, until no run is in progress or ``seconds`` have passed.

        A run whose worker has died is still in progress: somebody will take it over, and is followed then. With
        ``until_worker_dies`` this ends instead, so that the caller can take it over. Raises ``ThreadUnavailable`` and
        ``InvalidSequence``.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while True:
            thread = await self._store.get_thread(scope, thread_id)
            replay = await self._replays.after(scope, thread, after)
            yield replay
            after = max(after, replay.last_seq)
            if thread.run is None or loop.time() >= until:
                return
            if until_worker_dies and thread.run.status is RunStatus.INTERRUPTED:
                return
            await asyncio.sleep(self._poll_seconds)

    async def events_of_run(
        self, scope: Scope, thread_id: str, run_id: str, *, seconds: float
    ) -> AsyncGenerator[Event, None]:
        """The events of the run in progress, from its beginning, until it ends or its worker dies."""
        thread = await self._store.get_thread(scope, thread_id)
        following = self.follow(scope, thread_id, after=thread.last_seq, seconds=seconds, until_worker_dies=True)
        async for replay in following:
            for event in replay.events:
                if event.run_id == run_id:
                    yield event
