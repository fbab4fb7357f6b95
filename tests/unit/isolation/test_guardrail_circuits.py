"""Users who make the endpoint of a guardrail fail switch it off for nobody."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import httpx
import pytest

from baton import Agent, Refuse
from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.tenants.identity import Scope
from tests.fakes.chat_model import Answer
from tests.harness.coded import make_coded_harness
from tests.harness.guardrail_endpoint import POLICY, UNCHECKED, Endpoint
from tests.harness.harness import ASSISTANT, Harness

LOOKUP = {
    "type": "http",
    "name": "lookup",
    "description": "Looks up.",
    "method": "POST",
    "url": "https://policy.example.com/lookup",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
}


def judge(body: dict[str, Any]) -> Any:
    if "text" not in body or "CRASH" in body["text"]:
        return httpx.Response(500)
    if "FORBIDDEN" in body["text"]:
        return {"verdict": "refuse", "sentence": "No."}
    return {"verdict": "allow"}


class Tenants(Harness):
    """Turns of several tenants with a guarded agent that ships with the deployment."""

    def __init__(self, on_failure: str, **fields: Any) -> None:
        self.endpoint = Endpoint(judge, guards=CircuitBreakers())
        policy = POLICY | {"on_failure": on_failure, "checks": ["input"]}
        agent = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"guardrails": [policy]} | fields)
        super().__init__(assistant=agent, tools=self.endpoint.toolbox)

    async def ask(self, tenant: str, text: str, *, user: str = "ada", thread: str = "") -> str:
        self.thread_id = thread or str(uuid.uuid4())
        return (await self.say(str(uuid.uuid4()), text, scope=Scope(tenant, user))).text


@pytest.mark.parametrize("on_failure", ["open", "closed"])
async def test_one_tenants_failures_change_nothing_for_another(on_failure: str) -> None:
    tenants = Tenants(on_failure)
    for _ in range(7):
        await tenants.ask("acme", "CRASH")
    assert await tenants.ask("globex", "FORBIDDEN") == "No."
    assert await tenants.ask("globex", "Hello") == "Hello there."


async def test_a_guardrail_that_fails_open_is_asked_however_often_it_has_failed() -> None:
    tenants = Tenants("open")
    for _ in range(7):
        assert await tenants.ask("acme", "CRASH") == "Hello there."
    assert await tenants.ask("acme", "FORBIDDEN") == "No."


async def test_failures_of_one_conversation_count_once_for_its_tenant() -> None:
    tenants = Tenants("closed")
    thread = str(uuid.uuid4())
    for _ in range(7):
        assert await tenants.ask("acme", "CRASH", thread=thread) == UNCHECKED
    assert await tenants.ask("acme", "Hello", user="bob") == "Hello there."


async def test_a_guardrail_that_fails_for_many_conversations_is_left_alone() -> None:
    tenants = Tenants("closed")
    for _ in range(5):
        assert await tenants.ask("acme", "CRASH") == UNCHECKED
    request_count = len(tenants.endpoint.requests)
    assert await tenants.ask("acme", "Hello") == UNCHECKED
    assert len(tenants.endpoint.requests) == request_count


async def test_failures_of_a_tool_at_its_host_close_no_guardrail() -> None:
    tenants = Tenants("closed", tools=[LOOKUP])
    for number in range(6):
        tenants.model.script(Answer.calling(ToolCall(f"c{number}", "lookup", '{"word": "a"}')), "Sorry.")
        assert (await tenants.ask("acme", "Look")).endswith("Sorry.")
    assert await tenants.ask("acme", "FORBIDDEN") == "No."


async def test_a_user_who_stops_a_run_lets_no_answer_past_a_hook_that_fails_open() -> None:
    agent = Agent("assistant", "Sell.", main=True)

    @agent.after_model(on_failure="open")
    async def judge(text: str) -> Refuse | None:
        await asyncio.sleep(5)  # of the ten seconds that it has
        return Refuse("No tips.") if "a tip" in text else None

    gate = asyncio.Event()
    harness = make_coded_harness(agent, answers=(Answer(("Here is a tip: ", "buy."), gate=gate, gate_at=1),))
    saying = asyncio.ensure_future(harness.say())
    await harness.wait_for_requests()
    await harness.controls.cancel(harness.ada, harness.thread_id, None)
    finished = (await saying).finished
    assert finished is not None
    assert finished.messages[-1].text == UNCHECKED


async def test_a_tool_that_fails_for_one_tenant_is_called_for_another() -> None:
    tenants = Tenants("closed", tools=[LOOKUP])

    async def look(tenant: str) -> int:
        request_count = len(tenants.endpoint.requests)
        tenants.model.script(Answer.calling(ToolCall(str(uuid.uuid4()), "lookup", '{"word": "a"}')), "Sorry.")
        await tenants.ask(tenant, "Look")
        return len([request for request in tenants.endpoint.requests[request_count:] if request.url.path == "/lookup"])

    assert [await look("acme") for _ in range(6)] == [1, 1, 1, 1, 1, 0]
    assert await look("globex") == 1
