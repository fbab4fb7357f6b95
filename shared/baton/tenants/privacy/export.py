"""The export of everything that is stored about a user, piece by piece."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any

from baton.domain.tenants.identity import Scope
from baton.domain.text import count_bytes
from baton.domain.threads.feedback import Feedback
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Thread
from baton.ports.clock import Clock, TimeZones
from baton.ports.memory.episodes import Episodes
from baton.ports.memory.procedures import PrivateSkills
from baton.ports.tenants.audit import AuditTrail
from baton.ports.threads.background import BackgroundTasks
from baton.ports.threads.handoffs import CompletedQuery, HandoffStore, WorkflowStore
from baton.ports.threads.messages import FeedbackStore
from baton.ports.threads.run_records import RunHistory
from baton.ports.threads.schedules import Schedules
from baton.ports.threads.threads import ThreadStore

THREADS = 20
"""Threads of a page. The export can be continued after every page."""
MESSAGES = 20
"""Messages in memory at once: one may have 1 MiB."""
RECORDS = 20
"""Records of one kind in memory at once."""
IMPORTED = 5_000
"""Messages of one session that the import of episodes takes. A longer one is exported in parts."""
IMPORTED_BYTES = 4 * 1024 * 1024
"""Bytes of the messages of one exported session. The import takes requests of 5 MiB."""
MESSAGE_BYTES = 400
"""Bytes of a message other than its text and the comment on it: its id, role, time and rating."""


class ExportKind(StrEnum):
    """The kind of a piece of an export."""

    THREAD = "thread"
    MESSAGE = "message"
    TOOL_CALL = "toolCall"
    TASK = "task"
    HANDOFF = "handoff"
    EPISODE = "episode"
    WORKFLOW = "workflow"
    COMPLETED_WORKFLOW = "completedWorkflow"
    BACKGROUND = "background"
    """A task in the background."""
    SCHEDULE = "schedule"
    TIME_ZONE = "timeZone"
    SKILL = "skill"
    AUDIT = "audit"
    SESSION_BEGIN = "sessionBegin"
    """A session, as it can be imported: its messages follow, then its end."""
    SESSION_MESSAGE = "sessionMessage"
    SESSION_END = "sessionEnd"
    CURSOR = "cursor"
    """The position at which to continue the export."""


@dataclass(frozen=True, slots=True)
class Session:
    """The messages between two ends of a thread."""

    thread: Thread
    number: int
    first_ordinal: int
    end_ordinal: int
    ended_at: datetime | None
    """None while it lasts."""
    part: int = 1


@dataclass(frozen=True, slots=True)
class ExportPiece:
    """One piece of an export."""

    kind: ExportKind
    thread_id: str | None
    value: Any
    """The stored record; for a session's begin the ``Session``, for a cursor its text."""
    feedback: Feedback | None = None
    """The user's feedback on a message."""
    is_selected: bool = True
    """False for a message of a branch that is not selected."""


_Page = Awaitable[tuple[Sequence[Any], str | None]]


@dataclass(frozen=True, slots=True)
class Exports:
    """The stored data of a user, a page at a time."""

    store: ThreadStore
    records: RunHistory
    handoffs: HandoffStore
    workflows: WorkflowStore
    episodes: Episodes
    feedback: FeedbackStore
    time_zones: TimeZones
    private_skills: PrivateSkills
    schedules: Schedules
    background_tasks: BackgroundTasks
    audit: AuditTrail
    clock: Clock

    async def list_everything(
        self, scope: Scope, *, cursor: str | None = None, with_notes: bool = True
    ) -> AsyncGenerator[ExportPiece]:
        """Yield everything that is stored about the user. ``cursor`` continues an export after a page of threads.

        ``with_notes``: also the notes by people at desks, which users do not see. Raises ``InvalidRequest`` for a
        cursor that is from no export.
        """
        async for thread in self._list_threads(scope, cursor):
            if isinstance(thread, ExportPiece):
                yield thread
                continue
            async for piece in self._list_thread_records(scope, thread, with_notes=with_notes):
                yield piece
            async for piece in self._list_thread_sessions(scope, thread):
                yield piece
        for workflow, _ in await self.workflows.list_unfinished(scope):
            yield ExportPiece(ExportKind.WORKFLOW, workflow.thread_id, workflow)
        own = CompletedQuery(scope.user_id)
        async for completed in _list_all(partial(self.workflows.list_completed, scope, own, limit=RECORDS)):
            yield ExportPiece(ExportKind.COMPLETED_WORKFLOW, completed.workflow.thread_id, completed)
        for skill in await self.private_skills.of_user(scope):
            yield ExportPiece(ExportKind.SKILL, None, skill)
        for schedule in await self.schedules.of_user(scope):
            yield ExportPiece(ExportKind.SCHEDULE, schedule.thread_id, schedule)
        zone = await self.time_zones.last(scope)
        if zone is not None:
            yield ExportPiece(ExportKind.TIME_ZONE, None, zone)
        async for record in _list_all(partial(self.audit.of_tenant, scope, {"user_id": scope.user_id}, limit=100)):
            yield ExportPiece(ExportKind.AUDIT, record.thread_id, record)

    async def list_sessions(self, scope: Scope, *, cursor: str | None = None) -> AsyncGenerator[ExportPiece]:
        """Yield the user's sessions only, as they can be imported. Raises as ``list_everything`` does."""
        async for thread in self._list_threads(scope, cursor):
            if not isinstance(thread, ExportPiece):
                async for piece in self._list_thread_sessions(scope, thread):
                    yield piece

    async def _list_threads(self, scope: Scope, cursor: str | None) -> AsyncIterator[Thread | ExportPiece]:
        """Yield the user's threads, each followed by its forks, and the cursor after each page."""
        own = Scope(scope.tenant_id, scope.user_id)  # without the permission to read other users' threads
        while True:
            threads, cursor = await self.store.list_threads(own, limit=THREADS, cursor=cursor)
            for thread in threads:
                yield thread
                forks = partial(self.store.list_threads, own, limit=THREADS, parent_thread_id=thread.id)
                async for fork in _list_all(forks):
                    yield fork
            if cursor is None:
                return
            yield ExportPiece(ExportKind.CURSOR, None, cursor)

    async def _list_thread_records(
        self, scope: Scope, thread: Thread, *, with_notes: bool
    ) -> AsyncIterator[ExportPiece]:
        yield ExportPiece(ExportKind.THREAD, thread.id, thread)
        path = thread.path
        async for message, feedback in self._list_messages(scope, thread.unbranched, 0, thread.next_ordinal):
            if with_notes or not message.is_note:
                yield ExportPiece(ExportKind.MESSAGE, thread.id, message, feedback, is_selected=message.ordinal in path)
        lists: dict[ExportKind, Callable[..., _Page]] = {
            ExportKind.TOOL_CALL: self.records.list_calls,
            ExportKind.TASK: self.records.list_tasks,
            ExportKind.HANDOFF: self.handoffs.of_thread,
        }
        for kind, read in lists.items():
            async for record in _list_all(partial(read, scope, thread.id, limit=RECORDS)):
                yield ExportPiece(kind, thread.id, record)
        for task in await self.background_tasks.of_thread(scope, thread.id):
            yield ExportPiece(ExportKind.BACKGROUND, thread.id, task)
        for number in range(1, thread.episode + 1):
            episode = await self.episodes.get(scope, thread.id, number)
            if episode is not None:
                yield ExportPiece(ExportKind.EPISODE, thread.id, episode)

    async def _list_thread_sessions(self, scope: Scope, thread: Thread) -> AsyncIterator[ExportPiece]:
        if thread.parent_thread_id is not None:
            return  # a fork has no sessions; its parent has its results
        first = 0
        for number in range(1, thread.episode):
            ref = await self.episodes.get_ref(scope, thread.id, number)
            if ref is None:
                continue
            session = Session(ref.select_branch(thread), number, ref.first_ordinal, ref.end_ordinal, ref.ended_at)
            async for piece in self._list_session(scope, session):
                yield piece
            first = ref.end_ordinal
        rest = Session(thread, thread.episode, max(first, thread.episode_first_ordinal), thread.next_ordinal, None)
        async for piece in self._list_session(scope, rest):
            yield piece

    async def _list_session(self, scope: Scope, session: Session) -> AsyncIterator[ExportPiece]:
        count = size = 0
        async for message, feedback in self._list_messages(
            scope, session.thread, session.first_ordinal, session.end_ordinal
        ):
            if message.role not in (Role.USER, Role.ASSISTANT) or not message.text:
                continue
            length = MESSAGE_BYTES + count_bytes(json.dumps(message.text, ensure_ascii=False))
            length += count_bytes(json.dumps(feedback.comment, ensure_ascii=False)) if feedback is not None else 0
            if count and (count == IMPORTED or size + length > IMPORTED_BYTES):
                yield ExportPiece(ExportKind.SESSION_END, session.thread.id, session)
                session = replace(session, part=session.part + 1)
                count = size = 0
            if not count:
                yield ExportPiece(ExportKind.SESSION_BEGIN, session.thread.id, session)
            count += 1
            size += length
            yield ExportPiece(ExportKind.SESSION_MESSAGE, session.thread.id, message, feedback)
        if count:
            yield ExportPiece(ExportKind.SESSION_END, session.thread.id, session)

    async def _list_messages(
        self, scope: Scope, thread: Thread, first: int, end: int
    ) -> AsyncIterator[tuple[StoredMessage, Feedback | None]]:
        """Yield messages in order, with the feedback on them.

        The store reads backwards, so they are read a block at a time.
        """
        for start in range(first, end, MESSAGES):
            messages: list[StoredMessage] = []
            before: int | None = min(start + MESSAGES, end)
            while before is not None and before > start:
                page = await self.store.read_messages(scope, thread, limit=before - start, before=before)
                messages = [*(message for message in page.messages if message.ordinal >= start), *messages]
                before = page.messages[0].ordinal if page.messages else None
            feedback_by_ordinal = {
                feedback.ordinal: feedback
                for feedback in await self.feedback.between(scope, thread, start, min(start + MESSAGES, end))
            }
            for message in messages:
                yield message, feedback_by_ordinal.get(message.ordinal)


async def _list_all(read: Callable[..., _Page]) -> AsyncIterator[Any]:
    """Yield the items of every page that ``read`` returns for a ``cursor``."""
    cursor: str | None = None
    while True:
        items, cursor = await read(cursor=cursor)
        for item in items:
            yield item
        if cursor is None:
            return
