"""Runs whose workers died: what they were asked for, and the complete answers they left behind."""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton.domain.identity import Scope, ThreadRef
from baton.domain.message import Role, StoredMessage
from baton.domain.thread import Run, Thread
from baton.ports.thread_store import Lease, ThreadStore, TurnRecord
from baton.requests.turn_requests import ActionRequest, AnswerRequest, MessageRequest, TurnRequest


async def adoptable(store: ThreadStore, lease: Lease, known: TurnRecord) -> tuple[StoredMessage, ...] | None:
    """The messages of the attempt that ``known`` records, if only its commit is missing and nobody came in between.

    It must be looked for before anything is written under ``lease``: every message has to bear the dead attempt's own
    fence, or they might be a mixture of two.
    """
    if known.first_ordinal != lease.thread.next_ordinal or known.fence != lease.fence - 1:
        return None  # somebody held the lease in between, and may have told clients other things
    messages = await store.run_messages(lease.scope, lease.thread_id, first_ordinal=known.first_ordinal, below=None)
    last = messages[-1] if messages else None
    if last is None or last.end is None or last.run_id != known.run_id or messages[0].id != known.message_id:
        return None
    if any(message.fence != known.fence for message in messages):
        return None
    return tuple(messages)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A run whose worker died, as it was asked for."""

    request: TurnRequest
    scope: Scope
    """Its user's, with the permissions it came with."""


async def find_orphan(store: ThreadStore, lease: Lease) -> Orphan | None:
    """The run the lease was found with, if it got as far as storing what it answers.

    One that did not was never answered by a single event: whoever asked for it will ask again.
    """
    run = lease.thread.run
    known = await store.get_turn(lease.scope, lease.thread_id, run.message_id) if run else None
    if run is None or known is None or known.first_ordinal < lease.thread.next_ordinal:
        return None
    messages = await store.run_messages(lease.scope, lease.thread_id, first_ordinal=known.first_ordinal, below=None)
    if not messages or messages[0].id != run.message_id:
        return None
    request = _again(lease.thread, run, messages[0])
    if request is None or request.digest != known.digest:
        return None
    return Orphan(request, replace(lease.scope, permissions=frozenset(known.permissions)))


def _again(thread: Thread, run: Run, opening: StoredMessage) -> TurnRequest | None:
    """What the run was asked for with; None if it cannot be told."""
    ref = ThreadRef(thread.id, may_create=False)
    if opening.role is Role.USER:
        return MessageRequest(ref, run.message_id, run.run_id, opening.content)
    action = ActionRequest.from_source(ref, run.message_id, run.run_id, opening.source)
    if action is not None:
        return action
    pending = thread.pending
    if pending is None or pending.message_id != run.message_id or pending.open:
        return None
    answers = tuple(each.answer for each in pending.interrupts if each.answer is not None)
    return AnswerRequest(ref, run.run_id, answers)
