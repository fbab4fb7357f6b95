"""A page whose tools the assistant may call, and one tool of the agent that needs approval."""

from __future__ import annotations

import json
from typing import Any

from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.turn_requests import ClientOffer, ClientTool, ContextItem
from tests.fakes.chat_model import Answer
from tests.harness.harness import Harness, Turn

COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
PAINT = ClientTool("paint", "Paints the background.", COLOUR)
ASK_USER = ClientTool("choose", "Shows a dialog.", {"type": "object", "properties": {}})
PAGE = ClientOffer((PAINT, ASK_USER), (ContextItem("The page", "Cart with 3 items"),))


def paint(colour: str = "red") -> ToolCall:
    """A call of the page's tool."""
    return ToolCall(f"call-{colour}", "paint", json.dumps({"colour": colour}))


def choose() -> ToolCall:
    """A call of the page's other tool."""
    return ToolCall("call-choose", "choose", "{}")


async def run_until_interrupt(harness: Harness, *calls: ToolCall, **fields: Any) -> list[dict[str, Any]]:
    """Run until a call waits for the page; return its interrupts."""
    harness.model.script(Answer.calling(*(calls or (paint(),)), text="Let me see."))
    turn = await harness.say("m1", "Make it red.", **{"client": PAGE} | fields)
    assert turn.last["outcome"]["type"] == "interrupt"
    interrupts: list[dict[str, Any]] = turn.last["outcome"]["interrupts"]
    return interrupts


def result(interrupt: dict[str, Any], payload: Any = "It is red now.", **fields: Any) -> InterruptDecision:
    """The page's answer."""
    return InterruptDecision(interrupt["id"], DecisionStatus.RESOLVED, payload, "ada", **fields)


def list_offered(harness: Harness, time: int = -1) -> list[str]:
    """The names of the tools that the model was offered, in their order."""
    return [spec.name for spec in harness.model.requests[time].tools]


def prompt_text(turn: Turn) -> list[tuple[str, str]]:
    """The results of calls in a run's events, with how they ended."""
    results = [event.body for event in turn.events if event.type == "TOOL_CALL_RESULT"]
    return [(result["content"], result["metadata"]["outcome"]) for result in results]
