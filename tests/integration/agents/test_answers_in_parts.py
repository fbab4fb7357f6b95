"""Files, data, sign-ins and tasks that another worker follows: the product's client and agents of the official SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TypeGuard

import pytest
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from baton.adapters.a2a import RemoteAgents
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.task import RemoteTask
from baton.domain.tenants.secret import SecretReference
from baton.ports.agents.agent_client import (
    AgentChunk,
    AgentData,
    AgentDone,
    AgentFile,
    AgentStarted,
    AgentTask,
    Attachment,
    NotSent,
    TaskLost,
)
from baton.ports.agents.chat_model import TextDelta
from tests.contracts.agent_client import a_task, text_of
from tests.integration.agents.conftest import TOKEN, define_agent
from tests.integration.agents.remote_agent import RemoteAgent
from tests.integration.agents.serving import served

Serve = Callable[[RemoteAgent], str]
PEERS = pytest.mark.parametrize(
    ("version", "streams"), [("0.3", True), ("1.0", True), ("1.0", False)], ids=["0.3", "1.0", "polled"]
)


async def listen(client: RemoteAgents, agent: AgentDefinition, task: AgentTask) -> list[AgentChunk]:
    return [chunk async for chunk in client.stream(agent, task)]


async def begin_task(
    client: RemoteAgents, agent: AgentDefinition, task: AgentTask, *, is_passed_on: bool
) -> AgentStarted:
    """Ask until the agent has a task and has said something, and go away."""
    started: AgentStarted | None = None
    async with aclosing(client.stream(agent, task, is_passed_on=lambda: is_passed_on)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, AgentStarted):
                started = chunk
            elif isinstance(chunk, TextDelta):
                break
    assert started is not None
    return started


def make_following_task(task: AgentTask, started: AgentStarted) -> AgentTask:
    remote = RemoteTask(task.task_id, "remote", started.remote_task_id, started.known)
    return replace(task, remote_task_id=started.remote_task_id, follows=remote)


@PEERS
async def test_a_task_that_is_passed_on_is_followed_and_sent_nothing_again(
    client: RemoteAgents, serve: Serve, version: str, streams: bool
) -> None:
    remote = RemoteAgent(version=version, streams=streams)
    agent, task = define_agent(serve(remote)), a_task("gated One two")
    started = await begin_task(client, agent, task, is_passed_on=True)
    following_it = asyncio.ensure_future(listen(client, agent, make_following_task(task, started)))
    await asyncio.to_thread(remote.working.wait, 10)
    remote.gate.set()
    chunks = await following_it
    assert text_of(chunks) == "Onetwo"
    assert chunks[-1] == AgentDone()
    assert len(remote.received) == 1
    assert not remote.cancelled.is_set()
    # It has ended meanwhile, and is the answer still.
    assert text_of(await listen(client, agent, make_following_task(task, started))) == "Onetwo"


async def test_an_agent_that_has_restarted_has_lost_the_task_that_is_followed(
    client: RemoteAgents, serve: Serve
) -> None:
    task = a_task("say Hello.")
    with pytest.raises(TaskLost):
        await listen(
            client, define_agent(serve(RemoteAgent())), make_following_task(task, AgentStarted("of-another-process"))
        )


async def test_a_message_that_did_not_reach_the_task_is_sent_by_the_follower(
    client: RemoteAgents, serve: Serve
) -> None:
    remote = RemoteAgent()
    agent, first = define_agent(serve(remote)), a_task("ask When?")
    task = (await listen(client, agent, first))[-1]
    assert isinstance(task, AgentDone)
    second = replace(first, task_id="second", message="answer Booked.", remote_task_id=task.remote_task_id)
    async with aclosing(client.stream(agent, second, is_passed_on=lambda: True)) as chunks:
        started = await anext(chunks)
    assert isinstance(started, AgentStarted)
    assert len(remote.received) == 1, "the worker died before it sent the message"
    assert text_of(await listen(client, agent, make_following_task(second, started))) == "Booked."
    assert [text for _, text, _ in remote.received] == ["ask When?", "answer Booked."]


async def test_a_task_that_nobody_follows_is_stopped(client: RemoteAgents, serve: Serve) -> None:
    remote = RemoteAgent()
    agent, task = define_agent(serve(remote)), a_task("hang One")
    started = await begin_task(client, agent, task, is_passed_on=True)
    assert not remote.cancelled.is_set()
    await client.cancel(agent, task.scope, started.remote_task_id)
    assert await asyncio.to_thread(remote.cancelled.wait, 10)
    with pytest.raises(TaskLost):
        await listen(client, agent, make_following_task(task, started))


async def test_files_of_a_kind_that_the_card_does_not_name_stay_here(client: RemoteAgents, serve: Serve) -> None:
    remote = RemoteAgent(input_modes=("text/plain", "image/*"))
    image, sheet = Attachment("a.png", "image/png", data=b"hi"), Attachment("b.xls", "application/excel", data=b"no")
    task = replace(a_task("say Nice."), attachments=(image, sheet), data={"seats": 2})
    chunks = await listen(client, define_agent(serve(remote)), task)
    assert [chunk for chunk in chunks if isinstance(chunk, NotSent)] == [NotSent(sheet)]
    [message] = remote.messages
    missing, sent, words = message["parts"]
    assert missing["text"] == "[The file b.xls was not passed on: you take no application/excel.]"
    assert sent["filename"] == "a.png"
    assert words["text"] == 'say Nice.\n{"seats": 2}', "an agent that takes no JSON gets it as text"


@pytest.mark.parametrize("version", ["0.3", "1.0"])
async def test_a_form_comes_as_data_and_is_answered_with_data(client: RemoteAgents, serve: Serve, version: str) -> None:
    remote = RemoteAgent(version=version)
    agent = define_agent(serve(remote))
    task = a_task("form seats")
    chunks = await listen(client, agent, task)
    form = {"type": "object", "properties": {"seats": {"type": "string"}}}
    assert [chunk for chunk in chunks if isinstance(chunk, AgentData)] == [AgentData(form)]
    end = chunks[-1]
    assert isinstance(end, AgentDone)
    assert end.remote_task_id is not None
    answer = replace(
        task, task_id="second", message="answer Booked.", remote_task_id=end.remote_task_id, data={"seats": 2}
    )
    assert text_of(await listen(client, agent, answer)) == "Booked."
    assert remote.messages[-1]["parts"][0]["data"] == {"seats": 2}


async def test_files_of_an_answer_come_with_their_bytes(client: RemoteAgents, serve: Serve) -> None:
    chunks = await listen(client, define_agent(serve(RemoteAgent())), a_task("files a.txt b.txt"))
    files = [chunk.attachment for chunk in chunks if isinstance(chunk, AgentFile)]
    assert files == [Attachment(name, "text/plain", data=name.encode()) for name in ("a.txt", "b.txt")]


async def test_a_sign_in_is_a_question_and_the_task_waits(client: RemoteAgents, serve: Serve) -> None:
    chunks = await listen(client, define_agent(serve(RemoteAgent())), a_task("auth Open https://login.example"))
    assert text_of(chunks) == "Open https://login.example"
    end = chunks[-1]
    assert isinstance(end, AgentDone)
    assert end.needs_sign_in
    assert end.remote_task_id is not None


async def test_files_by_address_are_fetched_with_the_credentials_of_the_agents_origin_alone(
    client: RemoteAgents, serve: Serve
) -> None:
    remote, other = RemoteAgent(), RemoteAgent()
    url, elsewhere = serve(remote), serve(other)
    agent = define_agent(url, headers={"X-Key": SecretReference(secret="agent")})
    for base, seen, key in ((url, remote, TOKEN), (elsewhere, other, None)):
        address = f"{base}/elsewhere/card.json"
        [file] = [item.attachment for item in await listen(client, agent, a_task(f"link {address}")) if is_file(item)]
        assert (file.url, file.media_type) == (address, "application/json")
        assert file.data is not None
        assert b"Follows its instructions." in file.data
        [headers] = [headers for path, headers in seen.requests if path == "/elsewhere/card.json"]
        assert headers.get("x-key") == key


@pytest.mark.parametrize("path", ["/no-such-file", "/big"])
async def test_a_file_that_is_not_there_or_too_long_stays_an_address(
    client: RemoteAgents, serve: Serve, path: str
) -> None:
    async def files(scope: ASGIScope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200 if scope["path"] == "/big" else 404, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 6_000_000})

    with served(files) as base:
        address = base + path
        chunks = await listen(client, define_agent(serve(RemoteAgent())), a_task(f"link {address}"))
    [file] = [chunk.attachment for chunk in chunks if is_file(chunk)]
    assert file == Attachment("card.json", None, url=address)


def is_file(chunk: AgentChunk) -> TypeGuard[AgentFile]:
    return isinstance(chunk, AgentFile)
