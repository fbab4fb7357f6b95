"""Streams that follow a task, whichever process carries out its runs and whatever becomes of that."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator

from a2a.server.events import Event as A2AEvent

from baton.api.a2a.caller import A2ACaller
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.api.a2a.updates import ENDS, Update, Updates
from baton.api.a2a.wire import shown
from baton.api.runs import TURN_SECONDS
from baton.domain.a2a_task import TaskState
from baton.domain.errors import TokenExpired
from baton.domain.thread import LeaseMark, Thread

POLL_SECONDS = 0.2
MAX_POLL_SECONDS = 2.0
"""How long a stream waits at most before it looks again whether something has happened to its task."""


class TaskFollower:
    """Tells one caller what becomes of a task."""

    def __init__(self, caller: A2ACaller, *, across_turns: bool) -> None:
        """``across_turns``: the stream stays while the task waits for input, until it is final."""
        self._caller = caller
        self._across_turns = across_turns
        self._reader = TaskReader(caller.app.ports)

    async def follow(self, task: A2ATask, history: int | None = None) -> AsyncGenerator[A2AEvent, None]:
        """Yield the task, then its updates. Raises ``TokenExpired`` when the stream outlives its token.

        Ends when the task is final, and unless it is followed across turns when it waits; in any case after
        ``TURN_SECONDS``. Then nothing tells that it goes on: the client has seen no final state.
        """
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + TURN_SECONDS, POLL_SECONDS
        yield await shown(task, self._caller.agents.describe, history=history)
        while self._goes_on(task) and loop.time() < until:
            updates = Updates(task.id, self._caller.app.ports.clock)
            if task.run_id is not None and task.thread is not None:
                async for update in self._run_updates(task.thread, task.run_id, updates, until - loop.time()):
                    yield update
                pause = POLL_SECONDS
            else:
                self._check_token()
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_POLL_SECONDS)
                if not await self._reader.has_changed(self._caller.scope, task):
                    continue
            current = await self._reader.read(self._caller.scope, task.id)
            if current is None:
                return
            for update in _news(task, current, updates):
                pause = POLL_SECONDS
                yield update
            task = current

    def _goes_on(self, task: A2ATask) -> bool:
        if self._across_turns:
            return not task.state.is_terminal
        return task.state in (TaskState.SUBMITTED, TaskState.WORKING)

    async def _run_updates(
        self, thread: Thread, run_id: str, updates: Updates, seconds: float
    ) -> AsyncGenerator[A2AEvent, None]:
        """Yield a run's updates from its beginning."""
        caller, app = self._caller, self._caller.app
        await app.controls.revive(caller.scope, thread, request_id=caller.request_id)

        async def revive(dead: Thread, lease: LeaseMark) -> bool:
            if lease != thread.lease or not thread.is_interrupted:
                about = f"{caller.request_id}.{lease.fence}"
                await app.controls.revive(caller.scope, dead, request_id=about, presumed_dead=lease)
            return True

        following = app.follower.follow(
            caller.scope, thread.id, after=thread.last_seq, seconds=seconds, when_dead=revive
        )
        async with contextlib.aclosing(following):
            async for replay in following:
                self._check_token()
                for event in replay.events:
                    if event.run_id != run_id:
                        continue
                    if event.type in ENDS:
                        return
                    for update in updates.of(event):
                        yield update

    def _check_token(self) -> None:
        """Raise ``TokenExpired`` when the stream outlives its token. The run continues."""
        if asyncio.get_running_loop().time() >= self._caller.ends_at:
            raise TokenExpired


def _news(before: A2ATask, now: A2ATask, updates: Updates) -> Iterator[Update]:
    """Yield what has happened in between: what runs have said that ended meanwhile, and the state if it is another."""
    ended = dict.fromkeys(message.run_id for message in now.messages if message.run_id in now.runs - before.runs)
    for run_id in ended:
        yield from updates.rest(now, run_id)
    has_left = before.run_id is not None and before.run_id != now.run_id
    if ended or has_left or now.state is not before.state:
        yield updates.end(now)
