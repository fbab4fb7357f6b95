"""The REST API. Web apps get the requests of streaming routes themselves; functions get the others as proxy events."""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from baton_local import log_lines
from baton_local.functions import Invocable, LambdaContext, running
from baton_local.gateway import identifiers, rest_events, streams
from baton_local.gateway.callers import read_caller
from baton_local.gateway.fair_gate import FairGate
from baton_local.gateway.rest_routes import Match, RestRoutes
from baton_local.gateway.streams import Streamed
from baton_local.serving.asgi import AsgiApp, BodyTooLarge, Message, Receive, Scope, Send, answer, read_body
from baton_local.stack.apis import GatewayResponse, RestApi
from baton_local.stack.declarations import FunctionDefinition

logger = logging.getLogger("baton_local.gateway")

MAX_BODY = 10 * 1024 * 1024
"""Bytes: API Gateway's limit for a request."""

INTEGRATION_SECONDS = 29.0
"""API Gateway's limit for an answer that is not streamed."""

_DEFAULTS = {
    "MISSING_AUTHENTICATION_TOKEN": (403, "Missing Authentication Token"),
    "REQUEST_TOO_LARGE": (413, "Request Too Long"),
    "INTEGRATION_TIMEOUT": (504, "Endpoint request timed out"),
    "INTEGRATION_FAILURE": (502, "Internal server error"),
}

_ADAPTER_HEADERS = {b"x-amzn-request-context", b"x-amzn-lambda-context"}


class RestGateway:
    """An ASGI app that serves the template's REST API."""

    def __init__(
        self,
        api: RestApi,
        functions: Mapping[str, Invocable],
        web_apps: Mapping[str, tuple[FunctionDefinition, AsgiApp]],
        integration_seconds: float = INTEGRATION_SECONDS,
        streamed: Mapping[str, Streamed] | None = None,
        gate: FairGate | None = None,
    ) -> None:
        """``web_apps`` are the functions that run a web app behind the Lambda Web Adapter.

        Functions of a build run their web apps with the adapter, and are in ``streamed`` instead. None as ``gate``
        means a separate gate.
        """
        self._gate = gate or FairGate(lambda: False)
        self._streamed = streamed or {}
        self._api = api
        self._routes = RestRoutes(api.routes)
        self._functions = functions
        self._web_apps = web_apps
        self._integration_seconds = integration_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request_id = identifiers.make_request_id()
        match = self._routes.find(scope["method"], rest_events.read_raw_path(scope))
        if match is None:
            await self._refuse(send, "MISSING_AUTHENTICATION_TOKEN", request_id)
        elif match.route.function is None:
            await answer(send, 200, [("Content-Type", "application/json"), *match.route.headers.items()], b"")
        else:
            async with self._gate.turn(read_caller(scope)):
                await self._serve(match, request_id, scope, receive, send)

    async def _serve(self, match: Match, request_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        if match.route.function in self._streamed:
            await self._stream(match, request_id, scope, receive, send)
        elif match.route.function in self._web_apps:
            await self._forward(match, request_id, scope, receive, send)
        else:
            await self._invoke(match, request_id, scope, receive, send)

    async def _read_event(
        self, match: Match, request_id: str, scope: Scope, receive: Receive, send: Send
    ) -> dict[str, Any] | None:
        """Return the request as an event; None if the client has left, or has got the answer to a too large body."""
        try:
            body = await read_body(receive, MAX_BODY)
        except BodyTooLarge:
            await self._refuse(send, "REQUEST_TOO_LARGE", request_id)
            return None
        if body is None:
            return None
        context = rest_events.make_request_context(self._api, scope, match, request_id)
        return rest_events.make_proxy_event(self._api, scope, match, context, body)

    async def _invoke(self, match: Match, request_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Invoke a function with the request, and send its answer, or an error after the time limit or a failure."""
        event = await self._read_event(match, request_id, scope, receive, send)
        if event is None:
            return
        name = str(match.route.function)
        invocation = asyncio.shield(asyncio.wrap_future(self._functions[name].invoke(event)))
        limit = asyncio.timeout(self._integration_seconds)
        try:
            async with limit:
                result = await invocation
            status, headers, body = rest_events.read_answer(self._api, scope, result)
        except Exception:
            if limit.expired():
                await self._refuse(send, "INTEGRATION_TIMEOUT", request_id)
                return
            logger.exception("%s failed for %s %s", name, scope["method"], event["path"])
            await self._refuse(send, "INTEGRATION_FAILURE", request_id)
        else:
            await answer(send, status, [*headers, ("x-amzn-RequestId", request_id)], body)

    async def _stream(self, match: Match, request_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Invoke a function and send the pieces of its answer on as they arrive."""
        event = await self._read_event(match, request_id, scope, receive, send)
        if event is None:
            return
        name = str(match.route.function)
        has_begun = False

        async def send_noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await streams.pass_on(self._streamed[name].stream(event).read_pieces(), request_id, send_noted)
        except Exception:
            logger.exception("%s failed for %s %s", name, scope["method"], event["path"])
            if has_begun:
                raise  # the client sees that the answer is incomplete
            await self._refuse(send, "INTEGRATION_FAILURE", request_id)

    async def _forward(self, match: Match, request_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Give the request to a web app with the headers that the Lambda Web Adapter adds."""
        definition, app = self._web_apps[str(match.route.function)]
        context = rest_events.make_request_context(self._api, scope, match, request_id)
        run = LambdaContext(definition.name, definition.timeout, definition.memory)
        lambda_context = {
            "request_id": run.aws_request_id,
            "deadline": context["requestTimeEpoch"] + run.get_remaining_time_in_millis(),
            "invoked_function_arn": run.invoked_function_arn,
            "env_config": {"function_name": definition.name, "memory": definition.memory},
        }
        headers = [(name, value) for name, value in scope["headers"] if name.lower() not in _ADAPTER_HEADERS]
        headers.append((b"x-amzn-request-context", json.dumps(context).encode()))
        headers.append((b"x-amzn-lambda-context", json.dumps(lambda_context).encode()))
        with running(definition.name), log_lines.of(run):
            await app({**scope, "headers": headers}, receive, send)

    async def _refuse(self, send: Send, kind: str, request_id: str) -> None:
        """Answer with the template's gateway response of this kind, or with API Gateway's default."""
        status, message = _DEFAULTS[kind]
        own = self._api.responses.get(kind) or self._api.responses.get(f"DEFAULT_{status // 100}XX")
        response = own or GatewayResponse(None, {}, None)
        template = response.template or '{"message":$context.error.messageString}'
        text = template.replace("$context.error.messageString", json.dumps(message))
        text = text.replace("$context.requestId", request_id)
        headers = {"Content-Type": "application/json", "x-amzn-RequestId": request_id, **response.headers}
        await answer(send, response.status or status, list(headers.items()), text.encode())
