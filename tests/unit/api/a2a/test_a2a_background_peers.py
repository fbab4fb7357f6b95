"""Another Baton as the remote agent that works in the background: its tasks are asked for, read, stopped and pushed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import httpx
import pytest

from baton.adapters.a2a import RemoteAgents
from baton.domain.agents.agent import AgentDefinition
from baton.domain.schedules.background_task import BackgroundStatus, BackgroundTask
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import HeaderValue
from tests.fakes.chat_model import Answer
from tests.harness.due import DueHarness
from tests.harness.handoffs import calling
from tests.harness.harness import ASSISTANT
from tests.harness.wiki import delete, wiki
from tests.unit.api.a2a_client import A2AServed
from tests.unit.api.pushed import work_off
from tests.unit.api.served import Served

PEER = "http://127.0.0.1"
WIKI = AgentDefinition.model_validate(
    {
        "id": "wiki",
        "name": "Wiki",
        "description": "Keeps pages.",
        "remote": {"card_url": f"{PEER}/.well-known/agent-card.json", "headers": {"Authorization": {"secret": "peer"}}},
    }
)
MAIN = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"sub_agents": [{"agent": "wiki", "background": True}]})


async def resolve(headers: Mapping[str, HeaderValue], scope: Scope | None = None) -> dict[str, str]:
    return dict.fromkeys(headers, "Bearer acme,ada")


class Peers:
    """Two deployments: one asks the assistant of the other in the background."""

    def __init__(self) -> None:
        self.peer = A2AServed(wiki())
        transport = httpx.ASGITransport(self.peer.app)
        client = RemoteAgents(lambda: httpx.AsyncClient(transport=transport), resolve)
        self.due = DueHarness(assistant=MAIN, others=(WIKI,), agent_client=client, public_url="https://asking.example")
        self.own = Served(self.due)

    async def ask(self, message: str = "How many pages are there?") -> None:
        """Make the assistant ask the peer, whose answer waits until ``work`` is called."""
        self.gate = asyncio.Event()
        self.peer.harness.model.script(Answer(("Three pages.",), gate=self.gate))
        self.due.model.script(calling("ask_wiki", message=message), "I have asked.")
        await self.due.say("m1", message)
        await self.due.run_queue()

    async def notify(self) -> list[int]:
        """Deliver the notifications that the peer sends. Return the statuses of the answers."""
        statuses = []
        for posted in await work_off(self.peer):
            path = posted.url.removeprefix("https://asking.example")
            transport = httpx.ASGITransport(self.own.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://asking.example") as client:
                answered = await client.post(path, content=posted.body, headers=posted.headers)
            statuses.append(answered.status_code)
        return statuses

    async def work(self) -> None:
        """Release the peer's answer, and wait until the peer's queue is idle."""
        self.gate.set()
        await self.peer.queue.wait_until_idle()

    async def task(self) -> BackgroundTask:
        return (await self.due.background_tasks.of_thread(self.due.ada, self.due.thread_id))[0]

    async def results(self) -> list[str]:
        return [message.text for message in await self.due.messages() if message.begun_by is not None]


@pytest.fixture
def peers() -> Peers:
    return Peers()


async def test_a_result_that_is_pushed_enters_once(peers: Peers) -> None:
    await peers.ask()
    assert (await peers.task()).status is BackgroundStatus.WORKING
    await peers.work()
    statuses = await peers.notify()
    assert statuses
    assert set(statuses) == {202}
    await peers.due.run_queue()
    assert await peers.results() == ["Three pages."]
    await peers.due.pass_time(hours=1)
    assert await peers.results() == ["Three pages."]


async def test_a_result_is_read_if_no_notification_comes(peers: Peers) -> None:
    await peers.ask()
    await peers.due.pass_time(minutes=1)
    assert await peers.results() == []
    await peers.work()
    await peers.due.pass_time(minutes=5)
    assert await peers.results() == ["Three pages."]


async def test_a_message_that_is_sent_again_begins_nothing_again(peers: Peers) -> None:
    await peers.ask()
    task, tasks = await peers.task(), peers.due.background_tasks
    key = (peers.due.ada.tenant_id, peers.due.thread_id, task.id)
    owner, stored = tasks.stored[key]

    tasks.stored[key] = (owner, replace(stored, location=None))  # the worker died before it had noted that
    await peers.due.pass_time(minutes=1)
    assert (await peers.task()).location == task.location
    await peers.work()
    await peers.due.pass_time(minutes=5)
    assert await peers.results() == ["Three pages."]
    assert len(peers.peer.harness.model.requests) == 1


async def test_a_cancelled_task_is_stopped_there(peers: Peers) -> None:
    await peers.ask()
    await peers.due.app.self_started.background_work.cancel(peers.due.ada, peers.due.thread_id, (await peers.task()).id)
    await peers.due.run_queue()
    async with asyncio.timeout(10):
        await peers.peer.queue.wait_until_idle()  # although its model has not answered
    assert await peers.results() == []


async def test_an_approval_inside_is_a_question_for_the_user(peers: Peers) -> None:
    peers.peer.harness.model.script(Answer.calling(delete("home"), text="May I?"))
    await peers.ask("Delete the page home.")
    await peers.peer.queue.wait_until_idle()
    await peers.due.pass_time(minutes=1)
    [question] = await peers.results()
    assert "keeps its task open" in question
