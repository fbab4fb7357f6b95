"""Answers and cards of remote agents with members of the wrong form, through the product's client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest

from baton.adapters.a2a import RemoteAgents
from baton.adapters.a2a.connection import repair
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import HeaderValue
from tests.contracts.agent_client import a_task, text_of
from tests.integration.agents.conftest import define_agent

Json = dict[str, Any]
HOME = "https://agent.example"
LINES = ("0.3", "1.0")


async def resolve(headers: Mapping[str, HeaderValue], scope: Scope | None = None) -> dict[str, str]:
    return {}


async def in_pieces(text: str) -> AsyncIterator[bytes]:
    """A body as a network brings it."""
    for start in range(0, len(text), 50):
        yield text[start : start + 50].encode()


class Agent:
    """An agent of one protocol line, which answers "It is fine."."""

    def __init__(self, line: str, *, streams: bool, **card: Any) -> None:
        self.is_older = line == "0.3"
        self.streams = streams
        self.card = card
        self.task: Json = {}
        """More members of its task."""
        self.status: Json = {}
        self.artifact: Json = {}

    async def answer(self) -> str:
        """The text that the product's client gets."""
        client = RemoteAgents(lambda: httpx.AsyncClient(transport=httpx.MockTransport(self._serve)), resolve)
        return text_of([chunk async for chunk in client.stream(define_agent(HOME), a_task("How is it?"))])

    def _serve(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json=self._card() | self.card)
        call = json.loads(request.content)
        task = self._task(call["params"]["message"])
        result = task if self.is_older else {"task": task}
        answer = {"jsonrpc": "2.0", "id": call["id"], "result": result}
        text = f": comment\r\n\r\ndata: {json.dumps(answer)}\r\n\r\n" if self.streams else json.dumps(answer)
        content_type = "text/event-stream" if self.streams else "application/json"
        return httpx.Response(200, content=in_pieces(text), headers={"Content-Type": content_type})

    def _task(self, request: Json) -> Json:
        part = {"kind": "text", "text": "It is fine."} if self.is_older else {"text": "It is fine."}
        state = "completed" if self.is_older else "TASK_STATE_COMPLETED"
        return {
            "id": "t-1",
            "contextId": request["contextId"],
            "status": {"state": state, **self.status},
            "artifacts": [{"artifactId": "a-1", "parts": [part], **self.artifact}],
            **({"kind": "task"} if self.is_older else {}),
            **self.task,
        }

    def _card(self) -> Json:
        about: Json = {"name": "Agent", "description": "", "version": "1", "skills": [], "defaultInputModes": ["text"]}
        about |= {"defaultOutputModes": ["text"], "capabilities": {"streaming": self.streams}}
        interface = {"url": HOME, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return about | (
            {"url": HOME, "protocolVersion": "0.3.0"} if self.is_older else {"supportedInterfaces": [interface]}
        )


@pytest.mark.parametrize("streams", [True, False], ids=["streams", "answers"])
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    ("location", "wrong"),
    [
        ("status", {"timestamp": "2026-11-28T14:31:24.542927"}),
        ("status", {"timestamp": "2026-11-28"}),
        ("status", {"timestamp": "yesterday"}),
        ("status", {"timestamp": 1_764_340_284}),
        ("status", {"timestamp": None}),
        ("task", {"metadata": "none"}),
        ("task", {"metadata": []}),
        ("task", {"history": {}}),
        ("task", {"history": [None, "text"]}),
        ("artifact", {"name": 7}),
        ("artifact", {"description": ["a", "b"]}),
        ("artifact", {"extensions": "https://example.com/x"}),
        ("artifact", {"metadata": 7}),
    ],
)
async def test_a_wrong_optional_member_costs_no_answer(location: str, wrong: Json, line: str, *, streams: bool) -> None:
    agent = Agent(line, streams=streams)
    setattr(agent, location, wrong)
    assert await agent.answer() == "It is fine."


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 1.0},
        {"skills": [{"id": 7}]},
        {"skills": None},
        {"provider": "Example Ltd"},
        {"documentationUrl": {}},
        {"iconUrl": 7},
        {"securitySchemes": ["bearer"]},
        {"signatures": "none"},
    ],
)
async def test_a_wrong_optional_member_of_a_card_costs_no_agent(wrong: Json, line: str) -> None:
    assert await Agent(line, streams=True, **wrong).answer() == "It is fine."


def test_data_and_metadata_stay_as_they_are() -> None:
    data = {"timestamp": "yesterday", "name": 7, "history": {}}
    value = {"artifact": {"parts": [{"data": data}], "metadata": data}}
    assert repair(value) == value


def test_times_with_a_zone_stay() -> None:
    for time in ("2026-11-28T14:31:24Z", "2026-11-28T14:31:24.542927+01:00"):
        assert repair({"status": {"timestamp": time}}) == {"status": {"timestamp": time}}
