"""The list of a caller's tasks, which are read from the caller's conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from a2a.types import ListTasksRequest, ListTasksResponse, Task
from a2a.types import TaskState as WireState
from a2a.utils.errors import InvalidParamsError

from baton.api.a2a.access import A2ACaller
from baton.api.a2a.task_reader import TaskReader
from baton.api.a2a.tasks import A2ATask
from baton.api.a2a.wire import STATES, read_history_length, to_task
from baton.domain.cursors import decode, encode
from baton.domain.errors import InvalidRequest, ThreadUnavailable
from baton.domain.tenants.identity import resolve_imported_thread_ref
from baton.domain.threads.thread import Thread
from baton.threads.requests.parsing import parse_thread_id

DEFAULT_SIZE = 50
"""Tasks of a page if the client names no size."""
MAX_SIZE = 100
"""The most tasks of a page that a client may ask for."""
THREADS_A_PAGE = 50
"""Conversations that one read of the store returns."""
MAX_SEARCHED = 500
"""Conversations after which a call ends, with or without tasks."""
MAX_THREADS_READ = 30
"""The largest number of conversations whose messages one call reads."""
MAX_BYTES = 2 * 1024 * 1024
"""Bytes of the tasks in a page. A page has fewer tasks if they are long."""


def check_status(params: Any) -> None:
    """Raise ``InvalidParamsError`` for an unknown state, because the SDK's parser would ignore the filter."""
    status = params.get("status") if isinstance(params, dict) else None
    if isinstance(status, str) and status not in dict(WireState.items()):
        raise InvalidParamsError("status must be a state of a task, such as TASK_STATE_WORKING.")


@dataclass(frozen=True, slots=True)
class _Position:
    """The position at which a page begins: after a task of a conversation."""

    cursor: str | None = None
    """The cursor of the page of conversations that contains the conversation."""
    thread_id: str | None = None
    root: str | None = None
    """The last listed task of the conversation; None if all its tasks were listed."""
    earlier: int = 0
    """The number of tasks on all earlier pages."""

    def to_token(self) -> str:
        return encode({"c": self.cursor, "t": self.thread_id, "r": self.root, "n": self.earlier})

    @classmethod
    def of(cls, token: str) -> _Position:
        """Return the position in a page token. Raises ``InvalidParamsError``."""
        try:
            fields = decode(token)
        except InvalidRequest:
            fields = {}
        cursor, thread_id, root, earlier = (fields.get(name) for name in ("c", "t", "r", "n"))
        are_texts = all(field is None or isinstance(field, str) for field in (cursor, thread_id, root))
        if are_texts and isinstance(earlier, int) and 0 <= earlier < 10**9:
            return cls(cursor, thread_id, root, earlier)  # type: ignore[arg-type]
        raise InvalidParamsError("pageToken was not handed out by this list.")


async def list_tasks(caller: A2ACaller, params: ListTasksRequest) -> ListTasksResponse:
    """Return a page of the caller's tasks. The tasks of the conversation with the latest activity are first.

    Tasks have no messages unless a length of the history is given. Raises ``InvalidParamsError``.
    """
    history = read_history_length(params) or 0
    size = params.page_size if params.HasField("page_size") else DEFAULT_SIZE
    if not 1 <= size <= MAX_SIZE:
        raise InvalidParamsError(f"pageSize must be 1 to {MAX_SIZE}.")
    begin = _Position.of(params.page_token) if params.page_token else _Position()
    tasks: list[Task] = []
    next_position: _Position | None = None
    room = MAX_BYTES
    async for task, before in _list_tasks_from(caller, params, begin):
        if task is None:
            next_position = before
            break
        if not _matches_filters(task, params):
            continue
        served = await to_task(task, caller.app.agents, caller.scope, history=history)
        if not params.include_artifacts:
            del served.artifacts[:]
        room -= served.ByteSize()
        if tasks and (len(tasks) == size or room < 0):
            next_position = before
            break
        tasks.append(served)
    # The number of tasks on later pages is unknown without reading them. It counts as one.
    total = begin.earlier + len(tasks) + (1 if next_position is not None else 0)
    token = replace(next_position, earlier=begin.earlier + len(tasks)).to_token() if next_position is not None else ""
    return ListTasksResponse(tasks=tasks, next_page_token=token, page_size=size, total_size=total)


async def _list_tasks_from(
    caller: A2ACaller, params: ListTasksRequest, begin: _Position
) -> AsyncIterator[tuple[A2ATask | None, _Position]]:
    """Yield tasks, each with the position before it.

    If the call has read enough, the last item is None with the position at which the next page begins.
    """
    reader, last = TaskReader(caller.app.ports), begin
    read = 0
    async for thread, cursor in _list_threads_from(caller, params, begin):
        if thread is None:
            yield None, _Position(cursor)
            return
        if not thread.has_tasks:
            continue
        if read == MAX_THREADS_READ:
            yield None, last
            return
        read += 1
        tasks = await reader.list_tasks(caller.scope, thread)
        if thread.id == begin.thread_id and begin.root is not None:
            roots = [task.id.root for task in tasks]
            tasks = tasks[roots.index(begin.root) + 1 :] if begin.root in roots else tasks
        for task in tasks:
            yield task, last
            last = _Position(cursor, thread.id, task.id.root)
        last = _Position(cursor, thread.id)


async def _list_threads_from(
    caller: A2ACaller, params: ListTasksRequest, begin: _Position
) -> AsyncIterator[tuple[Thread | None, str | None]]:
    """Yield the caller's conversations from a position on, with the cursors of their pages.

    After ``MAX_SEARCHED`` conversations, yield None with the cursor of the next page.
    """
    if params.context_id:
        thread = await _find_thread(caller, params.context_id)
        if thread is not None and not (thread.id == begin.thread_id and begin.root is None):
            yield thread, None
        return
    cursor, listed = begin.cursor, 0
    while True:
        try:
            threads, following = await caller.app.ports.store.list_threads(
                caller.scope, limit=THREADS_A_PAGE, cursor=cursor
            )
        except InvalidRequest:
            raise InvalidParamsError("pageToken was not handed out by this list.") from None
        ids = [thread.id for thread in threads]
        if cursor == begin.cursor and begin.thread_id in ids:
            threads = threads[ids.index(begin.thread_id) + (1 if begin.root is None else 0) :]
        for thread in threads:
            if thread.user_id == caller.scope.user_id:
                yield thread, cursor
        listed += len(ids)
        if following is None:
            return
        cursor = following
        if listed >= MAX_SEARCHED:
            yield None, cursor
            return


async def _find_thread(caller: A2ACaller, context: str) -> Thread | None:
    """Return the caller's own conversation by its id, or by its id in another system; None if it does not exist.

    Raises ``InvalidParamsError`` for an invalid id.
    """
    try:
        ids = dict.fromkeys(
            (parse_thread_id(caller.scope, context).id, resolve_imported_thread_ref(caller.scope, context).id)
        )
    except InvalidRequest as error:
        raise InvalidParamsError(f"contextId: {error.detail}") from None
    for thread_id in ids:
        try:
            thread = await caller.app.ports.store.get_thread(caller.scope, thread_id)
        except ThreadUnavailable:
            continue
        if thread.user_id == caller.scope.user_id:
            return thread
    return None


def _matches_filters(task: A2ATask, params: ListTasksRequest) -> bool:
    if params.status != WireState.TASK_STATE_UNSPECIFIED and STATES[task.state] != params.status:
        return False
    if not params.HasField("status_timestamp_after"):
        return True
    after = params.status_timestamp_after
    return bool(task.at.timestamp() >= after.seconds + after.nanos / 1e9)
