"""A wiki whose assistant has to ask before it deletes a page."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from baton.conversation.requests import answer_request
from baton.conversation.run import FinishedRun
from baton.domain.agent import AgentDefinition
from baton.domain.events import Event
from baton.domain.interrupt import AnswerStatus, InterruptAnswer
from baton.domain.tool_call import ToolCall
from tests.fakes.chat_model import Answer
from tests.unit.conversation.stage import ASSISTANT, Said, Stage

DELETE = {"type": "object", "properties": {"page": {"type": "string"}}, "required": ["page"]}


def wiki() -> Stage:
    """Deleting needs approval, looking does not, and what is read is four thousand words long."""
    tool = {"type": "python", "name": "delete", "description": "Deletes.", "entry_point": "wiki:delete"}
    stage = Stage(assistant=AgentDefinition.model_validate(ASSISTANT.model_dump() | {"tools": [tool]}))

    async def delete(page: str) -> str:
        return f"{page} is gone."

    async def look() -> str:
        return "Three pages."

    async def read() -> str:
        return "word " * 4_000

    stage.tools.add("delete", delete, parameters=DELETE, requires_approval=True)
    stage.tools.add("look", look)
    stage.tools.add("read", read)
    return stage


def delete(page: str) -> ToolCall:
    """The call that needs approval."""
    return ToolCall(f"call-{page}", "delete", json.dumps({"page": page}))


def readings(count: int) -> list[ToolCall]:
    """Calls with long results."""
    return [ToolCall(f"read-{number}", "read", "{}") for number in range(count)]


async def interrupted(stage: Stage, *pages: str) -> list[dict[str, Any]]:
    """A run that waits; its interrupts."""
    stage.model.script(Answer.calling(*map(delete, pages or ("home",)), text="May I?"))
    said = await stage.say("m1", "Delete it.")
    assert said.last["outcome"]["type"] == "interrupt"
    interrupts: list[dict[str, Any]] = said.last["outcome"]["interrupts"]
    return interrupts


def yes(interrupt: dict[str, Any], payload: Any = None, by: str = "ada") -> InterruptAnswer:
    """Go ahead."""
    return InterruptAnswer(interrupt["id"], AnswerStatus.RESOLVED, payload, by)


def no(interrupt: dict[str, Any], by: str = "ada") -> InterruptAnswer:
    """Do not."""
    return InterruptAnswer(interrupt["id"], AnswerStatus.CANCELLED, None, by)


async def answer(stage: Stage, *answers: InterruptAnswer) -> Said:
    """Give answers; the run's events, if it goes on."""
    events: list[Event] = []
    request = answer_request(stage.thread_id, answers)
    finished: FinishedRun | None = await stage.turns.answer(stage.ada, request, events.append, seconds=20)
    return Said(events, finished)


async def answer_and_die(stage: Stage, *answers: InterruptAnswer) -> None:
    """Give answers to a worker that dies in the middle of the model's next words."""
    times = len(stage.model.asked) + 1
    stage.model.script(Answer(("Do",), gate=asyncio.Event(), gate_at=1))
    running = asyncio.ensure_future(answer(stage, *answers))
    await stage.model_is_asked(times)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


def told_of_calls(stage: Stage) -> list[str]:
    """What the model was told last of its calls."""
    return [str(content) for role, content in stage.model.asked[-1].contents if role == "tool"]
