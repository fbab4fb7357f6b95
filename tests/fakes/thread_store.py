"""Threads and their messages in memory, under the same rules as the table."""

from __future__ import annotations

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from baton.domain.errors import InvalidRequest, LeaseLost, ThreadUnavailable
from baton.domain.identity import Permission, Scope
from baton.domain.message import StoredMessage
from baton.domain.thread import Run, RunStatus, Thread, ThreadStatus
from baton.domain.times import from_millis, to_millis
from baton.domain.usage import Usage
from baton.ports.clock import Clock
from baton.ports.thread_store import Commit, Lease, LeaseBusy, LeaseRequest, Page, TurnRecord

LEASE = timedelta(seconds=30)
RESERVED_SEQS = 10_000
LOW_SEQS = 5_000
NEVER = from_millis(0)

_Key = tuple[str, str]


@dataclass
class _Row:
    """A thread and who may write to it."""

    thread: Thread
    fence: int = 0
    next_seq: int = 1
    owner: str | None = None
    until: datetime = NEVER
    committed_fence: int = 0


class FakeThreadStore:
    """``ports.thread_store.ThreadStore``. Each method is one step: nothing can come between its parts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rows: dict[_Key, _Row] = {}
        self._tenants: dict[str, str] = {}
        """Which tenant uses a thread id."""
        self._turns: dict[tuple[_Key, str], TurnRecord] = {}
        self._messages: defaultdict[_Key, dict[int, tuple[int, StoredMessage]]] = defaultdict(dict)

    # Who writes

    async def acquire(self, scope: Scope, request: LeaseRequest) -> Lease:
        now, key = self._now(), (scope.tenant_id, request.thread_id)
        row = self._rows.get(key)
        if row is None:
            if not request.may_create:
                raise InvalidRequest("A UUID of version 5 cannot begin a conversation.")
            if self._tenants.setdefault(request.thread_id, scope.tenant_id) != scope.tenant_id:
                raise ThreadUnavailable
            row = self._rows[key] = _Row(_new_thread(scope, request, now))
        if row.thread.user_id != scope.user_id:
            raise ThreadUnavailable
        if row.owner is not None and row.until >= now:
            raise LeaseBusy(self._shown(row).run, row.until)
        run = row.thread.run or Run(request.run_id, request.message_id, attempt=0)
        row.thread = replace(row.thread, run=replace(run, attempt=run.attempt + 1))
        row.owner, row.until, row.fence = self._clock.new_id(), now + LEASE, row.fence + 1
        first_seq, row.next_seq = row.next_seq, row.next_seq + RESERVED_SEQS
        return Lease(scope, row.thread, row.owner, row.fence, row.until, first_seq, row.next_seq)

    async def renew(self, lease: Lease, *, used_seq: int) -> Lease:
        row = self._mine(lease)
        row.until = self._now() + LEASE
        row.next_seq = lease.end_seq + (RESERVED_SEQS if lease.end_seq - used_seq < LOW_SEQS else 0)
        return replace(lease, until=row.until, end_seq=row.next_seq)

    async def release(self, lease: Lease) -> None:
        if self._holds(lease):
            row = self._row(lease)
            row.next_seq = row.thread.last_seq + 1
            self._end_run(row)

    async def abandon(self, lease: Lease) -> None:
        if self._holds(lease):
            self._row(lease).until = NEVER

    async def begin_run(self, lease: Lease, *, run_id: str, message_id: str) -> Lease:
        row = self._mine(lease)
        row.thread = replace(row.thread, run=Run(run_id, message_id, attempt=1))
        first_seq = row.thread.last_seq + 1
        row.next_seq = first_seq + RESERVED_SEQS
        return replace(lease, thread=row.thread, first_seq=first_seq, end_seq=row.next_seq)

    async def commit(self, lease: Lease, commit: Commit) -> None:
        row = self._row(lease)
        if row.committed_fence == lease.fence:
            return
        self._mine(lease)
        thread = row.thread
        row.thread = replace(
            thread,
            next_ordinal=commit.next_ordinal,
            last_seq=commit.last_seq,
            usage=thread.usage + commit.usage,
            stored_tokens=thread.stored_tokens + commit.tokens,
            status=ThreadStatus.ACTIVE,
            last_activity_at=self._now(),
        )
        row.next_seq, row.committed_fence = commit.last_seq + 1, lease.fence
        self._end_run(row)

    # What a turn writes

    async def open_turn(self, lease: Lease, turn: TurnRecord) -> TurnRecord | None:
        known = self._turns.setdefault((_key(lease), turn.message_id), turn)
        return None if (known.fence, known.run_id) == (lease.fence, turn.run_id) else known

    async def reopen_turn(self, lease: Lease, turn: TurnRecord) -> None:
        known = self._turns.get((_key(lease), turn.message_id))
        if known is not None and known.fence > lease.fence:
            raise LeaseLost
        self._turns[_key(lease), turn.message_id] = turn

    async def get_turn(self, scope: Scope, thread_id: str, message_id: str) -> TurnRecord | None:
        return self._turns.get(((scope.tenant_id, thread_id), message_id))

    async def put_message(self, lease: Lease, message: StoredMessage) -> None:
        messages = self._messages[_key(lease)]
        if message.ordinal in messages and messages[message.ordinal][0] > lease.fence:
            raise LeaseLost
        kept = replace(message, timestamp=from_millis(to_millis(message.timestamp)))
        messages[message.ordinal] = (lease.fence, kept)

    # What readers see

    async def check_writable(self, scope: Scope, thread_id: str) -> None:
        row = self._rows.get((scope.tenant_id, thread_id))
        if row is not None and row.thread.user_id != scope.user_id:
            raise ThreadUnavailable
        if self._tenants.get(thread_id, scope.tenant_id) != scope.tenant_id:
            raise ThreadUnavailable

    async def get_thread(self, scope: Scope, thread_id: str) -> Thread:
        row = self._rows.get((scope.tenant_id, thread_id))
        if row is None:
            raise ThreadUnavailable
        if row.thread.user_id != scope.user_id and not scope.has(Permission.THREAD_READ_ALL):
            raise ThreadUnavailable
        return self._shown(row)

    async def list_threads(
        self, scope: Scope, *, limit: int, cursor: str | None, whole_tenant: bool = False
    ) -> tuple[Sequence[Thread], str | None]:
        if whole_tenant:
            scope.require(Permission.THREAD_READ_ALL)
        age: Callable[[_Row], tuple[int, str]] = _creation if whole_tenant else _activity
        below = _decode(cursor) if cursor else None
        rows = [
            row
            for (tenant_id, _), row in self._rows.items()
            if tenant_id == scope.tenant_id
            and (whole_tenant or row.thread.user_id == scope.user_id)
            and (below is None or age(row) < below)
        ]
        rows.sort(key=age, reverse=True)
        more = len(rows) > limit
        return [self._shown(row) for row in rows[:limit]], _encode(age(rows[limit - 1])) if more else None

    async def recent_messages(
        self, scope: Scope, thread: Thread, *, token_budget: int, before: int | None = None
    ) -> Sequence[StoredMessage]:
        found: list[StoredMessage] = []
        for message in self._below(scope, thread, before)[::-1]:
            found.append(message)
            token_budget -= message.tokens
            if token_budget < 0:
                break
        return found[::-1]

    async def read_messages(self, scope: Scope, thread: Thread, *, limit: int, before: int | None) -> Page:
        messages = self._below(scope, thread, before)[-limit:]
        more = bool(messages) and messages[0].ordinal > 0
        return Page(tuple(messages), messages[0].ordinal if more else None)

    async def run_messages(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, below: int | None
    ) -> Sequence[StoredMessage]:
        messages = self._messages[scope.tenant_id, thread_id]
        found: list[StoredMessage] = []
        ordinal = first_ordinal
        while ordinal in messages and (below is None or ordinal < below):
            message = messages[ordinal][1]
            if found and message.run_id != found[0].run_id:
                break
            found.append(message)
            ordinal += 1
        return found

    def _below(self, scope: Scope, thread: Thread, before: int | None) -> list[StoredMessage]:
        top = thread.next_ordinal if before is None else min(before, thread.next_ordinal)
        messages = self._messages[scope.tenant_id, thread.id]
        return [messages[ordinal][1] for ordinal in range(top)]

    def _now(self) -> datetime:
        return from_millis(to_millis(self._clock.now()))

    def _row(self, lease: Lease) -> _Row:
        return self._rows[_key(lease)]

    def _holds(self, lease: Lease) -> bool:
        row = self._row(lease)
        return (row.owner, row.fence) == (lease.owner, lease.fence)

    def _mine(self, lease: Lease) -> _Row:
        if not self._holds(lease):
            raise LeaseLost
        return self._row(lease)

    def _shown(self, row: _Row) -> Thread:
        run = row.thread.run
        if run is not None and row.until < self._now():
            run = replace(run, status=RunStatus.INTERRUPTED)
        return replace(row.thread, run=run)

    @staticmethod
    def _end_run(row: _Row) -> None:
        row.thread = replace(row.thread, run=None)
        row.owner, row.until = None, NEVER


def _key(lease: Lease) -> _Key:
    return lease.scope.tenant_id, lease.thread_id


def _new_thread(scope: Scope, request: LeaseRequest, now: datetime) -> Thread:
    return Thread(
        id=request.thread_id,
        user_id=scope.user_id,
        agent_id=request.agent_id,
        active_agent_id=request.agent_id,
        status=ThreadStatus.ACTIVE,
        episode=1,
        usage=Usage(),
        run=None,
        next_ordinal=0,
        last_seq=0,
        stored_tokens=0,
        created_at=now,
        last_activity_at=now,
    )


def _activity(row: _Row) -> tuple[int, str]:
    return to_millis(row.thread.last_activity_at), row.thread.id


def _creation(row: _Row) -> tuple[int, str]:
    return to_millis(row.thread.created_at), row.thread.id


def _encode(position: tuple[int, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


def _decode(cursor: str) -> tuple[int, str]:
    decoded: Any = None
    with suppress(binascii.Error, ValueError, RecursionError):
        decoded = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    match decoded:
        case [int(at), str(thread_id)]:
            return at, thread_id
    raise InvalidRequest("cursor was not handed out by this list.")
