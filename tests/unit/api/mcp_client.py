"""MCP over fakes: the protocol's own client, and requests that it would not send."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import mcp_types as types
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from baton.api.mcp.tools import OUTPUT_SCHEMA
from baton.domain.agents.agent import AgentDefinition
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.served import Served

Json = dict[str, Any]
URL = "http://baton.test/mcp"
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
OUTPUT = Draft202012Validator(OUTPUT_SCHEMA)
"""Checks the structured content of every result, as the official SDK for TypeScript does."""
MODES = ("2026-07-28", "legacy")
"""The protocol without sessions, and the previous one."""


def open_to_mcp(agent: AgentDefinition = ASSISTANT, **fields: Any) -> AgentDefinition:
    """The agent, as a tool."""
    return agent.model_copy(update={"mcp": True, **fields})


class McpServed(Served):
    """The API over a harness whose assistant is a tool."""

    @classmethod
    def over(cls, harness: Harness | None = None, **fields: Any) -> McpServed:
        return cls(harness or Harness(assistant=open_to_mcp()), **fields)

    @asynccontextmanager
    async def client(
        self, *permissions: str, user: str = "ada", tenant: str | None = None, mode: str = "2026-07-28", **options: Any
    ) -> AsyncIterator[Client]:
        """The protocol's own client, as a user of ada's tenant."""
        token = ",".join([tenant or self.harness.ada.tenant_id, user, *permissions])
        http = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self.app), headers={"Authorization": f"Bearer {token}"}
        )
        async with http, Client(streamable_http_client(URL, http_client=http), mode=mode, **options) as client:
            yield client

    async def send(
        self, body: bytes | Json, *permissions: str, user: str | None = "ada", method: str = "POST", **headers: str
    ) -> httpx.Response:
        """Any request. Names of headers are written with ``_`` for ``-``."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = ACCEPT | {name.replace("_", "-"): value for name, value in headers.items()}
        if user is not None:
            sent["Authorization"] = f"Bearer {','.join([self.harness.ada.tenant_id, user, *permissions])}"
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app)) as http:
            return await http.request(method, URL, content=content, headers=sent)


def request(method: str, request_id: Any = 1, **params: Any) -> Json:
    """A request of the protocol before 2026-07-28."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def response_in(answer: httpx.Response) -> Json:
    """The JSON-RPC response: the body, or the last event of a stream."""
    if answer.headers["Content-Type"].startswith("application/json"):
        body: Json = answer.json()
    else:
        # Not splitlines: characters such as U+0085 end no line of a stream.
        lines = [line for line in answer.text.split("\n") if line.startswith("data: ")]
        body = json.loads(lines[-1].removeprefix("data: "))
    result = body.get("result")
    if isinstance(result, dict) and "structuredContent" in result:
        OUTPUT.validate(result["structuredContent"])
    return body


def read_structured(result: types.CallToolResult) -> Json:
    """The result for programs; the text says the same."""
    reported: Json = result.structured_content
    OUTPUT.validate(reported)
    assert isinstance(result.content[0], types.TextContent)
    if not result.is_error:
        assert json.loads(result.content[0].text) == reported
    return reported
