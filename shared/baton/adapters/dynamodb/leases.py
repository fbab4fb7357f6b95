"""The lease, the fence and the pointer: who may write to a thread, and which messages readers see."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.fenced import put_fenced
from baton.adapters.dynamodb.own_thread import MY_THREAD, update_own
from baton.adapters.dynamodb.shapes import CLIENT_OFFER, PENDING, pack_conversation
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.adapters.dynamodb.thread_item import (
    lease_mark,
    listed_at,
    segments_as_item,
    spent_as_item,
    tenant_listed_at,
    thread_from_item,
    windows_as_item,
)
from baton.domain.conversation_state import ConversationState
from baton.domain.episode import EpisodeRef
from baton.domain.errors import LeaseLost, StoreUnavailable, ThreadUnavailable
from baton.domain.history_window import HistoryWindow
from baton.domain.identity import Scope
from baton.domain.interrupt import PendingInterrupts
from baton.domain.lease_times import DEFAULT_LEASE_SECONDS
from baton.domain.thread import Run, Thread, ThreadStatus
from baton.domain.times import from_millis, to_millis
from baton.domain.usage import by_model
from baton.domain.workflow import Workflow
from baton.gather_all import gather_all
from baton.ports.clock import Clock
from baton.ports.thread_store import Commit, Lease, LeaseBusy, LeaseRequest, NoSuchThread, TurnRecord

RESERVED_SEQS = 10_000
CLOSING_MS = 5 * 60 * 1000
"""After this time the sweeper restarts an incomplete closing."""
LOW_SEQS = 5_000
"""A renewal reserves more sequence numbers if fewer than this are left."""

_FREE = "attribute_not_exists(lease_until) OR lease_until < :now"
_PRESUMED_DEAD = "fence = :dead_fence AND lease_until = :dead_until"
_LOST_BY_ITS_WORKER = "lease_record = :record AND lease_receives < :receives"
_ACQUIRE = (
    "SET lease_owner = :owner, lease_until = :until, fence = if_not_exists(fence, :zero) + :one, "
    "next_seq = if_not_exists(next_seq, :one) + :reserve"
)
_BEGIN_RUN = (
    ", run_id = if_not_exists(run_id, :run), run_message_id = if_not_exists(run_message_id, :message), "
    "run_attempt = if_not_exists(run_attempt, :zero) + :one"
)
_CREATE = (
    ", user_id = if_not_exists(user_id, :user), agent_id = if_not_exists(agent_id, :agent), "
    "active_agent_id = if_not_exists(active_agent_id, :agent), thread_status = if_not_exists(thread_status, :active), "
    "episode = if_not_exists(episode, :one), next_ordinal = if_not_exists(next_ordinal, :zero), "
    "last_seq = if_not_exists(last_seq, :zero), input_tokens = if_not_exists(input_tokens, :zero), "
    "output_tokens = if_not_exists(output_tokens, :zero), stored_tokens = if_not_exists(stored_tokens, :zero), "
    "created_at = if_not_exists(created_at, :now), last_activity_at = if_not_exists(last_activity_at, :now), "
    "idle_ms = if_not_exists(idle_ms, :idle), idle_shard = if_not_exists(idle_shard, :shard), "
    "idle_check_at = if_not_exists(idle_check_at, :check), "
    "listing = if_not_exists(listing, :listing), listed_at = if_not_exists(listed_at, :listed)"
)
_HAS_TASKS = ", has_tasks = :true"
_NOTIFIES = ", notifies = :true"
_FOR_RECORD = ", lease_record = :record, lease_receives = :receives"
_FOR_NO_RECORD = " REMOVE lease_record, lease_receives"
_END_RUN = f"{_FOR_NO_RECORD}, lease_owner, lease_until, run_id, run_message_id, run_attempt"
_END_SESSION = ", episode = :episode, episode_first_ordinal = {first}, idle_shard = :shard, idle_check_at = :check"
_MINE = "fence = :fence AND lease_owner = :owner"


def _end_of_lease(now: datetime, seconds: float) -> datetime:
    """Return the end of a new lease in whole milliseconds, as in the table. Leases are compared by their end."""
    return from_millis(to_millis(now + timedelta(seconds=seconds)))


class Leases:
    """The part of the thread store that manages leases and commits."""

    def __init__(self, table: Table, clock: Clock, lease_seconds: float = DEFAULT_LEASE_SECONDS) -> None:
        self._table = table
        self._clock = clock
        self._lease_seconds = lease_seconds

    async def acquire(self, scope: Scope, request: LeaseRequest) -> Lease:
        now = self._clock.now()
        owner = self._clock.new_id()
        until = _end_of_lease(now, self._lease_seconds)
        values: Item = {
            ":owner": owner,
            ":until": to_millis(until),
            ":now": to_millis(now),
            ":user": scope.user_id,
            ":deleted": "deleted",
            ":zero": 0,
            ":one": 1,
            ":reserve": RESERVED_SEQS,
        }
        expression, end, may_take = _ACQUIRE, _FOR_NO_RECORD, _FREE
        if request.delivery is not None:
            expression, end, may_take = _ACQUIRE + _FOR_RECORD, "", f"{_FREE} OR ({_LOST_BY_ITS_WORKER})"
            values |= {":record": request.delivery.record_id, ":receives": request.delivery.receives}
        if request.presumed_dead is not None:
            may_take += f" OR ({_PRESUMED_DEAD})"
            dead = request.presumed_dead
            values |= {":dead_fence": dead.fence, ":dead_until": to_millis(dead.until)}
        free_and_mine = f"{MY_THREAD} AND ({may_take})"
        condition = f"attribute_exists(PK) AND {free_and_mine}"
        if request.run_id is not None:
            expression += _BEGIN_RUN
            values |= {":run": request.run_id, ":message": request.message_id}
        if request.begins_task:
            expression += _HAS_TASKS
            values[":true"] = True
        if request.notifies:
            expression += _NOTIFIES
            values[":true"] = True
        if request.may_create:
            expression += _CREATE
            condition = f"attribute_not_exists(PK) OR ({free_and_mine})"
            if request.parent_thread_id is not None:
                expression += ", parent_thread_id = :parent"
                condition = f"attribute_not_exists(PK) OR ({free_and_mine} AND parent_thread_id = :parent)"
            values |= _creation_values(scope, request, now)
        try:
            item = await self._table.update(
                keys.thread(scope, request.thread_id), expression + end, values, condition=condition
            )
        except ConditionFailed as failure:
            if failure.item is None:
                raise NoSuchThread from None
            if request.parent_thread_id not in (None, failure.item.get("parent_thread_id")):
                raise ThreadUnavailable from None  # the id is in use for something else
            item = _own_retry_or_raise(failure.item, scope, owner, now)
        if request.may_create and not item.get("owner_claimed"):
            await self._claim_id(scope, request.thread_id, item, now)
        return _lease(scope, request, item, until)

    async def renew(self, lease: Lease, *, used_seq: int, without_record: bool = False) -> Lease:
        until = _end_of_lease(self._clock.now(), self._lease_seconds)
        more = RESERVED_SEQS if lease.end_seq - used_seq < LOW_SEQS else 0
        values = {
            ":until": to_millis(until),
            ":end": lease.end_seq + more,
            ":fence": lease.fence,
            ":owner": lease.owner,
        }
        expression = "SET lease_until = :until, next_seq = :end" + (_FOR_NO_RECORD if without_record else "")
        await self._update_mine(lease, expression, values)
        delivery = None if without_record else lease.delivery
        return replace(lease, until=until, end_seq=lease.end_seq + more, delivery=delivery)

    async def release(self, lease: Lease) -> None:
        # Return this lease's reserved numbers too, so that a refused message leaves no gap.
        values = {":next": lease.first_seq, ":fence": lease.fence, ":owner": lease.owner}
        with contextlib.suppress(LeaseLost):
            await self._update_mine(lease, "SET next_seq = :next" + _END_RUN, values)

    async def abandon(self, lease: Lease) -> None:
        values = {":zero": 0, ":fence": lease.fence, ":owner": lease.owner}
        with contextlib.suppress(LeaseLost):
            await self._update_mine(lease, "SET lease_until = :zero", values)

    async def begin_run(self, lease: Lease, *, run_id: str, message_id: str) -> Lease:
        # Not a first attempt: the dropped run may have used numbers, and clients accept the jump for later attempts.
        values = {":run": run_id, ":message": message_id, ":two": 2, ":fence": lease.fence, ":owner": lease.owner}
        expression = "SET run_id = :run, run_message_id = :message, run_attempt = :two"
        await self._update_mine(lease, expression, values)
        return replace(lease, thread=replace(lease.thread, run=Run(run_id, message_id, attempt=2)))

    async def take_over(self, lease: Lease) -> Lease:
        run = lease.thread.run
        if run is None:
            raise LeaseLost
        again = replace(run, attempt=run.attempt + 1)
        values = {":attempt": again.attempt, ":fence": lease.fence, ":owner": lease.owner}
        await self._update_mine(lease, "SET run_attempt = :attempt", values)
        return replace(lease, thread=replace(lease.thread, run=again))

    async def commit(self, lease: Lease, commit: Commit) -> bool:
        now = self._clock.now()
        values: Item = {
            ":fence": lease.fence,
            ":owner": lease.owner,
            ":ordinal": commit.next_ordinal,
            ":next": commit.last_seq + 1,
            ":last": commit.last_seq,
            ":input": commit.usage.input_tokens,
            ":output": commit.usage.output_tokens,
            ":stored": commit.tokens,
            ":now": to_millis(now),
            ":status": (ThreadStatus.CLOSED if commit.ended else ThreadStatus.ACTIVE).value,
            ":true": True,
        }
        expression = (
            "SET next_ordinal = :ordinal, next_seq = :next, last_seq = :last, last_activity_at = :now, "
            "input_tokens = input_tokens + :input, output_tokens = output_tokens + :output, "
            "stored_tokens = stored_tokens + :stored, thread_status = :status, owner_claimed = :true, "
            "committed_fence = :fence"
        )
        if listed_at(now) != listed_at(lease.thread.last_activity_at):
            # The time is coarse, because every change of the index costs two write units.
            expression += ", listed_at = :listed"
            values[":listed"] = listed_at(now)
        if commit.ended is not None:
            expression += _END_SESSION.format(first=":ordinal")
            values |= _session_values(lease, commit.ended, now)
        elif lease.thread.status is ThreadStatus.CLOSED:
            expression += ", idle_shard = :shard, idle_check_at = :now + idle_ms"
            values[":shard"] = keys.idle_shard(lease.thread_id)
        end = _END_RUN
        if commit.conversation is not None:
            assigned, removed, packed = _of_conversation(commit.conversation)
            expression, end, values = expression + assigned, end + removed, values | packed
        spent = by_model(lease.thread.spent, commit.spent)
        if spent != lease.thread.spent:
            expression += ", spent = :spent"
            values[":spent"] = spent_as_item(spent)
        if commit.error_code is not None:
            expression += ", last_error = :error"
            values[":error"] = commit.error_code
        if commit.windows is not None:
            expression += ", windows = :windows"
            values[":windows"] = windows_as_item(commit.windows)
        if lease.thread.is_branching:
            expression += ", branch_segments = :segments"
            values[":segments"] = segments_as_item(lease.thread.segments)
        if commit.pending is not None:
            expression += ", pending = :pending"
            values[":pending"] = PENDING.pack(commit.pending)
        else:
            end += ", pending"
        if commit.usage.cached_input_tokens:
            end += " ADD cached_input_tokens :cached"
            values[":cached"] = commit.usage.cached_input_tokens
        commits = self._update_mine(lease, expression + end, values, commits=True)
        if ":listed" not in values or lease.thread.parent_thread_id is not None:
            return "notifies" in await commits
        item, _ = await gather_all(commits, self._list_for_tenant(lease.scope, lease.thread_id, now))
        return "notifies" in item

    async def want_notifications(self, scope: Scope, thread_id: str) -> Thread:
        item = await update_own(self._table, scope, thread_id, "SET notifies = :true", {":true": True})
        return thread_from_item(thread_id, item, self._clock.now())

    async def rename(self, scope: Scope, thread_id: str, title: str) -> Thread:
        item = await update_own(self._table, scope, thread_id, "SET title = :title", {":title": title})
        return thread_from_item(thread_id, item, self._clock.now())

    async def keep_made_title(self, scope: Scope, thread_id: str, *, title: str, preview: str | None) -> Thread:
        expression, values = "SET title = if_not_exists(title, :title)", {":title": title}
        if preview is not None:
            expression, values[":preview"] = f"{expression}, preview = :preview", preview
        item = await update_own(self._table, scope, thread_id, expression, values)
        return thread_from_item(thread_id, item, self._clock.now())

    async def keep_pending(self, lease: Lease, pending: PendingInterrupts) -> None:
        values = {":pending": PENDING.pack(pending), ":fence": lease.fence, ":owner": lease.owner}
        await self._update_mine(lease, "SET pending = :pending", values)

    async def close(
        self, lease: Lease, *, last_seq: int, ended: EpisodeRef | None, resumable: Sequence[Workflow] = ()
    ) -> bool:
        values: Item = {
            ":fence": lease.fence,
            ":owner": lease.owner,
            ":next": last_seq + 1,
            ":last": last_seq,
            ":closed": ThreadStatus.CLOSED.value,
        }
        expression = (
            "SET thread_status = :closed, next_seq = :next, last_seq = :last, committed_fence = :fence, "
            "active_agent_id = agent_id"
        )
        if ended is not None:
            expression += _END_SESSION.format(first="next_ordinal")
            values |= _session_values(lease, ended, self._clock.now())
        end = _END_RUN
        packed = pack_conversation(ConversationState(lease.thread.agent_id, resumable=tuple(resumable)))
        if packed is not None:
            expression += ", conversation = :conversation"
            values[":conversation"] = packed
        elif lease.thread.conversation != ConversationState(lease.thread.agent_id):
            end += ", conversation"
        return "notifies" in await self._update_mine(lease, expression + end, values, commits=True)

    async def select(
        self,
        lease: Lease,
        *,
        last_seq: int,
        conversation: ConversationState,
        windows: tuple[HistoryWindow, ...],
    ) -> None:
        values: Item = {
            ":fence": lease.fence,
            ":owner": lease.owner,
            ":next": last_seq + 1,
            ":last": last_seq,
            ":segments": segments_as_item(lease.thread.segments),
            ":windows": windows_as_item(windows),
        }
        expression = (
            "SET branch_segments = :segments, next_seq = :next, last_seq = :last, committed_fence = :fence, "
            "windows = :windows"
        )
        assigned, removed, packed = _of_conversation(conversation)
        await self._update_mine(lease, expression + assigned + _END_RUN + removed, values | packed, commits=True)

    async def settle(self, scope: Scope, thread_id: str, *, episode: int) -> None:
        with contextlib.suppress(ConditionFailed):
            await self._table.update(
                keys.thread(scope, thread_id),
                "REMOVE idle_shard, idle_check_at, idle_failures",
                {":closed": ThreadStatus.CLOSED.value, ":next": episode + 1},
                condition="thread_status = :closed AND episode = :next",
            )

    async def open_turn(self, lease: Lease, turn: TurnRecord) -> TurnRecord | None:
        try:
            await self._table.put(_turn_item(lease, turn), condition="attribute_not_exists(PK)")
        except ConditionFailed as failure:
            existing = _turn(turn.message_id, failure.item or {})
            return None if existing.fence == lease.fence and existing.run_id == turn.run_id else existing
        return None

    async def reopen_turn(self, lease: Lease, turn: TurnRecord) -> None:
        await put_fenced(self._table, lease, _turn_item(lease, turn))

    async def get_turn(self, scope: Scope, thread_id: str, message_id: str) -> TurnRecord | None:
        item = await self._table.get(keys.turn(scope, thread_id, message_id))
        return _turn(message_id, item) if item else None

    async def _update_mine(self, lease: Lease, expression: str, values: Item, *, commits: bool = False) -> Item:
        """Update the thread under the lease, and return its item. Raises ``LeaseLost``."""
        key = keys.thread(lease.scope, lease.thread_id)
        try:
            return await self._table.update(key, expression, values, condition=_MINE)
        except ConditionFailed as failure:
            if commits and failure.item is not None and failure.item.get("committed_fence") == lease.fence:
                return failure.item  # an earlier try of this commit succeeded, and its response was lost
            raise LeaseLost from None

    async def _list_for_tenant(self, scope: Scope, thread_id: str, now: datetime) -> None:
        """Move the thread up in its tenant's list.

        The list is in the order of hours, so that most turns do not pay for it. A failure is no error: the thread is
        moved with its first activity of another hour.
        """
        place = f"{tenant_listed_at(now)}#{thread_id}"
        with contextlib.suppress(ConditionFailed, StoreUnavailable):
            await self._table.change(
                keys.owner(thread_id),
                "SET listing = :listing, listed_at = :place",
                {":listing": keys.tenant_listing(scope, thread_id), ":place": place, ":tenant": scope.tenant_id},
                condition="tenant_id = :tenant AND (attribute_not_exists(listed_at) OR listed_at < :place)",
            )

    async def _claim_id(self, scope: Scope, thread_id: str, item: Item, now: datetime) -> None:
        """Claim the thread id for the tenant. If another tenant has it, undo the thread's creation."""
        claim: Item = {**keys.owner(thread_id), "tenant_id": scope.tenant_id}
        if "parent_thread_id" not in item:
            claim |= {
                "listing": keys.tenant_listing(scope, thread_id),
                "listed_at": f"{tenant_listed_at(now)}#{thread_id}",
            }
        try:
            await self._table.put(claim, condition="attribute_not_exists(PK)")
        except ConditionFailed as failure:
            if (failure.item or {}).get("tenant_id") == scope.tenant_id:
                return
            with contextlib.suppress(ConditionFailed):
                await self._table.delete(
                    keys.thread(scope, thread_id),
                    condition="fence = :fence AND next_ordinal = :zero",
                    values={":fence": item["fence"], ":zero": 0},
                )
            raise ThreadUnavailable from None


def _session_values(lease: Lease, ended: EpisodeRef, now: datetime) -> dict[str, Any]:
    return {
        ":episode": ended.number + 1,
        ":shard": keys.idle_shard(lease.thread_id),
        ":check": to_millis(now) + CLOSING_MS,
    }


def _creation_values(scope: Scope, request: LeaseRequest, now: datetime) -> dict[str, Any]:
    idle_ms = round(request.idle_seconds * 1000)
    parent = request.parent_thread_id
    return {
        ":agent": request.agent_id,
        ":active": ThreadStatus.ACTIVE.value,
        ":idle": idle_ms,
        ":shard": keys.idle_shard(request.thread_id),
        ":check": to_millis(now) + idle_ms,
        ":listing": keys.user_listing(scope) if parent is None else keys.fork_listing(scope, parent),
        ":listed": listed_at(now),
        **({":parent": parent} if parent is not None else {}),
    }


def _own_retry_or_raise(item: Item, scope: Scope, owner: str, now: datetime) -> Item:
    """Return the item if an earlier try of this request took the lease. Otherwise raise the reason of the refusal."""
    if item.get("lease_owner") == owner:
        return item
    if item["user_id"] != scope.user_id or item["thread_status"] == "deleted":
        raise ThreadUnavailable
    run = thread_from_item("", item, now).run
    raise LeaseBusy(run, lease_mark({"lease_until": to_millis(now), **item}))


def _lease(scope: Scope, request: LeaseRequest, item: Item, until: datetime) -> Lease:
    return Lease(
        scope=scope,
        thread=thread_from_item(request.thread_id, item, until),
        owner=item["lease_owner"],
        fence=item["fence"],
        until=until,
        first_seq=item["next_seq"] - RESERVED_SEQS,
        end_seq=item["next_seq"],
        delivery=request.delivery,
    )


def _of_conversation(conversation: ConversationState) -> tuple[str, str, Item]:
    """Return what an update assigns and removes to keep the conversation state, and the values that it assigns."""
    packed = pack_conversation(conversation)
    if packed is None:
        return ", active_agent_id = :active", ", conversation", {":active": conversation.agent_id}
    values: Item = {":active": conversation.agent_id, ":conversation": packed}
    return ", active_agent_id = :active, conversation = :conversation", "", values


def _turn_item(lease: Lease, turn: TurnRecord) -> Item:
    permissions: Item = {"permissions": list(turn.permissions)} if turn.permissions else {}
    client: Item = {"client": CLIENT_OFFER.pack(turn.client)} if turn.client is not None else {}
    return {
        **keys.turn(lease.scope, lease.thread_id, turn.message_id),
        "run_id": turn.run_id,
        "digest": turn.digest,
        "first_ordinal": turn.first_ordinal,
        "fence": turn.fence,
        **permissions,
        **client,
    }


def _turn(message_id: str, item: Item) -> TurnRecord:
    return TurnRecord(
        message_id=message_id,
        run_id=item["run_id"],
        digest=item["digest"],
        first_ordinal=item["first_ordinal"],
        fence=item["fence"],
        permissions=tuple(item.get("permissions", ())),
        client=CLIENT_OFFER.unpack(item["client"]) if "client" in item else None,
    )
