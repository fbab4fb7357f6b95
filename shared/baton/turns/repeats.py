"""Repeated messages, which replay a finished run or follow a run that another worker carries out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from baton.agents.run_facts import TurnCall
from baton.domain.errors import MessageIdConflict
from baton.domain.threads.events import Event
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import LeaseMark, Thread
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.threads import ThreadStore
from baton.threads.outbox.connection_sender import WORKER_SECONDS, send_to
from baton.threads.outbox.follow import Follower
from baton.threads.outbox.replay import Replays
from baton.turns.committing import FinishedRun
from baton.turns.turn_services import TurnServices


async def find_finished(
    store: ThreadStore, call: TurnCall, record: TurnRecord, thread: Thread | None = None
) -> FinishedRun | None:
    """Return the finished run of the call's message id; None if its run has not been committed.

    ``record`` is the record of the id. Raises ``MessageIdConflict`` if the id was used for other content.
    """
    if record.digest != call.request.digest:
        raise MessageIdConflict
    if thread is None:
        thread = await store.get_thread(call.scope, call.request.thread.id)
    if record.first_ordinal >= thread.next_ordinal:
        return None
    messages = await store.run_messages(
        call.scope, thread.id, first_ordinal=record.first_ordinal, below=thread.next_ordinal
    )
    if not messages or messages[0].id != record.message_id:
        return None
    return FinishedRun(thread, tuple(messages))


@dataclass(frozen=True, slots=True)
class Repeats:
    """Answers to repeated messages. Only the caller gets the events."""

    services: TurnServices
    replays: Replays
    follower: Follower

    async def replay(self, call: TurnCall, finished: FinishedRun) -> FinishedRun:
        """Send the events of a finished run to the caller."""
        events = await self.replays.of_run(call.scope, finished.thread, finished.messages)
        if call.subscriber is None:
            for event in events:
                call.emit(event)
        else:
            await self._send(call, call.subscriber, events)
        return finished

    async def follow(self, call: TurnCall, run_id: str) -> LeaseMark | None:
        """Send the caller the events of its message's run while another worker carries it out.

        Return that worker's lease once the worker is presumed dead, otherwise None. A subscriber is attached and sent
        the events that it missed; it gets the rest live. Its record stays in the queue until the run has ended, so
        that the message is answered even if that worker dies.
        """
        thread_id = call.request.thread.id
        if call.subscriber is not None:
            thread = await self.services.store.get_thread(call.scope, thread_id)
            replay = await self.replays.after(call.scope, thread, thread.last_seq)
            await self._send(call, call.subscriber, replay.events)
            return None
        died: list[LeaseMark] = []

        async def when_dead(_: Thread, lease: LeaseMark) -> bool:
            died.append(lease)
            return False

        seconds = call.deadline - asyncio.get_running_loop().time()
        events = self.follower.events_of_run(call.scope, thread_id, run_id, seconds=seconds, when_dead=when_dead)
        async with contextlib.aclosing(events):
            async for event in events:
                call.emit(event)
        return died[-1] if died else None

    async def _send(self, call: TurnCall, subscriber: Subscriber, events: Sequence[Event]) -> None:
        """Attach the subscriber and send it the events, unless its token has expired."""
        if self.services.agents.clock.now() >= subscriber.token_expires_at:
            return
        thread_id, connection_id = call.request.thread.id, subscriber.connection_id
        await self.services.live.attach(call.scope, thread_id, connection_id, subscriber.token_expires_at)
        await send_to(self.services.connections, connection_id, events, patience=WORKER_SECONDS)
