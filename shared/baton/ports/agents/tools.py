"""The port to external tools of an agent: MCP servers, HTTP operations, functions shipped with the deployment."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import BackgroundRules
from baton.domain.handoffs.workflow import Workflow
from baton.domain.schedules.run_source import RunSource
from baton.domain.schemas.type_check import TypeCheck
from baton.domain.tenants.identity import Scope
from baton.ports.agents.chat_model import ToolSpec


class ToolFailed(Exception):
    """A call failed. The model gets ``message``, which says how to proceed instead.

    ``is_outage``: the tool could not be reached, did not answer in time, or is overloaded (HTTP 429).
    ``is_refused``: nothing was done, because the call is invalid or not allowed, or the tool refuses it.
    ``is_fault``: the tool has failed without an explanation.
    ``state``: for the tool that completes a workflow, the state to which the workflow returns.
    """

    def __init__(
        self,
        message: str,
        *,
        is_outage: bool = False,
        is_refused: bool = False,
        is_fault: bool = False,
        state: str | None = None,
    ) -> None:
        self.message = message
        self.is_outage = is_outage
        self.is_refused = is_refused
        self.is_fault = is_fault
        self.state = state
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the agent's model sees it, and how Baton must treat it."""

    spec: ToolSpec
    """The tool for the model. Its name is unique among the agent's tools, and ``parameters`` is a valid JSON Schema."""
    origin: str
    """Its origin, for records: ``mcp:<server>``, ``http``, ``openapi`` or ``python``."""
    requires_approval: bool = False
    """True if a person must agree to each call."""
    timeout_seconds: float = 30.0
    label: str | None = None
    """The tool's name for people; None: the name in ``spec`` is shown."""
    asks: str | None = None
    """The question for a person who approves a call, with placeholders (``domain.agents.approval_question``)."""
    background: BackgroundRules | None = None
    """The rules of a tool whose work may outlive the call; None for others."""
    check: TypeCheck | None = field(default=None, compare=False)
    """Checks arguments by the types of the tool's function, after the schema; None if only the schema checks them."""


@dataclass(frozen=True, slots=True)
class MissingTools:
    """A source whose tools are unavailable at the moment."""

    origin: str
    reason: str


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools that an agent may call in this turn."""

    tools: tuple[Tool, ...] = ()
    missing: tuple[MissingTools, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of the tools, as the model calls them."""
        return frozenset(tool.spec.name for tool in self.tools)


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a tool attaches to the answer."""

    name: str
    media_type: str
    body: bytes


def _ignore_progress(label: str) -> None:
    """Do nothing with the progress of a call for which no user waits."""


MAX_ATTACHED_BYTES = 20 * 1024 * 1024
"""Bytes of the files that a call attaches, together."""


def _read_file(file: Path) -> bytes:
    """Return the content of a file. Raises ``ToolFailed``, for a file that is too large without reading all of it."""
    try:
        if not file.is_file():
            raise ToolFailed(f"There is no file {file.name} to attach.")
        with file.open("rb") as opened:
            body = opened.read(MAX_ATTACHED_BYTES + 1)
    except OSError as problem:
        raise ToolFailed(f"The file {file.name} cannot be read: {problem.strerror}.") from problem
    if len(body) > MAX_ATTACHED_BYTES:
        raise ToolFailed(f"The files of a call have at most {MAX_ATTACHED_BYTES} bytes together.")
    return body


async def _discard_file(file: NewFile) -> str:
    """Return the file's name as its id, for calls whose files are not stored."""
    return file.name


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The user, the conversation and the turn for which a function of an agent works."""

    scope: Scope
    """The tenant, the user and the permissions."""
    thread_id: str
    """The conversation's id."""
    run_id: str
    """The id of the turn's run."""
    agent_id: str
    """The id of the function's agent."""
    time_zone: str | None = field(default=None, kw_only=True)
    """The user's time zone, by its IANA name; None if it is not known."""
    state: dict[str, Any] = field(default_factory=dict, kw_only=True, compare=False)
    """The data of the conversation: JSON, at most 8 KiB. Changes by a tool are kept if it succeeds."""
    workflow: Workflow | None = field(default=None, kw_only=True, compare=False)
    """The agent's workflow in the conversation: its ``state``, and its ``data`` by state; None without one."""
    begun_by: RunSource | None = field(default=None, kw_only=True, compare=False)
    """The cause of a run that no message of the user has begun: its ``kind``, ``id`` and ``type``. The ``message`` of
    ``run`` is then the text of a schedule, the data of an event, or the result of a task. None for a user's message."""

    @property
    def user(self) -> str:
        """The user's id."""
        return self.scope.user_id

    @property
    def tenant(self) -> str:
        """The id of the user's tenant."""
        return self.scope.tenant_id

    @property
    def permissions(self) -> frozenset[str]:
        """The user's permissions in this turn."""
        return self.scope.permissions


@dataclass(frozen=True, slots=True)
class TaskCallback:
    """The address to which a tool reports the result of work that outlives its call."""

    url: str
    token: str
    """The bearer token of such a report."""


@dataclass(frozen=True, slots=True)
class CallContext(TurnContext):
    """The user and the turn for which a tool is called."""

    call_id: str
    """The id of this call."""
    idempotency_key: str
    """A key that is the same in every attempt at this call, even by another worker after a crash."""
    may_answer_later: bool = field(default=False, kw_only=True, compare=False)
    """Whether the tool may begin a task and report its result later."""
    callback: TaskCallback | None = field(default=None, kw_only=True, repr=False, compare=False)
    """The address to which the tool may report later; None if it must answer now, or is polled."""
    report: Callable[[str], None] = field(default=_ignore_progress, kw_only=True, repr=False, compare=False)
    """Shows the label of ``progress``."""
    keep: Callable[[NewFile], Awaitable[str]] = field(default=_discard_file, kw_only=True, repr=False, compare=False)
    """Stores the file of ``attach``, and returns its id."""

    async def progress(self, label: str) -> None:
        """Show the user the progress of the call, such as ``3 of 10``: one line, cut after 200 characters."""
        self.report(label)

    async def attach(self, file: Path | bytes, *, name: str | None = None, media_type: str | None = None) -> str:
        """Attach a file to the answer, and return its id. The user finds it among the answer's sources.

        ``name`` is required for bytes. The default ``media_type`` follows from the name. Raises ``ToolFailed`` for a
        file that has no name, or cannot be read or stored.
        """
        file_name = name or (file.name if isinstance(file, Path) else "")
        if not file_name:
            raise ToolFailed("A file that is attached needs a name.")
        body = await asyncio.to_thread(_read_file, file) if isinstance(file, Path) else file
        guessed_type, _ = mimetypes.guess_type(file_name)
        return await self.keep(NewFile(file_name, media_type or guessed_type or "application/octet-stream", body))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer of a tool."""

    text: str
    """The complete text for the model. The caller cuts it to its limit."""
    sources: tuple[Mapping[str, Any], ...] = ()
    """``{kind, id, title, url?}`` of the answer's sources, if the tool names them."""
    is_pending: bool = False
    """True if the tool continues to work and reports the result later."""
    location: str | None = None
    """The address at which the state of pending work is read; None if the tool gives none."""
    poll_seconds: float | None = None
    """The shortest pause between two reads of pending work; None if the tool sets none."""
    is_put_off: bool = False
    """True if pending work has not begun: it is done when its state is read."""
    progress: str | None = None
    """The progress of pending work, for people."""


class Tools(Protocol):
    """All external tools."""

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        """Return the agent's tools that the scope's user may use. An unreachable source is reported as missing."""

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call a tool that was offered, with arguments that fit its schema.

        Cancelling stops the call. Raises ``ToolFailed``, also after the tool's timeout, and ``Unauthorized`` if
        the tool acts for the user and the request has no token of the user.
        """

    async def read_task(
        self, agent: AgentDefinition, name: str, location: str, context: CallContext, *, deletes: bool = False
    ) -> ToolResult:
        """Read the state of a call's pending work at its ``location``; with ``deletes``, delete the work there.

        Raises ``ToolFailed``.
        """
