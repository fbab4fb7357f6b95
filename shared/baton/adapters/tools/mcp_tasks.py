"""Tasks of MCP servers: the extension ``io.modelcontextprotocol/tasks`` of 2026-07-28 (SEP-2663).

A server answers a call with a task if the client has named the extension with it. Members of the wrong form are
ignored where the protocol can do without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import mcp_types as types
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import ValidationError

from baton.adapters.tools.mcp_answers import EXCERPT, repair_result, to_result
from baton.adapters.tools.tool_source import Unreachable
from baton.ports.agents.tools import ToolFailed, ToolResult

MAX_TASK_ID = 1024
"""The maximum length of a task's id, which is sent in a header, in characters."""
MAX_MILLISECONDS = 10**9
"""The maximum pause between two requests for a task that a server can name. Longer ones are ignored."""
ASKS = "The tool asks for something that nobody can answer in the background: {questions}"


class TaskHandle(types.Result):
    """The task with which a server answers a call."""

    result_type: Literal["task"] = "task"
    task_id: Any = None
    status_message: Any = None
    poll_interval_ms: Any = None

    def to_result(self) -> ToolResult:
        """Return a pending result with the task's id as its location. Raises ``Unreachable`` without a usable id."""
        if not isinstance(self.task_id, str) or not 0 < len(self.task_id) <= MAX_TASK_ID:
            raise Unreachable("The server has answered with a task that has no usable id.")
        return ToolResult(
            _to_text(self.status_message) or "The work goes on.",
            is_pending=True,
            location=self.task_id,
            poll_seconds=_to_seconds(self.poll_interval_ms),
            progress=_to_text(self.status_message),
        )


class TaskState(types.Result):
    """The state of a task."""

    result_type: Any = None
    task_id: Any = None
    status: Any = None
    status_message: Any = None
    poll_interval_ms: Any = None
    result: Any = None
    error: Any = None
    input_requests: Any = None

    def to_result(self) -> ToolResult:
        """Return the result of a completed task, or the progress of a running one.

        Raises ``ToolFailed`` for a task that has ended otherwise or asks for input.
        """
        message = _to_text(self.status_message)
        match self.status:
            case "working":
                poll_seconds = _to_seconds(self.poll_interval_ms)
                return ToolResult("", is_pending=True, poll_seconds=poll_seconds, progress=message)
            case "completed":
                try:
                    return to_result(
                        types.CallToolResult.model_validate(repair_result(dict(self.result)), by_name=False)
                    )
                except (ValidationError, TypeError, ValueError):
                    raise ToolFailed("The server has completed the task without a usable result.") from None
            case "failed":
                reason = self.error.get("message") if isinstance(self.error, dict) else None
                raise ToolFailed(_to_text(reason) or message or "The task has failed, and the server did not say why.")
            case "cancelled":
                raise ToolFailed(f"The server has cancelled the task{f': {message}' if message else '.'}")
            case "input_required":
                raise TaskAsks(ASKS.format(questions=message or _join_questions(self.input_requests)))
        raise Unreachable("The server's answer about the task cannot be understood.")


class TaskAsks(ToolFailed):
    """A task asks its client for something. Baton offers servers no such answers, so the task cannot go on."""


class _TaskParams(types.RequestParams):
    task_id: str


class _GetTask(types.Request[_TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class _CancelTask(types.Request[_TaskParams, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class TasksExtension(ClientExtension):
    """The extension that clients name in their requests."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Return the form of the answers that are tasks."""
        return (ResultClaim(result_type="task", model=TaskHandle, resolve=_refuse),)


async def read_task(session: Client, task_id: str) -> TaskState:
    """Return the state of a task."""
    return await session.session.send_request(_GetTask(params=_TaskParams(task_id=task_id)), TaskState)


async def cancel_task(session: Client, task_id: str) -> None:
    """Ask the server to stop a task. The task may continue all the same."""
    await session.session.send_request(_CancelTask(params=_TaskParams(task_id=task_id)), types.EmptyResult)


async def _refuse(_handle: TaskHandle, _context: ClaimContext) -> types.CallToolResult:
    raise Unreachable("The server has answered with a task to a call that waits.")


def _join_questions(requests: Any) -> str:
    """Return the messages of the requests of a task."""
    params = (
        [request.get("params") for request in requests.values() if isinstance(request, dict)]
        if isinstance(requests, dict)
        else []
    )
    messages = [_to_text(member.get("message")) for member in params if isinstance(member, dict)]
    return " ".join(message for message in messages if message) or "it does not say what."


def _to_text(value: Any) -> str | None:
    """Return a text on one line, cut to ``EXCERPT``; None for an empty one and for other values."""
    return " ".join(value.split())[:EXCERPT] or None if isinstance(value, str) else None


def _to_seconds(milliseconds: Any) -> float | None:
    """Return a time in seconds; None for a value that is not a time."""
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1000 if is_number and 0 <= milliseconds <= MAX_MILLISECONDS else None
