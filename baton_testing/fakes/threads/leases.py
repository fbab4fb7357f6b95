"""The lease, the fence and the pointer in memory, under the same rules as the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from baton.domain.errors import LeaseLost, ThreadUnavailable
from baton.domain.handoffs.workflow import Workflow
from baton.domain.memory.episode import EpisodeRef
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.usage import Usage, add_up_by_model
from baton.domain.tenants.activity import ThreadUse
from baton.domain.tenants.identity import Scope
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.queued import RecordDelivery
from baton.domain.threads.thread import ConversationState, LeaseMark, Run, RunStatus, Thread, ThreadStatus
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.threads.leases import (
    FENCE_STEP,
    OPTIMISTIC_STEP,
    Commit,
    CommittedThread,
    Lease,
    LeaseBusy,
    LeaseRequest,
    NoSuchThread,
)
from baton.ports.threads.messages import TurnRecord

LEASE = timedelta(seconds=30)
"""The validity of a lease after it was taken or renewed."""
CLOSING = timedelta(minutes=5)
"""The time until the sweeper checks whether the closing pipeline is done."""
RESERVED_SEQS = 10_000
"""The sequence numbers that are reserved at once."""
LOW_SEQS = 5_000
"""The number of reserved sequence numbers below which a renewal reserves more."""
NEVER = from_millis(0)
"""The end of a lease that nobody holds."""

Key = tuple[str, str]
"""Tenant and thread."""


@dataclass
class Row:
    """A thread with the holder of its lease and the time of its next check."""

    thread: Thread
    idle: timedelta
    check_at: datetime | None
    """None if the thread is not in the idle index."""
    fence: int = 0
    next_seq: int = 1
    owner: str | None = None
    until: datetime = NEVER
    delivery: RecordDelivery | None = None
    committed_fence: int = 0

    def to_thread(self, now: datetime) -> Thread:
        """Return the thread as readers see it."""
        run = self.thread.run
        if run is not None:
            run = replace(run, status=RunStatus.RUNNING if self.until >= now else RunStatus.INTERRUPTED)
        lease = LeaseMark(self.fence, self.until) if self.owner is not None else None
        return replace(self.thread, run=run, reserved_seq=self.next_seq - 1, lease=lease)

    def may_be_taken(self, request: LeaseRequest, now: datetime) -> bool:
        """Return whether nobody holds the lease, or the request may take it over."""
        held, again = self.delivery, request.delivery
        is_proven = (
            held is not None
            and again is not None
            and held.record_id == again.record_id
            and held.receives < again.receives
        )
        is_presumed = request.presumed_dead == LeaseMark(self.fence, self.until)
        return self.owner is None or self.until < now or is_proven or is_presumed

    def end_run(self) -> None:
        self.thread = replace(self.thread, run=None)
        self.owner, self.until, self.delivery = None, NEVER, None

    def end_session(self, episode_ref: EpisodeRef, first_ordinal: int, now: datetime) -> None:
        self.thread = replace(self.thread, episode=episode_ref.number + 1, episode_first_ordinal=first_ordinal)
        self.check_at = now + CLOSING


class FakeLeases:
    """The leases of the thread store. Each method is atomic."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.rows: dict[Key, Row] = {}
        self.turns: dict[tuple[Key, str], TurnRecord] = {}
        self.tombstones: dict[Key, ThreadUse] = {}
        self._tenants: dict[str, str] = {}
        """The tenants by the thread ids that they use."""

    async def acquire(self, scope: Scope, request: LeaseRequest) -> Lease:
        now, key = self._now(), (scope.tenant_id, request.thread_id)
        row = self.rows.get(key)
        if row is None:
            if not request.may_create:
                raise NoSuchThread
            if self._tenants.get(request.thread_id, scope.tenant_id) != scope.tenant_id:
                raise ThreadUnavailable
            self._tenants[request.thread_id] = scope.tenant_id
            row = self.rows[key] = _make_row(scope, request, now)
        if row.thread.user_id != scope.user_id:
            raise ThreadUnavailable
        if request.parent_thread_id not in (None, row.thread.parent_thread_id):
            raise ThreadUnavailable
        if not row.may_be_taken(request, now):
            raise LeaseBusy(row.to_thread(now).run, LeaseMark(row.fence, row.until))
        if request.run_id is not None and request.message_id is not None:
            run = row.thread.run or Run(request.run_id, request.message_id, attempt=0)
            row.thread = replace(row.thread, run=replace(run, attempt=run.attempt + 1))
        has_tasks, notifies = row.thread.has_tasks or request.begins_task, row.thread.notifies or request.notifies
        row.thread = replace(row.thread, has_tasks=has_tasks, notifies=notifies)
        row.owner, row.until, row.fence = self._clock.new_id(), now + LEASE, row.fence + FENCE_STEP
        row.delivery = request.delivery
        first_seq, row.next_seq = row.next_seq, row.next_seq + RESERVED_SEQS
        return Lease(scope, row.to_thread(now), row.owner, row.fence, row.until, first_seq, row.next_seq, row.delivery)

    async def acquire_optimistically(self, scope: Scope, thread_id: str, run: Run) -> Lease | None:
        row, now = self.rows.get((scope.tenant_id, thread_id)), self._now()
        if row is None or row.thread.user_id != scope.user_id or not row.committed_fence:
            return None
        if row.owner is not None or row.thread.run is not None:
            return None
        return Lease(
            scope,
            replace(row.to_thread(now), run=run),
            self._clock.new_id(),
            row.fence + OPTIMISTIC_STEP,
            now + LEASE,
            row.next_seq,
            row.next_seq + RESERVED_SEQS,
            is_optimistic=True,
        )

    async def renew(self, lease: Lease, *, used_seq: int, without_record: bool = False) -> Lease:
        row = self._check_held(lease)
        if without_record:
            row.delivery = None
        row.until = self._now() + LEASE
        row.next_seq = lease.end_seq + (RESERVED_SEQS if lease.end_seq - used_seq < LOW_SEQS else 0)
        delivery = None if without_record else lease.delivery
        return replace(lease, until=row.until, end_seq=row.next_seq, delivery=delivery)

    async def release(self, lease: Lease) -> None:
        if self._holds(lease):
            row = self._get_row(lease)
            row.next_seq = lease.first_seq
            row.end_run()

    async def abandon(self, lease: Lease) -> None:
        if self._holds(lease):
            self._get_row(lease).until = NEVER

    async def begin_run(self, lease: Lease, *, run_id: str, message_id: str) -> Lease:
        return self._change(lease, Run(run_id, message_id, attempt=2))

    async def take_over(self, lease: Lease) -> Lease:
        run = lease.thread.run
        if run is None:
            raise LeaseLost
        return self._change(lease, replace(run, attempt=run.attempt + 1))

    async def want_notifications(self, scope: Scope, thread_id: str) -> Thread:
        row = self._find_own(scope, thread_id)
        row.thread = replace(row.thread, notifies=True)
        return row.to_thread(self._now())

    async def rename(self, scope: Scope, thread_id: str, title: str) -> Thread:
        row = self._find_own(scope, thread_id)
        row.thread = replace(row.thread, title=title)
        return row.to_thread(self._now())

    async def keep_made_title(self, scope: Scope, thread_id: str, *, title: str, preview: str | None) -> Thread:
        row = self._find_own(scope, thread_id)
        row.thread = replace(row.thread, title=row.thread.title or title, preview=preview or row.thread.preview)
        return row.to_thread(self._now())

    async def lower_unread(self, scope: Scope, seen: Thread, unread: int) -> Thread | None:
        row = self.rows.get((scope.tenant_id, seen.id))
        if row is None or row.thread.user_id != scope.user_id or row.thread.next_ordinal != seen.next_ordinal:
            return None
        if row.thread.unread <= unread:
            return None
        row.thread = replace(row.thread, unread=unread)
        return row.to_thread(self._now())

    async def commit(self, lease: Lease, commit: Commit) -> CommittedThread:
        row, now = self._get_row(lease), self._now()
        if row.committed_fence == lease.fence:
            return _to_committed(row.thread)
        if lease.is_optimistic:
            if row.owner is not None or row.fence != lease.fence - OPTIMISTIC_STEP:
                raise LeaseLost
            row.fence = lease.fence
        else:
            self._check_held(lease)
        thread, awaits_user = row.thread, commit.reading.awaits_user
        row.thread = replace(
            thread,
            next_ordinal=commit.next_ordinal,
            last_seq=commit.last_seq,
            usage=thread.usage + commit.usage,
            stored_tokens=thread.stored_tokens + commit.tokens,
            status=ThreadStatus.CLOSED if commit.ended else ThreadStatus.ACTIVE,
            last_activity_at=now,
            pending=commit.pending,
            windows=commit.windows if commit.windows is not None else thread.windows,
            conversation=commit.conversation if commit.conversation is not None else thread.conversation,
            segments=lease.thread.segments,
            spent=add_up_by_model(thread.spent, commit.spent),
            last_error=commit.error_code or thread.last_error,
            time_zone=commit.time_zone or thread.time_zone,
            versions=commit.versions or thread.versions,
            watchers=commit.watchers,
            unread=commit.reading.unread + (0 if commit.reading.is_read else thread.unread),
            awaits_user=commit.ended is None and (thread.awaits_user if awaits_user is None else awaits_user),
        )
        row.next_seq, row.committed_fence = commit.last_seq + 1, lease.fence
        if commit.ended is not None:
            row.end_session(commit.ended, commit.next_ordinal, now)
        elif commit.check_at is not None:
            row.check_at = commit.check_at
        elif lease.thread.status is ThreadStatus.CLOSED or (thread.awaits_user and commit.reading.is_read):
            row.check_at = now + row.idle
        row.end_run()
        return _to_committed(row.thread)

    async def keep_pending(self, lease: Lease, pending: PendingInterrupts) -> None:
        row = self._check_held(lease)
        row.thread = replace(row.thread, pending=pending)

    async def close(
        self, lease: Lease, *, last_seq: int, ended: EpisodeRef | None, resumable: Sequence[Workflow] = ()
    ) -> bool:
        row = self._get_row(lease)
        if row.committed_fence == lease.fence:
            return row.thread.notifies
        self._check_held(lease)
        data = row.thread.conversation.data
        conversation = ConversationState(row.thread.agent_id, resumable=tuple(resumable), data=data)
        closed = replace(row.thread, status=ThreadStatus.CLOSED, awaits_user=False)
        row.thread = replace(closed, last_seq=last_seq, conversation=conversation)
        row.next_seq, row.committed_fence = last_seq + 1, lease.fence
        if ended is not None:
            row.end_session(ended, row.thread.next_ordinal, self._now())
        row.end_run()
        return row.thread.notifies

    async def select(
        self, lease: Lease, *, last_seq: int, conversation: ConversationState, windows: tuple[HistoryWindow, ...]
    ) -> None:
        row = self._get_row(lease)
        if row.committed_fence == lease.fence:
            return
        self._check_held(lease)
        row.thread = replace(
            row.thread, segments=lease.thread.segments, last_seq=last_seq, conversation=conversation, windows=windows
        )
        row.next_seq, row.committed_fence = last_seq + 1, lease.fence
        row.end_run()

    async def settle(self, scope: Scope, thread_id: str, *, episode: int) -> None:
        row = self.rows.get((scope.tenant_id, thread_id))
        if row is not None and row.thread.status is ThreadStatus.CLOSED and row.thread.episode == episode + 1:
            row.check_at = None

    async def open_turn(self, lease: Lease, turn: TurnRecord) -> TurnRecord | None:
        turn_record = self.turns.setdefault((_make_key(lease), turn.message_id), turn)
        return None if (turn_record.fence, turn_record.run_id) == (lease.fence, turn.run_id) else turn_record

    async def reopen_turn(self, lease: Lease, turn: TurnRecord) -> None:
        turn_record = self.turns.get((_make_key(lease), turn.message_id))
        if turn_record is not None and turn_record.fence > lease.fence:
            raise LeaseLost
        self.turns[_make_key(lease), turn.message_id] = turn

    async def get_turn(self, scope: Scope, thread_id: str, message_id: str) -> TurnRecord | None:
        return self.turns.get(((scope.tenant_id, thread_id), message_id))

    async def withdraw(self, scope: Scope, thread_id: str, message_id: str, digest: str) -> TurnRecord | None:
        key = (scope.tenant_id, thread_id), message_id
        if key in self.turns:
            return self.turns[key]
        self.turns[key] = TurnRecord(message_id, "", digest, 0, 0, is_withdrawn=True)
        return None

    def bury(self, scope: Scope, thread_id: str) -> None:
        """Replace the thread's row by a tombstone."""
        row = self.rows.pop((scope.tenant_id, thread_id))
        self.tombstones[scope.tenant_id, thread_id] = ThreadUse(row.fence + 1, None, row.thread.usage.total_tokens)

    def _change(self, lease: Lease, run: Run) -> Lease:
        row = self._check_held(lease)
        row.thread = replace(row.thread, run=run)
        return replace(lease, thread=replace(lease.thread, run=run))

    def _now(self) -> datetime:
        return from_millis(to_millis(self._clock.now()))

    def _find_own(self, scope: Scope, thread_id: str) -> Row:
        row = self.rows.get((scope.tenant_id, thread_id))
        if row is None or row.thread.user_id != scope.user_id:
            raise ThreadUnavailable(is_unused=row is None)
        return row

    def _get_row(self, lease: Lease) -> Row:
        return self.rows[_make_key(lease)]

    def _holds(self, lease: Lease) -> bool:
        row = self._get_row(lease)
        return (row.owner, row.fence) == (lease.owner, lease.fence)

    def _check_held(self, lease: Lease) -> Row:
        if not self._holds(lease):
            raise LeaseLost
        return self._get_row(lease)


def _to_committed(thread: Thread) -> CommittedThread:
    return CommittedThread(thread.notifies, thread.title, thread.live_changes, thread.unread)


def _make_key(lease: Lease) -> Key:
    return lease.scope.tenant_id, lease.thread_id


def _make_row(scope: Scope, request: LeaseRequest, now: datetime) -> Row:
    idle = timedelta(seconds=request.idle_seconds)
    thread = Thread(
        id=request.thread_id,
        user_id=scope.user_id,
        agent_id=request.agent_id,
        conversation=ConversationState(request.agent_id),
        status=ThreadStatus.ACTIVE,
        episode=1,
        usage=Usage(),
        run=None,
        next_ordinal=0,
        last_seq=0,
        reserved_seq=0,
        stored_tokens=0,
        created_at=now,
        last_activity_at=now,
        parent_thread_id=request.parent_thread_id,
        versions=request.versions,
    )
    return Row(thread, idle, now + idle)
