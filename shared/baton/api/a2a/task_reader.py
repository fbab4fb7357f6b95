"""The reader of A2A tasks, which are rebuilt from their threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.api.a2a.tasks import A2ATask, assemble_task, make_queued_task, with_state
from baton.composition.ports import Ports
from baton.concurrency.tasks import gather_all
from baton.domain.errors import ThreadUnavailable
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.threads.a2a_task import MarkStatus, TaskId
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import ClientOffer
from baton.threads.requests.thread_access import audit_read

MAX_HISTORY = 200
"""The number of a thread's newest messages from which a task is read, besides those of its first turn."""
MAX_TASKS = 100
"""The number of a thread's newest tasks that are listed."""
AT_ONCE = 10
"""Tasks that are read at the same time."""
MAX_PAGES = 3
"""Pages of messages that are read. A page of long messages ends after a megabyte (``ThreadStore.read_messages``)."""


class TaskReader:
    """A reader of the tasks that a caller may read."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports

    async def find(self, scope: Scope, text: str) -> A2ATask | None:
        """Return the task with the id ``text``; None if the caller may read no such task. Refusals are audited."""
        task_id = TaskId.parse(text)
        return await self.read(scope, task_id, audited=True) if task_id is not None else None

    async def read(self, scope: Scope, task_id: TaskId, *, audited: bool = False) -> A2ATask | None:
        """Return the task; None if ``scope`` may read no such task. With ``audited``, audit reads and refusals."""
        ports, thread_id = self._ports, task_id.thread_id
        try:
            thread = await ports.store.get_thread(scope, thread_id)
        except ThreadUnavailable as refusal:
            mark = await ports.a2a_tasks.get(scope, thread_id, task_id.root)
            sees_all = scope.has(Permission.THREAD_READ_ALL)
            if refusal.is_unused and mark is not None and (sees_all or mark.user_id == scope.user_id):
                return make_queued_task(task_id, mark)
            if audited:
                detail = {"taskId": str(task_id)}
                await ports.audit.record(
                    scope, "task.read", thread_id=thread_id, outcome=refusal.audited_as, detail=detail
                )
            return None
        turn, mark = await gather_all(
            ports.store.get_turn(scope, thread_id, task_id.root), ports.a2a_tasks.get(scope, thread_id, task_id.root)
        )
        if mark is not None and mark.user_id != thread.user_id:
            mark = None
        if turn is not None and turn.first_ordinal >= thread.next_ordinal:
            thread = await ports.store.get_thread(scope, thread_id)  # the turn began after the thread was read
        if turn is None and mark is None:
            return None
        if audited:
            await audit_read(ports.audit, scope, thread_id, thread.user_id, "task.read")
        messages = await self._read_messages(scope, thread, turn.first_ordinal) if turn is not None else []
        question = await self._read_question(scope, thread)
        task = assemble_task(task_id, thread, mark, messages, question)
        if turn is not None and mark is None and not task.messages and task.run_id is None:
            return None  # the message belongs to the conversation, but began no task
        is_waiting = await self._is_waiting(scope, task)
        first_offer = turn.client if turn is not None else None
        return replace(with_state(task, is_waiting=is_waiting), first_offer=first_offer)

    async def list_tasks(self, scope: Scope, thread: Thread) -> Sequence[A2ATask]:
        """Return the tasks to which the newest messages of the thread belong, the latest state first.

        There are at most ``MAX_TASKS``.
        """
        messages = await self._read_messages(scope, thread, 0)
        question = await self._read_question(scope, thread)
        known_messages = [*messages, *([question] if question is not None else [])]
        roots = [
            root for root in dict.fromkeys(message.a2a_task for message in reversed(known_messages)) if root is not None
        ]
        complete_roots = {message.id for message in known_messages if message.id == message.a2a_task}
        tasks: list[A2ATask | None] = []
        for start in range(0, min(len(roots), MAX_TASKS), AT_ONCE):
            tasks += await gather_all(
                *(
                    self._assemble_task(scope, TaskId(thread.id, root), thread, messages, question)
                    if root in complete_roots
                    else self.read(scope, TaskId(thread.id, root))
                    for root in roots[start : min(start + AT_ONCE, MAX_TASKS)]
                )
            )
        return sorted(
            (task for task in tasks if task is not None), key=lambda task: (task.at, task.id.root), reverse=True
        )

    async def _assemble_task(
        self,
        scope: Scope,
        task_id: TaskId,
        thread: Thread,
        messages: Sequence[StoredMessage],
        question: StoredMessage | None,
    ) -> A2ATask:
        """Return a task of a thread whose messages are read already."""
        mark, turn = await gather_all(
            self._ports.a2a_tasks.get(scope, thread.id, task_id.root),
            self._ports.store.get_turn(scope, thread.id, task_id.root),
        )
        task = assemble_task(task_id, thread, mark, messages, question)
        task = with_state(task, is_waiting=await self._is_waiting(scope, task))
        return replace(task, first_offer=turn.client if turn is not None else None)

    async def has_changed(self, scope: Scope, task: A2ATask) -> bool:
        """Return whether a task without a run in progress may have changed since it was read.

        This reads only two items. If it returns True, the caller has to read the task to find out.
        """
        if task.thread is None:
            return True
        try:
            thread, mark = await gather_all(
                self._ports.store.get_thread(scope, task.id.thread_id),
                self._ports.a2a_tasks.get(scope, task.id.thread_id, task.id.root),
            )
        except ThreadUnavailable:  # the thread was deleted meanwhile
            return True
        return _make_progress_mark(thread) != _make_progress_mark(task.thread) or mark != task.mark

    async def is_queued(self, scope: Scope, task_id: TaskId, message_id: str) -> bool:
        """Return whether a message to a task of an existing thread is the newest that waits in the queue."""
        turn, mark = await gather_all(
            self._ports.store.get_turn(scope, task_id.thread_id, message_id),
            self._ports.a2a_tasks.get(scope, task_id.thread_id, task_id.root),
        )
        is_newest = mark is not None and mark.status is MarkStatus.QUEUED and mark.message_id == message_id
        return turn is None and is_newest

    async def find_task_id(self, scope: Scope, thread_id: str, message_id: str) -> TaskId | None:
        """Return the task to which a stored message was sent; None without one.

        The caller must have checked that the thread belongs to the user.
        """
        turn = await self._ports.store.get_turn(scope, thread_id, message_id)
        if turn is None:
            return None
        stored = await self._ports.store.run_messages(
            scope, thread_id, first_ordinal=turn.first_ordinal, below=turn.first_ordinal + 1
        )
        if not stored or stored[0].id != message_id or stored[0].a2a_task is None:
            return None
        return TaskId(thread_id, stored[0].a2a_task)

    async def read_latest_offer(self, scope: Scope, thread: Thread) -> ClientOffer | None:
        """Return the offer of the newest message that was sent to a task in the current session; None without one."""
        messages = await self._read_messages(scope, thread, thread.episode_first_ordinal)
        latest = next((message for message in reversed(messages) if message.a2a_task is not None), None)
        turn = await self._ports.store.get_turn(scope, thread.id, latest.id) if latest is not None else None
        return turn.client if turn is not None else None

    async def _read_messages(self, scope: Scope, thread: Thread, first_ordinal: int) -> list[StoredMessage]:
        """Return the committed messages from ``first_ordinal`` on.

        If there are too many, return the messages of the first run and the newest messages.
        """
        store = self._ports.store
        messages: list[StoredMessage] = []
        before: int | None = None
        for _ in range(MAX_PAGES):
            if thread.next_ordinal <= first_ordinal or len(messages) >= MAX_HISTORY:
                break
            page = await store.read_messages(scope, thread, limit=MAX_HISTORY - len(messages), before=before)
            messages = [*page.messages, *messages]
            before = page.next_before
            if before is None or before <= first_ordinal:
                break
        messages = [message for message in messages if message.ordinal >= first_ordinal]
        if messages and messages[0].ordinal > first_ordinal and first_ordinal in thread.path:
            first = await store.run_messages(scope, thread.id, first_ordinal=first_ordinal, below=messages[0].ordinal)
            messages = [*first, *messages]
        return messages

    async def _read_question(self, scope: Scope, thread: Thread) -> StoredMessage | None:
        """Return the question of the run in progress; None without a run, or if the question is not stored yet."""
        if thread.run is None:
            return None
        stored = await self._ports.store.run_messages(
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
        return await self._ports.store.get_turn(scope, task.id.thread_id, mark.message_id) is None


def _make_progress_mark(thread: Thread) -> tuple[object, ...]:
    """Return a value that changes after every turn, when a run begins, and when the session ends."""
    return thread.run, thread.next_ordinal, thread.episode_first_ordinal, thread.episode
