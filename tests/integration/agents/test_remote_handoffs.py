"""Conversations that are handed over to an agent of the official SDK, and back, over real HTTP."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from baton.adapters.a2a import RemoteAgents
from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.domain.agents.agent import AgentDefinition
from baton.domain.handoffs.handoff import ContextMode, HandoffRequest
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.ports.agents.agent_client import (
    AgentChunk,
    AgentDone,
    AgentReport,
    AgentTask,
    Attachment,
    HandedOver,
    TaskLost,
)
from tests.contracts.agent_client import a_task, text_of
from tests.integration.agents.conftest import define_agent, http, redact, resolve
from tests.integration.agents.remote_agent import URI, RemoteAgent

Serve = Callable[[RemoteAgent], str]
BOTH = pytest.mark.parametrize("streams", [True, False], ids=["streaming", "polling"])
SAID = (("user", "Hi"), ("assistant", "Hello."))


def make_first_message(
    message: str, mode: ContextMode = ContextMode.SUMMARY, *, summary: str = "Ada wants a table.", **more: Any
) -> AgentTask:
    """The first message of a handoff."""
    task = a_task(message)
    request = HandoffRequest(
        thread_id=task.thread_id,
        tenant_id="acme",
        user_id="ada",
        ordinal=2,
        source_agent_id="assistant",
        target_agent_id="remote",
        context_mode=mode,
        context_summary=summary,
        recent_messages=(),
        handoff_reason="tables",
        started_at=datetime(2040, 3, 1, tzinfo=UTC),
    )
    messages = () if mode is ContextMode.SUMMARY else SAID
    return replace(task, handoff=HandedOver(request, messages), **more)


async def listen(client: RemoteAgents, agent: AgentDefinition, task: AgentTask) -> list[AgentChunk]:
    return [chunk async for chunk in client.stream(agent, task)]


async def receive_message(client: RemoteAgents, serve: Serve, task: AgentTask, version: str = "0.3") -> dict[str, Any]:
    """The message as the agent got it."""
    remote = RemoteAgent(version=version)
    await listen(client, define_agent(serve(remote)), task)
    [message] = remote.messages
    return message


@pytest.mark.parametrize("version", ["0.3", "1.0"])
async def test_the_first_message_bears_the_handoff_in_its_metadata(
    client: RemoteAgents, serve: Serve, version: str
) -> None:
    task = make_first_message("say Yes.", ContextMode.RECENT)
    metadata = (await receive_message(client, serve, task, version))["metadata"]

    assert metadata["handoff"] == metadata[EXTENSION_URI]["handoff"]
    assert metadata["handoff"] == {
        "type": "handoff",
        "thread_id": task.thread_id,
        "tenant_id": "acme",
        "user_id": "ada",
        "source_agent_id": "assistant",
        "target_agent_id": "remote",
        "context_summary": "Ada wants a table.",
        "conversation_history_count": 2,
        "recent_messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}],
        "handoff_reason": "tables",
        "preserve_state": True,
        "return_expected": True,
    }
    assert (metadata["thread_id"], metadata["parent_task_id"]) == (task.thread_id, "run-1")
    assert EXTENSION_URI == URI


@pytest.mark.parametrize("mode", list(ContextMode))
async def test_what_the_context_mode_grants_comes_before_the_users_words(
    client: RemoteAgents, serve: Serve, mode: ContextMode
) -> None:
    context, words = (await receive_message(client, serve, make_first_message("say Yes.", mode)))["parts"]
    assert words == {"text": "say Yes."}
    assert context["metadata"] == {EXTENSION_URI: {"context": True}}
    first, *lines = context["text"].split("\n")
    assert first.startswith("The conversation was handed over to you.")
    if mode is ContextMode.SUMMARY:
        assert first.endswith("Ada wants a table.")
    else:
        assert lines == ["user: Hi", "assistant: Hello."]


@pytest.mark.parametrize("summary", ["say Yes.", " say Yes.\n", "", " "])
async def test_a_summary_that_says_no_more_than_the_message_is_left_out(
    client: RemoteAgents, serve: Serve, summary: str
) -> None:
    assert (await receive_message(client, serve, make_first_message("say Yes.", summary=summary)))["parts"] == [
        {"text": "say Yes."}
    ]


async def test_other_messages_bear_no_handoff(client: RemoteAgents, serve: Serve) -> None:
    message = await receive_message(client, serve, a_task("say Yes."))
    assert "handoff" not in message["metadata"]
    assert message["parts"] == [{"text": "say Yes."}]


@pytest.mark.parametrize("version", ["0.3", "1.0"])
async def test_files_are_file_parts(client: RemoteAgents, serve: Serve, version: str) -> None:
    files = (
        Attachment("a.png", "image/png", data=b"hi"),
        Attachment(None, "application/pdf", url="https://files.example/a.pdf"),
    )
    task = replace(a_task("say Nice."), attachments=files)
    image, document, words = (await receive_message(client, serve, task, version))["parts"]
    assert (base64.b64decode(image["raw"]), image["filename"], image["media_type"]) == (b"hi", "a.png", "image/png")
    assert (document["url"], document["media_type"]) == ("https://files.example/a.pdf", "application/pdf")
    assert words == {"text": "say Nice."}


async def test_a_message_may_be_a_file_alone(client: RemoteAgents, serve: Serve) -> None:
    task = replace(a_task(""), attachments=(Attachment("a.png", "image/png", data=b"hi"),))
    assert len((await receive_message(client, serve, task))["parts"]) == 1


@BOTH
@pytest.mark.parametrize(
    "order", ["return message Booked.", "return status Booked.", "return task Booked.", "bye Booked."]
)
async def test_the_agent_hands_back_in_the_metadata_of_its_last_message_status_or_task(
    client: RemoteAgents, serve: Serve, order: str, streams: bool
) -> None:
    chunks = await listen(client, define_agent(serve(RemoteAgent(streams=streams))), make_first_message(order))
    assert text_of(chunks) == "Booked."
    assert chunks[-1] == AgentDone(report=AgentReport("A table at eight.", "completed"))


@BOTH
async def test_a_task_that_has_ended_takes_no_further_message(serve: Serve, streams: bool) -> None:
    client = RemoteAgents(http, resolve, redact=redact, breakers=CircuitBreakers(failures=1), poll_seconds=0.01)
    remote = RemoteAgent(streams=streams)
    agent, first = define_agent(serve(remote)), make_first_message("ask When?")
    task = (await listen(client, agent, first))[-1]
    assert isinstance(task, AgentDone)
    assert task.remote_task_id is not None
    goes_on = replace(first, handoff=None, remote_task_id=task.remote_task_id)
    await listen(client, agent, replace(goes_on, task_id="t2", message="answer Booked."))
    with pytest.raises(TaskLost):
        await listen(client, agent, replace(goes_on, task_id="t3", message="answer Thanks."))
    assert [text for _, text, _ in remote.received] == ["ask When?", "answer Booked."]
    # The agent is well: the next task is not held back.
    assert text_of(await listen(client, agent, a_task("say Hello."))) == "Hello."


def nest(levels: int) -> dict[str, Any]:
    return {"a": nest(levels - 1)} if levels else {}


@pytest.mark.parametrize("value", [{"a": float("inf")}, {"a": "\ud800"}, nest(150)], ids=["number", "text", "depth"])
async def test_data_that_the_protocol_cannot_carry_goes_as_text(serve: Serve, value: dict[str, Any]) -> None:
    client = RemoteAgents(http, resolve, breakers=CircuitBreakers(failures=1))
    agent = define_agent(serve(RemoteAgent()))
    reported = text_of(await listen(client, agent, replace(a_task("say Hello."), data=value)))
    assert reported == f"Hello.\n{json.dumps(value)}"
