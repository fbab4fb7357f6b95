"""The item of a thread: the thread that is read from it, and the forms of its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from datetime import UTC, datetime
from typing import Any

from baton.adapters.dynamodb.attributes import Item, unpack_id
from baton.adapters.dynamodb.shapes import PENDING, unpack_conversation
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.threads.branches import Segment, Segments
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.thread import LeaseMark, Run, RunStatus, SessionVersions, Thread, ThreadStatus, Watchers
from baton.domain.times import from_millis, to_millis

MAX_WATCHERS = 4
"""The maximum number of connections in the thread's item. If a thread has more, each turn reads them."""


def make_listing_time(moment: datetime) -> str:
    """Return the hour, in UTC, under which a thread is listed."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H")


def make_tenant_listing_time(moment: datetime) -> str:
    """Return the beginning of a thread's sort key in its tenant's list. ``#`` and the thread's id follow."""
    return f"{to_millis(moment):015d}"


def thread_from_item(thread_id: str, item: Item, now: datetime) -> Thread:
    """Return the thread of an item. A run whose lease has expired is interrupted."""
    run = None
    if "run_id" in item:
        is_alive = item.get("lease_until", 0) >= to_millis(now)
        run = Run(
            run_id=unpack_id(item["run_id"]),
            message_id=unpack_id(item["run_message_id"]),
            attempt=item["run_attempt"],
            status=RunStatus.RUNNING if is_alive else RunStatus.INTERRUPTED,
        )
    may_change: bool | int | None = item.get("messages_may_change")  # True, or the message that waits for a summary
    return Thread(
        id=thread_id,
        user_id=item["user_id"],
        agent_id=item["agent_id"],
        conversation=unpack_conversation(item["active_agent_id"], item.get("conversation")),
        status=ThreadStatus(item["thread_status"]),
        episode=item["episode"],
        usage=Usage(item["input_tokens"], item["output_tokens"], item.get("cached_input_tokens", 0)),
        run=run,
        next_ordinal=item["next_ordinal"],
        last_seq=item["last_seq"],
        reserved_seq=item["next_seq"] - 1,
        stored_tokens=item["stored_tokens"],
        created_at=from_millis(item["created_at"]),
        last_activity_at=from_millis(item["last_activity_at"]),
        parent_thread_id=item.get("parent_thread_id"),
        episode_first_ordinal=item.get("episode_first_ordinal", 0),
        pending=PENDING.unpack(item["pending"]) if "pending" in item else None,
        windows=tuple(HistoryWindow(*stored) for stored in item.get("windows", ())),
        segments=segments_from_attribute(item.get("branch_segments", "")),
        has_tasks="has_tasks" in item,
        notifies="notifies" in item,
        title=item.get("title"),
        preview=item.get("preview"),
        has_feedback="has_feedback" in item,
        spent=tuple(ModelUsage(model, Usage(*counts)) for model, *counts in item.get("spent", ())),
        last_error=item.get("last_error"),
        time_zone=item.get("time_zone"),
        versions=versions_from_attribute(item["agent_versions"]) if "agent_versions" in item else None,
        unread=item.get("unread", 0),
        awaits_user="awaits_user" in item,
        messages_fence=item.get("messages_fence"),
        messages_may_change=may_change is True,
        summary_at=None if may_change is True else may_change,
        live_changes=item.get("live_changes", 0),
        watchers=watchers_from_attribute(item["watchers"]) if "watchers" in item else None,
        lease=get_lease_mark(item) if "lease_until" in item else None,
    )


def windows_as_attribute(windows: Sequence[HistoryWindow]) -> list[list[Any]]:
    """Return the attribute of windows. It is short, because each turn writes the item twice."""
    return [list(astuple(window)) for window in windows]


def usage_as_attribute(spent: Sequence[ModelUsage]) -> list[list[Any]]:
    """Return the attribute of the models' usage. It is short, because each turn writes the item twice."""
    return [
        [
            usage.model,
            usage.usage.input_tokens,
            usage.usage.output_tokens,
            usage.usage.cached_input_tokens,
            *([usage.usage.cache_write_tokens] if usage.usage.cache_write_tokens else []),
        ]
        for usage in spent
    ]


def segments_as_attribute(segments: Segments) -> str:
    """Return the attribute of segments. It is short, because each turn writes the item twice."""
    return " ".join(f"{segment.start - segment.parent:x},{segment.start:x}" for segment in segments)


def segments_from_attribute(stored: str) -> Segments:
    """Return the segments of an attribute that ``segments_as_attribute`` returned."""
    pairs = (pair.split(",") for pair in stored.split())
    return tuple(Segment(int(start, 16), int(start, 16) - int(back, 16)) for back, start in pairs)


def watchers_as_attribute(watchers: Watchers) -> str | None:
    """Return the attribute of watchers; None if it would be too long, because each turn writes the item twice."""
    if len(watchers.connections) > MAX_WATCHERS:
        return None
    ends = (f"{name},{to_millis(end):x}" for name, end in watchers.connections.items())
    return " ".join([f"{watchers.changes:x}", *ends])


def watchers_from_attribute(stored: str) -> Watchers:
    """Return the watchers of an attribute that ``watchers_as_attribute`` returned."""
    changes, *ends = stored.split()
    pairs = (end.rpartition(",") for end in ends)
    return Watchers(int(changes, 16), {name: from_millis(int(at, 16)) for name, _, at in pairs})


def versions_as_attribute(versions: SessionVersions) -> str:
    """Return the attribute of agents' versions. It is short, because each turn writes the item twice."""
    return " ".join([str(versions.session), *(f"{agent_id},{n}" for agent_id, n in versions.numbers.items())])


def versions_from_attribute(stored: str) -> SessionVersions:
    """Return the versions of an attribute that ``versions_as_attribute`` returned."""
    session, *pairs = stored.split()
    return SessionVersions(
        int(session), {agent_id: int(n) for agent_id, _, n in (pair.rpartition(",") for pair in pairs)}
    )


def get_lease_mark(item: Item) -> LeaseMark:
    """Return the fence and the end of the lease that the item holds."""
    return LeaseMark(item["fence"], from_millis(item["lease_until"]))
