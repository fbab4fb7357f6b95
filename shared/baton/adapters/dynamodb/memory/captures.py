"""Records of captures on DynamoDB, in the partitions of their threads."""

from __future__ import annotations

from datetime import date, timedelta

from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shapes import CAPTURE
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed
from baton.domain.memory.capture import Capture, CaptureRef, CaptureStatus, CaptureStep
from baton.domain.tenants.identity import Scope

KEPT = timedelta(days=90)
"""The time for which a record is kept. Step Functions reserves the name of its execution for the same time."""
ALLOWANCE_KEPT = timedelta(days=3)
"""The time for which the count of a day's captures is kept."""
_STEPS = list(CaptureStep)


class DynamoCaptures(TimedTableStore):
    """``CaptureStore`` on the conversation table."""

    async def get(self, scope: Scope, ref: CaptureRef) -> Capture | None:
        return await self._table.read(
            keys.capture(scope, ref.thread_id, ref.id), lambda item: CAPTURE.unpack(item["body"])
        )

    async def save(self, scope: Scope, capture: Capture) -> Capture:
        ref, status = capture.ref, capture.status
        stage = _STEPS.index(capture.done) + 1 if capture.done is not None else 0  # the steps that were carried out
        item: Item = {
            **keys.capture(scope, ref.thread_id, ref.id),
            "body": CAPTURE.pack(capture),
            "capture_status": status.value,
            "stage": stage,
            "expires_at": int((self._clock.now() + KEPT).timestamp()),
        }
        condition = f"{IS_NEW} OR capture_status IN (:working, :stored)"
        values: Item = {":working": CaptureStatus.WORKING.value, ":stored": CaptureStatus.STORED.value}
        if status is not CaptureStatus.FAILED:
            condition = (
                f"{IS_NEW} OR capture_status = :failed OR (capture_status IN (:working, :stored) AND stage < :stage)"
            )
            values |= {":failed": CaptureStatus.FAILED.value, ":stage": stage}
        try:
            await self._table.put(item, condition=condition, values=values)
        except ConditionFailed as failure:
            return CAPTURE.unpack(failure.item["body"]) if failure.item else capture
        return capture

    async def take_allowance(self, scope: Scope, agent_id: str, day: date, limit: int) -> bool:
        if limit <= 0:
            return False
        expires = self._clock.now() + ALLOWANCE_KEPT
        return await self._table.change(
            agent_keys.capture_allowance(scope, agent_id, day.isoformat()),
            "SET expires_at = :expires ADD taken :one",
            {":one": 1, ":limit": limit, ":expires": int(expires.timestamp())},
            condition="attribute_not_exists(taken) OR taken < :limit",
        )
