"""The product's client and the reference server of A2A 0.3, unchanged, in a separate process."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from baton.adapters.a2a import RemoteAgents
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.task import RemoteTask
from baton.ports.agents.agent_client import (
    AgentChunk,
    AgentData,
    AgentDone,
    AgentFailed,
    AgentFile,
    AgentProgress,
    AgentStarted,
    AgentTask,
    Attachment,
    NotSent,
    TaskLost,
)
from baton.ports.agents.chat_model import TextDelta
from tests.contracts.agent_client import a_task, text_of
from tests.e2e.a2a.clients import older_python
from tests.integration.agents.conftest import define_agent

PROGRAM = Path(__file__).parent / "older_server.py"


@pytest.fixture(scope="module")
def agent() -> Iterator[AgentDefinition]:
    """An agent of the reference server."""
    command = [str(older_python()), str(PROGRAM)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield define_agent(process.stdout.readline().strip())
        finally:
            process.kill()


async def listen(client: RemoteAgents, agent: AgentDefinition, task: AgentTask) -> list[AgentChunk]:
    return [chunk async for chunk in client.stream(agent, task)]


def get_end(chunks: list[AgentChunk]) -> AgentDone:
    end = chunks[-1]
    assert isinstance(end, AgentDone)
    assert end.remote_task_id is not None
    return end


async def test_a_question_a_form_and_a_sign_in_go_on_in_one_task(client: RemoteAgents, agent: AgentDefinition) -> None:
    task = a_task("ask When?")
    chunks = await listen(client, agent, task)
    remote = get_end(chunks).remote_task_id
    assert text_of(chunks) == "When?"
    for number, message in enumerate(("form", "sign-in Open https://login.example")):
        first_task = replace(task, task_id=f"m{number}", message=message, remote_task_id=remote)
        chunks = await listen(client, agent, first_task)
        assert get_end(chunks).remote_task_id == remote
        if message == "form":
            assert [chunk for chunk in chunks if isinstance(chunk, AgentData)] == [
                AgentData({"type": "object", "properties": {"seats": {"type": "integer"}}})
            ]
        else:
            assert get_end(chunks).needs_sign_in
            assert text_of(chunks) == "Open https://login.example"
    answer = replace(task, task_id="m9", message="", data={"seats": "two"}, remote_task_id=remote)
    reported = text_of(await listen(client, agent, answer))
    assert reported == "ask When?; form; sign-in Open https://login.example; {'seats': 'two'}"
    with pytest.raises(TaskLost):
        await listen(client, agent, replace(answer, task_id="m10"))


async def test_its_running_task_is_followed_by_the_next_worker_and_sent_nothing_again(
    client: RemoteAgents, agent: AgentDefinition
) -> None:
    task = a_task("work one")
    started, progress = None, None
    async with aclosing(client.stream(agent, task, is_passed_on=lambda: True)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, AgentStarted):
                started = chunk
            elif isinstance(chunk, AgentProgress) and chunk.label:
                progress = chunk.label
            elif isinstance(chunk, TextDelta):
                break
    assert progress == "Looking it up"
    assert started is not None
    remote = RemoteTask(task.task_id, agent.id, started.remote_task_id, started.known)
    agent_chunks: list[AgentChunk] = []
    async with aclosing(client.stream(agent, replace(task, follows=remote))) as chunks:
        async for chunk in chunks:
            agent_chunks.append(chunk)
            if chunk == TextDelta("Half "):
                await listen(client, agent, a_task("open one"))
    assert text_of(agent_chunks) == "Half and half."
    assert agent_chunks[-1] == AgentDone()


async def test_its_task_is_stopped(client: RemoteAgents, agent: AgentDefinition) -> None:
    task = a_task("work two")
    async with aclosing(client.stream(agent, task)) as chunks:
        started = await anext(chunks)
        assert isinstance(started, AgentStarted)
    remote = RemoteTask(task.task_id, agent.id, started.remote_task_id)
    with pytest.raises(TaskLost):
        await listen(client, agent, replace(task, follows=remote))
    with pytest.raises(AgentFailed):
        await listen(client, agent, replace(a_task("ask When?"), remote_task_id="no-such-task"))


async def test_files_go_and_come(client: RemoteAgents, agent: AgentDefinition) -> None:
    sheet = Attachment("b.xls", "application/excel", data=b"no")
    chunks = await listen(client, agent, replace(a_task("file please"), attachments=(sheet,)))
    assert NotSent(sheet) in chunks
    assert AgentFile(Attachment("a.txt", "text/plain", data=b"hi")) in chunks
