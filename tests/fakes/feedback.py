"""Feedback in memory, under the same rules as the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.domain.errors import ThreadUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.threads.feedback import Feedback
from baton.domain.threads.thread import Thread
from baton.domain.times import from_millis, to_millis
from baton_testing.fakes.threads.thread_store import FakeThreadStore


class FakeFeedback:
    """``ports.threads.messages.FeedbackStore``."""

    def __init__(self, threads: FakeThreadStore) -> None:
        self._threads = threads
        self._records: dict[tuple[str, str, int], Feedback] = {}

    async def put(self, scope: Scope, thread: Thread, feedback: Feedback) -> None:
        row = self._threads.rows.get((scope.tenant_id, thread.id))
        if row is None or row.thread.user_id != scope.user_id:
            raise ThreadUnavailable
        row.thread = replace(row.thread, has_feedback=True)
        stored = replace(feedback, updated_at=from_millis(to_millis(feedback.updated_at)))
        self._records[scope.tenant_id, thread.id, feedback.ordinal] = stored

    async def withdraw(self, scope: Scope, thread: Thread, ordinal: int) -> None:
        self._records.pop((scope.tenant_id, thread.id, ordinal), None)

    async def get(self, scope: Scope, thread: Thread, ordinal: int) -> Feedback | None:
        return self._records.get((scope.tenant_id, thread.id, ordinal)) if thread.has_feedback else None

    async def between(self, scope: Scope, thread: Thread, first_ordinal: int, end_ordinal: int) -> Sequence[Feedback]:
        results = (await self.get(scope, thread, ordinal) for ordinal in range(first_ordinal, end_ordinal))
        return [feedback async for feedback in results if feedback is not None]
