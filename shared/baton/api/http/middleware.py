"""Middleware around the application: limits of requests, headers of responses, metrics, and encoded paths."""

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
from baton.api.http.dependencies import bearer, caller, use_cases
from baton.composition.metrics import write_metrics
from baton.composition.tracing import FLUSH_SECONDS
from baton.domain.errors import BatonError, InvalidRequest, MessageTooLarge
from baton.domain.json_values import MAX_MEMBERS, MemberCount
from baton.domain.metrics import counting
from baton.domain.tenants.identity import ME
from baton.ports.tracing import Tracer

MAX_BODY_BYTES = 5 * 1024 * 1024
"""Bytes of a request body. AG-UI clients send the whole conversation, of which only the last message counts (at most
1 MiB, checked where it is parsed). Lambda's limit is 6 MB."""
MAX_BODY_VALUES = 150_000
"""JSON values in a body. Parsing them blocks the event loop for about 25 ms. A message with its metadata has twenty."""
MAX_PARAMETERS = 100
"""Parameters of a query."""
MAX_HEADERS = 200
"""Headers of a request. API Gateway and its clients send some twenty."""

COUNTED_AT_ONCE = 128 * 1024
"""Bytes whose values are counted at once, which takes 10 ms at most."""


OTHER_CREDENTIALS = ("/v1/callbacks/", "/v1/hooks/")
"""The paths whose callers have other credentials than a user's token. Their routes check them."""


class HttpMiddleware:
    """Base of ASGI middleware for HTTP requests; what else a server sends, such as its start, goes to the app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by ``serve``."""
        await (self.serve if scope["type"] == "http" else self._app)(scope, receive, send)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, by the app for the most part."""
        raise NotImplementedError


class RequestLimits(HttpMiddleware):
    """ASGI middleware that answers larger requests with 413 or 422, with or without a ``Content-Length``.

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
            await problems.response(Request(scope), InvalidRequest(problem))(scope, receive, send)
            return
        await self._app(scope, _Body(scope, receive).receive, send)


class _Body:
    """A request's body, read for holders of a token only, and counted while it comes."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._request = Request(scope)
        self._receive = receive
        # The routes of other protocols verify the token before they read the body.
        is_of_users = scope["path"].startswith("/v1/") and not scope["path"].startswith(OTHER_CREDENTIALS)
        self._needs_token = is_of_users and scope["method"] not in ("GET", "HEAD", "OPTIONS")
        self._size = 0
        self._values = MemberCount()

    async def receive(self) -> Message:
        """Return the next message. Raises ``problems.RefusedBody``."""
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
        """Verify the request's token, as ``dependencies.caller`` does, unless it has done so."""
        credentials = await bearer(self._request)
        try:
            # Verification may fetch keys.
            await run_in_threadpool(caller, self._request, await use_cases(self._request), credentials)
        except BatonError as error:
            raise problems.RefusedBody(error) from None


NO_STORE = "no-store"
DEFAULTS: Mapping[str, str] = {
    # Browsers take a response for what its Content-Type says, never for a script or page that it looks like.
    "X-Content-Type-Options": "nosniff",
    # Answers hold conversations. The routes of cards and keys, which may be kept, say for how long.
    "Cache-Control": NO_STORE,
}


class ResponseHeaders(HttpMiddleware):
    """ASGI middleware that adds ``DEFAULTS`` to every HTTP response that does not set them itself.

    A response that sets ``Cache-Control`` without a time, as libraries do for streams, must not be stored either.
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


LINES = ("text/event-stream", "application/jsonl")
"""Types of responses whose readers take them apart into lines."""
LINE_ENDS: Mapping[bytes, bytes] = {
    character.encode(): f"\\u{ord(character):04x}".encode() for character in ("\x85", "\u2028", "\u2029")
}
"""The characters that Unicode takes for line ends and JSON has unescaped, and their escapes."""


class UnbrokenLines(HttpMiddleware):
    """ASGI middleware that escapes line ends of Unicode within the JSON of event streams and JSON Lines.

    Neither format has them for line ends, but ``str.splitlines``, and the HTTP clients that use it, do: an event would
    be cut in two. A piece of a body never ends within a character, because pieces are made from text.
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
    """ASGI middleware, outside of the one that turns exceptions into responses."""

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A run may outlast its request. Its later counts are written at once.
        with counting(write_metrics):
            await self._app(scope, receive, send)


class FlushedTraces(HttpMiddleware):
    """ASGI middleware that sends the spans of a turn between the last byte of a response and its end.

    A Lambda function behind the Web Adapter is frozen once its response has ended. The client has the answer by then.
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
    decodes each segment separately and keeps ``%`` and ``/`` in it encoded. ``thread_in_path`` decodes those.

    A word that stands for the caller stays encoded if it was, so that it is a user's id and not that word.
    """

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "path": "/".join(_segments(scope))}, receive, send)


def _segments(scope: Scope) -> list[str]:
    """Return the segments of the path as it was sent, from the server or from the event of a REST API, for routing."""
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
    """Return the list that allows every page."""
    return ("*",)


class CurrentCors(HttpMiddleware):
    """Starlette's middleware, with the origins that ``origins`` returns at each request of a web page.

    Programs send no ``Origin``, so that their requests do not need the settings. ``options`` are those of Starlette.
    """

    def __init__(self, app: ASGIApp, /, origins: Origins, **options: Any) -> None:
        super().__init__(app)
        self._origins = origins
        self._options = options
        self._latest: tuple[Sequence[str], CORSMiddleware] | None = None

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight, or add the headers to the app's answer."""
        if not any(name == b"origin" for name, _ in scope["headers"]):
            await self._app(scope, receive, send)
            return
        await use_cases(Request(scope))  # the origins are read with the other settings
        origins = self._origins()
        if self._latest is None or self._latest[0] != origins:
            self._latest = (origins, CORSMiddleware(self._app, allow_origins=list(origins), **self._options))
        await self._latest[1](scope, receive, send)
