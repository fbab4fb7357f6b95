"""Who may call over MCP: the check of a web page's origin, and where tokens come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from baton.domain.errors import OriginRefused

PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class McpAccess:
    """From which web pages a deployment takes calls."""

    origins: Sequence[str] = ("*",)
    """Origins of web pages, as ``BATON_ALLOWED_ORIGINS`` lists them."""
    is_local: bool = False
    """Whether this is the local cloud. There ``*`` means pages of this machine: any page may rebind its host's name to
    the loopback address, and would then be of the same origin as the server."""

    def check(self, origin: str | None) -> None:
        """Raise ``OriginRefused`` for the ``Origin`` of a page that may not call. Programs send none."""
        if origin is None or origin in self.origins:
            return
        if "*" not in self.origins or (self.is_local and _host(origin) not in LOOPBACK):
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
