"""The MCP server: its tools are the agents that the caller may ask. It keeps no state between requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterator
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from baton import __version__
from baton.api.http.middleware import MAX_BODY_BYTES
from baton.api.mcp.access import McpCaller, get_caller
from baton.api.mcp.arguments import RequestedTurn, find_dismissed_thread, parse_call
from baton.api.mcp.results import make_forms, to_failure, to_questions, to_result
from baton.api.mcp.running import cancel, cancel_named, note_call, to_progress
from baton.api.mcp.tools import INPUT_SCHEMA, PAGE, to_tool
from baton.api.runs.background_turn import BackgroundTurn
from baton.api.runs.runs import TURN_SECONDS
from baton.domain import errors
from baton.domain.agents.agent import AgentDefinition
from baton.domain.cursors import decode_text, encode_text
from baton.domain.metrics import Metric, count
from baton.domain.threads.events import Event
from baton.failures.reports import in_background, report_failure
from baton.threads.requests.thread_access import get_own_thread

INSTRUCTIONS = (
    "Each tool is an agent. A call without thread_id begins a conversation; give the thread_id of its result to go on. "
    "When a result's state is input_required, ask the user, and call the same tool with thread_id and answer."
)
LIST_MILLISECONDS = 60_000
"""The time for which clients may cache the list of tools. The server caches definitions of agents as long."""

PEEKED_BYTES = 16 * 1024
"""Bytes of bodies that are parsed here: ``initialize`` and ``notifications/cancelled`` are shorter."""
BAD_ID = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "id must be a string or a whole number."}}

# The library's warnings are about mistakes of clients, and quote their data.
logging.getLogger("mcp.server").setLevel(logging.ERROR)

Context = ServerRequestContext[Any, Request]


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """Return the agents with ``mcp: true`` that the caller may talk to, by id."""
    with _guard():
        return await _list_tools(get_caller(context.request), params.cursor if params is not None else None)


async def call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """Ask an agent. Failures are results with a code. Raises ``MCPError`` for an unknown tool and for faults."""
    with _guard():
        return await _ask(context, get_caller(context.request), params)


@contextlib.contextmanager
def _guard() -> Iterator[None]:
    """Report a fault of Baton, and raise ``MCPError`` instead. The library would show the fault to older clients."""
    try:
        yield
    except MCPError:
        raise
    except Exception as error:
        report_failure(error, "request failed")
        raise MCPError(types.INTERNAL_ERROR, errors.InternalError.detail) from error


async def _list_tools(caller: McpCaller, cursor: str | None) -> types.ListToolsResult:
    try:
        after = decode_text(cursor) if cursor is not None else ""
    except errors.InvalidRequest as error:
        raise MCPError(types.INVALID_PARAMS, error.detail) from None
    try:
        visible = (await caller.app.agents.in_force(caller.scope)).list_visible(caller.scope)
    except errors.StoreUnavailable as error:
        count(Metric.REQUESTS_FAILED)
        report_failure(error, "request failed")
        raise MCPError(types.INTERNAL_ERROR, error.detail) from None
    rest = [agent for agent in visible if agent.mcp and agent.id > after]
    tools = [to_tool(agent, visible) for agent in rest[:PAGE]]
    return types.ListToolsResult(tools=tools, next_cursor=encode_text(tools[-1].name) if len(rest) > PAGE else None)


async def _ask(
    context: Context, caller: McpCaller, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    try:
        agent = await _find_agent(caller, params.name)
        thread = await find_dismissed_thread(caller, params)
        if thread is not None:
            return to_questions(thread)
        turn = await parse_call(caller, agent, params)
    except errors.BatonError as error:
        return _fail(error)
    try:
        return await _run(context, caller, turn)
    except errors.BatonError as error:
        is_unknown = isinstance(error, errors.ThreadUnavailable | errors.UnknownAgent)
        return _fail(error, None if is_unknown else await _find_thread_id(caller, turn))


async def _find_thread_id(caller: McpCaller, turn: RequestedTurn) -> str | None:
    """Return the id of the turn's thread; None for a new thread that does not exist yet or cannot be read."""
    thread = turn.request.thread
    if thread.may_create:
        try:
            await caller.app.ports.store.get_thread(turn.owner, thread.id)
        except errors.BatonError:
            return None
    return thread.id


def _fail(error: errors.BatonError, thread_id: str | None = None) -> types.CallToolResult:
    if error.status >= 500:
        count(Metric.REQUESTS_FAILED)
        report_failure(error, "request failed", thread_id=thread_id)
    return to_failure(error, thread_id)


async def _find_agent(caller: McpCaller, name: str) -> AgentDefinition:
    """Return the agent with the id ``name``. Raises ``MCPError`` unless it is a tool that the caller may use."""
    try:
        agent = await caller.app.agents.get(caller.scope, name)
    except errors.UnknownAgent:
        agent = None
    if agent is None or not agent.mcp:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:64]}")
    return agent


async def _run(
    context: Context, caller: McpCaller, turn: RequestedTurn
) -> types.CallToolResult | types.InputRequiredResult:
    app, seconds = caller.app, caller.timing.comment_seconds
    background_turn = BackgroundTurn(lambda emit: app.turns.run(turn.owner, turn.request, emit, seconds=TURN_SECONDS))
    await note_call(caller, context.request_id, turn.request)
    progress = CallProgress(context)
    try:
        events = background_turn.read_events(caller.ends_at, quiet_seconds=seconds, again=True)
        async with contextlib.aclosing(events):
            async for event in events:
                await progress.report(event)
        finished = await background_turn.wait_for_result()
    except asyncio.CancelledError:
        # Since version 2026-07-28 of MCP, a client cancels a call by closing the stream.
        if caller.has_hung_up.is_set() and _is_modern(context) and not turn.is_kept:
            in_background(cancel(caller, turn.request, background_turn), "cancellation over MCP")
        raise
    if finished is None:
        return to_questions(await get_own_thread(app.ports.store, caller.scope, turn.request.thread.id))
    form = make_forms(finished) if _shows_forms(context) else None
    return form or to_result(finished)


class CallProgress:
    """The progress notifications of a call, for clients that asked for them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._steps = 0
        self._message = "The agent is working."

    async def report(self, event: Event | None) -> None:
        """Report an event if it is a step of the work. For None, report the last step again."""
        message = self._message if event is None else to_progress(event)
        if event is not None and event.type == "RUN_STARTED":
            message = self._message
        if message is None:
            return
        self._message = message
        self._steps += 1
        await self._context.session.report_progress(self._steps, None, message)


def _is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def _shows_forms(context: Context) -> bool:
    """Return whether the client shows forms to its user and sends the answers in a separate request."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None or not _is_modern(context):
        return False
    return elicitation.form is not None or elicitation.url is None


SERVER: Server[Any] = Server(
    "baton",
    version=__version__,
    title="Baton",
    instructions=INSTRUCTIONS,
    cache_hints={"tools/list": CacheHint(ttl_ms=LIST_MILLISECONDS)},
    # All tools have the same schema, so the library need not list the tools to find it.
    get_tool_input_schema=lambda name: INPUT_SCHEMA,
    on_list_tools=list_tools,
    on_call_tool=call_tool,
)


class McpExchange(Response):
    """The response to a request whose body has been read.

    Clients of protocol versions before 2026-07-28 get a session id from ``initialize``. With their requests' ids, it
    identifies calls for ``notifications/cancelled``. Session ids are not stored: each process accepts any id.
    """

    def __init__(self, caller: McpCaller, body: bytes) -> None:
        super().__init__()
        self._caller = caller
        self._body = body
        self._is_read = False
        self._is_answered = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = self._parse_short_message()
        request_id = message.get("id", 0)
        # The library would treat a request with an id of another type as a notification.
        if isinstance(request_id, bool) or not isinstance(request_id, str | int):
            await JSONResponse(BAD_ID, 400)(scope, receive, send)
            return
        await cancel_named(self._caller, message)
        session_id = self._caller.app.ports.clock.new_id() if message.get("method") == "initialize" else None
        scope.setdefault("state", {})["mcp_caller"] = self._caller  # where ``get_caller`` finds it

        async def receive_body() -> Message:
            if not self._is_read:
                self._is_read = True
                return {"type": "http.request", "body": self._body, "more_body": False}
            received = await receive()
            if received["type"] == "http.disconnect" and not self._is_answered:
                self._caller.has_hung_up.set()
            return received

        async def send_event(event: Message) -> None:
            if event["type"] == "http.response.start" and session_id is not None and event["status"] == 200:
                event = {**event, "headers": [*event["headers"], (b"mcp-session-id", session_id.encode())]}
            if event["type"] == "http.response.body" and not event.get("more_body", False):
                self._is_answered = True
            await send(event)

        manager = StreamableHTTPSessionManager(SERVER, stateless=True, max_request_body_size=MAX_BODY_BYTES)
        async with manager.run():
            await manager.handle_request(scope, receive_body, send_event)

    def _parse_short_message(self) -> dict[str, Any]:
        """Return the body if it is a JSON object of up to ``PEEKED_BYTES``, otherwise an empty object.

        The library refuses invalid bodies.
        """
        if len(self._body) > PEEKED_BYTES:
            return {}
        try:
            message = json.loads(self._body)
        except (ValueError, RecursionError):
            return {}
        return message if isinstance(message, dict) else {}
