"""Updates of a thread's item that take a lease and that end it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, pack_id
from baton.adapters.dynamodb.conditional_writes import MY_THREAD
from baton.adapters.dynamodb.shapes import PENDING, pack_conversation
from baton.adapters.dynamodb.threads.thread_item import (
    listed_at,
    segments_as_item,
    spent_as_item,
    watchers_as_item,
    windows_as_item,
)
from baton.domain.handoffs.workflow import Workflow
from baton.domain.memory.episode import EpisodeRef
from baton.domain.runs.usage import by_model
from baton.domain.tenants.identity import Scope
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.thread import ConversationState, ThreadStatus
from baton.domain.times import to_millis
from baton.ports.threads.leases import Commit, Lease, LeaseRequest

RESERVED_SEQS = 10_000
CLOSING_MS = 5 * 60 * 1000
"""Milliseconds after which the sweeper restarts an incomplete closing."""

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
FOR_NO_RECORD = " REMOVE lease_record, lease_receives"
END_RUN = f"{FOR_NO_RECORD}, lease_owner, lease_until, run_id, run_message_id, run_attempt"
_END_SESSION = ", episode = :episode, episode_first_ordinal = {first}, idle_shard = :shard, idle_check_at = :check"
MINE = "fence = :fence AND lease_owner = :owner"


@dataclass(frozen=True, slots=True)
class ThreadUpdate:
    """An update of a thread's item, as DynamoDB takes it."""

    expression: str
    values: Item
    condition: str = MINE


def acquisition_update(
    scope: Scope, request: LeaseRequest, *, owner: str, until: datetime, now: datetime
) -> ThreadUpdate:
    """Return the update that takes the lease if it is free, and creates the thread if the request allows it."""
    values: Item = {
        ":owner": pack_id(owner),
        ":until": to_millis(until),
        ":now": to_millis(now),
        ":user": scope.user_id,
        ":deleted": "deleted",
        ":zero": 0,
        ":one": 1,
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
    return ThreadUpdate(expression + end, values, condition)


def commit_update(lease: Lease, commit: Commit, now: datetime) -> ThreadUpdate:
    """Return the update that makes a run's messages visible and releases the lease."""
    values: Item = {
        **_ending_values(lease, commit.last_seq),
        ":ordinal": commit.next_ordinal,
        ":input": commit.usage.input_tokens,
        ":output": commit.usage.output_tokens,
        ":stored": commit.tokens,
        ":now": to_millis(now),
        ":status": (ThreadStatus.CLOSED if commit.ended else ThreadStatus.ACTIVE).value,
        ":true": True,
        ":written": commit.messages_fence if commit.messages_fence is not None else lease.fence,
    }
    expression = (
        "SET next_ordinal = :ordinal, next_seq = :next, last_seq = :last, last_activity_at = :now, "
        "input_tokens = input_tokens + :input, output_tokens = output_tokens + :output, "
        "stored_tokens = stored_tokens + :stored, thread_status = :status, owner_claimed = :true, "
        "committed_fence = :fence, messages_fence = :written"
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
        values[":shard"] = keys.idle_shards.of(lease.thread_id)
    end = END_RUN
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
    if commit.time_zone is not None:
        expression += ", time_zone = :zone"
        values[":zone"] = commit.time_zone
    if commit.windows is not None:
        expression += ", windows = :windows"
        values[":windows"] = windows_as_item(commit.windows)
    if lease.thread.is_branching:
        expression += ", branch_segments = :segments"
        values[":segments"] = segments_as_item(lease.thread.segments)
    if commit.may_change:
        # One attribute for both, because an earlier release asks only whether it is there.
        expression += ", messages_may_change = :change"
        values[":change"] = True if commit.messages_may_change else commit.summary_at
    else:
        end += ", messages_may_change"
    watchers = watchers_as_item(commit.watchers) if commit.watchers is not None else None
    if watchers is not None:
        expression += ", watchers = :watchers"
        values[":watchers"] = watchers
    else:
        end += ", watchers"
    if commit.pending is not None:
        expression += ", pending = :pending"
        values[":pending"] = PENDING.pack(commit.pending)
    else:
        end += ", pending"
    if commit.usage.cached_input_tokens:
        end += " ADD cached_input_tokens :cached"
        values[":cached"] = commit.usage.cached_input_tokens
    return ThreadUpdate(expression + end, values)


def closing_update(
    lease: Lease, *, last_seq: int, ended: EpisodeRef | None, resumable: Sequence[Workflow], now: datetime
) -> ThreadUpdate:
    """Return the update that closes the thread and releases the lease."""
    values: Item = {**_ending_values(lease, last_seq), ":closed": ThreadStatus.CLOSED.value}
    expression = (
        "SET thread_status = :closed, next_seq = :next, last_seq = :last, committed_fence = :fence, "
        "active_agent_id = agent_id"
    )
    if ended is not None:
        expression += _END_SESSION.format(first="next_ordinal")
        values |= _session_values(lease, ended, now)
    end = END_RUN
    data = lease.thread.conversation.data
    packed = pack_conversation(ConversationState(lease.thread.agent_id, resumable=tuple(resumable), data=data))
    if packed is not None:
        expression += ", conversation = :conversation"
        values[":conversation"] = packed
    elif lease.thread.conversation != ConversationState(lease.thread.agent_id):
        end += ", conversation"
    return ThreadUpdate(expression + end, values)


def selection_update(
    lease: Lease, *, last_seq: int, conversation: ConversationState, windows: tuple[HistoryWindow, ...]
) -> ThreadUpdate:
    """Return the update that selects the lease's branch and releases the lease."""
    values: Item = {
        **_ending_values(lease, last_seq),
        ":segments": segments_as_item(lease.thread.segments),
        ":windows": windows_as_item(windows),
    }
    expression = (
        "SET branch_segments = :segments, next_seq = :next, last_seq = :last, committed_fence = :fence, "
        "windows = :windows"
    )
    assigned, removed, packed = _of_conversation(conversation)
    return ThreadUpdate(expression + assigned + END_RUN + removed, values | packed)


def _ending_values(lease: Lease, last_seq: int) -> Item:
    """Return the values of ``MINE``, and of the sequence numbers that an update which ends the lease assigns."""
    return {":fence": lease.fence, ":owner": pack_id(lease.owner), ":next": last_seq + 1, ":last": last_seq}


def _session_values(lease: Lease, episode: EpisodeRef, now: datetime) -> dict[str, Any]:
    return {
        ":episode": episode.number + 1,
        ":shard": keys.idle_shards.of(lease.thread_id),
        ":check": to_millis(now) + CLOSING_MS,
    }


def _creation_values(scope: Scope, request: LeaseRequest, now: datetime) -> dict[str, Any]:
    idle_ms = round(request.idle_seconds * 1000)
    parent = request.parent_thread_id
    return {
        ":agent": request.agent_id,
        ":active": ThreadStatus.ACTIVE.value,
        ":idle": idle_ms,
        ":shard": keys.idle_shards.of(request.thread_id),
        ":check": to_millis(now) + idle_ms,
        ":listing": keys.user_listing(scope) if parent is None else keys.fork_listing(scope, parent),
        ":listed": listed_at(now),
        **({":parent": parent} if parent is not None else {}),
    }


def _of_conversation(conversation: ConversationState) -> tuple[str, str, Item]:
    """Return what an update assigns and removes to keep the conversation state, and the values that it assigns."""
    packed = pack_conversation(conversation)
    if packed is None:
        return ", active_agent_id = :active", ", conversation", {":active": conversation.agent_id}
    values: Item = {":active": conversation.agent_id, ":conversation": packed}
    return ", active_agent_id = :active, conversation = :conversation", "", values
