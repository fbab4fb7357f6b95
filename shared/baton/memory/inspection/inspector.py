"""The Context Inspector: stores the records of ended runs, and reads them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from aws_lambda_powertools import Logger
from pydantic_core import to_json

from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.memory.inspection import InspectionPolicy
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.threads.feedback import Feedback
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.times import to_iso
from baton.memory.inspection.compact_record import compact, expand, list_referred_ordinals
from baton.memory.inspection.inspection import Inspection, make_context_record
from baton.memory.prompt.context import make_system_prompt
from baton.ports.agents.chat_model import TokenCounter
from baton.ports.clock import Clock
from baton.ports.tenants.privacy import PiiDetector
from baton.ports.threads.messages import Messages
from baton.ports.threads.run_records import ContextRecord, ContextRecords
from baton.tenants.privacy.redaction import Redactor

logger = Logger(child=True)

KEEPING_SECONDS = 3.0
"""Seconds that a worker may take to store a record after the run has ended."""
TEXTS = {"text", "title", "content", "arguments", "value", "name"}
"""Members of a record with words of users, models, tools and documents."""


@dataclass(frozen=True, slots=True)
class Inspector:
    """The store of the records of the runs that the policy selects."""

    records: ContextRecords
    messages: Messages
    counter: TokenCounter
    policy: InspectionPolicy
    detector: PiiDetector
    clock: Clock

    async def keep(
        self, scope: Scope, thread_id: str, run_id: str, inspection: Inspection, messages: Sequence[StoredMessage]
    ) -> None:
        """Store the record of an ended run if the policy selects it. A failure is logged and counted, not raised."""
        if not self.policy.records(run_id):
            return
        try:
            async with asyncio.timeout(KEEPING_SECONDS):
                now = self.clock.now()
                # In a thread, because counting and comparing take milliseconds, and other turns may be running.
                record = await off_loop(LARGE, self._compact, inspection, thread_id, run_id, now, messages)
                if self.policy.redacts:
                    record = replace(record, body=await redact_record(record.body, Redactor(self.detector)))
                await self.records.put(scope, thread_id, run_id, record)
        except Exception:
            count(Metric.CONTEXTS_NOT_KEPT)
            logger.exception("context not kept", thread_id=thread_id, run_id=run_id)

    async def describe(self, thread_id: str, run_id: str, inspection: Inspection) -> dict[str, Any]:
        """Return the record of a dry run, which is not stored, redacted if the policy requires it.

        Raises as the detector does.
        """
        now = self.clock.now()
        record = await off_loop(LARGE, make_context_record, inspection, thread_id, run_id, self.counter, now)
        return await self._prepare(record, is_redacted=self.policy.redacts)

    async def read(self, scope: Scope, thread: Thread, run_id: str) -> dict[str, Any] | None:
        """Return a run's record; None if there is none. Raises ``StoreUnavailable``, and as the detector does."""
        stored = await self.records.get(scope, thread.id, run_id)
        if stored is None:
            return None
        messages = await self._read_referred_messages(scope, thread, stored)
        record = await off_loop(LARGE, expand, stored, messages)
        return await self._prepare(record, is_redacted=record["redacted"])

    def _compact(
        self, inspection: Inspection, thread_id: str, run_id: str, now: datetime, messages: Sequence[StoredMessage]
    ) -> ContextRecord:
        record = make_context_record(inspection, thread_id, run_id, self.counter, now)
        if sum(_measure_texts(record)) > MAX_RECORD_BYTES:
            record = json.loads(limit_size(record))
        stored_messages = (*inspection.list_messages_of(thread_id), *messages)
        return compact(record, stored_messages, {make_system_prompt(context.agent) for context in inspection.contexts})

    async def _prepare(self, record: dict[str, Any], *, is_redacted: bool) -> dict[str, Any]:
        """Return an expanded record, redacted if it must be, and cut to ``MAX_RECORD_BYTES``."""
        if is_redacted:
            record = await redact_record(record, Redactor(self.detector))
        cut: dict[str, Any] = await off_loop(LARGE, lambda: json.loads(limit_size(record)))
        return cut

    async def _read_referred_messages(self, scope: Scope, thread: Thread, stored: ContextRecord) -> list[StoredMessage]:
        ordinals = list(list_referred_ordinals(stored.body))
        if not ordinals:
            return []
        first, before = min(ordinals), max(ordinals) + 1
        messages: list[StoredMessage] = []
        while before > first:
            page = await self.messages.read_messages(scope, thread.unbranched, limit=before - first, before=before)
            messages += page.messages
            if page.next_before is None:
                break
            before = page.next_before
        return messages

    async def add_feedback(self, record: dict[str, Any], feedback: Sequence[Feedback]) -> dict[str, Any]:
        """Return a record with the feedback on the run's answers, whose comments are redacted if the record is.

        Raises as the detector does.
        """
        redactor = Redactor(self.detector)
        entries: list[dict[str, Any]] = []
        for rating in feedback:
            comment = rating.comment
            if comment is not None and record["redacted"]:
                comment = await redactor.redact(comment) or comment
            entries.append(
                {
                    "messageId": rating.message_id,
                    "rating": rating.rating.value,
                    "comment": comment,
                    "updatedAt": to_iso(rating.updated_at),
                }
            )
        return {**record, "feedback": entries}


async def redact_record(record: dict[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Return the record with the ``TEXTS`` of its blocks, calls and tool state redacted.

    Raises as the detector does.
    """
    parts = {name: record[name] for name in ("blocks", "calls", "toolState") if name in record}
    clean = await redactor.redact_each(_list_texts(parts))
    return {**record, **_replace(parts, clean), "redacted": True}


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name in TEXTS and isinstance(member, str):
                yield member
            else:
                yield from _list_texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _list_texts(member)


def _replace(value: Any, clean: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            name: clean.get(member, member) if name in TEXTS and isinstance(member, str) else _replace(member, clean)
            for name, member in value.items()
        }
    if isinstance(value, list):
        return [_replace(member, clean) for member in value]
    return value


MAX_RECORD_BYTES = 2 * 1024 * 1024
"""Bytes of a record as JSON. Lambda returns at most 6 MB."""
KEPT_ITEMS = 100
"""The newest items of a block in a record that is still too large after its texts were cut."""
FIRST_MESSAGES, LAST_MESSAGES = 20, 80
"""The first and the last messages of a call in such a record."""
TEXT_LIMITS = (65_536, 16_384, 4_096, 1_024, 256, 64)
"""Characters to which texts are cut. The first limit that makes the record small enough is used."""


def limit_size(record: dict[str, Any]) -> bytes:
    """Return the record as JSON of at most ``MAX_RECORD_BYTES``.

    First all long texts are cut to the same length, then calls in the middle are left out, then items that were not in
    a prompt, and at last all blocks and calls. ``cut`` in the record says what was left out.
    """
    body = b""
    for shorter in _shorten_stepwise(record):
        body = _to_json(shorter)
        if len(body) <= MAX_RECORD_BYTES:
            break
    return body


def _shorten_stepwise(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the record, then shorter forms of it.

    Forms that are too long by the lengths of their texts are skipped, because writing them could take seconds.
    """
    lengths = _measure_texts(record)
    if sum(lengths) <= MAX_RECORD_BYTES:
        yield record
    shorter: dict[str, Any] = record
    for limit in TEXT_LIMITS:
        if limit == TEXT_LIMITS[-1] or sum(min(length, limit) for length in lengths) <= MAX_RECORD_BYTES:
            shorter = {**_shorten(record, limit), "cut": [f"texts after {limit} characters"]}
            yield shorter
    for what, step in (("calls in the middle", _drop_middle), ("items that were left out", _drop_left_out)):
        shorter = {**step(shorter), "cut": [*shorter["cut"], what]}
        yield shorter
    yield {**shorter, "blocks": [], "calls": [], "cut": ["everything: the record is too large"]}


def _drop_middle(record: Mapping[str, Any]) -> dict[str, Any]:
    calls = record["calls"]
    if len(calls) <= 2:
        return dict(record)
    left_out = record.get("callsLeftOut", 0) + len(calls) - 2
    return {**record, "calls": [calls[0], calls[-1]], "callsLeftOut": left_out}


def _drop_left_out(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record without items that were not in a prompt, and with ``KEPT_ITEMS`` of each block at most.

    Of each call, ``FIRST_MESSAGES`` and ``LAST_MESSAGES`` are kept.
    """
    blocks = [
        {**block, "items": [item for item in block["items"] if item["included"]][-KEPT_ITEMS:]}
        for block in record["blocks"]
    ]
    calls = [
        {**call, "messages": [*call["messages"][:FIRST_MESSAGES], *call["messages"][FIRST_MESSAGES:][-LAST_MESSAGES:]]}
        for call in record["calls"]
    ]
    return {**record, "blocks": blocks, "calls": calls}


def _shorten(value: Any, limit: int) -> Any:
    """Return JSON values with every long text cut."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]}... [cut: {len(value)} characters]"
    if isinstance(value, dict):
        return {name: _shorten(member, limit) for name, member in value.items()}
    if isinstance(value, list):
        return [_shorten(member, limit) for member in value]
    return value


def _measure_texts(record: Mapping[str, Any]) -> list[int]:
    """Return the lengths of all texts, in no order. For speed, it neither recurses nor yields: every run needs it."""
    lengths: list[int] = []
    waiting: list[Any] = [record]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            lengths.append(len(value))
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return lengths


def _to_json(record: Mapping[str, Any]) -> bytes:
    try:
        return to_json(record)  # takes a fifth of the time of ``json.dumps``
    except ValueError:  # a lone surrogate, which UTF-8 cannot encode
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
