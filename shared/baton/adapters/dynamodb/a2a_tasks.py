"""Marks of A2A tasks on DynamoDB: one item a task that has any, in its thread's partition."""

from __future__ import annotations

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import ConditionFailed, Table
from baton.domain.a2a_task import MarkStatus, TaskMark
from baton.domain.identity import Scope
from baton.domain.times import from_millis, to_millis


class DynamoA2ATasks:
    """``A2ATasks`` on the conversation table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    async def get(self, scope: Scope, thread_id: str, root: str) -> TaskMark | None:
        item = await self._table.get(keys.a2a_task(scope, thread_id, root))
        return _mark(item) if item is not None else None

    async def mark(self, scope: Scope, thread_id: str, mark: TaskMark) -> TaskMark:
        item: Item = {
            **keys.a2a_task(scope, thread_id, mark.root),
            "user_id": mark.user_id,
            "task_mark": mark.status.value,
            "at": to_millis(mark.at),
        }
        if mark.message_id is not None:
            item["message_id"] = mark.message_id
        if mark.reason is not None:
            item["reason"] = mark.reason
        try:
            await self._table.put(
                item,
                condition="attribute_not_exists(PK) OR (task_mark <> :canceled AND user_id = :user)",
                values={":canceled": MarkStatus.CANCELED.value, ":user": mark.user_id},
            )
        except ConditionFailed as failure:
            if failure.item is None:
                raise
            return _mark(failure.item)
        return mark


def _mark(item: Item) -> TaskMark:
    return TaskMark(
        root=item["SK"].removeprefix(keys.A2A_TASK),
        user_id=item["user_id"],
        status=MarkStatus(item["task_mark"]),
        at=from_millis(item["at"]),
        message_id=item.get("message_id"),
        reason=item.get("reason"),
    )
