"""Work in the background of forgotten conversations: it is audited as dropped, and stopped where it is done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from baton.composition.app import build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import HttpTool
from baton.domain.memory.forgetting import ForgetRequest, NextStep
from baton.entry.forget_requests import ForgetCalls
from baton.ports.agents.agent_client import AgentStarted
from baton.ports.agents.tools import ToolResult
from baton_testing.fakes.agents.agent_client import Reply, ScriptedAgentClient
from baton_testing.fakes.tenants.forget_requests import FakeForgetRequests
from tests.fakes.erasure import FakeErasure, FakeForgettings, FakeObjectErasure, FakeRetentions
from tests.harness.due import MAIN, RESEARCHER, DueHarness
from tests.harness.handoffs import calling
from tests.harness.harness import ASSISTANT
from tests.harness.sessions import close

WEATHER = AgentDefinition.model_validate(
    {
        "id": "weather",
        "name": "Weather",
        "description": "Knows the weather.",
        "remote": {"card_url": "https://weather.example/card.json"},
    }
)
REPORT = HttpTool.model_validate(
    {
        "type": "http",
        "name": "make_report",
        "description": "Makes a report.",
        "method": "POST",
        "url": "https://reports.example/new",
        "background": {"expires_hours": 48, "cancel": True},
    }
)
PLACE = "https://reports.example/jobs/1"
Forget = Callable[[ForgetCalls], Awaitable[ForgetRequest]]


class Forgotten:
    """A conversation with work in the background, which is forgotten."""

    def __init__(self, assistant: AgentDefinition, *others: AgentDefinition) -> None:
        self.client = ScriptedAgentClient()
        self.due = DueHarness(assistant=assistant, others=others, agent_client=self.client)
        self.erasure = FakeErasure(self.due.clock)

    async def ask(self, name: str, **arguments: Any) -> None:
        """Have the assistant begin the work."""
        self.due.model.script(calling(name, **arguments), "I am on it.")
        await self.due.say("m1", "Do it.")

    async def forget(self, ask: Forget) -> None:
        """Carry out the first round of a request twice, as after a death, and then the work that it queues."""
        self.erasure.put(self.due.ada, self.due.thread_id)
        ports = self.due.with_ports(
            erasure=self.erasure,
            objects=FakeObjectErasure(),
            forget_requests=FakeForgetRequests(),
            forgettings=FakeForgettings(),
            retentions=FakeRetentions(),
        )
        privacy = build(ports).privacy
        request = await ask(privacy.forget_calls)
        await privacy.forgotten_tasks.drop(self.due.ada, self.due.thread_id)
        result = await privacy.forgetting.sweep(self.due.ada, request.id, seconds=60)
        assert result.next is NextStep.WAIT
        self.due.background_tasks.stored.clear()
        await self.due.run_queue()

    def list_dropped(self, action: str) -> list[Any]:
        """Return the audited details of dropped work."""
        return [
            record.detail for record in self.due.audit.records if (record.action, record.outcome) == (action, "dropped")
        ]


@pytest.mark.parametrize("subject", ["user", "thread"])
async def test_a_task_of_a_remote_agent_is_cancelled_there(subject: str) -> None:
    assistant = ASSISTANT.model_dump() | {"sub_agents": [{"agent": "weather", "background": True}]}
    forgotten = Forgotten(AgentDefinition.model_validate(assistant), WEATHER)
    due = forgotten.due
    forgotten.client.script("weather", Reply((AgentStarted("remote-1", {}),), end=None))
    await forgotten.ask("ask_weather", message="How will May be?")
    await due.run_queue()
    [task] = await due.background_tasks.of_thread(due.ada, due.thread_id)

    async def ask(calls: ForgetCalls) -> ForgetRequest:
        if subject == "user":
            return await calls.forget_user(due.ada, "me")
        return await calls.forget_thread(due.ada, due.thread_id)

    await forgotten.forget(ask)
    assert forgotten.client.cancelled == [("weather", "remote-1")]
    assert forgotten.list_dropped("background.end") == [{"taskId": task.id}]


async def test_a_task_of_a_tool_is_deleted_where_the_tool_said() -> None:
    forgotten = Forgotten(AgentDefinition.model_validate(ASSISTANT.model_dump() | {"tools": [REPORT.model_dump()]}))

    async def make() -> ToolResult:
        return ToolResult("Accepted.", is_pending=True, location=PLACE)

    forgotten.due.tools.add("make_report", make, background=REPORT.background)
    await forgotten.ask("make_report")
    await forgotten.forget(lambda calls: calls.forget_user(forgotten.due.ada, "me"))
    assert forgotten.due.tools.reads == [(PLACE, True)]
    assert len(forgotten.list_dropped("background.end")) == 1


async def test_a_result_that_waits_is_dropped() -> None:
    assistant = MAIN.model_dump() | {"background": {"after_closing": "waits"}}
    forgotten = Forgotten(AgentDefinition.model_validate(assistant), RESEARCHER)
    due = forgotten.due
    await forgotten.ask("ask_researcher", message="Why is the sky blue?")
    await close(due)
    due.model.script("Because of Rayleigh.")
    await due.run_queue()
    [later] = due.due_items.later.values()
    await forgotten.forget(lambda calls: calls.forget_user(due.ada, "me"))
    assert forgotten.list_dropped("due.run") == [{"messageId": later.message.request.message_id}]
    assert forgotten.list_dropped("background.end") == []
