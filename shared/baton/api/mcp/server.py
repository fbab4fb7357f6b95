"""The MCP server: its tools are the agents that the caller may ask."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from baton import __version__
from baton.api.mcp.access import McpCaller, caller_of
from baton.api.mcp.arguments import AskedTurn, find_dismissed, parse_call
from baton.api.mcp.results import form_of, result_of, to_failure, to_questions
from baton.api.mcp.running import cancel, note_call, to_progress
from baton.api.mcp.tools import INPUT_SCHEMA, PAGE, tool_of
from baton.api.runs.background_turn import BackgroundTurn
from baton.api.runs.runs import TURN_SECONDS
from baton.domain import errors
from baton.domain.agents.agent import AgentDefinition
from baton.domain.cursors import decode_text, encode_text
from baton.domain.metrics import Metric, count
from baton.domain.threads.events import Event
from baton.failures.reports import in_background, report_failure
from baton.threads.requests.thread_access import own_thread

INSTRUCTIONS = (
    "Each tool is an agent. A call without thread_id begins a conversation; give the thread_id of its result to go on. "
    "When a result's state is input_required, ask the user, and call the same tool with thread_id and answer."
)
LIST_MILLISECONDS = 60_000
"""The time for which clients may keep the list of tools. Definitions of agents are cached for the same time."""

Context = ServerRequestContext[Any, Request]


async def list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """Return the agents with ``mcp: true`` that the caller may talk to, by id."""
    with _guard():
        return await _list(caller_of(context.request), params.cursor if params is not None else None)


async def call_tool(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """Ask an agent. A failure that the caller can act on is a result; an unknown tool is an error of the protocol."""
    with _guard():
        return await _ask(context, caller_of(context.request), params)


@contextlib.contextmanager
def _guard() -> Iterator[None]:
    """Raise ``MCPError`` for Baton's own fault. The library would show older clients the fault."""
    try:
        yield
    except MCPError:
        raise
    except Exception as error:
        report_failure(error, "request failed")
        raise MCPError(types.INTERNAL_ERROR, errors.InternalError.detail) from error


async def _list(caller: McpCaller, cursor: str | None) -> types.ListToolsResult:
    try:
        after = decode_text(cursor) if cursor is not None else ""
    except errors.InvalidRequest as error:
        raise MCPError(types.INVALID_PARAMS, error.detail) from None
    try:
        visible = (await caller.app.agents.of(caller.scope)).visible(caller.scope)
    except errors.StoreUnavailable as error:
        count(Metric.REQUESTS_FAILED)
        report_failure(error, "request failed")
        raise MCPError(types.INTERNAL_ERROR, error.detail) from None
    rest = [agent for agent in visible if agent.mcp and agent.id > after]
    tools = [tool_of(agent, visible) for agent in rest[:PAGE]]
    return types.ListToolsResult(tools=tools, next_cursor=encode_text(tools[-1].name) if len(rest) > PAGE else None)


async def _ask(
    context: Context, caller: McpCaller, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    try:
        agent = await _agent(caller, params.name)
        thread = await find_dismissed(caller, params)
        if thread is not None:
            return to_questions(thread)
        turn = await parse_call(caller, agent, params)
    except errors.BatonError as error:
        return _fail(error)
    try:
        return await _run(context, caller, turn)
    except errors.BatonError as error:
        is_unknown = isinstance(error, errors.ThreadUnavailable | errors.UnknownAgent)
        return _fail(error, None if is_unknown else turn.request.thread.id)


def _fail(error: errors.BatonError, thread_id: str | None = None) -> types.CallToolResult:
    if error.status >= 500:
        count(Metric.REQUESTS_FAILED)
        report_failure(error, "request failed", thread_id=thread_id)
    return to_failure(error, thread_id)


async def _agent(caller: McpCaller, name: str) -> AgentDefinition:
    """Return the agent that is the tool ``name``. Raises ``MCPError``; it does not say why there is none."""
    try:
        agent = await caller.app.agents.get(caller.scope, name)
    except errors.UnknownAgent:
        agent = None
    if agent is None or not agent.mcp:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:64]}")
    return agent


async def _run(
    context: Context, caller: McpCaller, turn: AskedTurn
) -> types.CallToolResult | types.InputRequiredResult:
    app, seconds = caller.app, caller.timing.comment_seconds
    background_turn = BackgroundTurn(lambda emit: app.turns.run(turn.owner, turn.request, emit, seconds=TURN_SECONDS))
    await note_call(caller, context.request_id, turn.request)
    progress = CallProgress(context)
    try:
        events = background_turn.events(caller.ends_at, quiet_seconds=seconds, again=True)
        async with contextlib.aclosing(events):
            async for event in events:
                await progress.report(event)
        finished = await background_turn.result()
    except asyncio.CancelledError:
        # Since 2026-07-28, closing the stream is how a client cancels. Before, it was no more than a lost connection.
        if caller.hung_up.is_set() and _is_modern(context) and not turn.is_kept:
            in_background(cancel(caller, turn.request, background_turn), "cancellation over MCP")
        raise
    if finished is None:
        return to_questions(await own_thread(app.ports.store, caller.scope, turn.request.thread.id))
    form = form_of(finished) if _shows_forms(context) else None
    return form or result_of(finished)


class CallProgress:
    """The progress notifications of a call, for clients that asked for them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._steps = 0
        self._message = "The agent is working."

    async def report(self, event: Event | None) -> None:
        """Report the event if it is a step of the work, and the last step again when nothing has happened."""
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
    """Return whether the client shows forms to its user, and can send the answer to any process."""
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
    # The same for every tool, so that it need not be looked up in a list.
    get_tool_input_schema=lambda name: INPUT_SCHEMA,
    on_list_tools=list_tools,
    on_call_tool=call_tool,
)
