"""Threads and their messages in memory, under the same rules as the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from baton.domain.cursors import decode, encode
from baton.domain.errors import InvalidRequest, LeaseLost, ThreadUnavailable
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.threads.thread_search import ThreadQuery
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import Page
from baton_testing.fakes.threads.leases import FakeLeases, Key, Row


class FakeThreadStore(FakeLeases):
    """``ports.threads.threads.ThreadStore``. Each method is atomic."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._messages: defaultdict[Key, dict[int, tuple[int, StoredMessage]]] = defaultdict(dict)

    async def put_message(self, lease: Lease, message: StoredMessage) -> None:
        messages = self._messages[lease.scope.tenant_id, lease.thread_id]
        lowest = lease.fence + (0 if lease.is_optimistic else 1)
        if message.ordinal in messages and messages[message.ordinal][0] >= lowest:
            raise LeaseLost
        stored_at = from_millis(to_millis(message.timestamp))
        stored_message = replace(message, timestamp=stored_at, fence=lease.fence, summaries={})
        messages[message.ordinal] = (lease.fence, stored_message)

    async def put_messages(self, lease: Lease, messages: Sequence[StoredMessage]) -> None:
        for message in messages:
            await self.put_message(lease, message)

    # What readers see

    def committed(self, tenant_id: str, thread_id: str) -> list[StoredMessage]:
        """Return the committed messages, oldest first."""
        row = self.rows[tenant_id, thread_id]
        return [self._messages[tenant_id, thread_id][ordinal][1] for ordinal in range(row.thread.next_ordinal)]

    async def check_writable(self, scope: Scope, thread_id: str) -> None:
        row = self.rows.get((scope.tenant_id, thread_id))
        if row is not None and row.thread.user_id != scope.user_id:
            raise ThreadUnavailable
        if self._tenants.get(thread_id, scope.tenant_id) != scope.tenant_id:
            raise ThreadUnavailable

    async def get_thread(self, scope: Scope, thread_id: str) -> Thread:
        row = self.rows.get((scope.tenant_id, thread_id))
        if row is None:
            raise ThreadUnavailable(is_unused=thread_id not in self._tenants)
        if row.thread.user_id != scope.user_id and not scope.has(Permission.THREAD_READ_ALL):
            raise ThreadUnavailable
        return row.to_thread(self._now())

    async def find_own(self, scope: Scope, thread_id: str, *, consistent: bool) -> Thread | None:
        row = self.rows.get((scope.tenant_id, thread_id))
        return row.to_thread(self._now()) if row is not None and row.thread.user_id == scope.user_id else None

    async def list_threads(
        self,
        scope: Scope,
        *,
        limit: int,
        cursor: str | None,
        whole_tenant: bool = False,
        parent_thread_id: str | None = None,
        of_user: str | None = None,
        query: ThreadQuery | None = None,
    ) -> tuple[Sequence[Thread], str | None]:
        if whole_tenant:
            scope.require(Permission.THREAD_READ_ALL)
        below = _decode(cursor) if cursor else None
        rows = [
            row
            for (tenant_id, _), row in self.rows.items()
            if tenant_id == scope.tenant_id
            and row.thread.parent_thread_id == parent_thread_id
            and (
                whole_tenant
                or row.thread.user_id == scope.user_id
                or (parent_thread_id and scope.has(Permission.THREAD_READ_ALL))
            )
            and (below is None or _make_position(row) < below)
            and (of_user is None or row.thread.user_id == of_user)
            and (query is None or query.matches(row.to_thread(self._now())))
        ]
        rows.sort(key=_make_position, reverse=True)
        more = len(rows) > limit
        return [row.to_thread(self._now()) for row in rows[:limit]], _encode(
            _make_position(rows[limit - 1])
        ) if more else None

    async def recent_messages(
        self, scope: Scope, thread: Thread, *, token_budget: int, before: int | None = None, first_ordinal: int = 0
    ) -> Sequence[StoredMessage]:
        messages: list[StoredMessage] = []
        for message in self._list_below(scope, thread, before)[::-1]:
            if message.ordinal < first_ordinal:
                break
            messages.append(message)
            token_budget -= message.tokens
            if token_budget < 0:
                break
        return messages[::-1]

    async def read_messages(self, scope: Scope, thread: Thread, *, limit: int, before: int | None) -> Page:
        below = self._list_below(scope, thread, before)
        messages = below[-limit:]
        more = len(messages) < len(below)
        return Page(tuple(messages), messages[0].ordinal if more else None)

    async def find_message(self, scope: Scope, thread: Thread, message_id: str) -> StoredMessage | None:
        messages = self._messages[scope.tenant_id, thread.id]
        committed = (messages[ordinal][1] for ordinal in range(thread.next_ordinal - 1, -1, -1))
        return next((message for message in committed if message.id == message_id), None)

    async def run_messages(
        self, scope: Scope, thread_id: str, *, first_ordinal: int, below: int | None
    ) -> Sequence[StoredMessage]:
        messages = self._messages[scope.tenant_id, thread_id]
        stored_messages: list[StoredMessage] = []
        ordinal = first_ordinal
        while ordinal in messages and (below is None or ordinal < below):
            message = messages[ordinal][1]
            if stored_messages and message.run_id != stored_messages[0].run_id:
                break
            stored_messages.append(message)
            if message.end is not None:
                break
            ordinal += 1
        return stored_messages

    async def put_summary(self, scope: Scope, thread: Thread, *, ordinal: int, agent_id: str, summary: str) -> None:
        messages = self._messages[scope.tenant_id, thread.id]
        if ordinal in messages:
            fence, message = messages[ordinal]
            messages[ordinal] = (fence, replace(message, summaries={agent_id: summary, **message.summaries}))

    def _list_below(self, scope: Scope, thread: Thread, before: int | None) -> list[StoredMessage]:
        top = thread.next_ordinal if before is None else min(before, thread.next_ordinal)
        messages = self._messages[scope.tenant_id, thread.id]
        return [messages[ordinal][1] for ordinal in range(top) if ordinal in thread.path]


def _make_position(row: Row) -> tuple[int, str]:
    return to_millis(row.thread.last_activity_at), row.thread.id


def _encode(position: tuple[int, str]) -> str:
    return encode({"position": position})


def _decode(cursor: str) -> tuple[int, str]:
    match decode(cursor):
        case {"position": [int(at), str(thread_id)]}:
            return at, thread_id
    raise InvalidRequest("cursor was not handed out by this list.")
