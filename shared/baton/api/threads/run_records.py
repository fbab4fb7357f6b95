"""Records of a thread's runs: tool calls, sub-tasks and handoffs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from baton.api.http.dependencies import Caller, Cursor, Limit, ThreadId, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.threads.access import readable_thread
from baton.api.threads.record_schemas import TASK_ID, Handoff, ServedTask, ServedToolCallRecord, TaskWithMessages
from baton.domain.errors import NotFound

router = APIRouter(prefix="/v1/threads/{thread_id}", tags=["threads"])

TaskId = Annotated[str, Path(max_length=128, description="The sub-task's id.", examples=[TASK_ID])]


@router.get("/tool-calls", summary="List tool calls")
async def list_tool_calls(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[ServedToolCallRecord]:
    """Return the tool calls of this conversation, newest first, including those of the run in progress."""
    thread = await readable_thread(app, caller, thread_id, is_repeated=cursor is not None)
    calls, next_cursor = await app.ports.records.calls(caller, thread.id, limit=limit, cursor=cursor)
    calls = await app.privacy.readers.redact_for(caller, thread.user_id, calls)
    return Listing[ServedToolCallRecord](items=calls, next_cursor=next_cursor)


@router.get("/tasks", summary="List sub-tasks")
async def list_tasks(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[ServedTask]:
    """Return the sub-tasks of this conversation, newest first, without their messages."""
    thread = await readable_thread(app, caller, thread_id, is_repeated=cursor is not None)
    tasks, next_cursor = await app.ports.records.tasks(caller, thread.id, limit=limit, cursor=cursor)
    tasks = await app.privacy.readers.redact_for(caller, thread.user_id, tasks)
    return Listing[ServedTask](items=tasks, next_cursor=next_cursor)


@router.get("/tasks/{task_id}", summary="Read a sub-task", responses=responses("not_found"))
async def get_task(thread_id: ThreadId, task_id: TaskId, caller: Caller, app: UseCases) -> TaskWithMessages:
    """Return one sub-task with its messages."""
    thread = await readable_thread(app, caller, thread_id)
    task = await app.ports.records.task(caller, thread.id, task_id)
    if task is None:
        raise NotFound("There is no such sub-task in this conversation.")
    return TaskWithMessages.of(await app.privacy.readers.redact_for(caller, thread.user_id, task))


@router.get("/handoffs", summary="List handoffs")
async def list_handoffs(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[Handoff]:
    """Return the handoffs of this conversation, newest first, including refused ones."""
    thread = await readable_thread(app, caller, thread_id, is_repeated=cursor is not None)
    requests, next_cursor = await app.ports.handoffs.of_thread(caller, thread.id, limit=limit, cursor=cursor)
    requests = await app.privacy.readers.redact_for(caller, thread.user_id, requests)
    return Listing[Handoff](items=requests, next_cursor=next_cursor)
