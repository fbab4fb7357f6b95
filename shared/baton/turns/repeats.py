"""Runs that were begun before: replayed or followed for repeated messages, and taken over from dead workers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from baton.agents.run_facts import TurnCall
from baton.domain.errors import MessageIdConflict, MessageWithdrawn
from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.events import Event
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import LeaseMark, Run, Thread
from baton.domain.threads.turn_requests import ActionRequest, DecisionRequest, MessageRequest, TurnRequest
from baton.ports.clock import read_machine_time
from baton.ports.threads.leases import FENCE_STEP, Lease
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.threads import ThreadStore
from baton.threads.outbox.connection_sender import WORKER_SECONDS, send_to
from baton.threads.outbox.follow import Follower
from baton.threads.outbox.replay import Replays
from baton.turns.finished_runs import FinishedRun
from baton.turns.turn_services import TurnServices


async def find_finished(
    store: ThreadStore, call: TurnCall, record: TurnRecord, thread: Thread | None = None
) -> FinishedRun | None:
    """Return the finished run of the call's message id; None if its run has not been committed.

    ``record`` is the stored record of that id. If the message has entered another message's run, that run is returned.
    Raises ``MessageIdConflict`` if the id was used for other content, and ``MessageWithdrawn``.
    """
    if record.digest != call.request.digest:
        raise MessageIdConflict
    if record.is_withdrawn:
        raise MessageWithdrawn
    if thread is None:
        thread = await store.get_thread(call.scope, call.request.thread.id)
    if record.first_ordinal >= thread.next_ordinal:
        return None
    messages = await store.run_messages(
        call.scope, thread.id, first_ordinal=record.first_ordinal, below=thread.next_ordinal
    )
    # A worker that had lost its lease may have recorded that a message entered a run which never got it.
    is_in_run = any(message.id == record.message_id for message in messages[: None if record.entered else 1])
    return FinishedRun(thread, tuple(messages)) if is_in_run else None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Answers to repeated messages. Only the caller gets the events."""

    services: TurnServices
    replays: Replays
    follower: Follower

    async def replay(self, call: TurnCall, finished: FinishedRun) -> FinishedRun:
        """Send the events of a finished run to the caller."""
        events = await self.replays.replay_run(call.scope, finished.thread, finished.messages)
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
            replay = await self.replays.replay_after(call.scope, thread, thread.last_seq)
            if await self._send(call, call.subscriber, replay.events):
                # The worker may have logged events before the connection was attached, and does not send them to it.
                thread = await self.services.store.get_thread(call.scope, thread_id)
                since = await self.replays.replay_after(call.scope, thread, replay.last_seq)
                connection_id = call.subscriber.connection_id
                await send_to(self.services.connections, connection_id, since.events, patience=WORKER_SECONDS)
            return None
        dead_leases: list[LeaseMark] = []

        async def when_dead(_: Thread, lease: LeaseMark) -> bool:
            dead_leases.append(lease)
            return False

        seconds = call.deadline - asyncio.get_running_loop().time()
        events = self.follower.follow_run(call.scope, thread_id, run_id, seconds=seconds, when_dead=when_dead)
        async with contextlib.aclosing(events):
            async for event in events:
                call.emit(event)
        return dead_leases[-1] if dead_leases else None

    async def _send(self, call: TurnCall, subscriber: Subscriber, events: Sequence[Event]) -> bool:
        """Attach the subscriber and send it the events. Return False if its token has expired or it has gone."""
        if read_machine_time(self.services.agents.clock) >= subscriber.token_expires_at:
            return False
        thread_id, connection_id = call.request.thread.id, subscriber.connection_id
        await self.services.live.attach(call.scope, thread_id, connection_id, subscriber.token_expires_at)
        return await send_to(self.services.connections, connection_id, events, patience=WORKER_SECONDS)


async def find_adoptable(store: ThreadStore, lease: Lease, record: TurnRecord) -> tuple[StoredMessage, ...] | None:
    """Return the messages of the attempt in ``record`` if only its commit is missing; otherwise None.

    Return None too if another worker held the lease in between. Call this before anything is written under ``lease``:
    every message must bear the fence of the dead attempt, otherwise the messages may come from two attempts.
    """
    if record.first_ordinal != lease.thread.next_ordinal or record.fence != lease.fence - FENCE_STEP:
        return None  # another worker held the lease in between and may have sent clients other events
    messages = await store.run_messages(lease.scope, lease.thread_id, first_ordinal=record.first_ordinal, below=None)
    last = messages[-1] if messages else None
    if last is None or last.end is None or last.run_id != record.run_id or messages[0].id != record.message_id:
        return None
    if any(message.fence != record.fence for message in messages):
        return None
    return tuple(messages)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A run whose worker died, with its original request."""

    request: TurnRequest
    scope: Scope
    """The user's scope, with the permissions that the request came with. Its token is not stored."""


async def find_orphan(store: ThreadStore, lease: Lease) -> Orphan | None:
    """Return the unfinished run that was found with the lease, if it has stored its opening message; otherwise None.

    A run without a stored opening message has sent no event, so its caller will repeat the request. Neither has the run
    of a message that was withdrawn, whose question may be stored.
    """
    run = lease.thread.run
    turn_record = await store.get_turn(lease.scope, lease.thread_id, run.message_id) if run else None
    if run is None or turn_record is None or turn_record.is_withdrawn:
        return None
    if turn_record.first_ordinal < lease.thread.next_ordinal:
        return None
    messages = await store.run_messages(
        lease.scope, lease.thread_id, first_ordinal=turn_record.first_ordinal, below=None
    )
    if not messages or messages[0].id != run.message_id:
        return None
    request = _rebuild_request(lease.thread, run, messages[0], turn_record)
    if request is None or request.digest != turn_record.digest:
        return None
    # The present token came with another request, and may have permissions that the run never had.
    return Orphan(request, replace(lease.scope, permissions=frozenset(turn_record.permissions), subject_token=None))


def _rebuild_request(thread: Thread, run: Run, opening: StoredMessage, record: TurnRecord) -> TurnRequest | None:
    """Return the request that the run answers; None if it cannot be rebuilt."""
    ref = ThreadRef(thread.id, may_create=False)
    if opening.role is Role.USER:
        branch_request = opening.branch.request if opening.branch is not None else None
        return MessageRequest(
            ref,
            run.message_id,
            run.run_id,
            opening.content,
            a2a_task=opening.a2a_task,
            branch=branch_request,
            client=record.client,
            time_zone=opening.time_zone,
            begun_by=opening.begun_by,
            original_digest=record.digest if opening.is_rewritten else None,
        )
    action = ActionRequest.from_opening(ref, run.run_id, opening)
    if action is not None:
        return action
    pending_interrupts = thread.pending
    if pending_interrupts is None or pending_interrupts.message_id != run.message_id or pending_interrupts.open:
        return None
    decisions = tuple(interrupt.answer for interrupt in pending_interrupts.interrupts if interrupt.answer is not None)
    return DecisionRequest(ref, run.run_id, decisions, record.client)
