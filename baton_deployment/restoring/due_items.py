"""Restored items that were due before now: schedules, postponed messages, and background work."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shapes import SCHEDULE
from baton.domain.times import to_millis


class PastDue(StrEnum):
    """The treatment of items that were due between the restored time and now."""

    RUN = "run"
    """Each begins once, marked as late. A run whose message is already in the conversation is not repeated."""
    SKIP = "skip"
    """Schedules continue with their next time, and items that were due once are left out."""


def prepare_due(item: Item, past_due: PastDue, now: datetime) -> Item | None:
    """Return the item to write instead of a restored one; None if it is left out."""
    is_past = item.get("idle_check_at", to_millis(now)) < to_millis(now)
    if past_due is PastDue.RUN or not is_past:
        return item
    if item["SK"].startswith(keys.later_run.prefix):
        return None
    if not item["SK"].startswith(keys.SCHEDULE):
        return item
    schedule_id = item["SK"].removeprefix(keys.SCHEDULE)
    following = SCHEDULE.unpack(item["body"], id=schedule_id, revision=item["revision"]).plan(now)
    if following.next_at is None:
        return None
    return {**item, "body": SCHEDULE.pack(following), "idle_check_at": to_millis(following.next_at)}
