"""Fixtures of the tests of remote agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import httpx
import pytest

from baton.adapters.a2a import RemoteAgents
from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import RemoteAgent as RemoteDefinition
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import HeaderValue
from tests.integration.agents.remote_agent import RemoteAgent
from tests.integration.agents.serving import served

TOKEN = "Bearer very-secret-token"

_TLS = httpx.create_ssl_context()


def http() -> httpx.AsyncClient:
    """A client as everybody has it; making one with separate certificates takes long."""
    return httpx.AsyncClient(verify=_TLS)


async def resolve(headers: Mapping[str, HeaderValue], scope: Scope | None = None) -> dict[str, str]:
    """Every reference leads to the same token."""
    return {name: value if isinstance(value, str) else TOKEN for name, value in headers.items()}


def redact(text: str) -> str:
    """``text`` without the token."""
    return text.replace("very-secret-token", "[secret]")


def define_agent(
    url: str, *, consult_seconds: float = 20, headers: Mapping[str, HeaderValue] | None = None
) -> AgentDefinition:
    """The definition of an agent whose card is at ``url``."""
    return AgentDefinition.model_validate(
        {
            "id": "remote",
            "name": "Remote",
            "description": "Runs elsewhere.",
            "remote": RemoteDefinition(card_url=url, headers=dict(headers or {})),
            "timeouts": {"consult_seconds": consult_seconds},
        }
    )


@pytest.fixture
def client() -> RemoteAgents:
    """The product's client, which looks at tasks often and gives up no agent."""
    return RemoteAgents(http, resolve, redact=redact, breakers=CircuitBreakers(failures=1000), poll_seconds=0.01)


@pytest.fixture
def serve() -> Iterator[Callable[[RemoteAgent], str]]:
    """Serves agents until the test is over; gives the base URL of each."""
    with ExitStack() as stack:

        def start(agent: RemoteAgent) -> str:
            address: list[str] = []
            address.append(stack.enter_context(served(agent.app(lambda: address[0]))))
            return address[0]

        yield start
