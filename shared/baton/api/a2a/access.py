"""Access over A2A: the deployment's address, and the caller of a request."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import Request

from baton.api.runs.sse import Timing
from baton.composition.app import App
from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.threads.push_config import Line
from baton.tenants.registry.registered_agents import RegisteredAgents

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext

CALLER = "baton"
"""The key of the ``A2ACaller`` in the state of a call."""
LINE = "line"
"""The key of its protocol line."""


@dataclass(frozen=True, slots=True)
class A2AAccess:
    """Access to a deployment, as its cards describe it."""

    issuers: Callable[[], Sequence[str]] = tuple
    """Returns the OpenID Connect issuers that callers without a token may know of now."""
    is_open: bool = False
    """Whether calls without a token are accepted. Only in the local cloud."""
    public_url: str | None = None
    """The deployment's address where it is configured, without a slash at its end. Cards name no other then."""
    pushes: Callable[[], bool] = bool
    """Returns whether clients can be notified of their tasks now. By default they cannot."""
    has_stage: bool = False
    """Whether API Gateway serves the API below a separate path, which the application does not see."""


def base_url(request: Request, access: A2AAccess) -> str:
    """Return the deployment's address as the client knows it, without a slash at its end."""
    return _base(request, access)[0]


def trusted_base_url(request: Request, access: A2AAccess) -> str | None:
    """Return the address if the deployment vouches for it; None if it is what the request's ``Host`` says.

    API Gateway serves no other hosts than its own and the custom domains that lead to it.
    """
    url, is_trusted = _base(request, access)
    return url if is_trusted else None


def _base(request: Request, access: A2AAccess) -> tuple[str, bool]:
    if access.public_url is not None:
        return access.public_url, True
    context = _gateway_context(request) if access.has_stage else None
    if context is None:
        return str(request.base_url).rstrip("/"), False
    raw_path = request.scope.get("raw_path")
    path = raw_path.decode("latin-1") if raw_path is not None else quote(request.scope["path"])
    prefix = context["path"].removesuffix(path).rstrip("/")
    return f"https://{context['domainName']}{prefix}", True


def _gateway_context(request: Request) -> dict[str, str] | None:
    """Return API Gateway's context of the request: from Mangum's event, or from the Lambda Web Adapter's header."""
    event = request.scope.get("aws.event")
    try:
        context = event["requestContext"] if event else json.loads(request.headers["x-amzn-request-context"])
        names = ("path", "domainName")
        return {name: context[name] for name in names} if all(isinstance(context[n], str) for n in names) else None
    except (KeyError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class A2ACaller:
    """One request's caller."""

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
    trusted_base_url: str | None
    """The deployment's address; None if nothing but the request's ``Host`` says so."""
    access: A2AAccess
    is_authenticated: bool = True
    """Whether there is a token. Where calls without one are accepted, they see no more than the public card."""

    def context(self, line: Line = Line.CURRENT) -> ServerCallContext:
        """Return the context of a call for the SDK, which only calls load, not requests for cards."""
        from a2a.server.context import ServerCallContext

        return ServerCallContext(state={CALLER: self, LINE: line})


def caller_of(context: ServerCallContext) -> A2ACaller:
    """Return who makes the call."""
    caller = context.state[CALLER]
    assert isinstance(caller, A2ACaller)  # noqa: S101 - set by ``context`` above
    return caller


def line_of(context: ServerCallContext) -> Line:
    """Return the protocol line of the call."""
    return Line(context.state[LINE])
