"""A wiki whose assistant has to ask before it deletes a page."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.events import Event
from baton.threads.requests.parsing import make_decision_request
from baton.turns.finished_runs import FinishedRun
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness, Turn

DELETE = {"type": "object", "properties": {"page": {"type": "string"}}, "required": ["page"]}


def wiki(**fields: Any) -> Harness:
    """Return a harness with three tools: delete, which needs approval, look, and read, whose result has 4,000 words."""
    tool = {"type": "python", "name": "delete", "description": "Deletes.", "entry_point": "wiki:delete"}
    harness = Harness(assistant=AgentDefinition.model_validate(ASSISTANT.model_dump() | {"tools": [tool]} | fields))

    async def delete(page: str) -> str:
        return f"{page} is gone."

    async def look() -> str:
        return "Three pages."

    async def read() -> str:
        return "word " * 4_000

    harness.tools.add("delete", delete, parameters=DELETE, requires_approval=True)
    harness.tools.add("look", look)
    harness.tools.add("read", read)
    return harness


def delete(page: str) -> ToolCall:
    """The call that needs approval."""
    return ToolCall(f"call-{page}", "delete", json.dumps({"page": page}))


def make_read_calls(count: int) -> list[ToolCall]:
    """Calls with long results."""
    return [ToolCall(f"read-{number}", "read", "{}") for number in range(count)]


async def run_until_interrupt(harness: Harness, *pages: str) -> list[dict[str, Any]]:
    """Run until the calls that delete pages wait for approval, and return their interrupts."""
    harness.model.script(Answer.calling(*map(delete, pages or ("home",)), text="May I?"))
    turn = await harness.say("m1", "Delete it.")
    assert turn.last["outcome"]["type"] == "interrupt"
    interrupts: list[dict[str, Any]] = turn.last["outcome"]["interrupts"]
    return interrupts


def yes(interrupt: dict[str, Any], payload: Any = None, by: str = "ada") -> InterruptDecision:
    """Return the approval of an interrupt."""
    return InterruptDecision(interrupt["id"], DecisionStatus.RESOLVED, payload or {"approved": True}, by)


def no(interrupt: dict[str, Any], by: str = "ada") -> InterruptDecision:
    """Return the refusal of an interrupt."""
    return InterruptDecision(interrupt["id"], DecisionStatus.CANCELLED, None, by)


async def answer(harness: Harness, *answers: InterruptDecision) -> Turn:
    """Give answers; the run's events, if it goes on."""
    events: list[Event] = []
    request = make_decision_request(harness.thread_id, answers)
    finished: FinishedRun | None = await harness.turns.run(harness.ada, request, events.append, seconds=20)
    return Turn(events, finished)


async def answer_and_die(harness: Harness, *answers: InterruptDecision) -> None:
    """Give answers to a worker that dies in the middle of the model's next words."""
    times = len(harness.model.requests) + 1
    harness.model.script(Answer(("Do",), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(answer(harness, *answers))
    await harness.wait_for_requests(times)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def call_results(harness: Harness) -> list[str]:
    """The last results of calls that the model has read."""
    return [str(content) for role, content in harness.model.requests[-1].contents if role == "tool"]
