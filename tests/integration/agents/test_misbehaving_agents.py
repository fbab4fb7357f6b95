"""Whatever a remote agent does, its asker gets an answer or one error that says what is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, aclosing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from baton.adapters.a2a import RemoteAgents
from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import NotFound
from baton.domain.tenants import identity
from baton.domain.tenants.secret import HeaderValue, SecretReference
from baton.ports.agents.agent_client import AgentChunk, AgentDone, AgentFailed, AgentStarted
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, TextDelta
from tests.contracts.agent_client import a_task, text_of
from tests.integration.agents import rogue_agent as rogue
from tests.integration.agents.conftest import TOKEN, define_agent, http, resolve
from tests.integration.agents.rogue_agent import Behaviour, RogueAgent
from tests.integration.agents.serving import self_signed, served

Publish = Callable[[ASGIApp], str]


@pytest.fixture
def publish() -> Iterator[Publish]:
    """Serves apps until the test is over; gives the base URL of each."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(served(app))


async def ask(client: RemoteAgents, agent: AgentDefinition) -> tuple[str, str]:
    """The text before the failure, and the failure's reason."""
    text = ""
    try:
        async for piece in client.stream(agent, a_task("Hello")):
            text += text_of([piece])
    except AgentFailed as failure:
        return text, failure.reason
    pytest.fail("The agent answered.")


MEGABYTE = "x" * 1_000_000
DEEP = '{"jsonrpc": "2.0", "id": 1, "result": ' + "[" * 4_000 + "]" * 4_000 + "}"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (rogue.answers("<html><h1>It works!</h1></html>", "text/html"), "not JSON"),
        (rogue.answers("<html><h1>Bad gateway</h1></html>", "text/html", 502), "502"),
        (rogue.answers(b"\xff\xfe\x00garbage"), "not JSON"),
        (rogue.answers("{"), "not JSON"),
        (rogue.answers("[]"), "A2A"),
        (rogue.answers("null"), "A2A"),
        (rogue.answers('"yes"'), "A2A"),
        (rogue.answers('{"jsonrpc": "2.0", "id": 1, "error": "no"}'), "A2A"),
        (rogue.answers(""), ""),
        (rogue.answers(DEEP), "A2A"),
        (rogue.answers("busy", "text/plain", 429), "429"),
        (rogue.answers("who?", "text/plain", 401), "credentials"),
        (rogue.answers("where?", "text/plain", 404), "404"),
        (rogue.result({"kind": "task", "id": 5}), "A2A"),
        (rogue.result({"kind": "message", "parts": "x"}), "A2A"),
        (rogue.error(-32602, "Invalid params"), "Invalid params"),
        (rogue.error(-32603, "Our database is down"), "Our database is down"),
        (rogue.error(-1, "Whatever"), "A2A"),
        (rogue.redirects("https://elsewhere.example/rpc"), "redirects"),
        (rogue.silence(), "in time"),
    ],
)
@pytest.mark.parametrize("streams", [True, False], ids=["streaming", "polling"])
async def test_an_answer_that_is_none_says_what_is_wrong(
    client: RemoteAgents, publish: Publish, behaviour: Behaviour, reason: str, streams: bool
) -> None:
    agent = define_agent(publish(RogueAgent(behaviour, streams=streams).app), consult_seconds=1)
    message, reported = await ask(client, agent)
    assert message == ""
    assert reason in reported


@pytest.mark.parametrize(
    ("behaviour", "text", "reason"),
    [
        (rogue.events(rogue.chunk("One "), then="break"), "One ", "broke"),
        (rogue.events(rogue.chunk("One "), then="hang"), "One ", "in time"),
        (rogue.events(rogue.chunk("One "), b"data: <html>\n\n"), "One ", "not JSON"),
        (rogue.events(rogue.chunk("One "), b"event: error\ndata: {}\n\n"), "One ", "A2A"),
        (rogue.events(rogue.chunk("One "), rogue.status("failed", "no more data")), "One ", "no more data"),
        (rogue.events(), "", "without an answer"),
        (rogue.events({"kind": "something else"}), "", "without an answer"),
        (rogue.events(rogue.chunk("One "), gzip=True), "", "compressed"),
        (rogue.events(rogue.status("working", "Looking " * 1000), then="repeat"), "", "answer is longer than"),
        (rogue.events(b": still here" + b"." * 10_000 + b"\n\n", then="repeat"), "", "answer is longer than"),
        (rogue.events(rogue.chunk(10 * MEGABYTE)), "", "answer is longer than"),
        (rogue.events(b"data: " + 10 * MEGABYTE.encode()), "", "answer is longer than"),
        (rogue.events({"lists": [[]] * 100_000}), "", "answer is longer than"),
    ],
)
async def test_a_stream_that_goes_wrong_keeps_what_was_said(
    client: RemoteAgents, publish: Publish, behaviour: Behaviour, text: str, reason: str
) -> None:
    received, reported = await ask(
        client, define_agent(publish(RogueAgent(behaviour).app), consult_seconds=1 if text else 20)
    )
    assert received == text
    assert reason in reported


async def test_endless_words_are_cut(client: RemoteAgents, publish: Publish) -> None:
    agent = RogueAgent(rogue.events(rogue.chunk("Blah " * 200), then="repeat"))
    message, reported = await ask(client, define_agent(publish(agent.app)))
    assert len(message) <= MAX_ANSWER_BYTES + 1_000
    assert "longer than 1024 KiB" in reported
    assert agent.calls == ["message/stream", "tasks/cancel"]


async def test_a_stream_that_ends_too_early_is_followed_by_looks_at_the_task(
    client: RemoteAgents, publish: Publish
) -> None:
    agent = RogueAgent(rogue.events(rogue.chunk("One "), then="end"))
    url = publish(agent.app)
    agent_chunks: list[AgentChunk] = []
    async with aclosing(client.stream(define_agent(url), a_task("Hello"))) as chunks:
        async for piece in chunks:
            agent_chunks.append(piece)
            agent.behaviour = rogue.result(rogue.task("completed", "One ", "two."))
    assert agent_chunks == [AgentStarted("t1"), TextDelta("One "), TextDelta("two."), AgentDone()]
    assert agent.calls == ["message/stream", "tasks/get"]


async def test_a_machine_that_is_not_there_cannot_be_reached(client: RemoteAgents) -> None:
    assert await ask(client, define_agent("http://127.0.0.1:9")) == ("", "The agent cannot be reached.")


async def test_a_certificate_that_nobody_vouches_for_is_refused(client: RemoteAgents, tmp_path: Path) -> None:
    agent = RogueAgent(rogue.result({}))
    with served(agent.app, self_signed(tmp_path)) as url:
        assert await ask(client, define_agent(url)) == ("", "No secure connection to the agent could be made.")
    assert agent.cards == 0


@pytest.mark.parametrize(
    ("path", "reason"), [("", "404"), ("/html", "not JSON"), ("/list", "A2A"), ("/empty", "JSON-RPC")]
)
async def test_a_card_that_is_none_says_what_is_wrong(
    client: RemoteAgents, publish: Publish, path: str, reason: str
) -> None:
    async def cards(scope: Scope, receive: Receive, send: Send) -> None:
        bodies = {"/html": b"<html>", "/list": b"[]", "/empty": b"{}"}
        body = bodies.get(scope["path"].partition("/.well")[0])
        await send({"type": "http.response.start", "status": 404 if body is None else 200, "headers": []})
        await send({"type": "http.response.body", "body": body or b""})

    _, reported = await ask(client, define_agent(publish(cards) + path))
    assert reason in reported


async def test_no_card_over_tls_leads_to_an_address_without(tmp_path: Path) -> None:
    agent = RogueAgent(rogue.result({}))

    async def serve_as_http(scope: Scope, receive: Receive, send: Send) -> None:
        await agent.app({**scope, "scheme": "http"}, receive, send)

    client = RemoteAgents(lambda: httpx.AsyncClient(verify=False), resolve)  # noqa: S501 - the test's own certificate
    with served(serve_as_http, self_signed(tmp_path)) as url:
        _, reported = await ask(client, define_agent(url))
    assert "without encryption" in reported
    assert agent.calls == []


async def test_secrets_are_kept_out_of_reasons_words_and_logs(
    client: RemoteAgents, publish: Publish, caplog: pytest.LogCaptureFixture
) -> None:
    headers: dict[str, HeaderValue] = {"Authorization": SecretReference(secret="agent")}
    agent = RogueAgent(rogue.events(rogue.chunk(f"You sent {TOKEN}"), rogue.status("failed", f"I do not like {TOKEN}")))
    with caplog.at_level(logging.DEBUG):
        message, reported = await ask(client, define_agent(publish(agent.app), headers=headers))
        agent.behaviour = rogue.error(-32602, f"{TOKEN} is wrong")
        _, refused = await ask(client, define_agent(publish(agent.app), headers=headers))
    assert "very-secret-token" not in message + reported + refused + caplog.text


async def test_headers_that_cannot_be_read_stop_the_call(publish: Publish) -> None:
    async def nothing_there(headers: object, scope: object) -> dict[str, str]:
        raise NotFound

    agent = RogueAgent(rogue.result({}))
    client = RemoteAgents(http, nothing_there)
    _, reported = await ask(client, define_agent(publish(agent.app)))
    assert "credentials" in reported
    assert agent.cards == 0


class Watch:
    """A circuit that opens after two failures, and a clock."""

    def __init__(self) -> None:
        self.now = 0.0
        breakers = CircuitBreakers(failures=2, monotonic=lambda: self.now)
        self.client = RemoteAgents(http, resolve, breakers=breakers)


async def test_an_agent_that_keeps_failing_is_left_alone_for_a_while(publish: Publish) -> None:
    watch, agent = Watch(), RogueAgent(rogue.answers("", status=503))
    remote = define_agent(publish(agent.app))
    for _ in range(2):
        assert "503" in (await ask(watch.client, remote))[1]
    assert "not called for a moment" in (await ask(watch.client, remote))[1]
    assert len(agent.calls) == 2
    watch.now = 30
    agent.behaviour = rogue.events(rogue.status("completed", "Back again."))
    assert text_of([piece async for piece in watch.client.stream(remote, a_task("Hello"))]) == "Back again."


@pytest.mark.parametrize(
    "behaviour",
    [
        rogue.answers("", status=400),
        rogue.answers("", status=429),
        rogue.error(-32602, "Invalid params"),
        rogue.events(rogue.status("failed", "no")),
        rogue.events(rogue.status("rejected", "no")),
    ],
)
async def test_an_agent_that_says_no_is_well(publish: Publish, behaviour: Behaviour) -> None:
    watch, agent = Watch(), RogueAgent(behaviour)
    remote = define_agent(publish(agent.app))
    for _ in range(4):
        await ask(watch.client, remote)
    assert agent.calls == ["message/stream"] * 4


async def test_an_agent_that_fails_for_one_tenant_is_asked_for_another(publish: Publish) -> None:
    watch, agent = Watch(), RogueAgent(rogue.answers("", status=503))
    remote = define_agent(publish(agent.app))
    for _ in range(3):
        await ask(watch.client, remote)
    agent.behaviour = rogue.events(rogue.status("completed", "Here."))
    task = replace(a_task("Hello"), scope=identity.Scope("globex", "eve"))
    assert text_of([piece async for piece in watch.client.stream(remote, task)]) == "Here."


async def test_its_card_is_read_again_after_a_failure(client: RemoteAgents, publish: Publish) -> None:
    agent = RogueAgent(rogue.events(rogue.status("completed", "Yes.")))
    remote = define_agent(publish(agent.app))
    for _ in range(2):
        assert [piece async for piece in client.stream(remote, a_task("Hello"))][-1] == AgentDone()
    assert agent.cards == 1
    agent.behaviour = rogue.answers("", status=500)
    await ask(client, remote)
    await ask(client, remote)
    assert agent.cards == 2
