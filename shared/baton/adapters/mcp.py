"""Tools of MCP servers, over streamable HTTP."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
from cachetools import LRUCache
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from baton.adapters.header_values import HeaderValues
from baton.adapters.mcp_results import REFUSALS, as_result, failure_of
from baton.adapters.tool_source import GRACE_SECONDS, SourceTool
from baton.concurrency import LARGE, off_loop
from baton.domain.metrics import Metric, count
from baton.domain.schema_form import SchemaProblem, check_form
from baton.domain.tool import IDEMPOTENCY_KEY, McpServer
from baton.ports.tools import CallContext, ToolFailed, ToolResult

FRESH_SECONDS = 300.0
"""Seconds for which a server's list of tools is cached."""
MAX_EVENT_BYTES = 8 * 1024 * 1024
"""Bytes of one event in a stream. It is below the limit of a whole answer, whose excess the SDK does not report."""
MAX_TOOLS = 200
MAX_PAGES = 20
MAX_SERVERS = 500
"""Servers whose lists are kept."""
MAX_SCHEMA = 64 * 1024
"""Characters of a tool's schema, which goes into every prompt."""
DESCRIPTION = 2000
"""Characters of a tool's description."""

_Listed = tuple[types.Tool, Mapping[str, Any] | None]
"""A tool and its schema; None if the schema is unusable."""

_log = logging.getLogger(__name__)
# This module logs every failure. The SDK's own lines quote what servers send.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("client").setLevel(logging.CRITICAL)


class McpTools:
    """Tools that ``mcp`` definitions declare.

    Each list and each call has its own session, opened and closed in one task, because the SDK's cancel scopes require
    it and a frozen Lambda environment would lose an open session. Lists are cached for 5 minutes.
    """

    def __init__(
        self,
        make_client: Callable[[float], httpx2.AsyncClient],
        headers: HeaderValues,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._make_client = make_client
        self._headers = headers
        self._monotonic = monotonic
        self._lists: LRUCache[str, tuple[tuple[_Listed, ...], float]] = LRUCache(MAX_SERVERS)
        self._modes: LRUCache[str, str] = LRUCache(MAX_SERVERS)
        """The transport mode that worked with each server, which saves the client from detecting it."""

    def origin(self, definition: McpServer) -> str:
        return f"mcp:{definition.name}"

    def endpoint(self, definition: McpServer) -> str | None:
        return f"mcp:{urlsplit(definition.url).netloc.lower()}"

    def must_ask(self, definition: McpServer) -> bool:
        kept = self._lists.get(_key(definition))
        return kept is None or self._monotonic() - kept[1] >= FRESH_SECONDS

    def may_recover(self, definition: McpServer) -> bool:
        return True

    async def tools(self, definition: McpServer) -> Sequence[SourceTool]:
        offered = []
        for tool, schema in await self._list(definition):
            if definition.include is not None and tool.name not in definition.include:
                continue
            if schema is None:
                _log.warning("The tool %r of %s has no usable schema", tool.name, definition.name)
                count(Metric.TOOL_FAILURES)
                continue
            description = (tool.description or tool.title or tool.name)[:DESCRIPTION]
            offered.append(SourceTool(tool.name, description, schema, definition.needs_approval(tool.name)))
        return offered

    async def call(
        self, definition: McpServer, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        meta: Any = {IDEMPOTENCY_KEY: context.idempotency_key}
        async with self._session(definition, definition.timeout_seconds) as session:
            answer = await session.call_tool(own_name, dict(arguments), meta=meta)
        try:
            return as_result(answer)
        except ToolFailed as error:
            if "unknown tool" in error.message.lower():
                self._lists.pop(_key(definition), None)
            raise

    async def _list(self, definition: McpServer) -> tuple[_Listed, ...]:
        key = _key(definition)
        if not self.must_ask(definition):
            return self._lists[key][0]
        read_at = self._monotonic()
        tools: list[types.Tool] = []
        async with self._session(definition, definition.timeout_seconds) as session:
            cursor = None
            for _ in range(MAX_PAGES):
                page = await session.list_tools(cursor=cursor)
                tools += page.tools
                cursor = page.next_cursor
                if cursor is None or len(tools) >= MAX_TOOLS:
                    break
        # Checking hundreds of schemas takes a second. So it is done once, in a thread.
        listed = await off_loop(LARGE, lambda: tuple((tool, _usable(tool)) for tool in tools[:MAX_TOOLS]))
        self._lists[key] = (listed, read_at)
        return self._lists[key][0]

    @asynccontextmanager
    async def _session(self, definition: McpServer, seconds: float) -> AsyncIterator[Client]:
        """Yield a session for one use. Its failures are raised as ``ToolFailed`` or ``Unreachable``."""
        headers = await self._headers.resolve(definition.headers)
        statuses: list[int] = []

        async def remember(response: httpx2.Response) -> None:
            statuses.append(response.status_code)

        http = self._make_client(seconds + GRACE_SECONDS)
        http.headers.update(headers)
        http.event_hooks = {"response": [remember]}
        key = _key(definition)
        transport = streamable_http_client(definition.url, http_client=http, max_sse_event_size=MAX_EVENT_BYTES)
        try:
            async with http, Client(transport, mode=self._modes.get(key, "auto"), cache=None) as session:
                is_modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
                self._modes[key] = session.protocol_version if is_modern else "legacy"
                session.session.validate_tool_result = _accept  # type: ignore[assignment, method-assign]
                yield session
        except Exception as error:
            self._modes.pop(key, None)
            if isinstance(error, MCPError) and error.error.code in REFUSALS:
                self._lists.pop(key, None)  # the tool is unknown, or its schema has changed
            raise failure_of(error, statuses) from error


async def _accept(_name: str, _result: types.CallToolResult) -> None:
    """Accept a result without a check by the tool's output schema: only a model reads it.

    The SDK would list the tools after each call, and check on the event loop, with the server's patterns by ``re``.
    """


def _key(definition: McpServer) -> str:
    return definition.model_dump_json(include={"url", "headers"})


def _usable(tool: types.Tool) -> Mapping[str, Any] | None:
    schema = {"type": "object", "properties": {}, **tool.input_schema}
    try:
        if len(json.dumps(schema)) > MAX_SCHEMA:
            return None
        check_form(schema)
    except (SchemaProblem, RecursionError):
        return None
    return schema if schema["type"] == "object" else None
