"""The question of a run, which is stored under the lease, and the answer of an earlier attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from baton.concurrency.tasks import gather_all
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.queued import Subscriber
from baton.memory.prompt.history_reading import ReadHistory, messages_between
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import TurnRecord
from baton.threads.outbox.delivery import Delivery
from baton.threads.requests.turn_requests import MessageRequest
from baton.turns.opening import keep_timestamp
from baton.turns.recovery import adoptable
from baton.turns.run_state import RunState


async def find_earlier_attempt(
    state: RunState, lease: Lease
) -> tuple[TurnRecord | None, tuple[StoredMessage, ...] | None, RunState]:
    """Return the record of an earlier attempt, and its complete answer if only its commit is missing.

    This comes first, because an earlier attempt's question may be stored at the ordinal of this one, and another
    text must not replace it. The question of the returned state has the date of that one.
    """
    if state.run.attempt == 1:
        return None, None, state
    store = state.services.store
    known = await store.open_turn(lease, turn_record(state, lease))
    if known is None or known.digest != state.request.digest:
        return known, None, state
    left = await adoptable(store, lease, known)
    if left is None:
        state = replace(state, question=await keep_timestamp(store, lease, known, state.question))
    return known, left, state


def may_answer_early(state: RunState, history: ReadHistory) -> bool:
    """Return whether to call the model before the question is stored, so that the user waits for the reads alone.

    No event is sent and no tool is called before the question is stored. A message that has probably been answered
    already is excluded, because a model call costs money. So is one that begins a branch: the history before it does
    not show whether it has been answered.
    """
    is_first = state.run.attempt == 1 and isinstance(state.request, MessageRequest)
    begins_branch = state.question.branch is not None
    return (
        is_first and not begins_branch and all(message.id != state.request.message_id for message in history.messages)
    )


async def store_question(
    state: RunState, lease: Lease, known: TurnRecord | None, attaching: Awaitable[None]
) -> TurnRecord | None:
    """Store the question while the caller is attached; return the record of an earlier attempt, or None.

    If the run does not begin, the stored question stays beyond the thread's pointer. It is never read there, and the
    next turn overwrites it.
    """
    store = state.services.store
    opened, _, _, _ = await gather_all(
        _nothing() if state.run.attempt > 1 else store.open_turn(lease, turn_record(state, lease)),
        store.put_message(lease, state.question),
        attaching,
        _announce_begin(state, lease) if lease.thread.notifies else _nothing(),
    )
    found: TurnRecord | None = known or opened
    return found


async def attach_caller(delivery: Delivery, subscriber: Subscriber | None, watchers: asyncio.Future[None]) -> None:
    """Attach the connection that the message came by, unless it is among the ``watchers``."""
    await asyncio.shield(watchers)
    if subscriber is not None:
        await delivery.join(subscriber.connection_id, subscriber.token_expires_at)


async def read_unfinished(state: RunState, lease: Lease) -> RunState:
    """Return the state with the interrupted exchange that the run continues, and what its client offered then."""
    answered, store = state.answered, state.services.store
    if answered is None:
        return state
    first, end = answered.first_ordinal, lease.thread.next_ordinal
    state = replace(state, unfinished=await messages_between(store, lease.scope, lease.thread, first, end))
    if state.client is None and answered.offered_by is not None:
        offered = await store.get_turn(lease.scope, lease.thread_id, answered.offered_by)
        state = replace(state, client=offered.client if offered is not None else None)
    return state


def turn_record(state: RunState, lease: Lease) -> TurnRecord:
    """Return the record of the question, by which a repetition of its message is found."""
    return TurnRecord(
        message_id=state.request.message_id,
        run_id=state.run.run_id,
        digest=state.request.digest,
        first_ordinal=state.question.ordinal,
        fence=lease.fence,
        permissions=tuple(sorted(state.scope.permissions)),
        client=state.request.client,
    )


async def _announce_begin(state: RunState, lease: Lease) -> None:
    """Queue a notification of the run's begin, if the run belongs to an A2A task."""
    root = state.question.a2a_task
    if root is not None or state.answered is not None:
        await state.services.task_notifications.note_run_began(lease, state.run.run_id, root)


async def _nothing() -> None:
    """Do nothing, in place of a step that is not needed."""
