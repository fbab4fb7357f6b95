"""The caller of a request, and the address that was called."""

from __future__ import annotations

from dataclasses import dataclass

from a2a.server.context import ServerCallContext

from baton.api.a2a.access import A2AAccess
from baton.api.runs.sse import Timing
from baton.composition.app import App
from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.threads.push_config import Line
from baton.tenants.registry.registered_agents import RegisteredAgents

CALLER = "baton"
"""The key of the ``A2ACaller`` in the state of a call."""
LINE = "line"
"""The key of its protocol line."""


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
        """Return the context of a call of a protocol line for the SDK."""
        return ServerCallContext(state={CALLER: self, LINE: line})


def caller_of(context: ServerCallContext) -> A2ACaller:
    """Return who makes the call."""
    caller = context.state[CALLER]
    assert isinstance(caller, A2ACaller)  # noqa: S101 - set by ``context`` above
    return caller


def line_of(context: ServerCallContext) -> Line:
    """Return the protocol line of the call."""
    return Line(context.state[LINE])
