"""Items of a thread that is erased: what stays of them, and how they are counted."""

from __future__ import annotations

import json

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.threads.thread_item import listed_at
from baton.domain.memory.forgetting import without_content
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis
from baton.ports.clock import Clock

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
    "SKILL": "skills",
    "AUDIT": "auditDetails",
}
"""The counts' names by the first part of the sort key. Other items are counted as ``otherItems``."""


def make_tombstone(scope: Scope, item: Item | None, clock: Clock) -> Item:
    """Return what stays of a thread's item: fence, sequence numbers, tokens, and what lists find it by."""
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
    return {
        "user_id": scope.user_id,
        "thread_status": TOMBSTONE,
        "listing": keys.user_listing(scope),
        "listed_at": listed_at(clock.now()),
        **{name: values[name] for name in names if name in values},
        "fence": values.get("fence", 0) + 1,
        "buried_at": to_millis(clock.now()),
    }


def clean_audit_record(item: Item, fence: int) -> Item:
    """Return an audit record without content. Behind ``fence``, no dead worker writes a handoff over it."""
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


def kind_of(item: Item) -> str:
    """Return the name under which a removed item is counted."""
    return _KINDS.get(item["SK"].partition("#")[0], "otherItems")
