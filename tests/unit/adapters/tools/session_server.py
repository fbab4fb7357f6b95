"""An MCP server that keeps sessions, within the test, with one tool and answers as a test wants them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx2
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

Json = dict[str, Any]
VERSION = "2026-07-28"
LOOKUP: Json = {"name": "lookup", "description": "Looks up.", "inputSchema": {"type": "object"}}


def make_failure(code: int, message: str, status: int | None = None) -> Json | Response:
    """An error of JSON-RPC, in an answer with another HTTP ``status`` if there is one."""
    error = {"code": code, "message": message}
    return error if status is None else JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status)


def make_text_result(text: str, **more: Any) -> Json:
    """The result of a tool that says ``text``."""
    return {"content": [{"type": "text", "text": text}], **more}


@dataclass
class SessionServer:
    """The server. ``call`` returns the result of a tool, or the answer to the call as it is."""

    call: Callable[[], Json | Response] = lambda: make_text_result("found")
    closing: Callable[[], Response] = lambda: JSONResponse({})
    """The answer to the end of a session."""
    tools: list[Json] = field(default_factory=lambda: [LOOKUP])
    listed: Json = field(default_factory=dict)
    """More members of each list of tools."""
    notifications: list[Json] = field(default_factory=list)
    """Those that come before the result of a call."""
    is_modern: bool = False
    """Whether it speaks the protocol without sessions."""
    methods: list[str] = field(default_factory=list)
    """The methods of all requests."""

    def client(self, seconds: float) -> httpx2.AsyncClient:
        """A client that reaches this server only."""
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(self._app), timeout=seconds)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method != "POST":
            self.methods.append(request.method)
            return self.closing() if request.method == "DELETE" else Response(status_code=405)
        body: Json = await request.json()
        self.methods.append(body["method"])
        match body["method"]:
            case "initialize":
                served = {"name": "t", "version": "1"}
                capabilities = {"tools": {"listChanged": True}}
                result: Json = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": served}
                return self._result(body, result, {"Mcp-Session-Id": f"s-{len(self.methods)}"})
            case "server/discover" if self.is_modern:
                about = {"supportedVersions": [VERSION], "capabilities": {"tools": {}}}
                return self._result(body, {**about, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
            case "tools/list":
                return self._result(body, {"tools": self.tools, **self.listed})
            case "tools/call":
                answer = self.call()
                if isinstance(answer, Response):
                    return answer
                if "code" in answer:
                    return JSONResponse({"jsonrpc": "2.0", "id": body["id"], "error": answer})
                return self._result(body, answer)
            case name if name.startswith("notifications/"):
                return Response(status_code=202)
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Unknown"}}, 400)

    def _result(self, request: Json, result: Json, headers: dict[str, str] | None = None) -> Response:
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        if request["method"] != "tools/call" or not self.notifications:
            return JSONResponse(answer, headers=headers)
        events = "".join(f"data: {json.dumps(item)}\n\n" for item in [*self.notifications, answer])
        return Response(events, media_type="text/event-stream")
