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
from baton.adapters.tools.tool_source import SourceTool, ToolSource, Unreachable, UnusableDocument, assigned, prefixed
from baton.authoring.errors import CannotLoad
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import McpServer, PythonTool, ToolDefinition
from baton.domain.errors import BatonError, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.tenants.egress_policy import EgressRefused
from baton.domain.tenants.identity import Scope
from baton.ports.agents.chat_model import ToolSpec
from baton.ports.agents.tools import CallContext, MissingTools, OfferedTools, Tool, ToolFailed, ToolResult

LISTING_SECONDS = 5.0
"""Seconds for which a turn waits for a source's list of tools."""

MAX_LOGGED_REASON = 500
"""Characters of the reason in the log of a broken tool."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Guards(Protocol):
    """Circuit breakers. A guarded block is not entered while its circuit is open."""

    def guard(
        self, name: str, /, *, tenant_id: str | None = None, conversation: str | None = None
    ) -> AbstractAsyncContextManager[Any]:
        """Return a context for a call of the endpoint ``name``. An exception that leaves it counts as a failure.

        ``tenant_id`` and ``conversation`` are those that the call is made for.
        """


@dataclass(frozen=True, slots=True)
class _Entry:
    definition: ToolDefinition
    own: SourceTool


class Toolbox:
    """``Tools`` over one source for each kind of definition, created when an agent first has such a tool.

    ``makers`` run in a thread, because the libraries of some sources take seconds to load. Methods raise
    ``ToolFailed``, and ``call`` ``Unauthorized``. Secrets that ``headers`` resolved are redacted in results and in the
    log.
    """

    def __init__(
        self,
        makers: Mapping[type[Any], Callable[[], ToolSource[Any]]],
        headers: HeaderValues,
        *,
        guards: Guards | None = None,
        listing_seconds: float = LISTING_SECONDS,
        place: Callable[[ToolDefinition], str | None] = lambda definition: None,
        logs_messages: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``place`` returns where a definition is written, as ``file:line: field``.

        ``logs_messages`` logs the messages and tracebacks of errors, which may quote users: for a developer's machine.
        """
        self._makers = makers
        self._sources: dict[type[Any], ToolSource[Any]] = {}
        self._making = threading.Lock()
        self._headers = headers
        self._guards = guards
        self._listing_seconds = listing_seconds
        self._place = place
        self._logs_messages = logs_messages
        self._listings = Listings(
            self._list, forget=lambda dropped: self._broken.pop(id(dropped), None), monotonic=monotonic
        )
        self._broken: dict[int, str] = {}
        """The logged reason of each unusable definition, so that it is logged once."""
        self._reported_otherwise: set[int] = set()
        """Definitions whose problems are returned to the caller and not logged."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        """See ``Tools``. New sources are asked in parallel, each for at most ``listing_seconds``.

        Sources that failed before are left out at once (``tool_listings``).
        """
        entries, missing = await self._entries(_permitted(agent, scope))
        return OfferedTools(tuple(self._tool(name, entry) for name, entry in entries.items()), missing)

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """See ``Tools``. The user's permissions are checked again."""
        entry = await self._find(_permitted(agent, context.scope), name)
        definition = entry.definition
        source = self._source(definition)
        try:
            work = source.call(definition, entry.own.own_name, arguments, context)
            guard = self._circuit(source, definition, tenant_id=context.scope.tenant_id, conversation=context.thread_id)
            result = await _limit(guard, work, definition.timeout_seconds)
        except Unauthorized:
            raise  # the tool acts for the user, who must sign in again
        except Exception as error:  # noqa: BLE001 - a failing tool must not end the turn
            raise self._failure(error, name, definition) from None
        finally:
            # The answer, or a notification with it, may have shown that the list of tools is old.
            self._listings.renew(definition, source)
        redacted = self._headers.redacted
        sources = tuple(
            {key: redacted(value) if isinstance(value, str) else value for key, value in source.items()}
            for source in result.sources
        )
        return replace(result, text=redacted(result.text), sources=sources)

    async def check(self, definitions: Iterable[ToolDefinition]) -> list[str]:
        """Ask the sources of ``definitions``. Returns a message with place and consequence for each unusable one."""
        checked = list(definitions)
        self._reported_otherwise.update(id(definition) for definition in checked)
        await self._entries(checked)
        self._reported_otherwise.clear()
        return [self._broken[id(definition)] for definition in checked if id(definition) in self._broken]

    async def settled(self) -> None:
        """Wait for the background requests in progress."""
        await self._listings.settled()

    async def _find(self, definitions: Sequence[ToolDefinition], name: str) -> _Entry:
        declared = [one for one in definitions if one.name == name and not isinstance(one, McpServer)]
        entries, missing = await self._entries(declared or definitions)
        if name in entries:
            return entries[name]
        # A tool has its server's name as a prefix only while another server has a tool of that name.
        for entry in entries.values():
            if isinstance(entry.definition, McpServer) and prefixed(entry.definition.name, entry.own.own_name) == name:
                return entry
        if missing:
            message = f"The tool {name[:64]!r} cannot be reached at the moment. Try again later."
            raise ToolFailed(message, is_outage=True)
        raise ToolFailed(f"There is no tool {name[:64]!r}.", is_refused=True)

    async def _entries(
        self, definitions: Sequence[ToolDefinition]
    ) -> tuple[dict[str, _Entry], tuple[MissingTools, ...]]:
        if any(type(definition) not in self._sources for definition in definitions):
            await asyncio.to_thread(self._make, {type(definition) for definition in definitions})
        lists = await gather_all(
            *(self._listings.of(definition, self._source(definition)) for definition in definitions)
        )
        missing = tuple(listed for listed in lists if isinstance(listed, MissingTools))
        entries = [
            _Entry(definition, own)
            for definition, tools in zip(definitions, lists, strict=True)
            if not isinstance(tools, MissingTools)
            for own in tools
        ]
        # Tools that are missing now keep their names.
        declared = {definition.name for definition in definitions if not isinstance(definition, McpServer)}
        listed = [(e.definition.name, e.own.own_name) for e in entries if isinstance(e.definition, McpServer)]
        names = assigned(declared, listed)
        return {
            names[entry.definition.name, entry.own.own_name]
            if isinstance(entry.definition, McpServer)
            else entry.definition.name: entry
            for entry in entries
        }, missing

    async def _list(self, definition: ToolDefinition) -> Sequence[SourceTool] | MissingTools:
        source = self._source(definition)
        try:
            # Nobody's arguments are sent, so all callers of the definition share the circuit.
            guard = self._circuit(source, definition) if source.must_ask(definition) else nullcontext()
            offered = await _limit(guard, source.tools(definition), self._listing_seconds)
        except Exception as error:  # noqa: BLE001 - a failing source must not end the turn
            self._note_broken(definition, error)
            return MissingTools(source.origin(definition), self._headers.redacted(_message(error)))
        if self._broken.pop(id(definition), None) is not None:
            _log.warning("%s: the tools of %s are back.", self._where(definition), definition.name)
        return offered

    def _circuit(
        self, source: ToolSource[Any], definition: ToolDefinition, **caller: str
    ) -> AbstractAsyncContextManager[Any]:
        """Return the guard of a call. A tenant's own tools have other circuits than those of shipped agents."""
        endpoint = source.endpoint(definition)
        if self._guards is None or endpoint is None:
            return nullcontext()
        return self._guards.guard(f"{definition.tenant_id or ''} {endpoint}", **caller)

    def _note_broken(self, definition: ToolDefinition, error: Exception) -> None:
        """Log the problem of a definition, unless it was logged before."""
        passes = self._source(definition).may_recover(definition)
        then = "it is tried again beside later turns" if passes else "it is not tried again until it is mended"
        if self._logs_messages and isinstance(definition, PythonTool) and not isinstance(error, CannotLoad):
            from baton.adapters.agents.agent_modules import describe_code_problem

            cause = describe_code_problem(error)  # with the line of its code
        else:
            cause = _for_the_file(error)
        printable = "".join(char if char.isprintable() else " " for char in cause)[:MAX_LOGGED_REASON]
        why = self._headers.redacted(printable).rstrip(".")
        reason = f"{self._where(definition)}: {definition.name} cannot be used: {why}. Turns go on without it; {then}."
        if id(definition) not in self._broken.keys() | self._reported_otherwise:
            _log.warning("%s", reason)
        self._broken[id(definition)] = reason

    def _where(self, definition: ToolDefinition) -> str:
        return self._place(definition) or f"tool {definition.name}"

    def _failure(self, error: Exception, name: str, definition: ToolDefinition) -> ToolFailed:
        origin = self._source(definition).origin(definition)
        reason = _for_developers(error) if self._logs_messages else _for_operators(error)
        _log.warning("Tool %s (%s) failed: %s", name, origin, self._headers.redacted(reason))
        count(Metric.TOOL_FAILURES)
        is_outage = isinstance(error, Unreachable | CircuitOpen)
        message = self._headers.redacted(_message(error))
        if isinstance(error, ToolFailed):
            return ToolFailed(message, is_outage=is_outage, is_refused=error.is_refused, state=error.state)
        return ToolFailed(message, is_outage=is_outage, is_fault=True)

    def _tool(self, name: str, entry: _Entry) -> Tool:
        definition, own = entry.definition, entry.own
        return Tool(
            spec=ToolSpec(name, own.description, own.parameters),
            origin=self._source(definition).origin(definition),
            requires_approval=own.requires_approval,
            timeout_seconds=definition.timeout_seconds,
            label=own.label,
            asks=own.asks,
        )

    def _make(self, kinds: Iterable[type[Any]]) -> None:
        with self._making:
            for kind in kinds:
                if kind not in self._sources:
                    self._sources[kind] = self._makers[kind]()

    def _source(self, definition: ToolDefinition) -> ToolSource[Any]:
        return self._sources[type(definition)]


async def _limit(guard: AbstractAsyncContextManager[Any], work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Run ``work`` with a time limit and under the circuit breaker of its endpoint.

    A refusal is not a failure of the endpoint. Raises ``Unreachable`` after the time limit, and errors of ``work``.
    """
    refusal: ToolFailed | Unauthorized | None = None
    try:
        async with guard:
            try:
                async with asyncio.timeout(seconds):
                    return await work
            except TimeoutError as error:
                raise Unreachable(f"The tool did not answer within {seconds:g} seconds.") from error
            except Unreachable:
                raise
            except (ToolFailed, Unauthorized) as error:
                refusal = error
    finally:
        work.close()  # an open circuit has not started it
    assert refusal is not None  # noqa: S101 - otherwise the block has returned or raised
    raise refusal


def _permitted(agent: AgentDefinition, scope: Scope) -> list[ToolDefinition]:
    return [tool for tool in agent.tools if all(scope.has(name) for name in tool.required_permissions)]


def _message(error: Exception) -> str:
    """Return the message for the model. Texts of unexpected errors are omitted, because they may quote anything."""
    if isinstance(error, ToolFailed):
        return error.message
    if isinstance(error, CircuitOpen):
        return "The tool has failed again and again and is left alone for now. Try again in a minute, or do without it."
    if isinstance(error, CannotLoad | ImportError):
        return "The tool cannot be loaded in this deployment."
    if isinstance(error, BatonError):
        return "The tool's credentials cannot be read in this deployment."
    return "The tool failed. Trying the same again will hardly help."


def _for_the_file(error: Exception) -> str:
    """Return the problem of a definition on one line, for its author."""
    if isinstance(error, ImportError):
        return f"it cannot be imported: {error}"
    if isinstance(error, ToolFailed):
        return error.message
    if isinstance(error, CannotLoad | CircuitOpen | BatonError):
        return str(error)
    return f"it failed with {_for_operators(error)}"


def _for_developers(error: Exception) -> str:
    """Return the error for a developer's own machine: its message, and the place and traceback in a tool's code."""
    if isinstance(error, ToolFailed):
        return f"{type(error).__name__}: {error.message}"
    from baton.adapters.agents.agent_modules import describe_code_problem

    return f"{describe_code_problem(error)}\n" + "".join(traceback.format_exception(error)).rstrip()


def _for_operators(error: Exception) -> str:
    """Return the error for the log: types and places, and only texts that quote no argument or answer."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and len(causes) < 5:
        causes.append(cause)
        cause = cause.__cause__
    return " < ".join(map(_describe, causes))


def _describe(error: BaseException) -> str:
    kind = type(error).__name__
    if isinstance(error, BatonError | CannotLoad | CircuitOpen | EgressRefused | ImportError | UnusableDocument):
        return f"{kind}: {error}"
    if isinstance(error, ToolFailed) or error.__traceback__ is None:
        return kind
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{kind} at {Path(frame.filename).name}:{frame.lineno} in {frame.name}"
