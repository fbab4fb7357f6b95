"""Tasks of the server of ``mcp_server``: the extension of 2026-07-28, by the official SDK."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, Literal

import mcp_types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding

NOW = "2026-11-01T12:00:00Z"


class _Created(types.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str = "working"
    status_message: str = "Begun"
    created_at: str = NOW
    last_updated_at: str = NOW
    ttl_ms: int | None = None
    poll_interval_ms: Any = 7000


class _TaskParams(types.RequestParams):
    task_id: str


@dataclass
class Tasks(Extension):
    """Calls of ``later`` become tasks, for clients that take them: each is in progress once, and then ends so."""

    identifier = "io.modelcontextprotocol/tasks"
    endings: dict[str, str] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=dict)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding("tasks/get", _TaskParams, self._get),
            MethodBinding("tasks/cancel", _TaskParams, self._cancel),
        ]

    async def intercept_tool_call(
        self, params: types.CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        capabilities = ctx.session.client_capabilities
        takes_tasks = capabilities is not None and self.identifier in (capabilities.extensions or {})
        if params.name != "later" or not takes_tasks:
            return await call_next(ctx)
        task_id = f"task-{next(self.numbers)}"
        self.endings[task_id], self.looks[task_id] = (params.arguments or {})["ending"], 0
        return _Created(task_id=task_id)

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: _TaskParams) -> dict[str, Any]:
        assert ctx.request is not None
        if params.task_id not in self.endings or ctx.request.headers["mcp-name"] != params.task_id:
            raise MCPError(types.INVALID_PARAMS, "Failed to retrieve task: Task not found")
        self.looks[params.task_id] += 1
        described = {"taskId": params.task_id, "createdAt": NOW, "lastUpdatedAt": NOW, "ttlMs": None}
        if self.looks[params.task_id] == 1:
            return described | {"status": "working", "statusMessage": "Half of it", "pollIntervalMs": 9000}
        match self.endings[params.task_id]:
            case "late":
                return described | {"status": "working", "pollIntervalMs": 10**400}
            case "failed":
                return described | {"status": "failed", "error": {"code": -32603, "message": "No paper."}}
            case "cancelled":
                return described | {"status": "cancelled"}
            case "asks":
                request = {"method": "elicitation/create", "params": {"message": "Which city?"}}
                return described | {"status": "input_required", "inputRequests": {"city": request}}
            case "refused":
                result = {"content": [{"type": "text", "text": "Out of ink."}], "isError": True}
                return described | {"status": "completed", "result": result}
        result = {"content": [{"type": "text", "text": "42 pages."}, {"type": "unheard of"}], "isError": False}
        return described | {"status": "completed", "result": result}

    async def _cancel(self, ctx: ServerRequestContext[Any, Any], params: _TaskParams) -> dict[str, Any]:
        self.endings[params.task_id] = "cancelled"
        self.looks[params.task_id] = 1
        return {}
