"""Who calls over MCP, in one HTTP request."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

from starlette.requests import Request

from baton.api.sse import Timing
from baton.composition.app import App
from baton.domain.identity import Scope

SESSION_ID = re.compile(r"[!-~]{1,128}")


@dataclass(frozen=True, slots=True)
class McpCaller:
    """One request's caller."""

    scope: Scope
    app: App
    timing: Timing
    ends_at: float
    """Event loop time at which the token expires."""
    session_id: str | None
    """The session that the client names; None if it names none."""
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client has closed the connection before the response was complete."""


def named_session(header: str | None) -> str | None:
    """Return the session that a client names. Ids that the protocol does not permit name none."""
    return header if header is not None and SESSION_ID.fullmatch(header) else None


def note_caller(request_state: dict[str, object], caller: McpCaller) -> None:
    """Keep the caller in the state of the ASGI scope, where handlers find it."""
    request_state["mcp_caller"] = caller


def caller_of(request: Request | None) -> McpCaller:
    """Return who makes the call that ``request`` carries."""
    assert request is not None  # noqa: S101 - streamable HTTP is the only transport
    caller = request.state.mcp_caller
    assert isinstance(caller, McpCaller)  # noqa: S101 - set by ``note_caller``
    return caller
