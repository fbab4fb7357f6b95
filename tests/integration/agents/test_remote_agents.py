"""The product's client and an agent of the official SDK, over real HTTP."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest

from baton.adapters.a2a import RemoteAgents
from baton.adapters.a2a.cards import AgentCards
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import CardSignature
from baton.domain.runs.task import RemoteTask
from baton.domain.tenants.secret import SecretReference
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.domain.tracing import joining
from baton.ports.agents.agent_client import AgentChunk, AgentDone, AgentFailed, AgentProgress, AgentStarted
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, TextDelta
from baton.ports.agents.tools import TaskCallback
from tests.card_keys import private_jwk, public_jwk
from tests.contracts.agent_client import a_task, text_of
from tests.integration.agents.conftest import TOKEN, define_agent, http, resolve
from tests.integration.agents.remote_agent import RemoteAgent

Serve = Callable[[RemoteAgent], str]

BOTH = pytest.mark.parametrize("streams", [True, False], ids=["streaming", "polling"])


async def listen(client: RemoteAgents, agent: AgentDefinition, message: str) -> list[AgentChunk]:
    return [chunk async for chunk in client.stream(agent, a_task(message))]


async def fail(client: RemoteAgents, agent: AgentDefinition, message: str) -> tuple[str, str]:
    """The text before the failure, and the failure's reason."""
    text = ""
    try:
        async for chunk in client.stream(agent, a_task(message)):
            text += text_of([chunk])
    except AgentFailed as failure:
        return text, failure.reason
    pytest.fail("The agent answered.")


async def test_pieces_of_an_artifact_come_as_they_are_made(client: RemoteAgents, serve: Serve) -> None:
    chunks = await listen(client, define_agent(serve(RemoteAgent())), "artifact One two three")
    assert [chunk for chunk in chunks if not isinstance(chunk, AgentProgress | AgentStarted)] == [
        TextDelta("One"),
        TextDelta("two"),
        TextDelta("three"),
        AgentDone(),
    ]
    assert AgentProgress("Looking it up") in chunks


@BOTH
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("artifact One two three", "Onetwothree"),
        ("repeat One two three", "Onetwothree"),
        ("two One two", "One\n\ntwo\n\nThat is all."),
        ("status All is well.", "All is well."),
        ("say Nothing to do.", "Nothing to do."),
        ("mutter One two three", "Onetwothree"),
    ],
)
async def test_everything_is_reported_once(
    client: RemoteAgents, serve: Serve, message: str, expected: str, streams: bool
) -> None:
    chunks = await listen(client, define_agent(serve(RemoteAgent(streams=streams))), message)
    assert text_of(chunks) == expected
    assert chunks[-1] == AgentDone()


@BOTH
async def test_an_answered_question_is_not_asked_again(client: RemoteAgents, serve: Serve, streams: bool) -> None:
    agent = define_agent(serve(RemoteAgent(streams=streams)))
    first = a_task("ask Which city?")
    request = [chunk async for chunk in client.stream(agent, first)]
    end = request[-1]
    assert isinstance(end, AgentDone)
    again = replace(first, task_id="t2", message="ask Which country?", remote_task_id=end.remote_task_id)
    request = [chunk async for chunk in client.stream(agent, again)]
    assert (text_of(request), request[-1]) == ("Which country?", end)
    last = replace(first, task_id="t3", message="answer Which city?", remote_task_id=end.remote_task_id)
    answered = [chunk async for chunk in client.stream(agent, last)]
    assert (text_of(answered), answered[-1]) == ("Which city?", AgentDone())


@BOTH
@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("fail no data today", "The agent failed: no data today"),
        ("reject too hard", "The agent does not take this task: too hard"),
        ("break", "The agent"),
        ("fail " + "why " * 1000, "…"),
    ],
)
async def test_a_failure_is_reported_in_the_agents_words(
    client: RemoteAgents, serve: Serve, message: str, reason: str, streams: bool
) -> None:
    _, reported = await fail(client, define_agent(serve(RemoteAgent(streams=streams))), message)
    assert reason in reported
    assert len(reported) < 400


@BOTH
async def test_a_reader_beyond_the_longest_answer_gets_a_failure(
    client: RemoteAgents, serve: Serve, streams: bool
) -> None:
    message, reported = await fail(client, define_agent(serve(RemoteAgent(streams=streams))), "big 160")
    assert "1024 KiB" in reported
    assert len(message) <= 2 * MAX_ANSWER_BYTES  # one piece more than there is room for


async def test_the_message_says_whose_conversation_it_is(client: RemoteAgents, serve: Serve) -> None:
    remote = RemoteAgent()
    task = replace(a_task("say Yes."), time_zone="Asia/Tokyo")
    async for _ in client.stream(define_agent(serve(remote)), task):
        pass
    [message] = remote.messages
    conversation = {
        "thread_id": task.thread_id,
        "tenant_id": "acme",
        "user_id": "ada",
        "parent_task_id": "run-1",
        "time_zone": "Asia/Tokyo",
    }
    assert message["metadata"] == {**conversation, EXTENSION_URI: conversation}
    assert (message["message_id"], message["context_id"]) == (task.task_id, task.thread_id)
    assert message["extensions"] == [EXTENSION_URI]
    [headers] = [headers for path, headers in remote.requests if path == "/rpc"]
    assert headers["x-a2a-extensions"] == EXTENSION_URI
    assert headers["a2a-version"] == "0.3"


async def test_the_card_may_be_named_by_its_own_address(client: RemoteAgents, serve: Serve) -> None:
    agent = define_agent(serve(RemoteAgent()) + "/elsewhere/card.json")
    assert text_of(await listen(client, agent, "say Yes.")) == "Yes."


async def test_the_card_is_read_every_ten_minutes(serve: Serve) -> None:
    now, remote = [0.0], RemoteAgent()
    client = RemoteAgents(http, resolve, cards=AgentCards(monotonic=lambda: now[0]))
    agent = define_agent(serve(remote))
    for at, read in ((0, 1), (599, 1), (600, 2)):
        now[0] = at
        await listen(client, agent, "say Yes.")
        assert [path for path, _ in remote.requests].count("/.well-known/agent-card.json") == read


async def test_a_card_that_a_tenants_agent_was_given_is_that_tenants_also_when_checked(
    client: RemoteAgents, serve: Serve
) -> None:
    remote = RemoteAgent()
    url = serve(remote)
    for tenant_id in ("acme", "acme", "globex"):
        assert await client.check(define_agent(url).of_tenant(tenant_id, 1)) is None
    assert await client.check(define_agent(url)) is None
    assert [path for path, _ in remote.requests] == ["/.well-known/agent-card.json"] * 3


async def test_credentials_go_with_every_request_to_the_agents_own_origin(client: RemoteAgents, serve: Serve) -> None:
    remote = RemoteAgent(required_header=("authorization", TOKEN))
    agent = define_agent(serve(remote), headers={"Authorization": SecretReference(secret="agent")})
    assert text_of(await listen(client, agent, "artifact Yes.")) == "Yes."
    assert [path for path, _ in remote.requests] == ["/.well-known/agent-card.json", "/rpc"]


@pytest.mark.parametrize("sends_trace", [True, False])
async def test_the_trace_goes_to_agents_that_shall_have_it(
    client: RemoteAgents, serve: Serve, *, sends_trace: bool
) -> None:
    remote = RemoteAgent()
    agent = define_agent(serve(remote))
    assert agent.remote is not None
    agent = agent.model_copy(update={"remote": agent.remote.model_copy(update={"sends_trace": sends_trace})})
    with joining("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"):
        await listen(client, agent, "artifact Yes.")
    assert all(("traceparent" in headers) is sends_trace for _, headers in remote.requests)


async def test_without_credentials_the_agent_refuses(client: RemoteAgents, serve: Serve) -> None:
    remote = RemoteAgent(required_header=("authorization", TOKEN))
    assert "401" in (await fail(client, define_agent(serve(remote)), "say Yes."))[1]


async def test_credentials_do_not_go_to_another_origin_that_the_card_names(client: RemoteAgents, serve: Serve) -> None:
    other = RemoteAgent()
    remote = RemoteAgent(rpc_base=serve(other))
    agent = define_agent(serve(remote), headers={"X-Key": SecretReference(parameter="/agent"), "X-Team": "blue"})
    assert text_of(await listen(client, agent, "artifact Yes.")) == "Yes."
    assert remote.requests[0][1]["x-key"] == TOKEN
    [(path, headers)] = other.requests
    assert path == "/rpc"
    assert {"x-key", "x-team", "authorization"}.isdisjoint(headers)


async def test_a_silent_stream_is_stopped_before_its_askers_time_is_over(client: RemoteAgents, serve: Serve) -> None:
    remote = RemoteAgent()
    message, reported = await fail(client, define_agent(serve(remote), consult_seconds=1), "hang One")
    assert (message, reported) == ("One", "The agent did not answer in time.")
    assert await asyncio.to_thread(remote.cancelled.wait, 10)


async def test_an_agent_whose_card_must_be_signed_is_asked_nothing_without_a_signature(
    client: RemoteAgents, serve: Serve
) -> None:
    remote = RemoteAgent()
    agent = define_agent(serve(remote))
    assert agent.remote is not None
    demand = CardSignature(keys=(public_jwk(private_jwk()),))
    agent = agent.model_copy(update={"remote": agent.remote.model_copy(update={"card_signature": demand})})
    _, reason = await fail(client, agent, "say Hello.")
    assert reason == "The card of the agent remote cannot be trusted: it is not signed."
    assert remote.messages == []
    assert await client.check(agent) == reason


@BOTH
@pytest.mark.parametrize("version", ["0.3", "1.0"])
async def test_a_task_in_the_background_is_looked_at_and_goes_on_between(
    client: RemoteAgents, serve: Serve, streams: bool, version: str
) -> None:
    remote = RemoteAgent(streams=streams, version=version)
    agent, task = define_agent(serve(remote)), replace(a_task("gated One two"), is_background=True)
    first = [chunk async for chunk in client.stream(agent, task)]
    [started] = [chunk for chunk in first if isinstance(chunk, AgentStarted)]
    assert not any(isinstance(chunk, AgentDone) for chunk in first)
    follows = RemoteTask(task.task_id, agent.id, started.remote_task_id, started.known)
    following = replace(task, remote_task_id=started.remote_task_id, follows=follows)
    await asyncio.to_thread(remote.working.wait, 10)
    second = [chunk async for chunk in client.stream(agent, following)]
    assert (text_of(second), second[-1:] == [AgentDone()]) == ("One", False)
    remote.gate.set()
    async with asyncio.timeout(10):
        last: list[AgentChunk] = []
        while AgentDone() not in last:
            last = [chunk async for chunk in client.stream(agent, following)]
    assert text_of(last) == "Onetwo"
    assert [message_id for message_id, _, _ in remote.received] == [task.task_id]
    assert not remote.cancelled.is_set()


@pytest.mark.parametrize("version", ["0.3", "1.0"])
async def test_an_agent_that_pushes_gets_the_address_for_its_notifications(serve: Serve, version: str) -> None:
    posted, has_ended = list[httpx.Request](), threading.Event()

    def take(request: httpx.Request) -> httpx.Response:
        posted.append(request)
        if "COMPLETED" in request.content.decode():
            has_ended.set()
        return httpx.Response(202)

    remote = RemoteAgent(version=version, pushes=True, push_transport=httpx.MockTransport(take))
    callback = TaskCallback("https://baton.example/v1/callbacks/t/notifications", "acme.t.secret")
    task = replace(a_task("answer Yes."), is_background=True, callback=callback)
    async for _ in RemoteAgents(http, resolve).stream(define_agent(serve(remote)), task):
        pass
    assert await asyncio.to_thread(has_ended.wait, 10)
    assert {str(request.url) for request in posted} == {callback.url}
    assert {request.headers["X-A2A-Notification-Token"] for request in posted} == {callback.token}
