"""An agent whose card is good and whose answers are not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

Behaviour = Callable[[Request], Awaitable[Response]]

Json = dict[str, Any]


class RogueAgent:
    """An agent that answers every JSON-RPC call as ``behaviour`` does, and counts the calls by method.

    It says that it streams.
    """

    def __init__(self, behaviour: Behaviour, *, streams: bool = True) -> None:
        self.behaviour = behaviour
        self.calls: list[str] = []
        self.cards = 0
        self._streams = streams
        routes = [Route("/.well-known/agent-card.json", self._card), Route("/rpc", self._rpc, methods=["GET", "POST"])]
        self.app = Starlette(routes=routes)

    async def _card(self, request: Request) -> Response:
        self.cards += 1
        base = str(request.base_url).rstrip("/")
        return JSONResponse(
            {
                "protocolVersion": "0.3.0",
                "name": "Rogue",
                "description": "Behaves badly.",
                "url": f"{base}/rpc",
                "preferredTransport": "JSONRPC",
                "version": "1",
                "capabilities": {"streaming": self._streams},
                "defaultInputModes": ["text/plain"],
                "defaultOutputModes": ["text/plain"],
                "skills": [],
            }
        )

    async def _rpc(self, request: Request) -> Response:
        body = await request.body()
        method = json.loads(body)["method"] if body else request.method
        self.calls.append(method)
        if method == "tasks/cancel":
            return JSONResponse({"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "No."}})
        return await self.behaviour(request)


def answers(content: str | bytes, content_type: str = "application/json", status: int = 200) -> Behaviour:
    """Return a behaviour that sends this answer unchanged."""

    async def behave(request: Request) -> Response:
        return Response(content, status, media_type=content_type)

    return behave


def result(value: Json) -> Behaviour:
    """A JSON-RPC result."""
    return answers(json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}))


def error(code: int, message: str) -> Behaviour:
    """A JSON-RPC error."""
    return answers(json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": message}}))


def redirects(address: str) -> Behaviour:
    """Somewhere else."""

    async def behave(request: Request) -> Response:
        return RedirectResponse(address)

    return behave


def silence() -> Behaviour:
    """Send nothing for longer than any test takes."""

    async def behave(request: Request) -> Response:
        await asyncio.Event().wait()
        return Response()

    return behave


def events(*results: Json | bytes, then: str = "end", gzip: bool = False) -> Behaviour:
    """A stream of results, which then ends, breaks (``break``), stays silent (``hang``) or goes on (``repeat``)."""

    async def body() -> AsyncIterator[bytes]:
        for one in results:
            yield _event(one)
        if then == "break":
            raise ConnectionResetError
        if then == "hang":
            await asyncio.sleep(3600)
        while then == "repeat":
            yield _event(results[-1])
            await asyncio.sleep(0)

    async def behave(request: Request) -> Response:
        headers = {"Content-Encoding": "gzip"} if gzip else {}
        return StreamingResponse(body(), media_type="text/event-stream", headers=headers)

    return behave


def chunk(text: str, *, append: bool = True) -> Json:
    """A piece of an artifact."""
    return {
        "kind": "artifact-update",
        "taskId": "t1",
        "contextId": "c1",
        "append": append,
        "artifact": {"artifactId": "a1", "parts": [{"kind": "text", "text": text}]},
    }


def status(state: str, text: str | None = None) -> Json:
    """A change of the task's state."""
    reported: Json = {"state": state}
    if text is not None:
        reported["message"] = {
            "kind": "message",
            "messageId": f"m-{text}",
            "role": "agent",
            "parts": [{"kind": "text", "text": text}],
        }
    return {"kind": "status-update", "taskId": "t1", "contextId": "c1", "status": reported, "final": False}


def task(state: str, *texts: str) -> Json:
    """The task as a whole, its artifact in ``texts``."""
    parts = [{"kind": "text", "text": text} for text in texts]
    artifacts = [{"artifactId": "a1", "parts": parts}] if texts else []
    return {"kind": "task", "id": "t1", "contextId": "c1", "status": {"state": state}, "artifacts": artifacts}


def _event(one: Json | bytes) -> bytes:
    if isinstance(one, bytes):
        return one
    return b"data: " + json.dumps({"jsonrpc": "2.0", "id": 1, "result": one}).encode() + b"\n\n"
