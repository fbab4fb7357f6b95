"""Access over MCP: the check of web pages' origins, the challenge for a token, and the caller of a request."""

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
    """True in the local cloud, where the origin ``*`` means only pages of this machine.

    Any page could rebind the name of its host to the loopback address, and so have the same origin as the server.
    """

    def check(self, origin: str | None) -> None:
        """Raise ``OriginRefused`` for the ``Origin`` of a page that may not call. Programs send no ``Origin``."""
        if origin is None or origin in (origins := self.origins()):
            return
        if "*" not in origins or (self.is_local and _parse_host(origin) not in LOOPBACK_HOSTS):
            raise OriginRefused


def make_challenge(base: str, *, has_token: bool) -> str:
    """Return the ``WWW-Authenticate`` header by which a client finds the authorization server (RFC 9728, 5.1).

    ``base`` is the deployment's address. ``has_token`` says that the request had a token, which was refused.
    """
    metadata = f"{base}{METADATA_PATH}{PATH}".replace('"', "%22")
    error = 'error="invalid_token", ' if has_token else ""
    return f'Bearer {error}resource_metadata="{metadata}"'


def _parse_host(origin: str) -> str | None:
    try:
        return urlsplit(origin).hostname
    except ValueError:
        return None


SESSION_ID = re.compile(r"[!-~]{1,128}")
"""The form of a session's id. A request with any other value is treated as a request without a session."""


@dataclass(frozen=True, slots=True)
class McpCaller:
    """The caller of one request."""

    scope: Scope
    app: App
    timing: Timing
    ends_at: float
    """Event loop time at which the token expires."""
    session_id: str | None
    """The id of the session that the client names; None without one."""
    has_hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client closes the connection before the response is complete."""


def get_caller(request: Request | None) -> McpCaller:
    """Return the caller that ``McpExchange`` has stored in ``request``."""
    assert request is not None  # noqa: S101 - streamable HTTP is the only transport
    caller = request.state.mcp_caller
    assert isinstance(caller, McpCaller)  # noqa: S101 - set by ``McpExchange``
    return caller
