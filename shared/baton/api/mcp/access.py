"""Access over MCP: the check of a web page's origin, the challenge for a token, and the caller of a request."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.requests import Request

from baton.api.http.middleware import Origins, allow_any_origin
from baton.api.runs.sse import Timing
from baton.composition.app import App
from baton.domain.errors import OriginRefused
from baton.domain.tenants.egress_policy import LOOPBACK_HOSTS
from baton.domain.tenants.identity import Scope

PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True, slots=True)
class McpAccess:
    """The web pages from which a deployment accepts calls."""

    origins: Origins = allow_any_origin
    """Returns the origins of web pages that may call now."""
    is_local: bool = False
    """Whether this is the local cloud. There ``*`` means pages of this machine: any page may rebind its host's name to
    the loopback address, and would then be of the same origin as the server."""

    def check(self, origin: str | None) -> None:
        """Raise ``OriginRefused`` for the ``Origin`` of a page that may not call. Programs send none."""
        if origin is None or origin in (origins := self.origins()):
            return
        if "*" not in origins or (self.is_local and _host(origin) not in LOOPBACK_HOSTS):
            raise OriginRefused


def challenge(base: str, *, has_token: bool) -> str:
    """Return the ``WWW-Authenticate`` header that leads a client to the authorization server (RFC 9728, 5.1)."""
    metadata = f"{base}{METADATA_PATH}{PATH}".replace('"', "%22")
    error = 'error="invalid_token", ' if has_token else ""
    return f'Bearer {error}resource_metadata="{metadata}"'


def _host(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


SESSION_ID = re.compile(r"[!-~]{1,128}")
"""The form of a session's id. A request with another value is one without a session."""


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
    has_hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client has closed the connection before the response was complete."""


def caller_of(request: Request | None) -> McpCaller:
    """Return the caller of ``request``."""
    assert request is not None  # noqa: S101 - streamable HTTP is the only transport
    caller = request.state.mcp_caller
    assert isinstance(caller, McpCaller)  # noqa: S101 - set by ``McpExchange``
    return caller
