"""Access over A2A: the deployment's address, and the caller of a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from fastapi import Request

from baton.api.http.problems import gateway_context
from baton.api.runs.sse import Timing
from baton.composition.app import App
from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.threads.push_config import Line
from baton.tenants.registry.registered_agents import RegisteredAgents


@dataclass(frozen=True, slots=True)
class A2AAccess:
    """Access to a deployment, as its cards describe it."""

    issuers: Callable[[], Sequence[str]] = tuple
    """Returns the OpenID Connect issuers that cards name at present."""
    is_open: bool = False
    """Whether calls without a token are accepted. Only in the local cloud."""
    public_url: str | None = None
    """The configured address of the deployment, without a slash at its end, which all cards name; None: not set."""
    pushes: Callable[[], bool] = bool
    """Returns whether clients can be notified of their tasks at present. By default they cannot."""
    has_stage: bool = False
    """Whether API Gateway serves the API below a separate path, which the application does not see."""


def base_url(request: Request, access: A2AAccess) -> tuple[str, bool]:
    """Return the deployment's address as the client knows it, without a slash at its end, and whether it is trusted.

    An address from the ``Host`` header is not trusted. One from API Gateway is, because that serves only its own hosts
    and the custom domains that lead to it.
    """
    if access.public_url is not None:
        return access.public_url, True
    context = gateway_context(request) if access.has_stage else {}
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
    """The agent of the address; None for the address of the deployment, whose default agent answers."""
    request_id: str
    ends_at: float
    """Event loop time at which the token expires."""
    base_url: str
    """The deployment's address, as the caller knows it."""
    is_trusted: bool
    """Whether the address is from the settings or API Gateway, and not from the request's ``Host``."""
    access: A2AAccess
    is_authenticated: bool = True
    """Whether there is a token. Where calls without one are accepted, they see no more than the public card."""
    line: Line = Line.CURRENT
    """The version of A2A by which the client calls: 1.0 or 0.3."""
