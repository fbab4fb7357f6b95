"""Items of an erased thread: what remains of them, and how they are counted."""

from __future__ import annotations

import json
from typing import cast

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.shapes import unpack_conversation
from baton.adapters.dynamodb.threads.desks import make_desk_place_key
from baton.adapters.dynamodb.threads.thread_item import make_listing_time
from baton.domain.memory.forgetting import without_content
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis
from baton.ports.clock import Clock
from baton.ports.threads.desks import DeskPlace

TOMBSTONE = "deleted"
"""The status of a thread's item that only says that the thread was erased."""
_KINDS = {
    "MSG": "messages",
    "TURN": "acceptedTurns",
    "CALL": "toolCalls",
    "TASK": "tasks",
    "TASKAT": "tasks",
    "REMOTE": "tasks",
    "STEP": "steps",
    "LOG": "streamLogPieces",
    "CONTEXT": "contextRecords",
    "LIVE": "connections",
    "EPISODE": "episodes",
    "FLOW": "workflows",
    "COMPLETED": "workflows",
    "COMPLETEDAT": "workflows",
    "CAPTURE": "captures",
    "PROCEDURE": "procedures",
    "PUSH": "pushConfigs",
    "FEEDBACK": "feedback",
    "UPLOAD": "uploadNotes",
    "ZONE": "timeZones",
    "SCHEDULE": "schedules",
    "DUE": "schedules",
    "BACKGROUND": "tasks",
    "SKILL": "skills",
    "AUDIT": "auditDetails",
}
"""The counts' names by the first part of the sort key. Other items are counted as ``otherItems``."""


def make_tombstone(scope: Scope, item: Item | None, clock: Clock) -> Item:
    """Return the item that replaces a thread's: fence, sequence numbers, tokens, and the attributes of lists.

    ``item`` is None if the thread has no item.
    """
    values = item or {}
    names = (
        "next_seq",
        "episode",
        "input_tokens",
        "output_tokens",
        "created_at",
        "last_activity_at",
        "parent_thread_id",
        "listing",
        "listed_at",
    )
    desk_key = find_desk_place(scope, values)
    return {
        "user_id": scope.user_id,
        "thread_status": TOMBSTONE,
        "listing": keys.user_listing(scope),
        "listed_at": make_listing_time(clock.now()),
        **{name: values[name] for name in names if name in values},
        "fence": values.get("fence", 0) + 1,
        "buried_at": to_millis(clock.now()),
        **({"desk_place": desk_key} if desk_key is not None else {}),
    }


def find_desk_place(scope: Scope, item: Item) -> Key | None:
    """Return the key of a thread's place at a desk, from its item or tombstone; None if it has no place."""
    if "desk_place" in item:
        return cast("Key", item["desk_place"])
    if "conversation" not in item or "active_agent_id" not in item:
        return None
    desk_place = DeskPlace.of(
        keys.thread_id_of(scope, item), unpack_conversation(item["active_agent_id"], item["conversation"])
    )
    return make_desk_place_key(scope, desk_place) if desk_place is not None else None


def clean_audit_record(item: Item, fence: int) -> Item:
    """Return an audit record without content. Its ``fence`` keeps dead workers from writing a handoff over it."""
    names = ("PK", "SK", "user_id", "action", "outcome", "listing", "listed_at")
    return {
        **{name: item[name] for name in names if name in item},
        "detail": json.dumps(without_content(json.loads(item.get("detail", "{}")))),
        "fence": fence,
        "cleaned": True,
    }


def may_stay(item: Item) -> bool:
    """Return whether an item of a forgotten thread stays: its tombstone, and audit records without content."""
    return item["SK"] == "THREAD" or (item["SK"].startswith(keys.AUDIT) and "cleaned" in item)


def find_count_name(item: Item) -> str:
    """Return the name under which a removed item is counted."""
    return _KINDS.get(item["SK"].partition("#")[0], "otherItems")
