"""The product's client of remote agents and the fake keep the same contract."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from baton.adapters.a2a import RemoteAgents
from baton.domain.agents.agent import AgentDefinition
from baton.ports.agents.agent_client import AgentDone, AgentFailed, AgentReport, TaskLost
from baton_testing.fakes.agents.agent_client import Reply, ScriptedAgentClient
from tests.contracts.agent_client import AgentClientContract, Embassy
from tests.integration.agents.conftest import define_agent
from tests.integration.agents.remote_agent import RETURN, RemoteAgent


class FakeEmbassy:
    """The fake, and its scripts."""

    def __init__(self) -> None:
        self.client = ScriptedAgentClient()
        self.agent: AgentDefinition = define_agent("https://weather.example")

    def will_say(self, *words: str) -> str:
        return self._scripted(Reply(words))

    def will_ask(self, question: str) -> str:
        return self._scripted(Reply((question,), end=AgentDone("remote-1")))

    def will_fail(self, reason: str) -> str:
        return self._scripted(Reply((), AgentFailed(reason)))

    def will_hand_back(self, report: AgentReport) -> str:
        return self._scripted(Reply(("Booked.",), end=AgentDone(report=report)))

    def will_have_lost_the_task(self) -> str:
        return self._scripted(Reply((), TaskLost("It is gone.")))

    def will_hang_after(self, *words: str) -> str:
        return self._scripted(Reply(words, gate=asyncio.Event(), gate_at=len(words)))

    async def saw_a_stop(self) -> bool:
        return len(self.client.stopped) == 1

    def list_received(self) -> list[tuple[str, str, str | None]]:
        return [(task.task_id, task.message, task.remote_task_id) for _, task in self.client.requests]

    def _scripted(self, reply: Reply) -> str:
        self.client.script(self.agent.id, reply)
        return "Do what you do."


class RealEmbassy:
    """The product's client and an agent of the official SDK."""

    def __init__(self, client: RemoteAgents, remote: RemoteAgent, url: str) -> None:
        self.client = client
        self.agent: AgentDefinition = define_agent(url)
        self._remote = remote

    def will_say(self, *words: str) -> str:
        return f"answer {''.join(words)}"

    def will_ask(self, question: str) -> str:
        return f"ask {question}"

    def will_fail(self, reason: str) -> str:
        return f"fail {reason}"

    def will_hand_back(self, report: AgentReport) -> str:
        assert {"return": {"summary": report.summary, "outcome": report.outcome}} == RETURN
        return "return status Booked."

    def will_have_lost_the_task(self) -> str:
        return "answer Yes."

    def will_hang_after(self, *words: str) -> str:
        [word] = words
        return f"hang {word}"

    async def saw_a_stop(self) -> bool:
        return await asyncio.to_thread(self._remote.cancelled.wait, 10)

    def list_received(self) -> list[tuple[str, str, str | None]]:
        return self._remote.received


@pytest.fixture(params=["fake", "streaming", "polling", "streaming 1.0", "polling 1.0"])
def embassy(request: pytest.FixtureRequest, client: RemoteAgents, serve: Callable[[RemoteAgent], str]) -> Embassy:
    if request.param == "fake":
        return FakeEmbassy()
    remote = RemoteAgent(
        streams=request.param.startswith("streaming"), version="1.0" if request.param.endswith("1.0") else "0.3"
    )
    return RealEmbassy(client, remote, serve(remote))


class TestAgentClients(AgentClientContract):
    """All of them."""
