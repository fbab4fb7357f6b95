"""The cancellation of a task: it is marked, and its run is stopped."""

from __future__ import annotations

import asyncio

from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError

from baton.api.a2a.caller import A2ACaller
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.domain.errors import ThreadUnavailable
from baton.domain.threads.a2a_task import MarkStatus, TaskMark, TaskState

CANCEL_SECONDS = 10.0
"""Seconds for which a cancellation waits for the run to stop."""
POLL_SECONDS = 0.2


async def cancel(caller: A2ACaller, task: A2ATask) -> A2ATask:
    """Cancel the caller's task and return what has become of it.

    Raises ``TaskNotFoundError`` for another user's, and ``TaskNotCancelableError`` for one that is final.
    """
    app, scope = caller.app, caller.scope
    if task.user_id != scope.user_id:
        raise TaskNotFoundError
    if task.state is TaskState.CANCELED:
        await _notify_of_mark(caller, task)  # an earlier request may have died before it did
    if task.state.is_terminal:
        raise TaskNotCancelableError(f"The task is {task.state.value} already.")
    mark = TaskMark(root=task.id.root, user_id=scope.user_id, status=MarkStatus.CANCELED, at=app.ports.clock.now())
    # The mark first, so that a message of the task that is still in the queue starts no turn.
    await app.ports.a2a_tasks.mark(scope, task.id.thread_id, mark)
    await _notify_of_mark(caller, task)
    stopped = await _stop_run(caller, task)
    await app.ports.audit.record(
        scope, "task.cancel", thread_id=task.id.thread_id, outcome="allowed", detail={"taskId": str(task.id)}
    )
    return stopped


async def _stop_run(caller: A2ACaller, task: A2ATask) -> A2ATask:
    """Stop the task's run and wait until it has ended."""
    loop = asyncio.get_running_loop()
    until = loop.time() + CANCEL_SECONDS
    stopping: str | None = None
    while True:
        current = await TaskReader(caller.app.ports).read(caller.scope, task.id)
        if current is None:
            raise TaskNotFoundError
        if current.run_id is None or loop.time() >= until:
            return current
        if current.run_id != stopping:
            stopping = current.run_id
            await caller.app.controls.cancel(caller.scope, task.id.thread_id, stopping)
        # The conversation is read again only when something has changed.
        while loop.time() < until:
            await asyncio.sleep(POLL_SECONDS)
            if not await _is_running(caller, task.id.thread_id, stopping):
                break


async def _is_running(caller: A2ACaller, thread_id: str, run_id: str) -> bool:
    try:
        thread = await caller.app.ports.store.get_thread(caller.scope, thread_id)
    except ThreadUnavailable:  # it was deleted meanwhile
        return False
    return thread.run is not None and thread.run.run_id == run_id


async def _notify_of_mark(caller: A2ACaller, task: A2ATask) -> None:
    """Let clients be notified that the task was cancelled, if any want to be."""
    if caller.access.pushes() and (task.thread is None or task.thread.notifies):
        await caller.app.task_notifications.note_mark(
            caller.scope, task.id.thread_id, task.id.root, MarkStatus.CANCELED.value
        )
