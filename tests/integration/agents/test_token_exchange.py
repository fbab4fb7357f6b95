"""Calls that act for a user, with a token that the user's own is exchanged for at a real token endpoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from cryptography.fernet import Fernet
from pydantic import ValidationError
from starlette.responses import HTMLResponse, RedirectResponse, StreamingResponse

from baton.adapters import egress
from baton.adapters.a2a import RemoteAgents
from baton.adapters.egress import EgressPolicy
from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.tokens.exchange import MARGIN_SECONDS, TokenExchanges
from baton.adapters.tokens.subject_tokens import SubjectTokens
from baton.adapters.tokens.verifier import JwtVerifier
from baton.adapters.tools.header_values import HeaderValues
from baton.adapters.tools.http_tools import HttpRequests, HttpTools
from baton.adapters.tools.toolbox import Toolbox
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_checks import find_tenant_problems
from baton.domain.agents.agent_settings import RemoteAgent as RemoteDefinition
from baton.domain.agents.tool import HttpTool, McpServer
from baton.domain.errors import InternalError, TokenExpired, Unauthorized
from baton.domain.tenants.identity import OidcIssuer, Scope
from baton.domain.tenants.secret import TokenExchange
from baton.ports.agents.agent_client import AgentFailed
from tests.contracts.agent_client import a_task, text_of
from tests.integration.agents.remote_agent import RemoteAgent
from tests.integration.agents.serving import served
from tests.integration.agents.token_endpoint import CLIENT, CLIENT_SECRET, TokenEndpoint
from tests.integration.tools.harness import Kept, agent_with, context
from tests.unit.identity.signing import Monotonic

Serve = Callable[[RemoteAgent], str]
OTHERS = Fernet(b"b" * 43 + b"=").encrypt_at_time(b"{}", 0).decode()
"""Sealed by another deployment."""
AUDIENCE = "https://calendar.example"


class Clock:
    """Real time, and what a test adds."""

    def __init__(self) -> None:
        self.added = timedelta()

    def now(self) -> datetime:
        return datetime.now().astimezone() + self.added


class Deployment:
    """A deployment that trusts the issuer and passes users' tokens on."""

    def __init__(self, issuer: TokenEndpoint) -> None:
        self.issuer = issuer
        self.clock, self.time = Clock(), Monotonic()
        self.keys = Fernet.generate_key().decode()
        self.subjects = SubjectTokens(lambda: self.keys, self.clock)  # type: ignore[arg-type]
        trusted = OidcIssuer.model_validate(
            {"issuer": issuer.url, "audience": "baton-api", "jwksUrl": f"{issuer.url}/jwks", "algorithms": ["RS256"]}
        )
        self.verifier = JwtVerifier(lambda: (trusted,), None, allow_http=True, subject_tokens=self.subjects)
        policy = EgressPolicy(("127.0.0.1",), allow_local=True)
        exchanges = TokenExchanges(lambda: egress.make_http_client(policy), self.subjects, monotonic=self.time)
        secrets = Kept({"baton/dev/agents/idp": CLIENT_SECRET})
        self.headers = HeaderValues(secrets, Kept(), "dev", exchanges)
        self.client = RemoteAgents(
            lambda: egress.make_http_client(policy),
            self.headers.resolve,
            redact=self.headers.redact,
            breakers=CircuitBreakers(failures=2),
            poll_seconds=0.01,
        )
        self.tools = Toolbox(
            {HttpTool: lambda: HttpTools(HttpRequests(self._client, self.headers), lambda: policy)}, self.headers
        )
        self._policy = policy

    def scope(self, user: str = "ada", tenant: str = "acme", **claims: Any) -> Scope:
        """The scope of a request with a user's token."""
        return self.verifier.verify(self.issuer.subject_token(user, tenant, **claims)).scope

    def declare_header(self, **fields: Any) -> dict[str, Any]:
        """Return the header as an agent's file declares it."""
        target = {
            "token_url": f"{self.issuer.url}/token",
            "client_id": CLIENT,
            "client_secret": {"secret": "baton/{stage}/agents/idp"},
            "audience": AUDIENCE,
            "scope": "calendar.read",
        }
        return {"Authorization": {"token_exchange": target | fields}}

    def agent(self, url: str, **fields: Any) -> AgentDefinition:
        remote = RemoteDefinition.model_validate({"card_url": url, "headers": self.declare_header(**fields)})
        return AgentDefinition.model_validate(
            {"id": "calendar", "name": "Calendar", "description": "Knows.", "remote": remote}
        )

    async def ask(self, agent: AgentDefinition, scope: Scope, message: str = "say Hello.") -> str:
        task = replace(a_task(message), scope=scope)
        return text_of([chunk async for chunk in self.client.stream(agent, task)])

    def _client(self, seconds: float) -> httpx.AsyncClient:
        return egress.make_http_client(self._policy, timeout_seconds=seconds)


@pytest.fixture
def issuer() -> Iterator[TokenEndpoint]:
    endpoint = TokenEndpoint()
    with served(endpoint.app()) as url:
        endpoint.url = url
        yield endpoint


@pytest.fixture
def deployment(issuer: TokenEndpoint) -> Deployment:
    return Deployment(issuer)


def credentials(remote: RemoteAgent) -> set[str]:
    """The ``Authorization`` header that the agent received."""
    return {headers.get("authorization", "") for _, headers in remote.requests}


async def test_an_agent_gets_a_token_of_the_users_that_is_for_it_alone(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve
) -> None:
    remote = RemoteAgent()
    assert await deployment.ask(deployment.agent(serve(remote)), deployment.scope()) == "Hello."
    assert credentials(remote) == {f"Bearer {issuer.issued[0]}"}
    claims = issuer.read(issuer.issued[0], AUDIENCE)
    assert (claims["sub"], claims["scope"], claims["act"]) == ("ada", "calendar.read", {"sub": CLIENT})
    [form] = issuer.forms
    assert form["subject_token_type"] == "urn:ietf:params:oauth:token-type:access_token"


async def test_without_a_token_of_the_users_nothing_is_sent(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve
) -> None:
    remote = RemoteAgent()
    agent = deployment.agent(serve(remote))
    for _ in range(3):  # which is not an outage
        with pytest.raises(Unauthorized):
            await deployment.ask(agent, Scope("acme", "ada"))
    with pytest.raises(Unauthorized):
        await (
            RemoteAgents(lambda: deployment._client(5), HeaderValues(Kept(), Kept(), "dev").resolve)
            .stream(agent, a_task("say Hello."))
            .__anext__()
        )
    assert (remote.requests, issuer.forms) == ([], [])
    assert await deployment.ask(agent, deployment.scope()) == "Hello."


@pytest.mark.parametrize(("user", "tenant"), [("eve", "acme"), ("ada", "eves-own")])
async def test_a_token_is_of_no_use_to_another_user(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve, user: str, tenant: str
) -> None:
    remote = RemoteAgent()
    stolen = replace(Scope(tenant, user), subject_token=deployment.scope().subject_token)
    with pytest.raises(Unauthorized):
        await deployment.ask(deployment.agent(serve(remote)), stolen)
    assert (remote.requests, issuer.forms) == ([], [])


@pytest.mark.parametrize("sealed", ["", "nonsense", "é", OTHERS], ids=["empty", "text", "not ASCII", "by others"])
async def test_what_this_deployment_has_not_sealed_is_no_token(deployment: Deployment, sealed: str) -> None:
    with pytest.raises(Unauthorized):
        deployment.subjects.open(Scope("acme", "ada", subject_token=sealed))


async def test_a_token_that_has_ended_while_its_turn_waited_is_expired(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve
) -> None:
    scope = deployment.scope(seconds=600)
    deployment.clock.added = timedelta(seconds=601)
    with pytest.raises(TokenExpired):
        await deployment.ask(deployment.agent(serve(RemoteAgent())), scope)
    assert issuer.forms == []


async def test_an_exchanged_token_is_kept_until_shortly_before_its_end(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve
) -> None:
    agent, scope = deployment.agent(serve(RemoteAgent())), deployment.scope()
    for _ in range(2):
        await deployment.ask(agent, scope)
    deployment.time.pass_(300 - MARGIN_SECONDS - 1)
    await deployment.ask(agent, scope)
    assert len(issuer.forms) == 1
    deployment.time.pass_(1)
    await deployment.ask(agent, scope)
    assert len(issuer.forms) == 2


async def test_a_lifetime_beyond_all_floats_is_shortened(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve
) -> None:
    issuer.answer = (200, {"access_token": "narrow", "token_type": "Bearer", "expires_in": 10**400})
    agent, scope = deployment.agent(serve(RemoteAgent())), deployment.scope()
    for _ in range(2):
        await deployment.ask(agent, scope)
    assert len(issuer.forms) == 1


async def test_no_token_is_kept_for_longer_than_the_users_own(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve
) -> None:
    issuer.lifetime = 3_000
    agent, scope = deployment.agent(serve(RemoteAgent())), deployment.scope(seconds=100)
    await deployment.ask(agent, scope)
    deployment.time.pass_(100 - MARGIN_SECONDS)
    await deployment.ask(agent, scope)
    assert len(issuer.forms) == 2


async def test_a_kept_token_is_for_the_same_user_token_and_use_only(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve
) -> None:
    url = serve(RemoteAgent())
    ada = deployment.scope()
    await deployment.ask(deployment.agent(url), ada)
    await deployment.ask(deployment.agent(url), deployment.scope("bob"))
    await deployment.ask(deployment.agent(url), deployment.scope("ada", "other"))
    await deployment.ask(deployment.agent(url), deployment.scope(permissions="narrower"))
    await deployment.ask(deployment.agent(url, scope="calendar.write"), ada)
    assert len(issuer.issued) == 5
    assert [issuer.read(token, AUDIENCE)["sub"] for token in issuer.issued] == ["ada", "bob", "ada", "ada", "ada"]


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_request", "consent_required"])
async def test_a_refused_user_must_sign_in_again(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve, code: str
) -> None:
    remote = RemoteAgent()
    issuer.answer = (400, {"error": code, "error_description": "secret words"})
    with pytest.raises(Unauthorized) as refusal:
        await deployment.ask(deployment.agent(serve(remote)), deployment.scope())
    assert "secret words" not in refusal.value.detail
    assert remote.requests == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (401, {"error": "invalid_client"}),
        (400, {"error": "invalid_target"}),
        (500, {"error": "invalid_grant"}),
        (200, {}),
        (200, []),
        (200, {"access_token": "x", "token_type": "N_A"}),
        (200, {"access_token": "", "token_type": "Bearer"}),
        (200, {"access_token": "a\nb", "token_type": "Bearer"}),
        (200, {"access_token": "x" * 20_000, "token_type": "Bearer"}),
        (307, RedirectResponse("/elsewhere")),
    ],
)
async def test_an_endpoint_that_cannot_be_used_is_a_fault_of_the_agents(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve, status: int, body: Any
) -> None:
    remote = RemoteAgent()
    issuer.answer = (status, body)
    with pytest.raises(AgentFailed, match="credentials"):
        await deployment.ask(deployment.agent(serve(remote)), deployment.scope())
    assert (remote.requests, len(issuer.forms)) == ([], 1)


async def test_operators_learn_the_status_of_an_answer_that_is_no_json(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.answer = (502, HTMLResponse("<h1>Bad gateway</h1>", 502))
    with pytest.raises(AgentFailed):
        await deployment.ask(deployment.agent(serve(RemoteAgent())), deployment.scope())
    assert "it answered HTTP 502" in caplog.text


async def test_an_endpoint_that_answers_too_slowly_is_given_up(deployment: Deployment, issuer: TokenEndpoint) -> None:
    """The endpoint is never silent for long, and the HTTP client limits only silence."""

    async def drip_answer() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.02)
        yield b'{"access_token": "late", "token_type": "Bearer"}'

    issuer.answer = (200, StreamingResponse(drip_answer()))
    policy = EgressPolicy(("127.0.0.1",), allow_local=True)
    exchanges = TokenExchanges(lambda: egress.make_http_client(policy), deployment.subjects, seconds=0.2)
    target = TokenExchange.model_validate(deployment.declare_header()["Authorization"]).token_exchange
    with pytest.raises(InternalError):
        await exchanges.obtain_token(deployment.scope(), target, CLIENT_SECRET)


async def test_the_users_own_token_is_never_passed_on(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve
) -> None:
    remote, subject = RemoteAgent(), issuer.subject_token()
    issuer.answer = (200, {"access_token": subject, "token_type": "Bearer"})
    with pytest.raises(AgentFailed):
        await deployment.ask(deployment.agent(serve(remote)), deployment.verifier.verify(subject).scope)
    assert remote.requests == []


async def test_an_endpoint_outside_the_allowed_hosts_is_not_asked(
    deployment: Deployment, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    remote = RemoteAgent()
    agent = deployment.agent(serve(remote), token_url="https://idp.example/token")
    with pytest.raises(AgentFailed, match="credentials"):
        await deployment.ask(agent, deployment.scope())
    assert "it cannot be called (Refused)" in caplog.text
    assert remote.requests == []


async def test_tokens_are_in_no_log_and_no_answer(
    deployment: Deployment, issuer: TokenEndpoint, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    agent, scope = deployment.agent(serve(RemoteAgent())), deployment.scope()
    with caplog.at_level(logging.DEBUG, logger="baton"):
        await deployment.ask(agent, scope)
        echoed = await deployment.ask(agent, scope, f"say {issuer.issued[0]}")
        issuer.answer = (400, {"error": "invalid_grant"})
        with pytest.raises(Unauthorized):
            await deployment.ask(deployment.agent("https://127.0.0.1:1", scope="other"), scope)
    assert echoed == "[secret]"
    subject = issuer.forms[0]["subject_token"]
    reported = caplog.text + repr(scope)
    assert all(
        secret not in reported for secret in (subject, issuer.issued[0], CLIENT_SECRET, str(scope.subject_token))
    )


async def test_keys_can_be_replaced_while_turns_wait(deployment: Deployment, issuer: TokenEndpoint) -> None:
    scope = deployment.scope()
    deployment.keys = f"{Fernet.generate_key().decode()}, {deployment.keys}"
    token, seconds = deployment.subjects.open(scope)
    assert issuer.read(token, "baton-api")["sub"] == "ada"
    assert 0 < seconds <= 600


async def test_requests_go_on_where_tokens_cannot_be_sealed(deployment: Deployment) -> None:
    deployment.keys = "no keys"
    scope = deployment.scope()
    assert (scope.user_id, scope.subject_token) == ("ada", None)


async def test_an_http_tool_acts_for_the_user_too(deployment: Deployment, issuer: TokenEndpoint, serve: Serve) -> None:
    remote = RemoteAgent()
    tool = {"type": "http", "name": "look", "description": "Looks.", "url": f"{serve(remote)}/elsewhere/card.json"}
    agent = agent_with(tool | {"headers": deployment.declare_header()})
    await deployment.tools.call(agent, "look", {}, context(agent, deployment.scope()))
    assert credentials(remote) == {f"Bearer {issuer.issued[0]}"}
    with pytest.raises(Unauthorized):
        await deployment.tools.call(agent, "look", {}, context(agent))


def test_declarations_that_are_not_narrower_or_not_for_one_user_are_refused(deployment: Deployment) -> None:
    declared = deployment.declare_header()
    with pytest.raises(ValidationError, match="narrower"):
        TokenExchange.model_validate(deployment.declare_header(audience=None, scope=None)["Authorization"])
    with pytest.raises(ValidationError):
        TokenExchange.model_validate(deployment.declare_header(token_url="http://idp.example/token")["Authorization"])
    with pytest.raises(ValidationError):
        TokenExchange.model_validate(deployment.declare_header(client_secret="written down")["Authorization"])
    with pytest.raises(ValidationError, match="MCP"):
        McpServer.model_validate({"type": "mcp", "name": "m", "url": "https://m.example", "headers": declared})


def test_a_tenants_own_agent_gets_no_users_tokens(deployment: Deployment) -> None:
    """The agent's author could otherwise have other users' tokens sent to any address."""
    [problem] = find_tenant_problems(deployment.agent("https://agent.example"))
    assert problem.place == ("remote", "headers", "Authorization")
