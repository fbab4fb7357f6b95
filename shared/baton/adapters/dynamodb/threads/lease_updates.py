"""Updates of a thread's item that take, use and end a lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, pack_id
from baton.adapters.dynamodb.conditional_writes import MY_THREAD
from baton.adapters.dynamodb.shapes import PENDING, pack_conversation
from baton.adapters.dynamodb.threads.thread_item import (
    make_listing_time,
    segments_as_attribute,
    usage_as_attribute,
    versions_as_attribute,
    watchers_as_attribute,
    windows_as_attribute,
)
from baton.adapters.dynamodb.writes import IS_NEW
from baton.domain.errors import LeaseLost
from baton.domain.handoffs.workflow import Workflow
from baton.domain.memory.episode import EpisodeRef
from baton.domain.runs.usage import add_up_by_model
from baton.domain.tenants.identity import Scope
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.thread import ConversationState, ThreadStatus
from baton.domain.times import to_millis
from baton.ports.threads.leases import FENCE_STEP, OPTIMISTIC_STEP, Commit, Lease, LeaseRequest

RESERVED_SEQS = 10_000
"""The number of sequence numbers that a lease reserves for its events."""
CLOSING_MS = 5 * 60 * 1000
"""Milliseconds after which the sweeper restarts an incomplete closing."""

_FREE = "attribute_not_exists(lease_until) OR lease_until < :now"
_PRESUMED_DEAD = "fence = :dead_fence AND lease_until = :dead_until"
_LOST_BY_ITS_WORKER = "lease_record = :record AND lease_receives < :receives"
_ACQUIRE = (
    "SET lease_owner = :owner, lease_until = :until, fence = if_not_exists(fence, :zero) + :step, "
    "next_seq = if_not_exists(next_seq, :one) + :reserve"
)
_BEGIN_RUN = (
    ", run_id = if_not_exists(run_id, :run), run_message_id = if_not_exists(run_message_id, :message), "
    "run_attempt = if_not_exists(run_attempt, :zero) + :one"
)
_FOR_RECORD = ", lease_record = :record, lease_receives = :receives"
FOR_NO_RECORD = " REMOVE lease_record, lease_receives"
END_RUN = f"{FOR_NO_RECORD}, lease_owner, lease_until, run_id, run_message_id, run_attempt"
_MINE = "fence = :fence AND lease_owner = :owner"
_STILL_FREE = "fence = :read_fence AND attribute_not_exists(lease_owner) AND thread_status <> :deleted"
"""The condition of an optimistic commit, with the fence that was read."""


@dataclass(frozen=True, slots=True)
class ThreadUpdate:
    """An update of a thread's item, as DynamoDB takes it."""

    expression: str
    values: Item
    condition: str


def make_update_during_lease(lease: Lease, expression: str, values: Item) -> ThreadUpdate:
    """Return an update that keeps the lease. Raises ``LeaseLost`` for an optimistic lease, which can only commit."""
    if lease.is_optimistic:
        raise LeaseLost
    return ThreadUpdate(expression, {**values, ":fence": lease.fence, ":owner": pack_id(lease.owner)}, _MINE)


def make_acquisition(
    scope: Scope, request: LeaseRequest, *, owner: str, until: datetime, now: datetime
) -> ThreadUpdate:
    """Return the update that takes the lease, and creates the thread if the request allows it.

    The lease must be free, or of a worker that the request presumes dead or whose record was delivered again.
    """
    values: Item = {
        ":owner": pack_id(owner),
        ":until": to_millis(until),
        ":now": to_millis(now),
        ":user": scope.user_id,
        ":deleted": "deleted",
        ":zero": 0,
        ":one": 1,
        ":step": FENCE_STEP,
        ":reserve": RESERVED_SEQS,
    }
    expression, end, may_take = _ACQUIRE, FOR_NO_RECORD, _FREE
    if request.delivery is not None:
        expression, end, may_take = _ACQUIRE + _FOR_RECORD, "", f"{_FREE} OR ({_LOST_BY_ITS_WORKER})"
        values |= {":record": request.delivery.record_id, ":receives": request.delivery.receives}
    if request.presumed_dead is not None:
        may_take += f" OR ({_PRESUMED_DEAD})"
        dead = request.presumed_dead
        values |= {":dead_fence": dead.fence, ":dead_until": to_millis(dead.until)}
    free_and_mine = f"{MY_THREAD} AND ({may_take})"
    condition = f"attribute_exists(PK) AND {free_and_mine}"
    if request.run_id is not None and request.message_id is not None:
        expression += _BEGIN_RUN
        values |= {":run": pack_id(request.run_id), ":message": pack_id(request.message_id)}
    for name, is_set in (("has_tasks", request.begins_task), ("notifies", request.notifies)):
        if is_set:
            expression += f", {name} = :true"
            values[":true"] = True
    if request.may_create:
        condition = f"{IS_NEW} OR ({free_and_mine})"
        if request.parent_thread_id is not None:
            expression += ", parent_thread_id = :parent"
            condition = f"{IS_NEW} OR ({free_and_mine} AND parent_thread_id = :parent)"
            values[":parent"] = request.parent_thread_id
        created = _make_thread_attributes(scope, request, now)
        expression += "".join(f", {name} = if_not_exists({name}, :{name})" for name in created)
        values |= {f":{name}": value for name, value in created.items()}
    return ThreadUpdate(expression + end, values, condition)


def make_commit(lease: Lease, commit: Commit, now: datetime) -> ThreadUpdate:
    """Return the update that makes a run's messages visible and releases the lease."""
    values: Item = {
        ":ordinal": commit.next_ordinal,
        ":input": commit.usage.input_tokens,
        ":output": commit.usage.output_tokens,
        ":stored": commit.tokens,
        ":now": to_millis(now),
        ":true": True,
    }
    expression = (
        "SET next_ordinal = :ordinal, last_activity_at = :now, owner_claimed = :true, "
        "input_tokens = input_tokens + :input, output_tokens = output_tokens + :output, "
        "stored_tokens = stored_tokens + :stored"
    )
    spent = add_up_by_model(lease.thread.spent, commit.spent)
    attributes: Item = {
        "thread_status": (ThreadStatus.CLOSED if commit.ended else ThreadStatus.ACTIVE).value,
        "messages_fence": commit.messages_fence if commit.messages_fence is not None else lease.fence,
        # The time is coarse, because every change of the index costs two write units.
        "listed_at": make_listing_time(now)
        if make_listing_time(now) != make_listing_time(lease.thread.last_activity_at)
        else None,
        "spent": usage_as_attribute(spent) if spent != lease.thread.spent else None,
        "last_error": commit.error_code,
        "time_zone": commit.time_zone,
        "agent_versions": versions_as_attribute(commit.versions) if commit.versions is not None else None,
        "windows": windows_as_attribute(commit.windows) if commit.windows is not None else None,
        "branch_segments": segments_as_attribute(lease.thread.segments) if lease.thread.is_branching else None,
    }
    attributes = {name: value for name, value in attributes.items() if value is not None}
    assignment, session_attributes = _plan_next_check(lease, commit, now)
    expression += assignment
    attributes |= session_attributes
    if commit.conversation is not None:
        attributes |= _make_conversation_attributes(commit.conversation)
    attributes |= {
        # One attribute for both, because an earlier release only checks whether it exists.
        "messages_may_change": True if commit.messages_may_change else commit.summary_at,
        "watchers": watchers_as_attribute(commit.watchers) if commit.watchers is not None else None,
        "pending": PENDING.pack(commit.pending) if commit.pending is not None else None,
    }
    reading = commit.reading
    if reading.is_read and (reading.unread or lease.thread.unread):
        attributes["unread"] = reading.unread or None
    elif reading.unread:
        expression += ", unread = if_not_exists(unread, :zero) + :unread"
        values |= {":zero": 0, ":unread": reading.unread}
    awaits_user = False if commit.ended is not None else reading.awaits_user
    if awaits_user is not None and awaits_user is not lease.thread.awaits_user:
        attributes["awaits_user"] = awaits_user or None
    update = _make_final_update(lease, commit.last_seq, expression, values, attributes)
    if not commit.usage.cached_input_tokens:
        return update
    cached = {":cached": commit.usage.cached_input_tokens}
    return replace(
        update, expression=f"{update.expression} ADD cached_input_tokens :cached", values={**update.values, **cached}
    )


def _plan_next_check(lease: Lease, commit: Commit, now: datetime) -> tuple[str, Item]:
    """Return the assignments and attributes by which the sweeper finds the thread after a run."""
    shard = keys.idle_shards.of(lease.thread_id)
    if commit.ended is not None:
        return ", episode_first_ordinal = :ordinal", _make_end_of_session(lease, commit.ended, now)
    if commit.check_at is not None:
        return "", {"idle_shard": shard, "idle_check_at": to_millis(commit.check_at)}
    if lease.thread.status is ThreadStatus.CLOSED or (lease.thread.awaits_user and commit.reading.is_read):
        # The thread has no check, or a late one because it was left open for the user.
        return ", idle_check_at = :now + idle_ms", {"idle_shard": shard}
    return "", {}


def make_closing(
    lease: Lease, *, last_seq: int, ended: EpisodeRef | None, resumable: Sequence[Workflow], now: datetime
) -> ThreadUpdate:
    """Return the update that closes the thread and releases the lease."""
    expression = "SET active_agent_id = agent_id"
    attributes: Item = {"thread_status": ThreadStatus.CLOSED.value}
    if lease.thread.awaits_user:
        attributes["awaits_user"] = None
    if ended is not None:
        expression += ", episode_first_ordinal = next_ordinal"
        attributes |= _make_end_of_session(lease, ended, now)
    new = ConversationState(lease.thread.agent_id)
    packed = pack_conversation(replace(new, resumable=tuple(resumable), data=lease.thread.conversation.data))
    if packed is not None or lease.thread.conversation != new:
        attributes["conversation"] = packed
    return _make_final_update(lease, last_seq, expression, {}, attributes)


def make_selection(
    lease: Lease, *, last_seq: int, conversation: ConversationState, windows: tuple[HistoryWindow, ...]
) -> ThreadUpdate:
    """Return the update that selects the lease's branch and releases the lease."""
    expression = "SET branch_segments = :segments"
    values: Item = {":segments": segments_as_attribute(lease.thread.segments)}
    attributes: Item = {"windows": windows_as_attribute(windows), **_make_conversation_attributes(conversation)}
    return _make_final_update(lease, last_seq, expression, values, attributes)


def _make_final_update(lease: Lease, last_seq: int, expression: str, values: Item, attributes: Item) -> ThreadUpdate:
    """Return the update that releases the lease, with ``expression`` and ``attributes``. None removes an attribute.

    A usual lease must still hold. An optimistic lease is not stored, so the thread must be free and unchanged.
    """
    attributes = {**attributes, "next_seq": last_seq + 1, "last_seq": last_seq}
    assigned = {name: value for name, value in attributes.items() if value is not None}
    expression += ", committed_fence = :fence"
    values |= {":fence": lease.fence}
    if lease.is_optimistic:
        expression, condition = f"{expression}, fence = :fence", _STILL_FREE
        values |= {":read_fence": lease.fence - OPTIMISTIC_STEP, ":deleted": "deleted"}
    else:
        condition = _MINE
        values |= {":owner": pack_id(lease.owner)}
    expression += "".join(f", {name} = :{name}" for name in assigned)
    removed = "".join(f", {name}" for name in attributes if name not in assigned)
    values |= {f":{name}": value for name, value in assigned.items()}
    return ThreadUpdate(f"{expression}{END_RUN}{removed}", values, condition)


def _make_end_of_session(lease: Lease, episode: EpisodeRef, now: datetime) -> Item:
    return {
        "episode": episode.number + 1,
        "idle_shard": keys.idle_shards.of(lease.thread_id),
        "idle_check_at": to_millis(now) + CLOSING_MS,
    }


def _make_conversation_attributes(conversation: ConversationState) -> Item:
    return {"active_agent_id": conversation.agent_id, "conversation": pack_conversation(conversation)}


def _make_thread_attributes(scope: Scope, request: LeaseRequest, now: datetime) -> Item:
    """Return the attributes of a thread that a request creates."""
    idle_ms = round(request.idle_seconds * 1000)
    parent = request.parent_thread_id
    versions = request.versions
    counts = ("next_ordinal", "last_seq", "input_tokens", "output_tokens", "stored_tokens")
    return {
        "user_id": scope.user_id,
        "agent_id": request.agent_id,
        "active_agent_id": request.agent_id,
        "thread_status": ThreadStatus.ACTIVE.value,
        "episode": 1,
        **dict.fromkeys(counts, 0),
        "created_at": to_millis(now),
        "last_activity_at": to_millis(now),
        "idle_ms": idle_ms,
        "idle_shard": keys.idle_shards.of(request.thread_id),
        "idle_check_at": to_millis(now) + idle_ms,
        "listing": keys.user_listing(scope) if parent is None else keys.fork_listing(scope, parent),
        "listed_at": make_listing_time(now),
        **({"agent_versions": versions_as_attribute(versions)} if versions is not None else {}),
    }
