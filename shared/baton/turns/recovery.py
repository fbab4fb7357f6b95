"""The recovery of runs whose workers died: their request, and a complete answer that they may have stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Run, Thread
from baton.domain.threads.turn_requests import ActionRequest, DecisionRequest, MessageRequest, TurnRequest
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.threads import ThreadStore


async def adoptable(store: ThreadStore, lease: Lease, record: TurnRecord) -> tuple[StoredMessage, ...] | None:
    """Return the messages of the attempt in ``record`` if only its commit is missing; otherwise None.

    None as well if another worker held the lease in between. Call this before anything is written under ``lease``:
    every message must bear the fence of the dead attempt, otherwise the messages may come from two attempts.
    """
    if record.first_ordinal != lease.thread.next_ordinal or record.fence != lease.fence - 1:
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

    A run without a stored opening message has sent no event, so its caller will repeat the request.
    """
    run = lease.thread.run
    turn_record = await store.get_turn(lease.scope, lease.thread_id, run.message_id) if run else None
    if run is None or turn_record is None or turn_record.first_ordinal < lease.thread.next_ordinal:
        return None
    messages = await store.run_messages(
        lease.scope, lease.thread_id, first_ordinal=turn_record.first_ordinal, below=None
    )
    if not messages or messages[0].id != run.message_id:
        return None
    request = _again(lease.thread, run, messages[0], turn_record)
    if request is None or request.digest != turn_record.digest:
        return None
    # The token at hand came with another request, and may be wider than the one that the run began with.
    return Orphan(request, replace(lease.scope, permissions=frozenset(turn_record.permissions), subject_token=None))


def _again(thread: Thread, run: Run, opening: StoredMessage, record: TurnRecord) -> TurnRequest | None:
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
            original_digest=record.digest if opening.is_rewritten else None,
        )
    action = ActionRequest.from_source(ref, run.message_id, run.run_id, opening.source)
    if action is not None:
        return action
    pending = thread.pending
    if pending is None or pending.message_id != run.message_id or pending.open:
        return None
    decisions = tuple(interrupt.answer for interrupt in pending.interrupts if interrupt.answer is not None)
    return DecisionRequest(ref, run.run_id, decisions, record.client)
