"""Tools of MCP servers, over streamable HTTP."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
from cachetools import LRUCache
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.mcp_answers import (
    LastAnswer,
    SessionLost,
    as_result,
    failure_of,
    is_unknown_tool,
    repair_results,
)
from baton.adapters.tools.tool_source import GRACE_SECONDS, SourceTool, ToolSource
from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.agents.approval_question import MAX_LABEL, find_problem
from baton.domain.agents.tool import IDEMPOTENCY_KEY, McpServer
from baton.domain.metrics import Metric, count
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.schemas.schema_form import SchemaProblem, check_form
from baton.domain.text import readable
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult

FRESH_SECONDS = 300.0
"""Seconds for which a server's list of tools is cached."""
LEAST_FRESH_SECONDS = 5.0
"""The same for a list of which its server says that it is old sooner."""
CLOSING_SECONDS = 2.0
"""Seconds for which the end of a session waits for the server."""
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

T = TypeVar("T")
_log = logging.getLogger(__name__)
# This module logs every failure. The SDK's own lines quote what servers send.
logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("client").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class McpTools(ToolSource[McpServer]):
    """Tools that ``mcp`` definitions declare.

    Each list and each call has its own session, opened and closed in one task, because the SDK's cancel scopes require
    it and a frozen Lambda environment would lose an open session. Lists are cached for 5 minutes, or for the time that
    their server gives, and no longer than until an answer or a notification shows that they are old.
    """

    make_client: Callable[[float], httpx2.AsyncClient]
    headers: HeaderValues
    monotonic: Callable[[], float] = time.monotonic
    _lists: LRUCache[str, tuple[tuple[_Listed, ...], float]] = field(
        init=False, default_factory=lambda: LRUCache(MAX_SERVERS)
    )
    """Each server's tools, and until when they are used."""
    _modes: LRUCache[str, str] = field(init=False, default_factory=lambda: LRUCache(MAX_SERVERS))
    """The transport mode that worked with each server, which saves the client from detecting it."""

    def origin(self, definition: McpServer) -> str:
        return f"mcp:{definition.name}"

    def endpoint(self, definition: McpServer) -> str | None:
        return f"mcp:{urlsplit(definition.url).netloc.lower()}"

    def must_ask(self, definition: McpServer) -> bool:
        cached = self._lists.get(_key(definition))
        return cached is None or self.monotonic() >= cached[1]

    def may_recover(self, definition: McpServer) -> bool:
        return True

    async def tools(self, definition: McpServer) -> Sequence[SourceTool]:
        offered = []
        for tool, schema in await self._list(definition):
            if definition.include is not None and tool.name not in definition.include:
                continue
            # Such tasks were experimental, and are gone since 2026-07-28.
            if tool.execution is not None and tool.execution.task_support == "required":
                _log.info("The tool %r of %s runs as a task only, which is not supported", tool.name, definition.name)
                continue
            if schema is None:
                _log.warning("The tool %r of %s has no usable schema", tool.name, definition.name)
                count(Metric.TOOL_FAILURES)
                continue
            description = (tool.description or tool.title or tool.name)[:DESCRIPTION]
            offered.append(
                SourceTool(
                    tool.name,
                    description,
                    schema,
                    definition.needs_approval(tool.name),
                    definition.label.get(tool.name) or _title(tool),
                    _question(definition, tool.name, schema),
                )
            )
        return offered

    async def call(
        self, definition: McpServer, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        meta: Any = {IDEMPOTENCY_KEY: context.idempotency_key}

        async def call(session: Client) -> types.CallToolResult:
            return await session.call_tool(own_name, dict(arguments), meta=meta)

        answer = await self._in_session(definition, call)
        try:
            return as_result(answer)
        except ToolFailed as error:
            if is_unknown_tool(error.message, own_name):
                self._lists.pop(_key(definition), None)
            raise

    async def _list(self, definition: McpServer) -> tuple[_Listed, ...]:
        key = _key(definition)
        if not self.must_ask(definition):
            return self._lists[key][0]
        read_at = self.monotonic()

        async def read(session: Client) -> tuple[list[types.Tool], float]:
            tools: list[types.Tool] = []
            cursor, seconds = None, FRESH_SECONDS
            for _ in range(MAX_PAGES):
                page = await session.list_tools(cursor=cursor)
                tools += page.tools
                cursor = page.next_cursor
                if "ttl_ms" in page.model_fields_set:
                    seconds = min(seconds, max(page.ttl_ms / 1000, LEAST_FRESH_SECONDS))
                if cursor is None or len(tools) >= MAX_TOOLS:
                    break
            return tools, seconds

        tools, seconds = await self._in_session(definition, read)
        # Checking hundreds of schemas takes a second. So it is done once, in a thread.
        listed = await off_loop(LARGE, lambda: tuple((tool, _usable(tool)) for tool in tools[:MAX_TOOLS]))
        self._lists[key] = (listed, read_at + seconds)
        return listed

    async def _in_session(self, definition: McpServer, work: Callable[[Client], Awaitable[T]]) -> T:
        """Return the result of ``work`` in a session, and in another one if the server has lost the first.

        Raises ``ToolFailed`` and ``Unreachable``.
        """
        try:
            return await self._once(definition, work)
        except SessionLost:
            return await self._once(definition, work)

    async def _once(self, definition: McpServer, work: Callable[[Client], Awaitable[T]]) -> T:
        results: list[T] = []
        answer = LastAnswer()
        try:
            async with self._session(definition, answer) as session:
                results.append(await work(session))
        except Exception as error:
            if results:  # only the end of the session has failed
                return results[0]
            key = _key(definition)
            self._modes.pop(key, None)
            if answer.is_refusal(error):
                self._lists.pop(key, None)  # the tool is unknown, or its schema has changed
            raise failure_of(error, answer) from error
        return results[0]

    @asynccontextmanager
    async def _session(self, definition: McpServer, answer: LastAnswer) -> AsyncIterator[Client]:
        """Yield a session for one use."""
        headers = await self.headers.resolve(definition.headers)
        key = _key(definition)

        async def note(message: object) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                self._lists.pop(key, None)

        http = self.make_client(definition.timeout_seconds + GRACE_SECONDS)
        http.headers.update(headers)
        http.event_hooks = {"request": [_hurry_closing], "response": [answer.note]}
        transport = streamable_http_client(definition.url, http_client=http, max_sse_event_size=MAX_EVENT_BYTES)
        mode = self._modes.get(key, "auto")
        async with http, Client(repair_results(transport), mode=mode, cache=None, message_handler=note) as session:
            is_modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
            self._modes[key] = session.protocol_version if is_modern else "legacy"
            session.session.validate_tool_result = _accept  # type: ignore[assignment, method-assign]
            yield session


async def _accept(_name: str, _result: types.CallToolResult) -> None:
    """Accept a result without a check by the tool's output schema: only a model reads it.

    The SDK would list the tools after each call, and check on the event loop, with the server's patterns by ``re``.
    """


async def _hurry_closing(request: httpx2.Request) -> None:
    if request.method == "DELETE":
        request.extensions["timeout"] = httpx2.Timeout(CLOSING_SECONDS).as_dict()


def _key(definition: McpServer) -> str:
    return definition.model_dump_json(include={"url", "headers"})


def _title(tool: types.Tool) -> str | None:
    """Return the title that the server gives a tool, as a label."""
    title = tool.title or (tool.annotations.title if tool.annotations is not None else None)
    return " ".join(readable(title).split())[:MAX_LABEL] or None if title else None


def _question(definition: McpServer, name: str, schema: Mapping[str, Any]) -> str | None:
    """Return the question for approvals; None if there is none, or the server's arguments do not fit it.

    Then the agent's own sentence asks, above all arguments. The server's other tools have nothing to do with it.
    """
    question = definition.asks.get(name)
    problem = find_problem(question, ArgumentSchema(schema)) if question is not None else None
    if problem is not None:
        _log.warning("The tool %r of %s is asked for without its question: %s", name, definition.name, problem)
        return None
    return question


def _usable(tool: types.Tool) -> Mapping[str, Any] | None:
    schema = {"type": "object", "properties": {}, **tool.input_schema}
    try:
        if len(json.dumps(schema)) > MAX_SCHEMA:
            return None
        check_form(schema)
    except (SchemaProblem, RecursionError):
        return None
    return schema if schema["type"] == "object" else None
