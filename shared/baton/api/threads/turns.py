"""Routes of a thread's turns, and of the records of their runs: contexts, tool calls, sub-tasks and handoffs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path

from baton.api.http.dependencies import Caller, Cursor, Limit, RunId, ThreadId, UseCases
from baton.api.http.problems import responses
from baton.api.http.schemas import Listing
from baton.api.threads.access import get_readable_thread
from baton.api.threads.record_schemas import TASK_ID, Handoff, ServedTask, ServedToolCallRecord, TaskWithMessages
from baton.api.threads.turn_schemas import Rerun, RerunRequest, ServedContextRecord, Turn
from baton.domain import errors
from baton.domain.cursors import decode_ordinal, encode_ordinal
from baton.domain.errors import NotFound
from baton.domain.memory.inspection import InspectorMode
from baton.domain.tenants.identity import Permission
from baton.threads.sessions.turn_listing import read_turns
from baton.turns.reruns import RerunOptions

ABSENT = {
    InspectorMode.ALL: "all turns are recorded now (BATON_INSPECTOR is all).",
    InspectorMode.SAMPLE: "only a sample is recorded (BATON_INSPECTOR is sample).",
    InspectorMode.OFF: "none are recorded at present (BATON_INSPECTOR is off).",
}
"""Explanations of a missing record, by the setting."""

MAX_AUDITED = 256
"""Characters of a run's id in the audit."""
MAX_AUDITED_ITEMS = 20
"""Items left out of a dry run that its audit record names."""

router = APIRouter(prefix="/v1/threads/{thread_id}", tags=["threads"])


@router.get("/turns", summary="List turns")
async def list_turns(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[Turn]:
    """Return the turns of this conversation, newest first, including the turn in progress.

    A page may have fewer items than `limit`, or none, and still have a `nextCursor`.
    """
    before = decode_ordinal(cursor) if cursor else None
    thread = await get_readable_thread(app, caller, thread_id, is_repeated=cursor is not None)
    turns, next_before = await read_turns(
        app.ports.store, app.ports.feedback, caller, thread, limit=limit, before=before
    )
    items = [Turn.from_record(app.ports.prices, turn) for turn in turns]
    items = await app.privacy.readers.redact_for(caller, thread.user_id, items)
    return Listing[Turn](items=items, next_cursor=encode_ordinal(next_before) if next_before is not None else None)


@router.get("/turns/{run_id}/context", summary="Inspect a turn's context", responses=responses("forbidden not_found"))
async def get_context(thread_id: ThreadId, run_id: RunId, caller: Caller, app: UseCases) -> ServedContextRecord:
    """Return the contribution of each memory to a turn, and the exact messages that its models got.

    Needs `context:inspect`, for other users' conversations `thread:read_all` as well. Each read is audited.
    """
    caller.require(Permission.CONTEXT_INSPECT, "context.read")
    thread = await get_readable_thread(app, caller, thread_id)
    record = await app.memory.inspector.read(caller, thread, run_id)
    outcome = "allowed" if record is not None else "not_found"
    detail = {"runId": run_id[:MAX_AUDITED], "userId": thread.user_id}
    await app.ports.audit.record(caller, "context.read", thread_id=thread.id, outcome=outcome, detail=detail)
    if record is None:
        reason = ABSENT[app.memory.inspector.policy.mode]
        raise errors.NotFound(f"There is no record of this run. The conversation may have no such run; {reason}")
    rated = await app.ports.feedback.between(caller, thread, 0, thread.next_ordinal)
    feedback = [feedback for feedback in rated if feedback.run_id == record["runId"]]
    context = ServedContextRecord.model_validate(await app.memory.inspector.add_feedback(record, feedback))
    return await app.privacy.readers.redact_for(caller, thread.user_id, context)


@router.post(
    "/turns/{run_id}/rerun",
    summary="Run a turn again, without effects",
    responses=responses(
        "forbidden not_found unknown_agent_version rerun_unavailable model_not_offered "
        "model_error turn_timeout store_unavailable"
    ),
)
async def rerun_turn(thread_id: ThreadId, run_id: RunId, caller: Caller, app: UseCases, body: RerunRequest) -> Rerun:
    """Answer a turn's message again as a dry run, with the history at that time and the present memory.

    Nothing is stored or sent, and no tool is called: a call that the turn also made gets the result from the turn.
    Needs `context:inspect`, for other users' conversations `thread:read_all` as well. Each dry run is audited.
    """
    caller.require(Permission.CONTEXT_INSPECT, "context.rerun")
    thread = await get_readable_thread(app, caller, thread_id)
    owner = replace(caller, user_id=thread.user_id)
    detail = {"runId": run_id[:MAX_AUDITED], "userId": thread.user_id}
    if body.model is not None:
        detail["model"] = body.model
    audit = partial(app.ports.audit.record, caller, "context.rerun", thread_id=thread.id)
    try:
        turn = await app.reruns.turns.find(owner, thread, run_id, body.message_id)
    except errors.NotFound:
        await audit(outcome="not_found", detail=detail)
        raise
    more = {"agentId": body.agent_id, "agentVersion": body.agent_version, "without": body.without[:MAX_AUDITED_ITEMS]}
    await audit(outcome="allowed", detail=detail | {name: value for name, value in more.items() if value})
    options = RerunOptions(body.model, body.agent_version, frozenset(body.without), agent_id=body.agent_id)
    ran = await app.reruns.run(caller, turn, options)
    record = await app.memory.inspector.describe(thread.id, run_id, ran.inspection)
    rerun = Rerun.of(
        ran, context=ServedContextRecord.model_validate(record), duration_ms=ran.duration, tool_calls=ran.calls
    )
    return await app.privacy.readers.redact_for(caller, thread.user_id, rerun)


TaskId = Annotated[str, Path(max_length=128, description="The sub-task's id.", examples=[TASK_ID])]


@router.get("/tool-calls", summary="List tool calls")
async def list_tool_calls(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[ServedToolCallRecord]:
    """Return the tool calls of this conversation, newest first, including those of the run in progress."""
    thread = await get_readable_thread(app, caller, thread_id, is_repeated=cursor is not None)
    calls, next_cursor = await app.ports.records.list_calls(caller, thread.id, limit=limit, cursor=cursor)
    calls = await app.privacy.readers.redact_for(caller, thread.user_id, calls)
    return Listing[ServedToolCallRecord](items=calls, next_cursor=next_cursor)


@router.get("/tasks", summary="List sub-tasks")
async def list_tasks(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[ServedTask]:
    """Return the sub-tasks of this conversation, newest first, without their messages."""
    thread = await get_readable_thread(app, caller, thread_id, is_repeated=cursor is not None)
    tasks, next_cursor = await app.ports.records.list_tasks(caller, thread.id, limit=limit, cursor=cursor)
    tasks = await app.privacy.readers.redact_for(caller, thread.user_id, tasks)
    return Listing[ServedTask](items=tasks, next_cursor=next_cursor)


@router.get("/tasks/{task_id}", summary="Read a sub-task", responses=responses("not_found"))
async def get_task(thread_id: ThreadId, task_id: TaskId, caller: Caller, app: UseCases) -> TaskWithMessages:
    """Return one sub-task with its messages."""
    thread = await get_readable_thread(app, caller, thread_id)
    task = await app.ports.records.task(caller, thread.id, task_id)
    if task is None:
        raise NotFound("There is no such sub-task in this conversation.")
    return TaskWithMessages.of(await app.privacy.readers.redact_for(caller, thread.user_id, task))


@router.get("/handoffs", summary="List handoffs")
async def list_handoffs(
    thread_id: ThreadId, caller: Caller, app: UseCases, limit: Limit = 50, cursor: Cursor = None
) -> Listing[Handoff]:
    """Return the handoffs of this conversation, newest first, including refused ones."""
    thread = await get_readable_thread(app, caller, thread_id, is_repeated=cursor is not None)
    requests, next_cursor = await app.ports.handoffs.of_thread(caller, thread.id, limit=limit, cursor=cursor)
    requests = await app.privacy.readers.redact_for(caller, thread.user_id, requests)
    return Listing[Handoff](items=requests, next_cursor=next_cursor)
