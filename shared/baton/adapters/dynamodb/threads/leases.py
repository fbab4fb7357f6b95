"""The lease, the fence and the pointer: who may write to a thread, and which messages readers see."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, pack_id, unpack_id
from baton.adapters.dynamodb.conditional_writes import MY_THREAD, put_fenced, update_own
from baton.adapters.dynamodb.shapes import CLIENT_OFFER, PENDING
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.threads import lease_updates
from baton.adapters.dynamodb.threads.lease_updates import END_RUN, FOR_NO_RECORD, RESERVED_SEQS, ThreadUpdate
from baton.adapters.dynamodb.threads.recent_histories import RecentHistories
from baton.adapters.dynamodb.threads.thread_item import get_lease_mark, make_tenant_listing_time, thread_from_item
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed
from baton.concurrency.tasks import gather_all
from baton.domain.errors import LeaseLost, StoreUnavailable, ThreadUnavailable
from baton.domain.handoffs.workflow import Workflow
from baton.domain.memory.episode import EpisodeRef
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.tenants.identity import Scope
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.thread import DEFAULT_LEASE_SECONDS, ConversationState, Run, Thread, ThreadStatus
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock
from baton.ports.threads.leases import (
    OPTIMISTIC_STEP,
    Commit,
    CommittedThread,
    Lease,
    LeaseBusy,
    LeaseRequest,
    NoSuchThread,
)
from baton.ports.threads.messages import EntryPoint, TurnRecord

END_NOW = "SET lease_until = :zero"
"""The expression that ends a lease and leaves its run unfinished."""
LOW_SEQS = 5_000
"""A renewal reserves more sequence numbers if fewer than this are left."""


def _compute_end_of_lease(now: datetime, seconds: float) -> datetime:
    """Return the end of a new lease in whole milliseconds, as in the table. Leases are compared by their end."""
    return from_millis(to_millis(now + timedelta(seconds=seconds)))


class DynamoLeases(TimedTableStore):
    """The part of the thread store that manages leases and commits."""

    def __init__(self, table: Table, clock: Clock, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> None:
        super().__init__(table, clock)
        self._lease_seconds = lease_seconds
        self._histories = RecentHistories()

    async def acquire(self, scope: Scope, request: LeaseRequest) -> Lease:
        now = self._clock.now()
        owner = self._clock.new_id()
        until = _compute_end_of_lease(now, self._lease_seconds)
        # An existing thread needs no initial values. Leaving them out saves a sixth of the update's time.
        is_known = request.parent_thread_id is None and self._histories.has(scope, request.thread_id)
        lease_request = replace(request, may_create=False) if is_known else request
        update = lease_updates.make_acquisition(scope, lease_request, owner=owner, until=until, now=now)
        try:
            item = await self._table.update(
                keys.thread(scope, request.thread_id), update.expression, update.values, condition=update.condition
            )
        except ConditionFailed as failure:
            if failure.item is None and request.may_create and is_known:  # it was removed meanwhile
                self._histories.forget(scope, request.thread_id)
                return await self.acquire(scope, request)
            if failure.item is None:
                raise NoSuchThread from None
            if request.parent_thread_id not in (None, failure.item.get("parent_thread_id")):
                raise ThreadUnavailable from None  # the id is in use for something else
            item = _accept_own_retry(failure.item, scope, owner, now)
        if request.may_create and not item.get("owner_claimed"):
            await self._claim_id(scope, request.thread_id, item, now)
        self._histories.begin(scope, request.thread_id, item)
        lease = Lease(
            scope=scope,
            thread=thread_from_item(request.thread_id, item, until),
            owner=unpack_id(item["lease_owner"]),
            fence=item["fence"],
            until=until,
            first_seq=item["next_seq"] - RESERVED_SEQS,
            end_seq=item["next_seq"],
            delivery=request.delivery,
        )
        end = lease_updates.make_update_during_lease(lease, END_NOW, {":zero": 0})
        key = keys.thread(scope, lease.thread_id)
        self._table.update_at_death(lease.owner, key, end.expression, end.values, condition=end.condition)
        return lease

    async def acquire_optimistically(self, scope: Scope, thread_id: str, run: Run) -> Lease | None:
        item = await self._table.get(keys.thread(scope, thread_id))
        if item is None or item.get("user_id") != scope.user_id or item["thread_status"] == "deleted":
            return None
        is_taken = "lease_owner" in item or "run_id" in item
        if is_taken or not item.get("owner_claimed"):
            return None
        self._histories.begin(scope, thread_id, item)
        now = self._clock.now()
        return Lease(
            scope=scope,
            thread=replace(thread_from_item(thread_id, item, now), run=run),
            owner=self._clock.new_id(),
            fence=item["fence"] + OPTIMISTIC_STEP,
            until=_compute_end_of_lease(now, self._lease_seconds),
            first_seq=item["next_seq"],
            end_seq=item["next_seq"] + RESERVED_SEQS,
            is_optimistic=True,
        )

    async def renew(self, lease: Lease, *, used_seq: int, without_record: bool = False) -> Lease:
        until = _compute_end_of_lease(self._clock.now(), self._lease_seconds)
        more = RESERVED_SEQS if lease.end_seq - used_seq < LOW_SEQS else 0
        expression = "SET lease_until = :until, next_seq = :end" + (FOR_NO_RECORD if without_record else "")
        values = {":until": to_millis(until), ":end": lease.end_seq + more}
        await self._update_mine(lease, expression, values)
        delivery = None if without_record else lease.delivery
        return replace(lease, until=until, end_seq=lease.end_seq + more, delivery=delivery)

    async def release(self, lease: Lease) -> None:
        # Return this lease's reserved numbers too, so that a refused message leaves no gap.
        with contextlib.suppress(LeaseLost):
            await self._update_mine(lease, "SET next_seq = :next" + END_RUN, {":next": lease.first_seq})
        self._table.wills.revoke(lease.owner)

    async def abandon(self, lease: Lease) -> None:
        with contextlib.suppress(LeaseLost):
            await self._update_mine(lease, END_NOW, {":zero": 0})
        self._table.wills.revoke(lease.owner)

    async def begin_run(self, lease: Lease, *, run_id: str, message_id: str) -> Lease:
        # Attempt 2, because the dropped run may have used sequence numbers, and clients accept a jump in such attempts.
        values: Item = {":run": pack_id(run_id), ":message": pack_id(message_id), ":two": 2}
        expression = "SET run_id = :run, run_message_id = :message, run_attempt = :two"
        await self._update_mine(lease, expression, values)
        return replace(lease, thread=replace(lease.thread, run=Run(run_id, message_id, attempt=2)))

    async def take_over(self, lease: Lease) -> Lease:
        run = lease.thread.run
        if run is None:
            raise LeaseLost
        next_attempt = replace(run, attempt=run.attempt + 1)
        await self._update_mine(lease, "SET run_attempt = :attempt", {":attempt": next_attempt.attempt})
        return replace(lease, thread=replace(lease.thread, run=next_attempt))

    async def commit(self, lease: Lease, commit: Commit) -> CommittedThread:
        now = self._clock.now()
        update = lease_updates.make_commit(lease, commit, now)
        commits = self._end_lease(lease, update)
        if ":listed_at" not in update.values or lease.thread.parent_thread_id is not None:
            item = await commits
        else:
            item, _ = await gather_all(commits, self._list_for_tenant(lease.scope, lease.thread_id, now))
        self._histories.extend(lease, commit)
        return CommittedThread(
            "notifies" in item, item.get("title"), item.get("live_changes", 0), item.get("unread", 0)
        )

    async def want_notifications(self, scope: Scope, thread_id: str) -> Thread:
        item = await update_own(self._table, scope, thread_id, "SET notifies = :true", {":true": True})
        return thread_from_item(thread_id, item, self._clock.now())

    async def rename(self, scope: Scope, thread_id: str, title: str) -> Thread:
        item = await update_own(self._table, scope, thread_id, "SET title = :title", {":title": title})
        return thread_from_item(thread_id, item, self._clock.now())

    async def lower_unread(self, scope: Scope, seen: Thread, unread: int) -> Thread | None:
        expression = "SET unread = :unread" if unread else "REMOVE unread"
        values: Item = {":unread": unread, ":ordinal": seen.next_ordinal, ":user": scope.user_id, ":deleted": "deleted"}
        condition = f"{MY_THREAD} AND next_ordinal = :ordinal AND unread > :unread"
        try:
            item = await self._table.update(keys.thread(scope, seen.id), expression, values, condition=condition)
        except ConditionFailed:
            return None
        return thread_from_item(seen.id, item, self._clock.now())

    async def keep_made_title(self, scope: Scope, thread_id: str, *, title: str, preview: str | None) -> Thread:
        expression, values = "SET title = if_not_exists(title, :title)", {":title": title}
        if preview is not None:
            expression, values[":preview"] = f"{expression}, preview = :preview", preview
        item = await update_own(self._table, scope, thread_id, expression, values)
        return thread_from_item(thread_id, item, self._clock.now())

    async def keep_pending(self, lease: Lease, pending: PendingInterrupts) -> None:
        await self._update_mine(lease, "SET pending = :pending", {":pending": PENDING.pack(pending)})

    async def close(
        self, lease: Lease, *, last_seq: int, ended: EpisodeRef | None, resumable: Sequence[Workflow] = ()
    ) -> bool:
        update = lease_updates.make_closing(
            lease, last_seq=last_seq, ended=ended, resumable=resumable, now=self._clock.now()
        )
        return "notifies" in await self._end_lease(lease, update)

    async def select(
        self, lease: Lease, *, last_seq: int, conversation: ConversationState, windows: tuple[HistoryWindow, ...]
    ) -> None:
        update = lease_updates.make_selection(lease, last_seq=last_seq, conversation=conversation, windows=windows)
        await self._end_lease(lease, update)

    async def settle(self, scope: Scope, thread_id: str, *, episode: int) -> None:
        await self._table.change(
            keys.thread(scope, thread_id),
            "REMOVE idle_shard, idle_check_at, idle_failures",
            {":closed": ThreadStatus.CLOSED.value, ":next": episode + 1},
            condition="thread_status = :closed AND episode = :next",
        )

    async def open_turn(self, lease: Lease, turn: TurnRecord) -> TurnRecord | None:
        try:
            await self._table.put(_make_turn_item(lease, turn), condition=IS_NEW)
        except ConditionFailed as failure:
            existing = _to_turn(turn.message_id, failure.item or {})
            return None if existing.fence == lease.fence and existing.run_id == turn.run_id else existing
        return None

    async def reopen_turn(self, lease: Lease, turn: TurnRecord) -> None:
        await put_fenced(self._table, lease, _make_turn_item(lease, turn))

    async def get_turn(self, scope: Scope, thread_id: str, message_id: str) -> TurnRecord | None:
        return await self._table.read(keys.turn(scope, thread_id, message_id), partial(_to_turn, message_id))

    async def withdraw(self, scope: Scope, thread_id: str, message_id: str, digest: str) -> TurnRecord | None:
        record = {"run_id": "", "digest": digest, "first_ordinal": 0, "fence": 0, "withdrawn": True}
        try:
            await self._table.put({**keys.turn(scope, thread_id, message_id), **record}, condition=IS_NEW)
        except ConditionFailed as failure:
            return _to_turn(message_id, failure.item or {})
        return None

    async def _update_mine(self, lease: Lease, expression: str, values: Item) -> None:
        """Update the thread and keep the lease. Raises ``LeaseLost``."""
        try:
            await self._update(lease, lease_updates.make_update_during_lease(lease, expression, values))
        except ConditionFailed:
            self._table.wills.revoke(lease.owner)
            raise LeaseLost from None

    async def _end_lease(self, lease: Lease, update: ThreadUpdate) -> Item:
        """Make the update that ends the lease, and return the thread's item. Raises ``LeaseLost``."""
        try:
            item = await self._update(lease, update)
            self._table.wills.revoke(lease.owner)
            return item
        except ConditionFailed as failure:
            self._table.wills.revoke(lease.owner)
            stored = failure.item or {}
            # An earlier try of this update succeeded, and its response was lost. Two workers of different releases may
            # have the same fence under optimistic leases, so the fence alone does not show whose update it was.
            if (stored.get("committed_fence"), stored.get("last_seq")) == (lease.fence, update.values[":last_seq"]):
                return stored
            raise LeaseLost from None

    async def _update(self, lease: Lease, update: ThreadUpdate) -> Item:
        key = keys.thread(lease.scope, lease.thread_id)
        return await self._table.update(key, update.expression, update.values, condition=update.condition)

    async def _list_for_tenant(self, scope: Scope, thread_id: str, now: datetime) -> None:
        """Move the thread up in its tenant's list.

        The list is ordered by hours, so that most turns need not write to it. Failures are ignored, because the first
        activity of another hour moves the thread.
        """
        sort = f"{make_tenant_listing_time(now)}#{thread_id}"
        with contextlib.suppress(StoreUnavailable):
            await self._table.change(
                keys.owner(thread_id),
                "SET listing = :listing, listed_at = :place",
                {":listing": keys.tenant_listings.of(scope, thread_id), ":place": sort, ":tenant": scope.tenant_id},
                condition="tenant_id = :tenant AND (attribute_not_exists(listed_at) OR listed_at < :place)",
            )

    async def _claim_id(self, scope: Scope, thread_id: str, item: Item, now: datetime) -> None:
        """Claim the thread id for the tenant. If another tenant has it, undo the thread's creation.

        Raises ``ThreadUnavailable`` then.
        """
        claim: Item = {**keys.owner(thread_id), "tenant_id": scope.tenant_id}
        if "parent_thread_id" not in item:
            claim |= {
                "listing": keys.tenant_listings.of(scope, thread_id),
                "listed_at": f"{make_tenant_listing_time(now)}#{thread_id}",
            }
        try:
            await self._table.put(claim, condition=IS_NEW)
        except ConditionFailed as failure:
            if (failure.item or {}).get("tenant_id") == scope.tenant_id:
                return
            await self._table.delete(
                keys.thread(scope, thread_id),
                condition="fence = :fence AND next_ordinal = :zero",
                values={":fence": item["fence"], ":zero": 0},
            )
            raise ThreadUnavailable from None


def _accept_own_retry(item: Item, scope: Scope, owner: str, now: datetime) -> Item:
    """Return the item if an earlier try of this request took the lease. Raises ``ThreadUnavailable``, ``LeaseBusy``."""
    if unpack_id(item.get("lease_owner", "")) == owner:
        return item
    if item["user_id"] != scope.user_id or item["thread_status"] == "deleted":
        raise ThreadUnavailable
    run = thread_from_item("", item, now).run
    raise LeaseBusy(run, get_lease_mark({"lease_until": to_millis(now), **item}))


def _make_turn_item(lease: Lease, turn: TurnRecord) -> Item:
    return {
        **keys.turn(lease.scope, lease.thread_id, turn.message_id),
        "run_id": turn.run_id,
        "digest": turn.digest,
        "first_ordinal": turn.first_ordinal,
        "fence": turn.fence,
        "permissions": list(turn.permissions) or None,
        "client": CLIENT_OFFER.pack(turn.client) if turn.client is not None else None,
        "entered_agent": turn.entered.agent_id if turn.entered is not None else None,
        "entered_results": turn.entered.results if turn.entered is not None else None,
    }


def _to_turn(message_id: str, item: Item) -> TurnRecord:
    return TurnRecord(
        message_id=message_id,
        run_id=item["run_id"],
        digest=item["digest"],
        first_ordinal=item["first_ordinal"],
        fence=item["fence"],
        permissions=tuple(item.get("permissions", ())),
        client=CLIENT_OFFER.unpack(item["client"]) if "client" in item else None,
        entered=EntryPoint(item["entered_agent"], item["entered_results"]) if "entered_agent" in item else None,
        is_withdrawn="withdrawn" in item,
    )
