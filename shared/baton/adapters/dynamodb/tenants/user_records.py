"""Small records of users: their last time zones, and their ratings of answers."""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.conditional_writes import update_own
from baton.adapters.dynamodb.shapes import Shape
from baton.adapters.dynamodb.table_stores import TableStore, TimedTableStore
from baton.domain.tenants.identity import Scope
from baton.domain.threads.feedback import Feedback
from baton.domain.threads.thread import Thread
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import LastTimeZone


class DynamoTimeZones(TimedTableStore):
    """``TimeZones`` on the conversation table."""

    async def last(self, scope: Scope) -> LastTimeZone | None:
        return await self._table.read(
            keys.user_time_zone(scope), lambda item: LastTimeZone(item["time_zone"], from_millis(item["changed_at"]))
        )

    async def put(self, scope: Scope, name: str) -> None:
        # Erasure decides by ``changed_at`` what to keep for a user.
        item = {**keys.user_time_zone(scope), "time_zone": name, "changed_at": to_millis(self._clock.now())}
        await self._table.put(item)


class DynamoFeedback(TableStore):
    """``FeedbackStore`` on the conversation table."""

    async def put(self, scope: Scope, thread: Thread, feedback: Feedback) -> None:
        # The mark first: readers of a thread without the mark do not look for feedback. The update also checks that the
        # thread still exists. Items that are written after a deletion are removed by its second sweep.
        await update_own(self._table, scope, thread.id, "SET has_feedback = :true", {":true": True})
        await self._table.put(
            {
                **keys.feedback(scope, thread.id, feedback.ordinal),
                "message_id": feedback.message_id,
                "run_id": feedback.run_id,
                "rating": feedback.rating.value,
                "updated_at": to_millis(feedback.updated_at),
                "comment": feedback.comment,
            }
        )

    async def withdraw(self, scope: Scope, thread: Thread, ordinal: int) -> None:
        await self._table.delete(keys.feedback(scope, thread.id, ordinal))

    async def get(self, scope: Scope, thread: Thread, ordinal: int) -> Feedback | None:
        if not thread.has_feedback:
            return None
        return await self._table.read(keys.feedback(scope, thread.id, ordinal), _to_feedback)

    async def between(self, scope: Scope, thread: Thread, first_ordinal: int, end_ordinal: int) -> Sequence[Feedback]:
        if not thread.has_feedback or first_ordinal >= end_ordinal:
            return ()
        first, last = keys.feedback.make_sort_key(first_ordinal), keys.feedback.make_sort_key(end_ordinal - 1)
        items = await self._table.read_all(keys.partition(scope, thread.id), first=first, last=last)
        return [_to_feedback(item) for item in items]


_FEEDBACK = Shape(Feedback)


def _to_feedback(item: Item) -> Feedback:
    return _FEEDBACK.of_json(item, ordinal=keys.feedback.read_number(item), comment=item.get("comment"))
