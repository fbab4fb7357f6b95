"""Which runs calls over MCP have begun, so that a notification that reaches another process can cancel them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from baton.domain.identity import Scope


@dataclass(frozen=True, slots=True)
class McpCall:
    """A call in progress, by the ids that its client gave."""

    session_id: str
    """The session that ``initialize`` named. Only within it are request ids unique."""
    request_id: str
    """The id of the JSON-RPC request, as JSON: ``1`` and ``"1"`` are two."""
    thread_id: str
    run_id: str


class McpCalls(Protocol):
    """Calls of each user, kept for an hour. Both methods raise ``StoreUnavailable``."""

    async def begun(self, scope: Scope, call: McpCall) -> None:
        """Note ``call``. A later one of the same session and request id replaces it."""
        ...

    async def find(self, scope: Scope, session_id: str, request_id: str) -> McpCall | None:
        """Return the scope's user's call; None if none is known."""
        ...
