"""Access over A2A: the deployment's address, and the caller of a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from fastapi import Request

from baton.api.http.problems import read_gateway_context
from baton.api.runs.sse import Timing
from baton.composition.app import App
from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.threads.push_config import Line
from baton.tenants.registry.registered_agents import RegisteredAgents


@dataclass(frozen=True, slots=True)
class A2AAccess:
    """The access to a deployment over A2A, which its cards describe."""

    issuers: Callable[[], Sequence[str]] = tuple
    """Returns the current OpenID Connect issuers, which cards name."""
    is_open: bool = False
    """True if calls without a token are accepted, which is only the case in the local cloud."""
    public_url: str | None = None
    """The configured address of the deployment for all cards, without a slash at its end; None if it is not set."""
    pushes: Callable[[], bool] = bool
    """Returns whether push notifications are switched on now. By default they are not."""
    has_stage: bool = False
    """True if API Gateway serves the API below a path that the application does not see."""


def find_base_url(request: Request, access: A2AAccess) -> tuple[str, bool]:
    """Return the deployment's address for the client, without a slash at its end, and whether it is trusted.

    An address from the ``Host`` header is not trusted. An address from API Gateway is trusted, because API Gateway
    serves only its own hosts and the custom domains that are configured for it.
    """
    if access.public_url is not None:
        return access.public_url, True
    context = read_gateway_context(request) if access.has_stage else {}
    full_path, domain = context.get("path"), context.get("domainName")
    if not isinstance(full_path, str) or not isinstance(domain, str):
        return str(request.base_url).rstrip("/"), False
    raw_path = request.scope.get("raw_path")
    path = raw_path.decode("latin-1") if raw_path is not None else quote(request.scope["path"])
    return f"https://{domain}{full_path.removesuffix(path).rstrip('/')}", True


@dataclass(frozen=True, slots=True)
class A2ACaller:
    """The caller of one request."""

    scope: Scope
    app: App
    timing: Timing
    agents: RegisteredAgents
    """The agents of the caller's tenant."""
    agent: AgentDefinition | None
    """The agent in the called address; None if the address has no agent, so that the default agent answers."""
    request_id: str
    ends_at: float
    """Event loop time at which the token expires."""
    base_url: str
    """The deployment's address for this caller, without a slash at its end."""
    is_trusted: bool
    """True if the address is from the settings or API Gateway, and not from the request's ``Host`` header."""
    access: A2AAccess
    is_authenticated: bool = True
    """True if the request has a token. Accepted calls without a token get only the public card."""
    line: Line = Line.CURRENT
    """The version of A2A that the client uses: 1.0 or 0.3."""
