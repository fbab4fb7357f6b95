"""Routes of a conversation's background tasks, and of reports by tools and remote agents on such tasks."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Path, Request
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import Field

from baton.api.http.dependencies import Caller, ThreadId, UseCases, bearer
from baton.api.http.problems import responses
from baton.api.http.schemas import Asked, describe
from baton.api.threads.access import get_readable_thread
from baton.domain.errors import InvalidRequest, Unauthorized
from baton.domain.json_values import write_canonical_text
from baton.domain.schedules.background_task import BackgroundKind, BackgroundStatus
from baton.domain.tenants.identity import resolve_thread_ref
from baton.domain.wire_model import RUN_ID, THREAD_ID, TIMESTAMP, Timestamp, WireModel
from baton.threads.background.callbacks import TaskReport

router = APIRouter(prefix="/v1", tags=["threads"])

TaskId = Annotated[str, Path(description="The id of a task.", examples=[THREAD_ID], max_length=64)]


class ServedBackgroundTask(WireModel):
    """A task in the background."""

    task_id: str = Field(validation_alias="id", examples=[THREAD_ID])
    kind: BackgroundKind = describe(
        "For an `agent`, the task's id is also the id of the thread in which the agent works.", "agent"
    )
    name: str = describe("The id of the agent, or the name of the tool.", "researcher")
    status: BackgroundStatus = Field(examples=["working"])
    started_at: Timestamp = Field(examples=[TIMESTAMP])
    progress: str | None = describe(
        "The progress that the tool or the remote agent has reported; null without a report.", "3 of 10"
    )
    expires_at: Timestamp = describe("The time at which the task is given up.", TIMESTAMP)
    result_run_id: str | None = describe("The run that the result has begun; null before it.", RUN_ID)


class BackgroundTaskList(WireModel):
    """The tasks of a conversation, the newest first."""

    items: list[ServedBackgroundTask]


class SentTaskReport(Asked):
    """A tool's report on its task."""

    status: Literal["working", "completed", "failed"]
    result: Any = describe("The result of a completed task: text, or any JSON value.", "42 pages", default=None)
    error: str | None = describe("The reason of a failure, for the agent.", "The printer is offline.", default=None)
    progress: str | None = describe("The progress of a working task, in one line.", "3 of 10", default=None)

    def to_report(self) -> TaskReport:
        """Return the report. Raises ``InvalidRequest`` for a completed task without a result."""
        if self.status == "completed":
            if self.result is None:
                raise InvalidRequest("A completed task needs its `result`.")
            text = self.result if isinstance(self.result, str) else write_canonical_text(self.result)
            return TaskReport(BackgroundStatus.COMPLETED, text)
        if self.status == "failed":
            return TaskReport(BackgroundStatus.FAILED, self.error or "")
        return TaskReport(BackgroundStatus.WORKING, self.progress or "")


@router.get("/threads/{thread_id}/background", summary="List tasks in the background")
async def list_background_tasks(thread_id: ThreadId, caller: Caller, app: UseCases) -> BackgroundTaskList:
    """Return the open tasks of a conversation, and up to 100 that ended in the last thirty days."""
    thread = await get_readable_thread(app, caller, thread_id)
    items = [ServedBackgroundTask.of(task) for task in await app.ports.background_tasks.of_thread(caller, thread.id)]
    return BackgroundTaskList(items=await app.privacy.readers.redact_for(caller, thread.user_id, items))


@router.delete(
    "/threads/{thread_id}/background/{task_id}",
    summary="Cancel a task in the background",
    status_code=202,
    responses=responses("not_found store_unavailable"),
)
async def cancel_background_task(
    thread_id: ThreadId, task_id: TaskId, caller: Caller, app: UseCases
) -> ServedBackgroundTask:
    """Cancel a task of the caller's own conversation, which then gets no result. An ended task is not changed."""
    task = await app.self_started.background_work.cancel(caller, resolve_thread_ref(caller, thread_id).id, task_id)
    return ServedBackgroundTask.of(task)


async def require_token(credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> str:
    """Return the bearer token of a report. Raises ``Unauthorized`` without one, before the body is checked."""
    if credentials is None:
        raise Unauthorized
    return credentials.credentials


@router.post(
    "/callbacks/{task_id}",
    summary="Report on a task of a tool",
    status_code=202,
    responses=responses("unauthorized task_expired store_unavailable"),
)
async def take_callback(
    task_id: TaskId, report: SentTaskReport, app: UseCases, token: Annotated[str, Depends(require_token)]
) -> None:
    """Take a tool's report. The bearer token is the value of `Baton-Callback-Token` in the call.

    A repeated report changes nothing.
    """
    await app.self_started.background_work.callbacks.take_report(token, task_id, report.to_report())


@router.post(
    "/callbacks/{task_id}/notifications",
    summary="Notify of a change of a remote agent's task",
    status_code=202,
    responses=responses("unauthorized store_unavailable"),
)
async def take_notification(
    task_id: TaskId,
    request: Request,
    app: UseCases,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    token: Annotated[
        str | None,
        Header(
            alias="X-A2A-Notification-Token", description="The token of the configuration, unless it is the bearer."
        ),
    ] = None,
) -> None:
    """Take a push notification of A2A. The task is read from its agent, and the notification's content is not used.

    The token of the task's push notification configuration is sent in the header or as the bearer token. Pieces of
    artifacts are ignored, because another notification follows when the task has changed.
    """
    secret = token or (credentials.credentials if credentials is not None else None)
    if secret is None:
        raise Unauthorized
    body = await request.body()
    digest = hashlib.sha256(body).hexdigest()[:32]
    await app.self_started.background_work.callbacks.take_notification(
        secret, task_id, None if _is_piece(body) else digest
    )


def _is_piece(body: bytes) -> bool:
    """Return whether a notification has only a piece of an artifact. An answer may have hundreds of pieces."""
    try:
        notification = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(notification, dict) and (
        "artifactUpdate" in notification or notification.get("kind") == "artifact-update"
    )
