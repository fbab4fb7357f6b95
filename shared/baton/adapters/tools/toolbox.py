"""All external tools behind the port ``Tools``."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from baton.adapters.egress.circuit_breaker import CircuitOpen
from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.tool_listings import Listings
from baton.adapters.tools.tool_source import (
    SourceTool,
    ToolSource,
    Unreachable,
    UnusableDocument,
    assign_names,
    make_prefixed_name,
)
from baton.authoring.errors import CannotLoad
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import McpServer, PythonTool, ToolDefinition
from baton.domain.errors import BatonError, StoreUnavailable, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.tenants.egress_policy import EgressRefused
from baton.domain.tenants.identity import Scope
from baton.ports.agents.chat_model import ToolSpec
from baton.ports.agents.tools import CallContext, MissingTools, OfferedTools, Tool, ToolFailed, ToolResult

LISTING_SECONDS = 5.0
"""Seconds for which a turn waits for a source's list of tools."""

MAX_CAUSES = 5
"""The maximum number of an error's causes that are logged."""
MAX_LOGGED_REASON = 500
"""The length to which the logged reason of a broken tool is cut, in characters."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Guards(Protocol):
    """Circuit breakers. A guarded block is not entered while its circuit is open."""

    def guard(
        self, name: str, /, *, tenant_id: str | None = None, conversation: str | None = None
    ) -> AbstractAsyncContextManager[Any]:
        """Return a context for a call of the endpoint ``name``. An exception that leaves it counts as a failure.

        ``tenant_id`` and ``conversation`` belong to the call; they are None for a request of a list.
        """


@dataclass(frozen=True, slots=True)
class _Entry:
    definition: ToolDefinition
    tool: SourceTool


class Toolbox:
    """``Tools`` over one source for each kind of definition, created when an agent first has such a tool.

    ``makers`` run in a thread, because the libraries of some sources take seconds to load. Methods raise
    ``ToolFailed``, and ``call`` also ``Unauthorized``. Secrets that ``headers`` resolved are redacted in results and in
    the log.
    """

    def __init__(
        self,
        makers: Mapping[type[Any], Callable[[], ToolSource[Any]]],
        headers: HeaderValues,
        *,
        guards: Guards | None = None,
        listing_seconds: float = LISTING_SECONDS,
        find_position: Callable[[ToolDefinition], str | None] = lambda definition: None,
        logs_messages: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``find_position`` returns the position of a definition in its file, as ``file:line: field``.

        ``logs_messages`` is for a developer's machine: messages and tracebacks of errors, which may quote users, are
        logged.
        """
        self._makers = makers
        self._sources: dict[type[Any], ToolSource[Any]] = {}
        self._sources_lock = threading.Lock()
        self._headers = headers
        self._guards = guards
        self._listing_seconds = listing_seconds
        self._find_position = find_position
        self._logs_messages = logs_messages
        self._listings = Listings(
            self._list_tools, forget=lambda definition: self._broken.pop(id(definition), None), monotonic=monotonic
        )
        self._broken: dict[int, str] = {}
        """The logged reason of each unusable definition, so that it is logged once."""
        self._unlogged: set[int] = set()
        """The ``id()`` of the definitions whose problems are returned to the caller and not logged."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        """See ``Tools``. New sources are asked in parallel, each for at most ``listing_seconds``.

        Sources that failed before are left out at once (``tool_listings``).
        """
        entries, missing = await self._read_entries(_list_permitted(agent, scope))
        return OfferedTools(tuple(self._make_tool(name, entry) for name, entry in entries.items()), missing)

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """See ``Tools``. The user's permissions are checked again."""
        entry = await self._find_entry(_list_permitted(agent, context.scope), name)
        definition = entry.definition
        source = self._get_source(definition)
        try:
            work = source.call(definition, entry.tool.own_name, arguments, context)
            guard = self._make_guard(source, definition, context)
            result = await _run_limited(guard, work, definition.timeout_seconds)
        except Unauthorized:
            raise  # the tool acts for the user, who must sign in again
        except Exception as error:  # noqa: BLE001 - a failing tool must not end the turn
            raise self._to_failure(error, name, definition) from None
        finally:
            # The answer, or a notification with it, may have shown that the list of tools is old.
            self._listings.renew_if_old(definition, source)
        return self._redact_result(result)

    async def read_task(
        self, agent: AgentDefinition, name: str, location: str, context: CallContext, *, deletes: bool = False
    ) -> ToolResult:
        """See ``Tools``."""
        definition = (await self._find_entry(_list_permitted(agent, context.scope), name)).definition
        try:
            work = self._get_source(definition).read_task(definition, location, context, deletes=deletes)
            result = await _run_limited(nullcontext(), work, definition.timeout_seconds)
        except Unauthorized:  # since its work began, the tool has been changed to act for the user
            raise ToolFailed("The tool acts for the user, who is not here: its work cannot be read.") from None
        except StoreUnavailable:  # a secret cannot be read now, which says nothing about the work
            raise ToolFailed(str(StoreUnavailable()), is_outage=True) from None
        except Exception as error:  # noqa: BLE001 - a failing tool must not end the turn
            raise self._to_failure(error, name, definition) from None
        return self._redact_result(result)

    async def check(self, definitions: Iterable[ToolDefinition]) -> list[str]:
        """Ask the sources of ``definitions``. Return a message for each unusable definition, with its position.

        The message says that turns go on without the tool. The message for a Python function does not, because a start
        leaves the function out, but a reload refuses it.
        """
        checked = list(definitions)
        self._unlogged.update(id(definition) for definition in checked)
        await self._read_entries(checked)
        self._unlogged.clear()
        return [self._broken[id(definition)] for definition in checked if id(definition) in self._broken]

    async def wait_for_refreshes(self) -> None:
        """Wait for the background requests in progress."""
        await self._listings.wait_for_refreshes()

    async def _find_entry(self, definitions: Sequence[ToolDefinition], name: str) -> _Entry:
        """Return the tool that the model knows as ``name``. Raises ``ToolFailed``."""
        declared = [
            definition
            for definition in definitions
            if definition.name == name and not isinstance(definition, McpServer)
        ]
        entries, missing = await self._read_entries(declared or definitions)
        if name in entries:
            return entries[name]
        # A tool has its server's name as a prefix only while another server has a tool of that name.
        for entry in entries.values():
            definition = entry.definition
            if isinstance(definition, McpServer) and make_prefixed_name(definition.name, entry.tool.own_name) == name:
                return entry
        if missing:
            message = f"The tool {name[:64]!r} cannot be reached at the moment. Try again later."
            raise ToolFailed(message, is_outage=True)
        raise ToolFailed(f"There is no tool {name[:64]!r}.", is_refused=True)

    async def _read_entries(
        self, definitions: Sequence[ToolDefinition]
    ) -> tuple[dict[str, _Entry], tuple[MissingTools, ...]]:
        """Return the tools of ``definitions`` by their names for the model, and the tools that are missing."""
        if any(type(definition) not in self._sources for definition in definitions):
            await asyncio.to_thread(self._make_sources, {type(definition) for definition in definitions})
        lists = await gather_all(
            *(self._listings.read(definition, self._get_source(definition)) for definition in definitions)
        )
        missing = tuple(offer for offer in lists if isinstance(offer, MissingTools))
        entries = [
            _Entry(definition, tool)
            for definition, tools in zip(definitions, lists, strict=True)
            if not isinstance(tools, MissingTools)
            for tool in tools
        ]
        # Declared tools that are missing now keep their names.
        declared = {definition.name for definition in definitions if not isinstance(definition, McpServer)}
        server_tools = [
            (entry.definition.name, entry.tool.own_name) for entry in entries if isinstance(entry.definition, McpServer)
        ]
        names = assign_names(declared, server_tools)
        return {
            names[entry.definition.name, entry.tool.own_name]
            if isinstance(entry.definition, McpServer)
            else entry.definition.name: entry
            for entry in entries
        }, missing

    async def _list_tools(self, definition: ToolDefinition) -> Sequence[SourceTool] | MissingTools:
        """Ask the definition's source for its tools. Raises nothing."""
        source = self._get_source(definition)
        try:
            # A list holds no caller's data, so all callers of the definition share the circuit.
            guard = self._make_guard(source, definition, None) if source.must_ask(definition) else nullcontext()
            offered = await _run_limited(guard, source.list_tools(definition), self._listing_seconds)
        except Exception as error:  # noqa: BLE001 - a failing source must not end the turn
            self._note_broken(definition, error)
            return MissingTools(source.get_origin(definition), self._headers.redact(_make_message_for_model(error)))
        if self._broken.pop(id(definition), None) is not None:
            _log.warning("%s: the tools of %s are back.", self._describe_position(definition), definition.name)
        return offered

    def _make_guard(
        self, source: ToolSource[Any], definition: ToolDefinition, context: CallContext | None
    ) -> AbstractAsyncContextManager[Any]:
        """Return the guard of a call, or of a request of a list if ``context`` is None.

        A tenant's own tools have other circuits than the tools of shipped agents.
        """
        endpoint = source.find_endpoint(definition)
        if self._guards is None or endpoint is None:
            return nullcontext()
        name = f"{definition.tenant_id or ''} {endpoint}"
        if context is None:
            return self._guards.guard(name)
        return self._guards.guard(name, tenant_id=context.scope.tenant_id, conversation=context.thread_id)

    def _redact_result(self, result: ToolResult) -> ToolResult:
        """Return a result without secrets in the texts for models and people."""
        redact = self._headers.redact
        sources = tuple(
            {key: redact(value) if isinstance(value, str) else value for key, value in source.items()}
            for source in result.sources
        )
        progress = redact(result.progress) if result.progress is not None else None
        return replace(result, text=redact(result.text), sources=sources, progress=progress)

    def _note_broken(self, definition: ToolDefinition, error: Exception) -> None:
        """Record the problem of a definition, and log it unless it was logged before."""
        may_recover = self._get_source(definition).may_recover(definition)
        retries = "it is tried again during later turns" if may_recover else "it is not tried again until it is mended"
        if self._logs_messages and isinstance(definition, PythonTool) and not isinstance(error, CannotLoad):
            from baton.adapters.agents.agent_modules import describe_code_problem

            cause = describe_code_problem(error)  # with the line of its code
        else:
            cause = _describe_for_author(error)
        printable = "".join(char if char.isprintable() else " " for char in cause)[:MAX_LOGGED_REASON]
        redacted_cause = self._headers.redact(printable).rstrip(".")
        problem = f"{self._describe_position(definition)}: {definition.name} cannot be used: {redacted_cause}."
        problem_and_consequence = f"{problem} Turns go on without it; {retries}."
        if id(definition) not in self._broken.keys() | self._unlogged:
            _log.warning("%s", problem_and_consequence)
        self._broken[id(definition)] = problem if isinstance(definition, PythonTool) else problem_and_consequence

    def _describe_position(self, definition: ToolDefinition) -> str:
        return self._find_position(definition) or f"tool {definition.name}"

    def _to_failure(self, error: Exception, name: str, definition: ToolDefinition) -> ToolFailed:
        """Log the failure of a call, and return it for the caller."""
        origin = self._get_source(definition).get_origin(definition)
        if isinstance(error, ToolFailed) and error.is_refused:  # an answer, and no failure of the tool
            reason = (
                self._headers.redact(error.message) if self._logs_messages else "its reason is in the call's record"
            )
            _log.info("Tool %s (%s) has refused a call: %s", name, origin, reason)
        else:
            reason = _describe_for_developer(error) if self._logs_messages else _describe_for_operator(error)
            _log.warning("Tool %s (%s) failed: %s", name, origin, self._headers.redact(reason))
            count(Metric.TOOL_FAILURES)
        message = self._headers.redact(_make_message_for_model(error))
        if isinstance(error, ToolFailed):
            return ToolFailed(message, is_outage=error.is_outage, is_refused=error.is_refused, state=error.state)
        return ToolFailed(message, is_outage=isinstance(error, CircuitOpen), is_fault=True)

    def _make_tool(self, name: str, entry: _Entry) -> Tool:
        definition, tool = entry.definition, entry.tool
        return Tool(
            spec=ToolSpec(name, tool.description, tool.parameters),
            origin=self._get_source(definition).get_origin(definition),
            requires_approval=tool.requires_approval,
            timeout_seconds=definition.timeout_seconds,
            label=tool.label,
            asks=tool.asks,
            background=tool.background,
            check=tool.check,
        )

    def _make_sources(self, kinds: Iterable[type[Any]]) -> None:
        """Make the sources of kinds of definitions that have none yet. Blocks while libraries are loaded."""
        with self._sources_lock:
            for kind in kinds:
                if kind not in self._sources:
                    self._sources[kind] = self._makers[kind]()

    def _get_source(self, definition: ToolDefinition) -> ToolSource[Any]:
        return self._sources[type(definition)]


async def _run_limited(guard: AbstractAsyncContextManager[Any], work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Run ``work`` with a time limit and under the circuit breaker of its endpoint.

    A refusal is not a failure of the endpoint. Raises ``Unreachable`` after the time limit, and errors of ``work``.
    """
    refusal: ToolFailed | Unauthorized | None = None
    try:
        async with guard:
            try:
                async with asyncio.timeout(seconds) as limit:
                    return await work
            except TimeoutError as error:
                if not limit.expired():  # the tool's own error
                    raise
                raise Unreachable(f"The tool did not answer within {seconds:g} seconds.") from error
            except Unreachable:
                raise
            except (ToolFailed, Unauthorized) as error:
                refusal = error
    finally:
        work.close()  # because an open circuit has not started it
    assert refusal is not None  # noqa: S101 - without a refusal the block has returned or raised
    raise refusal


def _list_permitted(agent: AgentDefinition, scope: Scope) -> list[ToolDefinition]:
    return [tool for tool in agent.tools if all(scope.has(name) for name in tool.required_permissions)]


def _make_message_for_model(error: Exception) -> str:
    """Return the message for the model. Texts of unexpected errors are omitted, because they may quote anything."""
    if isinstance(error, ToolFailed):
        return error.message
    if isinstance(error, CircuitOpen):
        return "The tool has failed again and again and is not called for now. Try again in a minute, or do without it."
    if isinstance(error, CannotLoad | ImportError):
        return "The tool cannot be loaded in this deployment."
    if isinstance(error, BatonError):
        return "The tool's credentials cannot be read in this deployment."
    return "The tool failed. Trying the same again will hardly help."


def _describe_for_author(error: Exception) -> str:
    """Return the problem of a definition on one line, for its author."""
    if isinstance(error, ImportError):
        return f"it cannot be imported: {error}"
    if isinstance(error, ToolFailed):
        return error.message
    if isinstance(error, CannotLoad | CircuitOpen | BatonError):
        return str(error)
    return f"it failed with {_describe_for_operator(error)}"


def _describe_for_developer(error: Exception) -> str:
    """Return the error for a developer's own machine: its message, and its line and traceback in a tool's code."""
    if isinstance(error, ToolFailed):
        return f"{type(error).__name__}: {error.message}"
    from baton.adapters.agents.agent_modules import describe_code_problem

    return f"{describe_code_problem(error)}\n" + "".join(traceback.format_exception(error)).rstrip()


def _describe_for_operator(error: Exception) -> str:
    """Return the error and its causes for the log: types and positions, and only texts that quote no user's data."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < MAX_CAUSES:
        causes.append(cause)
        cause = cause.__cause__
    return " < ".join(map(_describe_cause, causes))


def _describe_cause(error: BaseException) -> str:
    """Return the type of an error with its text or its position."""
    kind = type(error).__name__
    if isinstance(error, BatonError | CannotLoad | CircuitOpen | EgressRefused | ImportError | UnusableDocument):
        return f"{kind}: {error}"
    if isinstance(error, ToolFailed) or error.__traceback__ is None:
        return kind
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{kind} at {Path(frame.filename).name}:{frame.lineno} in {frame.name}"
