"""A FIFO queue in virtual time, behind the product's own SQS adapter; and the workers it feeds."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from tests.faults.generated.wire import answer
from tests.virtual_time import DeterministicLoop

VISIBILITY_SECONDS = 960
DEDUPLICATION_SECONDS = 300


@dataclass
class Record:
    """A message in the queue."""

    id: str
    body: str
    group: str
    visible_at: float = 0.0
    receives: int = 0
    handle: str = ""


@dataclass
class Queue:
    """SQS FIFO as far as Baton uses it: groups in order, deduplication by id, visibility, redelivery."""

    loop: DeterministicLoop
    records: list[Record] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    """Every body ever taken, for those who deliver again what was delivered."""
    _deduplicated: dict[tuple[str, str], tuple[str, float]] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def serve(self, operation: str, request: AWSPreparedRequest) -> AWSResponse | None:
        """Answer the product's requests."""
        assert isinstance(request.body, bytes | str)
        body: dict[str, Any] = json.loads(request.body)
        if operation == "SendMessage":
            message_id = self.put(body["MessageBody"], body["MessageGroupId"], body["MessageDeduplicationId"])
            md5 = hashlib.md5(body["MessageBody"].encode()).hexdigest()  # noqa: S324 - the SDK compares it
            return answer(200, {"MessageId": message_id, "MD5OfMessageBody": md5, "SequenceNumber": "1"})
        if operation == "ChangeMessageVisibility":
            if self.hide(body["ReceiptHandle"], body["VisibilityTimeout"]):
                return answer(200, {})
            return answer(400, {"message": "The receipt handle has expired."}, "ReceiptHandleIsInvalid")
        return None

    def put(self, body: str, group: str, deduplication_id: str) -> str:
        """Queue a body, unless its deduplication id was used within five minutes; its message id."""
        now = self.loop.time()
        existing = self._deduplicated.get((group, deduplication_id))
        if existing is not None and now - existing[1] < DEDUPLICATION_SECONDS:
            return existing[0]
        record = Record(f"message-{len(self.sent)}", body, group)
        self._deduplicated[group, deduplication_id] = (record.id, now)
        self.sent.append(body)
        self.records.append(record)
        self._changed.set()
        return record.id

    def hide(self, handle: str, seconds: float) -> bool:
        """Hide a record for ``seconds``; return False if it is visible already or delivered to another receiver."""
        now = self.loop.time()
        record = next((record for record in self.records if record.handle == handle and record.visible_at > now), None)
        if record is None:
            return False
        record.visible_at = now + seconds
        self._changed.set()
        return True

    def reorder(self, chance: random.Random) -> bool:
        """Put what waits into another order, which SQS promises not to do; False if there is nothing to mix up."""
        before = list(self.records)
        chance.shuffle(self.records)
        return self.records != before

    async def next(self) -> Record:
        """``receive``, as soon as there is something to receive."""
        while (record := self.receive()) is None:
            self._changed.clear()
            due = [r.visible_at for r in self.records if r.visible_at > self.loop.time()]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(min(due, default=None)):
                    await self._changed.wait()
        return record

    def receive(self) -> Record | None:
        """Hide and return the first visible record of a group without a record in work."""
        now = self.loop.time()
        heads: dict[str, list[Record]] = defaultdict(list)
        for record in self.records:
            heads[record.group].append(record)
        for group in heads.values():
            if all(record.visible_at <= now for record in group):
                record = group[0]
                record.receives += 1
                record.handle = f"{record.id}/{record.receives}"
                record.visible_at = now + VISIBILITY_SECONDS
                return record
        return None

    def delete(self, handle: str) -> None:
        """The record was handled; a receipt that another delivery has replaced deletes nothing."""
        self.records = [record for record in self.records if record.handle != handle]
        self._changed.set()
