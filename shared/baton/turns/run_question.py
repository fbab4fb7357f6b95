"""The question of a run, which is stored under the lease, and the answer of an earlier attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace

from baton.agents.run_facts import RunFacts
from baton.concurrency.tasks import gather_all
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.turn_requests import MessageRequest
from baton.memory.prompt.history_reading import ReadHistory, messages_between
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.threads import ThreadStore
from baton.threads.outbox.delivery import Delivery
from baton.turns.opening import keep_timestamp
from baton.turns.recovery import adoptable
from baton.turns.turn_services import TurnServices


async def find_earlier_attempt(
    store: ThreadStore, facts: RunFacts, lease: Lease
) -> tuple[TurnRecord | None, tuple[StoredMessage, ...] | None, RunFacts]:
    """Return the record of an earlier attempt, and its complete answer if only its commit is missing.

    This comes first, because an earlier attempt's question may be stored at the ordinal of this one, and another
    text must not replace it. The question of the returned facts has the date of that one.
    """
    if facts.run.attempt == 1:
        return None, None, facts
    turn = await store.open_turn(lease, turn_record(facts, lease))
    if turn is None or turn.digest != facts.request.digest:
        return turn, None, facts
    messages = await adoptable(store, lease, turn)
    if messages is None:
        facts = replace(facts, question=await keep_timestamp(store, lease, turn, facts.question))
    return turn, messages, facts


def may_answer_early(facts: RunFacts, history: ReadHistory) -> bool:
    """Return whether to call the model before the question is stored, so that the user waits for the reads alone.

    No event is sent and no tool is called before the question is stored. A message that has probably been answered
    already is excluded, because a model call costs money. So is one that begins a branch: the history before it does
    not show whether it has been answered.
    """
    is_first = facts.run.attempt == 1 and isinstance(facts.request, MessageRequest)
    begins_branch = facts.question.branch is not None
    return (
        is_first and not begins_branch and all(message.id != facts.request.message_id for message in history.messages)
    )


async def store_question(
    services: TurnServices, facts: RunFacts, lease: Lease, record: TurnRecord | None, attaching: Awaitable[None]
) -> TurnRecord | None:
    """Store the question while the caller is attached; return the record of an earlier attempt, or None.

    If the run does not begin, the stored question stays beyond the thread's pointer. It is never read there, and the
    next turn overwrites it.
    """
    store = services.store
    opened, _, _, _ = await gather_all(
        _nothing() if facts.run.attempt > 1 else store.open_turn(lease, turn_record(facts, lease)),
        store.put_message(lease, facts.question),
        attaching,
        _announce_begin(services, facts, lease) if lease.thread.notifies else _nothing(),
    )
    earlier_record: TurnRecord | None = record or opened
    return earlier_record


async def attach_caller(delivery: Delivery, subscriber: Subscriber | None, watchers: asyncio.Future[None]) -> None:
    """Attach the connection that the message came by, unless it is among the ``watchers``."""
    await asyncio.shield(watchers)
    if subscriber is not None:
        await delivery.join(subscriber.connection_id, subscriber.token_expires_at)


async def read_unfinished(store: ThreadStore, facts: RunFacts, lease: Lease) -> RunFacts:
    """Return the facts with the interrupted exchange that the run continues, and what its client offered then."""
    answered = facts.answered
    if answered is None:
        return facts
    first, end = answered.first_ordinal, lease.thread.next_ordinal
    facts = replace(facts, unfinished=await messages_between(store, lease.scope, lease.thread, first, end))
    if facts.client is None and answered.offered_by is not None:
        offered = await store.get_turn(lease.scope, lease.thread_id, answered.offered_by)
        facts = replace(facts, client=offered.client if offered is not None else None)
    return facts


def turn_record(facts: RunFacts, lease: Lease) -> TurnRecord:
    """Return the record of the question, by which a repetition of its message is found."""
    return TurnRecord(
        message_id=facts.request.message_id,
        run_id=facts.run.run_id,
        digest=facts.request.digest,
        first_ordinal=facts.question.ordinal,
        fence=lease.fence,
        permissions=tuple(sorted(facts.scope.permissions)),
        client=facts.request.client,
    )


async def _announce_begin(services: TurnServices, facts: RunFacts, lease: Lease) -> None:
    """Queue a notification of the run's begin, if the run belongs to an A2A task."""
    root = facts.question.a2a_task
    if root is not None or facts.answered is not None:
        await services.task_notifications.note_run_began(lease, facts.run.run_id, root)


async def _nothing() -> None:
    """Do nothing, in place of a step that is not needed."""
