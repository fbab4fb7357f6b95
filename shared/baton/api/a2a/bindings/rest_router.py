"""The addresses of A2A's HTTP+JSON binding: below /a2a/v1 and /a2a/{agent_id}/v1."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.convertors import StringConvertor, register_url_convertor

from baton.api.a2a.bindings.rest_errors import RestRoute, document_errors
from baton.api.a2a.bindings.router import VERSION_HEADER, A2AScope, make_caller
from baton.api.http.dependencies import AgentId, UseCases
from baton.api.http.problems import json_content
from baton.composition.app import App
from baton.domain.errors import InvalidRequest, MalformedJson, MessageTooLarge, NotFound, Unauthorized
from baton.domain.tenants.identity import Scope

VERSION = "/v1"
TASK = "/tasks/{id:a2a_task}"
CONFIGS = f"{TASK}/pushNotificationConfigs"
ROUTES = (
    ("POST", "/message:send", "SendMessage", "Send a message"),
    ("POST", "/message:stream", "SendStreamingMessage", "Send a message and stream what comes of it"),
    ("GET", "/tasks", "ListTasks", "List tasks"),
    ("POST", f"{TASK}:cancel", "CancelTask", "Cancel a task"),
    ("GET", f"{TASK}:subscribe", "SubscribeToTask", "Follow a task"),
    ("POST", f"{TASK}:subscribe", "SubscribeToTask", "Follow a task"),
    ("GET", TASK, "GetTask", "Read a task"),
    ("POST", CONFIGS, "CreateTaskPushNotificationConfig", "Set a push notification"),
    ("GET", CONFIGS, "ListTaskPushNotificationConfigs", "List the push notifications of a task"),
    ("GET", f"{CONFIGS}/{{push_id}}", "GetTaskPushNotificationConfig", "Read a push notification"),
    ("DELETE", f"{CONFIGS}/{{push_id}}", "DeleteTaskPushNotificationConfig", "Delete a push notification"),
    ("GET", "/extendedAgentCard", "GetExtendedAgentCard", "Read the card as the caller may see it"),
)
"""Method, path, operation and summary of each route. The paths are those of the specification of A2A 1.0."""
MESSAGE = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hello!"}]}}
TASK_ID = "550e8400-e29b-41d4-a716-446655440000.m-1"

router = APIRouter(tags=["a2a"], route_class=RestRoute)


class TaskIds(StringConvertor):
    """The convertor of a task's id in a path. It does not match an id with the verb of an operation."""

    regex = r"(?![^/]*:(?:cancel|subscribe)$)[^/]+"


register_url_convertor("a2a_task", TaskIds())


async def _answer(request: Request, scope: Scope, app: App, agent_id: str | None, operation: str) -> Response:
    # Imported here, so that requests for cards and metadata do not load the protocol's libraries.
    from baton.api.a2a.bindings.rest import respond

    a2a_caller = await make_caller(request, scope, app, agent_id)
    return await respond(operation, request, await request.body(), a2a_caller)


def _make_default_route(operation: str) -> Callable[..., Awaitable[Response]]:
    async def call(request: Request, scope: A2AScope, app: UseCases) -> Response:
        return await _answer(request, scope, app, None, operation)

    return call


def _make_agent_route(operation: str) -> Callable[..., Awaitable[Response]]:
    async def call(request: Request, scope: A2AScope, app: UseCases, agent_id: AgentId) -> Response:
        return await _answer(request, scope, app, agent_id, operation)

    return call


def _describe_route(method: str, path: str, operation: str) -> dict[str, Any]:
    """Return the OpenAPI description of a route, without its agent and its errors."""
    text = {"type": "string", "maxLength": 2048}
    names = {"id": TASK_ID, "push_id": "default"}
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": text, "example": example}
        for name, example in names.items()
        if f"{{{name}" in path
    ]
    version = {"type": "string", "examples": ["1.0"]}
    parameters.append({"name": VERSION_HEADER, "in": "header", "required": True, "schema": version})
    description: dict[str, Any] = {"parameters": parameters}
    if method == "POST" and ":cancel" not in path and ":subscribe" not in path:
        example = MESSAGE if operation.startswith("Send") else {"url": "https://example.com/updates"}
        description["requestBody"] = {"required": True, **json_content(example)}
    return description


def _add_routes(base: str, make: Callable[[str], Callable[..., Awaitable[Response]]], whose: str) -> None:
    for method, path, operation, summary in ROUTES:
        is_stream = operation in ("SendStreamingMessage", "SubscribeToTask")
        media_type = "text/event-stream" if is_stream else "application/json"
        schema = {"type": "string" if is_stream else "object"}
        # Before a verb, the id needs no convertor.
        full_path = path.replace("{id:a2a_task}:", "{id}:")
        router.add_api_route(
            f"{base}{VERSION}{full_path}",
            make(operation),
            methods=[method],
            name=f"{operation} {method} {whose}",
            summary=f"{summary} ({whose})",
            description=f"The operation `{operation}` of A2A's HTTP+JSON binding.",
            responses={
                200: {"description": "The answer.", "content": {media_type: {"schema": schema}}},
                **document_errors(MalformedJson, Unauthorized, NotFound, MessageTooLarge, InvalidRequest),
            },
            openapi_extra=_describe_route(method, path, operation),
        )


_add_routes("/a2a", _make_default_route, "default agent")
_add_routes("/a2a/{agent_id}", _make_agent_route, "one agent")
