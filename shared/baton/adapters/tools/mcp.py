"""Tools of MCP servers, over streamable HTTP."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
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
    is_unknown_tool,
    repair_results,
    to_result,
    to_tool_failure,
)
from baton.adapters.tools.mcp_tasks import TaskAsks, TaskHandle, TasksExtension, TaskState, cancel_task, read_task
from baton.adapters.tools.tool_source import GRACE_SECONDS, SourceTool, ToolSource
from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.agents.approval_question import MAX_LABEL, find_question_problem
from baton.domain.agents.tool import IDEMPOTENCY_KEY, McpServer
from baton.domain.metrics import Metric, count
from baton.domain.schemas.argument_schema import ArgumentSchema
from baton.domain.schemas.schema_form import SchemaProblem, check_form
from baton.domain.text import make_readable
from baton.ports.agents.tools import CallContext, ToolFailed, ToolResult

FRESH_SECONDS = 300.0
"""Seconds for which a server's list of tools is cached, unless the server asks for less."""
LEAST_FRESH_SECONDS = 5.0
"""The minimum seconds for which a list is cached, even if the server asks for less."""
CLOSING_SECONDS = 2.0
"""Seconds for which the end of a session waits for the server."""
MAX_EVENT_BYTES = 8 * 1024 * 1024
"""The maximum size of one event in a stream. Whole answers may be larger, but the SDK does not report their excess."""
MAX_TOOLS = 200
"""The number of a server's tools that are used."""
MAX_PAGES = 20
"""The number of pages of a server's list that are read."""
MAX_SERVERS = 500
"""The number of servers whose lists are cached."""
MAX_SCHEMA = 64 * 1024
"""The maximum length of a tool's schema, which goes into every prompt, in characters."""
DESCRIPTION = 2000
"""The length to which a tool's description is cut, in characters."""

_ToolAndSchema = tuple[types.Tool, Mapping[str, Any] | None]
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
    it and a frozen Lambda environment would lose an open session. Lists are cached for ``FRESH_SECONDS`` or the shorter
    time that their server states, unless an answer or a notification shows earlier that a list is old.
    """

    make_client: Callable[[float], httpx2.AsyncClient]
    """Returns a client for one session. Its argument is the timeout in seconds."""
    headers: HeaderValues
    monotonic: Callable[[], float] = time.monotonic
    _lists: LRUCache[str, tuple[tuple[_ToolAndSchema, ...], float]] = field(
        init=False, default_factory=lambda: LRUCache(MAX_SERVERS)
    )
    """Each server's tools, and the time (of ``monotonic``) at which they are old."""
    _modes: LRUCache[str, str] = field(init=False, default_factory=lambda: LRUCache(MAX_SERVERS))
    """The transport mode that worked with each server, which saves the client from detecting it."""

    def get_origin(self, definition: McpServer) -> str:
        return f"mcp:{definition.name}"

    def find_endpoint(self, definition: McpServer) -> str | None:
        return f"mcp:{urlsplit(definition.url).netloc.lower()}"

    def must_ask(self, definition: McpServer) -> bool:
        cached = self._lists.get(_make_server_key(definition))
        return cached is None or self.monotonic() >= cached[1]

    def may_recover(self, definition: McpServer) -> bool:
        return True

    async def list_tools(self, definition: McpServer) -> Sequence[SourceTool]:
        offered = []
        rules = definition.background
        if rules is not None:
            rules = rules.model_copy(update={"cancel": True})  # every task of MCP can be cancelled
        for tool, schema in await self._read_list(definition):
            if definition.include is not None and tool.name not in definition.include:
                continue
            # Tasks of 2025-11-25 were experimental; version 2026-07-28 of the protocol has removed them.
            if tool.execution is not None and tool.execution.task_support == "required":
                _log.info(
                    "The tool %r of %s runs as a task of 2025-11-25 only, which is not supported",
                    tool.name,
                    definition.name,
                )
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
                    definition.label.get(tool.name) or _find_title(tool),
                    _find_usable_question(definition, tool.name, schema),
                    background=rules,
                )
            )
        return offered

    async def call(
        self, definition: McpServer, own_name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        meta: Any = {IDEMPOTENCY_KEY: context.idempotency_key}
        may_begin_task = definition.background is not None and context.may_answer_later

        async def call_tool(session: Client) -> types.CallToolResult | TaskHandle:
            if not may_begin_task:
                return await session.call_tool(own_name, dict(arguments), meta=meta)
            answer = await session.session.call_tool(own_name, dict(arguments), meta=meta, allow_claimed=True)
            assert isinstance(answer, types.CallToolResult | TaskHandle)  # noqa: S101 - there are no other claims
            return answer

        answer = await self._run(definition, call_tool, with_tasks=may_begin_task)
        try:
            return answer.to_result() if isinstance(answer, TaskHandle) else to_result(answer)
        except ToolFailed as error:
            if is_unknown_tool(error.message, own_name):
                self._lists.pop(_make_server_key(definition), None)
            raise

    async def read_task(
        self, definition: McpServer, location: str, context: CallContext, *, deletes: bool
    ) -> ToolResult:
        async def read(session: Client) -> TaskState | None:
            if not deletes:
                return await read_task(session, location)
            await cancel_task(session, location)
            return None

        async def cancel(session: Client) -> None:
            await cancel_task(session, location)

        state = await self._run(definition, read, with_tasks=True)
        if state is None:
            return ToolResult("")
        try:
            return state.to_result()
        except TaskAsks:
            with suppress(ToolFailed):  # cancel the task, which would wait for ever
                await self._run(definition, cancel, with_tasks=True)
            raise

    async def _read_list(self, definition: McpServer) -> tuple[_ToolAndSchema, ...]:
        """Return the server's tools, from the cache while it is fresh. Raises as ``_run`` does."""
        key = _make_server_key(definition)
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

        tools, seconds = await self._run(definition, read)
        # Checking hundreds of schemas takes a second, so it is done once, in a thread.
        checked = await off_loop(LARGE, lambda: tuple((tool, _find_usable_schema(tool)) for tool in tools[:MAX_TOOLS]))
        self._lists[key] = (checked, read_at + seconds)
        return checked

    async def _run(
        self, definition: McpServer, work: Callable[[Client], Awaitable[T]], *, with_tasks: bool = False
    ) -> T:
        """Return the result of ``work`` in a session, or in a second session if the server has lost the first.

        ``with_tasks`` lets the server answer calls with tasks.

        Raises ``ToolFailed``, ``Unreachable`` and the errors of ``HeaderValues.resolve``.
        """
        try:
            return await self._run_once(definition, work, with_tasks=with_tasks)
        except SessionLost:
            return await self._run_once(definition, work, with_tasks=with_tasks)

    async def _run_once(self, definition: McpServer, work: Callable[[Client], Awaitable[T]], *, with_tasks: bool) -> T:
        """Return the result of ``work`` in one session. Raises ``SessionLost``, and the errors of ``_run``."""
        results: list[T] = []
        answer = LastAnswer()
        try:
            async with self._open_session(definition, answer, with_tasks=with_tasks) as session:
                results.append(await work(session))
        except Exception as error:
            if results:  # only the end of the session has failed
                return results[0]
            key = _make_server_key(definition)
            self._modes.pop(key, None)
            if answer.is_refusal(error):
                self._lists.pop(key, None)  # the tool is unknown, or its schema has changed
            raise to_tool_failure(error, answer) from error
        return results[0]

    @asynccontextmanager
    async def _open_session(
        self, definition: McpServer, answer: LastAnswer, *, with_tasks: bool
    ) -> AsyncIterator[Client]:
        """Open a session, and close it after its use. ``answer`` records the status of its last request."""
        headers = await self.headers.resolve(definition.headers)
        key = _make_server_key(definition)

        async def drop_changed_list(message: object) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                self._lists.pop(key, None)

        http = self.make_client(definition.timeout_seconds + GRACE_SECONDS)
        http.headers.update(headers)
        http.event_hooks = {"request": [_shorten_closing], "response": [answer.record]}
        transport = streamable_http_client(definition.url, http_client=http, max_sse_event_size=MAX_EVENT_BYTES)
        mode = self._modes.get(key, "auto")
        client = Client(
            repair_results(transport),
            mode=mode,
            cache=None,
            message_handler=drop_changed_list,
            extensions=[TasksExtension()] if with_tasks else None,
        )
        async with http, client as session:
            is_modern = session.protocol_version in MODERN_PROTOCOL_VERSIONS
            self._modes[key] = session.protocol_version if is_modern else "legacy"
            session.session.validate_tool_result = _skip_validation  # type: ignore[assignment, method-assign]
            yield session


async def _skip_validation(_name: str, _result: types.CallToolResult) -> None:
    """Accept a result without a check against the tool's output schema: only a model reads it.

    The SDK would list the tools after each call, and run the server's regular expressions on the event loop.
    """


async def _shorten_closing(request: httpx2.Request) -> None:
    """Shorten the timeout of the request that closes a session."""
    if request.method == "DELETE":
        request.extensions["timeout"] = httpx2.Timeout(CLOSING_SECONDS).as_dict()


def _make_server_key(definition: McpServer) -> str:
    return definition.model_dump_json(include={"url", "headers"})


def _find_title(tool: types.Tool) -> str | None:
    """Return the server's title of a tool as a label, one line of at most ``MAX_LABEL`` characters; None without."""
    title = tool.title or (tool.annotations.title if tool.annotations is not None else None)
    return " ".join(make_readable(title).split())[:MAX_LABEL] or None if title else None


def _find_usable_question(definition: McpServer, name: str, schema: Mapping[str, Any]) -> str | None:
    """Return the definition's question for approvals of the tool ``name``; None if none fits ``schema``.

    Without a question, approvals show the agent's general sentence, above all arguments.
    """
    question = definition.asks.get(name)
    problem = find_question_problem(question, ArgumentSchema(schema)) if question is not None else None
    if problem is not None:
        _log.warning("Approvals of the tool %r of %s do not use its question: %s", name, definition.name, problem)
        return None
    return question


def _find_usable_schema(tool: types.Tool) -> Mapping[str, Any] | None:
    """Return the schema of the tool's arguments; None if it is invalid, too long or not of type object."""
    schema = {"type": "object", "properties": {}, **tool.input_schema}
    try:
        if len(json.dumps(schema)) > MAX_SCHEMA:
            return None
        check_form(schema)
    except (SchemaProblem, RecursionError):
        return None
    return schema if schema["type"] == "object" else None
