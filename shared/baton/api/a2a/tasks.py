"""A2A tasks, rebuilt from their threads: the turns of a task, its state, and the run in progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from baton.domain.a2a_task import MarkStatus, TaskId, TaskMark, TaskState, state_of
from baton.domain.client_offer import ClientOffer
from baton.domain.errors import ThreadUnavailable
from baton.domain.identity import Permission, Scope
from baton.domain.message import OutcomeType, Role, RunEnd, StoredMessage
from baton.domain.thread import Thread
from baton.gather_all import gather_all
from baton.ports.a2a_tasks import A2ATasks
from baton.ports.audit import AuditLog
from baton.ports.thread_store import ThreadStore
from baton.requests.thread_access import audit_read

MAX_HISTORY = 200
"""The newest messages of a thread that a task is read from, beside those of its first turn."""
MAX_TASKS = 100
"""The newest tasks of a thread that are listed."""
AT_ONCE = 10
"""Of them, those that are read at the same time."""
MAX_PAGES = 3
"""Pages in which they are read. A page of long messages ends after a megabyte (``ThreadStore.read_messages``)."""


@dataclass(frozen=True, slots=True)
class A2ATask:
    """A task as its thread shows it."""

    id: TaskId
    user_id: str
    thread: Thread | None
    """None while the first message of a new thread waits in the queue."""
    mark: TaskMark | None
    messages: tuple[StoredMessage, ...]
    """The messages of its turns, in order, with the question of the run in progress; the newest if there are many."""
    state: TaskState
    at: datetime
    """When it came into this state, as far as that is known."""
    run_id: str | None = None
    """The run in progress, if it is the task's."""
    runs: frozenset[str] = field(default=frozenset())
    """Its runs that have ended."""
    brought: ClientOffer | None = None
    """What its first message brought, where that was read."""

    @property
    def last_end(self) -> RunEnd | None:
        """How its last run ended; None while one is in progress."""
        if self.run_id is not None:
            return None
        return next((message.end for message in reversed(self.messages) if message.end is not None), None)

    @property
    def awaits_answers(self) -> bool:
        """Whether the thread waits for answers to interrupts of this task's last run."""
        pending = self.thread.pending if self.thread is not None else None
        return pending is not None and bool(pending.open) and pending.run_id in self.runs

    def has_message(self, message_id: str) -> bool:
        """Return whether a message with this id was sent to the task."""
        return any(message.id == message_id and message.role is Role.USER for message in self.messages)


class TaskStores(Protocol):
    """The ports that tasks are read from."""

    @property
    def store(self) -> ThreadStore: ...
    @property
    def a2a_tasks(self) -> A2ATasks: ...
    @property
    def audit(self) -> AuditLog: ...


class TaskReader:
    """Reads tasks within a caller's scope."""

    def __init__(self, services: TaskStores) -> None:
        self._services = services

    async def find(self, scope: Scope, text: str) -> A2ATask | None:
        """Return the task with the id ``text``; None if the caller knows no such task. Refusals are audited."""
        task_id = TaskId.parse(text)
        return await self.read(scope, task_id, audited=True) if task_id is not None else None

    async def read(self, scope: Scope, task_id: TaskId, *, audited: bool = False) -> A2ATask | None:
        """Return the task; None if there is none in the scope. ``audited``: the id is a client's."""
        services, thread_id = self._services, task_id.thread_id
        try:
            thread = await services.store.get_thread(scope, thread_id)
        except ThreadUnavailable as refusal:
            mark = await services.a2a_tasks.get(scope, thread_id, task_id.root)
            if refusal.is_unused and mark is not None and _may_read(scope, mark.user_id):
                return _queued(task_id, mark)
            if audited:
                detail = {"taskId": str(task_id)}
                await services.audit.record(
                    scope, "task.read", thread_id=thread_id, outcome=refusal.audited_as, detail=detail
                )
            return None
        turn, mark = await gather_all(
            services.store.get_turn(scope, thread_id, task_id.root),
            services.a2a_tasks.get(scope, thread_id, task_id.root),
        )
        if mark is not None and mark.user_id != thread.user_id:
            mark = None
        if turn is not None and turn.first_ordinal >= thread.next_ordinal:
            thread = await services.store.get_thread(scope, thread_id)  # the turn may have been opened in between
        if turn is None and mark is None:
            return None
        if audited:
            await audit_read(services.audit, scope, thread_id, thread.user_id, "task.read")
        messages = await self._messages(scope, thread, turn.first_ordinal) if turn is not None else []
        question = await self._question(scope, thread)
        task = _assembled(task_id, thread, mark, messages, question)
        if turn is not None and mark is None and not task.messages and task.run_id is None:
            return None  # a message of the conversation that began no task
        is_waiting = await self._is_waiting(scope, task)
        brought = turn.client if turn is not None else None
        return replace(_with_state(task, is_waiting=is_waiting), brought=brought)

    async def of_thread(self, scope: Scope, thread: Thread) -> Sequence[A2ATask]:
        """Return the tasks that the newest messages of the thread belong to, the latest state first."""
        messages = await self._messages(scope, thread, 0)
        question = await self._question(scope, thread)
        seen = [*messages, *([question] if question is not None else [])]
        roots = [root for root in dict.fromkeys(message.a2a_task for message in reversed(seen)) if root is not None]
        whole = {message.id for message in seen if message.id == message.a2a_task}
        found: list[A2ATask | None] = []
        for start in range(0, min(len(roots), MAX_TASKS), AT_ONCE):
            found += await gather_all(
                *(
                    self._listed(scope, TaskId(thread.id, root), thread, messages, question)
                    if root in whole
                    else self.read(scope, TaskId(thread.id, root))
                    for root in roots[start : min(start + AT_ONCE, MAX_TASKS)]
                )
            )
        return sorted(
            (task for task in found if task is not None), key=lambda task: (task.at, task.id.root), reverse=True
        )

    async def _listed(
        self,
        scope: Scope,
        task_id: TaskId,
        thread: Thread,
        messages: Sequence[StoredMessage],
        question: StoredMessage | None,
    ) -> A2ATask:
        """Return a task of a thread whose messages are read already."""
        mark, turn = await gather_all(
            self._services.a2a_tasks.get(scope, thread.id, task_id.root),
            self._services.store.get_turn(scope, thread.id, task_id.root),
        )
        task = _assembled(task_id, thread, mark, messages, question)
        task = _with_state(task, is_waiting=await self._is_waiting(scope, task))
        return replace(task, brought=turn.client if turn is not None else None)

    async def still_waits(self, scope: Scope, task: A2ATask) -> bool:
        """Return whether the message that waited when ``task`` was read does so still.

        It reads two items. False may also mean that only reading the task again tells.
        """
        if task.thread is None or task.mark is None or task.mark.message_id is None:
            return False
        return await self.is_queued(scope, task.id, task.mark.message_id)

    async def is_queued(self, scope: Scope, task_id: TaskId, message_id: str) -> bool:
        """Return whether a message to a task of an existing thread is the newest that waits in the queue."""
        turn, mark = await gather_all(
            self._services.store.get_turn(scope, task_id.thread_id, message_id),
            self._services.a2a_tasks.get(scope, task_id.thread_id, task_id.root),
        )
        is_newest = mark is not None and mark.status is MarkStatus.QUEUED and mark.message_id == message_id
        return turn is None and is_newest

    async def task_of(self, scope: Scope, thread_id: str, message_id: str) -> TaskId | None:
        """Return the task that a stored message was sent to. The caller has checked who owns the thread."""
        turn = await self._services.store.get_turn(scope, thread_id, message_id)
        if turn is None:
            return None
        stored = await self._services.store.run_messages(
            scope, thread_id, first_ordinal=turn.first_ordinal, below=turn.first_ordinal + 1
        )
        if not stored or stored[0].id != message_id or stored[0].a2a_task is None:
            return None
        return TaskId(thread_id, stored[0].a2a_task)

    async def _messages(self, scope: Scope, thread: Thread, first_ordinal: int) -> list[StoredMessage]:
        """Return the committed messages from ``first_ordinal`` on; of many, the first run's and the newest."""
        store = self._services.store
        found: list[StoredMessage] = []
        before: int | None = None
        for _ in range(MAX_PAGES):
            if thread.next_ordinal <= first_ordinal or len(found) >= MAX_HISTORY:
                break
            page = await store.read_messages(scope, thread, limit=MAX_HISTORY - len(found), before=before)
            found = [*page.messages, *found]
            before = page.next_before
            if before is None or before <= first_ordinal:
                break
        found = [message for message in found if message.ordinal >= first_ordinal]
        if found and found[0].ordinal > first_ordinal and first_ordinal in thread.path:
            first = await store.run_messages(scope, thread.id, first_ordinal=first_ordinal, below=found[0].ordinal)
            found = [*first, *found]
        return found

    async def _question(self, scope: Scope, thread: Thread) -> StoredMessage | None:
        """Return the question of the run in progress, if it is stored."""
        if thread.run is None:
            return None
        stored = await self._services.store.run_messages(
            scope, thread.id, first_ordinal=thread.next_ordinal, below=thread.next_ordinal + 1
        )
        return stored[0] if stored and stored[0].id == thread.run.message_id else None

    async def _is_waiting(self, scope: Scope, task: A2ATask) -> bool:
        """Return whether a message of the task is still in the queue."""
        mark = task.mark
        if mark is None or mark.status is not MarkStatus.QUEUED or mark.message_id is None:
            return False
        if task.has_message(mark.message_id):
            return False
        return await self._services.store.get_turn(scope, task.id.thread_id, mark.message_id) is None


def _may_read(scope: Scope, user_id: str) -> bool:
    return user_id == scope.user_id or scope.has(Permission.THREAD_READ_ALL)


def _queued(task_id: TaskId, mark: TaskMark) -> A2ATask:
    state = state_of((), mark=mark.status, is_waiting=mark.status is MarkStatus.QUEUED)
    return A2ATask(task_id, mark.user_id, None, mark, (), state, mark.at)


def _assembled(
    task_id: TaskId,
    thread: Thread,
    mark: TaskMark | None,
    messages: Sequence[StoredMessage],
    question: StoredMessage | None,
) -> A2ATask:
    """Select the task's runs: those of its messages, and those that continue them after answers."""
    chosen: list[StoredMessage] = []
    runs: set[str] = set()
    for run in _runs(messages):
        end = run[-1].end
        is_answer = end is not None and end.parent_run_id in runs
        if run[0].a2a_task == task_id.root or is_answer:
            chosen += run
            runs.add(run[0].run_id)
    run_id = None
    if thread.run is not None:
        is_asked = question is not None and question.a2a_task == task_id.root
        pending = thread.pending
        is_answer = pending is not None and pending.run_id in runs and pending.message_id == thread.run.message_id
        if is_asked or is_answer or thread.run.message_id == task_id.root:
            run_id = thread.run.run_id
        if is_asked and question is not None:
            chosen.append(question)
    return A2ATask(
        task_id,
        thread.user_id,
        thread,
        mark,
        tuple(chosen),
        TaskState.SUBMITTED,
        thread.created_at,
        run_id,
        frozenset(runs),
    )


def _runs(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    runs: list[list[StoredMessage]] = []
    ended = True
    for message in messages:
        if ended or message.run_id != runs[-1][-1].run_id:
            runs.append([])
        runs[-1].append(message)
        ended = message.end is not None
    return runs


def _with_state(task: A2ATask, *, is_waiting: bool) -> A2ATask:
    thread, mark = task.thread, task.mark
    ends = [message.end for message in task.messages if message.end is not None]
    begun = task.messages[0].ordinal if task.messages else None
    state = state_of(
        ends,
        mark=mark.status if mark is not None else None,
        is_running=task.run_id is not None,
        is_waiting=is_waiting,
        session_ended=thread is not None and begun is not None and begun < thread.episode_first_ordinal,
    )
    times = [message.timestamp for message in task.messages[-1:]]
    if mark is not None and (not times or mark.status is MarkStatus.CANCELED or is_waiting):
        times.append(mark.at)
    return A2ATask(
        task.id,
        task.user_id,
        thread,
        mark,
        task.messages,
        state,
        max(times, default=task.at),
        task.run_id,
        task.runs,
    )


def is_interrupted(task: A2ATask) -> bool:
    """Return whether the last run of the task waits for a person's decision."""
    end = task.last_end
    return end is not None and end.outcome is OutcomeType.INTERRUPT and task.awaits_answers
