"""Middleware around the application: limits of requests, headers of responses, metrics, traces and encoded paths."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton.api.http import problems
from baton.api.http.dependencies import bearer, load_use_cases, verify_caller
from baton.composition.metrics import write_metrics
from baton.composition.tracing import FLUSH_SECONDS
from baton.domain.errors import BatonError, InvalidRequest, MessageTooLarge
from baton.domain.json_values import MAX_MEMBERS, MemberCount
from baton.domain.metrics import collect_counts
from baton.domain.tenants.identity import ME
from baton.ports.tracing import Tracer

MAX_BODY_BYTES = 5 * 1024 * 1024
"""Bytes of a request body. Lambda's limit is 6 MB.

AG-UI clients send the whole conversation, but only the last message is used. The parser of messages limits it to 1 MiB.
"""
MAX_BODY_VALUES = 150_000
"""JSON values in a body. Parsing so many blocks the event loop for about 25 ms. A message with its metadata has about
twenty values.
"""
MAX_PARAMETERS = 100
"""Parameters in a query."""
MAX_HEADERS = 200
"""Headers of a request. API Gateway and its clients send about twenty."""

COUNTED_AT_ONCE = 128 * 1024
"""Bytes whose values are counted at once, which takes 10 ms at most."""


OTHER_CREDENTIALS = ("/v1/callbacks/", "/v1/hooks/")
"""Paths whose callers have credentials other than a user's token, which their routes check."""


class HttpMiddleware:
    """Base of ASGI middleware for HTTP requests. Other events, such as the server's start, are passed to the app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request by ``serve``, and pass other events to the app."""
        await (self.serve if scope["type"] == "http" else self._app)(scope, receive, send)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, usually by calling the app."""
        raise NotImplementedError


class RequestLimits(HttpMiddleware):
    """ASGI middleware that refuses requests that are too large with 413 or 422, even without a ``Content-Length``.

    FastAPI reads and parses a body before it calls dependencies. So the token is verified here, before the first byte
    of a body is read.
    """

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        query: bytes = scope["query_string"]
        problem = None
        if query.count(b"&") >= MAX_PARAMETERS:
            problem = f"The address may have at most {MAX_PARAMETERS} query parameters."
        elif len(scope["headers"]) > MAX_HEADERS:
            problem = f"The request may have at most {MAX_HEADERS} headers."
        if problem is not None:
            await problems.make_response(Request(scope), InvalidRequest(problem))(scope, receive, send)
            return
        await self._app(scope, _Body(scope, receive).receive, send)


class _Body:
    """A request's body, which is only read for holders of a token, and counted while it is received."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._request = Request(scope)
        self._receive = receive
        # The routes of other protocols verify the token before they read the body.
        is_of_users = scope["path"].startswith("/v1/") and not scope["path"].startswith(OTHER_CREDENTIALS)
        self._needs_token = is_of_users and scope["method"] not in ("GET", "HEAD", "OPTIONS")
        self._size = 0
        self._values = MemberCount()

    async def receive(self) -> Message:
        """Return the next message of the body. Raises ``problems.RefusedBody`` for a body that is not accepted."""
        if self._needs_token:
            await self._verify_token()
            self._needs_token = False
        message = await self._receive()
        body = message.get("body", b"")
        self._size += len(body)
        for start in range(0, len(body) if self._size <= MAX_BODY_BYTES else 0, COUNTED_AT_ONCE):
            if start:
                await asyncio.sleep(0)
            if self._values.add(body[start : start + COUNTED_AT_ONCE]) > MAX_BODY_VALUES:
                break
        if self._size > MAX_BODY_BYTES:
            raise problems.RefusedBody(
                MessageTooLarge(f"The body may have at most {MAX_BODY_BYTES // (1024 * 1024)} MiB.")
            )
        if self._values.count > MAX_BODY_VALUES:
            raise problems.RefusedBody(MessageTooLarge(f"The body may have at most {MAX_BODY_VALUES:,} JSON values."))
        if self._values.members > MAX_MEMBERS:
            raise problems.RefusedBody(
                InvalidRequest(f"An object in the body has more than {MAX_MEMBERS:,} members, which no field takes.")
            )
        return message

    async def _verify_token(self) -> None:
        """Verify the request's token by ``dependencies.verify_caller``. Raises ``problems.RefusedBody``."""
        credentials = await bearer(self._request)
        try:
            # In a thread, because the verification may fetch keys.
            await run_in_threadpool(verify_caller, self._request, await load_use_cases(self._request), credentials)
        except BatonError as error:
            raise problems.RefusedBody(error) from None


NO_STORE = "no-store"
DEFAULTS: Mapping[str, str] = {
    # Browsers must not guess that a response is a script or page, whatever its Content-Type.
    "X-Content-Type-Options": "nosniff",
    # Responses contain conversations. The routes of cards and keys set a time for which they may be cached.
    "Cache-Control": NO_STORE,
}


class ResponseHeaders(HttpMiddleware):
    """ASGI middleware that adds ``DEFAULTS`` to every HTTP response that does not set these headers itself.

    ``no-store`` is added to a ``Cache-Control`` without a time, which libraries set for streams.
    """

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                for name, value in DEFAULTS.items():
                    headers.setdefault(name, value)
                caching = headers["Cache-Control"]
                if NO_STORE not in caching and "max-age" not in caching:
                    headers["Cache-Control"] = f"{NO_STORE}, {caching}"
            await send(message)

        await self._app(scope, receive, with_headers)


JSON_LINES = "application/jsonl"
LINES = ("text/event-stream", JSON_LINES)
"""Types of responses that clients split into lines."""
LINE_ENDS: Mapping[bytes, bytes] = {
    character.encode(): f"\\u{ord(character):04x}".encode() for character in ("\x85", "\u2028", "\u2029")
}
"""Characters that are line ends in Unicode but need no escape in JSON, with their escapes."""


class UnbrokenLines(HttpMiddleware):
    """ASGI middleware that escapes Unicode's line ends within the JSON of event streams and JSON Lines.

    They are no line ends in either format. But HTTP clients that use ``str.splitlines`` would split an event at them. A
    piece of a body never ends within a character, because pieces are encoded from text.
    """

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_lines = False

        async def with_escapes(message: Message) -> None:
            nonlocal has_lines
            if message["type"] == "http.response.start":
                has_lines = MutableHeaders(scope=message).get("content-type", "").startswith(LINES)
            elif has_lines and (body := message.get("body")):
                for character, escape in LINE_ENDS.items():
                    body = body.replace(character, escape)
                message = {**message, "body": body}
            await send(message)

        await self._app(scope, receive, with_escapes)


class CountedRequests(HttpMiddleware):
    """ASGI middleware that writes the metrics of each request. It is outside the middleware that handles exceptions."""

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A run may outlast its request. Its later counts are written at once, one by one.
        with collect_counts(write_metrics):
            await self._app(scope, receive, send)


class FlushedTraces(HttpMiddleware):
    """ASGI middleware that sends the spans of a turn between the last byte of a response and its end.

    A Lambda function behind the Web Adapter is frozen once its response has ended. The client gets the whole answer
    before the spans are sent.
    """

    def __init__(self, app: ASGIApp, tracer: Tracer) -> None:
        super().__init__(app)
        self._tracer = tracer

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_and_flush(message: Message) -> None:
            is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send({**message, "more_body": True} if is_last else message)
            if is_last:
                await asyncio.to_thread(self._tracer.flush, FLUSH_SECONDS)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        await self._app(scope, receive, send_and_flush)


class EncodedSegments(HttpMiddleware):
    """ASGI middleware that distinguishes an encoded slash within a segment from the slash between segments.

    Servers decode the whole path before routing, so ``/threads/a%2Fb`` would be routed as ``/threads/a/b``. This
    middleware decodes each segment separately, and keeps ``%`` and ``/`` in it encoded. Dependencies such as
    ``decode_thread_id`` decode these characters.

    An encoded ``ME`` stays encoded, so that it is the id of a user and does not mean the caller.
    """

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "path": "/".join(_split_path(scope))}, receive, send)


def _split_path(scope: Scope) -> list[str]:
    """Return the segments, for routing, of the path in the server's request or in API Gateway's event."""
    raw: bytes | None = scope.get("raw_path")
    sent = raw.decode("latin-1") if raw is not None else (scope.get("aws.event") or {}).get("path")
    if not isinstance(sent, str):
        path: str = scope["path"]
        return [_escape(segment) for segment in path.split("/")]
    encoded_me = "".join(f"%{ord(character):02X}" for character in ME)
    return [
        encoded_me if segment != ME and unquote(segment) == ME else _escape(unquote(segment))
        for segment in sent.split("/")
    ]


def _escape(segment: str) -> str:
    return segment.replace("%", "%25").replace("/", "%2F")


Origins = Callable[[], Sequence[str]]


def allow_any_origin() -> Sequence[str]:
    """Return the list that allows all origins."""
    return ("*",)


class CurrentCors(HttpMiddleware):
    """Starlette's CORS middleware, with the origins that ``origins`` returns for each request of a web page.

    Programs send no ``Origin``, so their requests do not need the settings. ``options`` are those of Starlette.
    """

    def __init__(self, app: ASGIApp, /, origins: Origins, **options: Any) -> None:
        super().__init__(app)
        self._origins = origins
        self._options = options
        self._latest: tuple[Sequence[str], CORSMiddleware] | None = None

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight request, or add the headers to the app's response."""
        if not any(name == b"origin" for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        await load_use_cases(Request(scope))  # loads the settings, which have the origins
        origins = self._origins()
        if self._latest is None or self._latest[0] != origins:
            self._latest = (origins, CORSMiddleware(self._app, allow_origins=list(origins), **self._options))
        await self._latest[1](scope, receive, send)
