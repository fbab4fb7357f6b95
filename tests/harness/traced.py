"""A conversation on fakes whose spans go to a collector, with agents, a tool and a handoff."""

from __future__ import annotations

import json
from typing import Any

from baton.adapters.tracing.otel_tracer import OtelTracer
from baton.adapters.tracing.sending import BoundedSending, RestingExporter, SpansDropped
from baton.adapters.tracing.traced_model import TracedModel
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Price, Prices
from baton_testing.fakes.agents.agent_client import Reply
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.handoffs import MAKER, transfer
from tests.harness.harness import ASSISTANT, Harness

SECRET = "xyzzy-4711"
"""Stands in every question, answer, argument and result of these tests."""
KNOWLEDGE = AgentDefinition(
    id="knowledge", name="Knowledge", description="Knows the documents.", system_prompt=f"Quote {SECRET}."
)
WEB = AgentDefinition.model_validate(
    {"id": "web-research", "name": "Web", "description": "Reads.", "remote": {"card_url": "https://agents.example.com"}}
)
PRICES = Prices({"test-model": Price(input=1.0, output=2.0)})


class TracedHarness(Harness):
    """A conversation on fakes whose spans go to the collector at ``endpoint``."""

    def __init__(self, endpoint: str, *, shows_content: bool = False, **overrides: Any) -> None:
        dropped = SpansDropped()
        self.sending = BoundedSending(RestingExporter(endpoint, dict, dropped), dropped)
        tracer = OtelTracer(self.sending, dropped, resource={"service.name": "baton"}, shows_content=shows_content)
        self.scripted = ScriptedChatModel(otherwise=Answer((f"All right, {SECRET}.",)))
        tool = {"type": "python", "name": "weather", "description": "Weather.", "entry_point": "a:b"}
        fields = {
            "sub_agents": ["knowledge", "web-research"],
            "handoffs": [{"agent": "maker"}],
            "tools": [tool],
            "system_prompt": f"Be brief about {SECRET}.",
        }
        assistant = AgentDefinition.model_validate(ASSISTANT.model_dump() | fields)
        model = TracedModel(self.scripted, lambda _: "openai", lambda: PRICES)
        super().__init__(
            model=model, assistant=assistant, others=(KNOWLEDGE, WEB, MAKER), tracer=tracer, prices=PRICES, **overrides
        )

        async def weather(city: str) -> str:
            return f"Sunny in {city}, {SECRET}."

        self.tools.add("weather", weather, parameters={"type": "object"})

    def wait_until_sent(self) -> None:
        """Wait until the collector has all spans."""
        assert self.sending.flush(30)


def ask(agent: str) -> ToolCall:
    return ToolCall(f"call-{agent}", f"ask_{agent}", json.dumps({"message": f"What about {SECRET}?"}))


def weather() -> ToolCall:
    return ToolCall("w", "weather", json.dumps({"city": SECRET}))


async def say_everything(harness: TracedHarness) -> None:
    """A turn with two consulted agents and a tool at once, and a handoff."""
    harness.agent_client.script("web-research", Reply((f"Found {SECRET}.",)))
    harness.scripted.script(Answer.calling(ask("knowledge"), ask("web_research"), weather()))
    harness.scripted.script(f"It is {SECRET}.", transfer(), f"What shall {SECRET} be called?")
    await harness.say(content=f"Please help with {SECRET}")
    harness.wait_until_sent()
