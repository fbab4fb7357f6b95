"""The contract of every client of remote agents."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Scope
from baton.ports.agents.agent_client import (
    AgentChunk,
    AgentClient,
    AgentDone,
    AgentFailed,
    AgentProgress,
    AgentReport,
    AgentStarted,
    AgentTask,
    TaskLost,
)
from baton.ports.agents.chat_model import TextDelta


def a_task(message: str, *, remote_task_id: str | None = None) -> AgentTask:
    """A separate task for ``message``."""
    return AgentTask(
        scope=Scope("acme", "ada"),
        thread_id=str(uuid.uuid4()),
        task_id=f"task-{uuid.uuid4()}",
        parent_task_id="run-1",
        message=message,
        remote_task_id=remote_task_id,
    )


def text_of(chunks: Sequence[AgentChunk]) -> str:
    """All text in ``chunks``."""
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


class Embassy(Protocol):
    """A client, an agent it can ask, and the means to direct that agent."""

    @property
    def client(self) -> AgentClient: ...

    @property
    def agent(self) -> AgentDefinition: ...

    def will_say(self, *words: str) -> str:
        """Set the agent's next answer, and return the message that it answers."""

    def will_ask(self, question: str) -> str: ...

    def will_fail(self, reason: str) -> str: ...

    def will_hand_back(self, report: AgentReport) -> str: ...

    def will_have_lost_the_task(self) -> str: ...

    def will_hang_after(self, *words: str) -> str: ...

    async def saw_a_stop(self) -> bool: ...

    def list_received(self) -> list[tuple[str, str, str | None]]:
        """Message id, text and remote task id of each message."""


class AgentClientContract:
    """The rules of agent clients. Subclasses give the fixture ``embassy``."""

    async def test_an_answer_is_text_and_then_its_end(self, embassy: Embassy) -> None:
        chunks = await consult(embassy, a_task(embassy.will_say("One ", "two.")))
        assert text_of(chunks) == "One two."
        assert chunks[-1] == AgentDone()
        assert all(isinstance(chunk, TextDelta | AgentProgress | AgentStarted) for chunk in chunks[:-1])
        assert "" not in [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]

    async def test_the_message_bears_the_id_of_the_task(self, embassy: Embassy) -> None:
        task = a_task(embassy.will_say("Yes."))
        await consult(embassy, task)
        assert embassy.list_received() == [(task.task_id, task.message, None)]

    async def test_an_agent_may_ask_back_and_be_answered(self, embassy: Embassy) -> None:
        first = a_task(embassy.will_ask("Which city?"))
        chunks = await consult(embassy, first)
        assert text_of(chunks) == "Which city?"
        end = chunks[-1]
        assert isinstance(end, AgentDone)
        assert end.remote_task_id is not None
        second = replace(first, task_id="second", message=embassy.will_say("Fine."), remote_task_id=end.remote_task_id)
        chunks = await consult(embassy, second)
        assert text_of(chunks) == "Fine."
        assert chunks[-1] == AgentDone()
        assert embassy.list_received()[-1] == ("second", second.message, end.remote_task_id)

    async def test_a_failure_shows_why(self, embassy: Embassy) -> None:
        with pytest.raises(AgentFailed) as failure:
            await consult(embassy, a_task(embassy.will_fail("no data today")))
        assert "no data today" in failure.value.reason

    async def test_an_agent_may_hand_the_conversation_back(self, embassy: Embassy) -> None:
        report = AgentReport("A table at eight.", "completed")
        chunks = await consult(embassy, a_task(embassy.will_hand_back(report)))
        assert text_of(chunks) == "Booked."
        assert chunks[-1] == AgentDone(report=report)

    async def test_a_task_that_the_agent_has_lost_is_distinguished_from_other_failures(self, embassy: Embassy) -> None:
        task = a_task(embassy.will_have_lost_the_task(), remote_task_id="no-such-task")
        with pytest.raises(TaskLost):
            await consult(embassy, task)

    async def test_closing_the_generator_stops_the_agent(self, embassy: Embassy) -> None:
        chunks = embassy.client.stream(embassy.agent, a_task(embassy.will_hang_after("One ")))
        async with aclosing(chunks):
            async for chunk in chunks:
                if chunk == TextDelta("One "):
                    break
        assert await embassy.saw_a_stop()

    async def test_cancelling_stops_the_agent(self, embassy: Embassy) -> None:
        has_begun = asyncio.Event()

        async def ask() -> None:
            async for chunk in embassy.client.stream(embassy.agent, a_task(embassy.will_hang_after("One "))):
                if chunk == TextDelta("One "):
                    has_begun.set()

        asking = asyncio.create_task(ask())
        await has_begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await embassy.saw_a_stop()

    async def test_an_agent_of_this_deployment_is_not_asked(self, embassy: Embassy) -> None:
        ours = AgentDefinition(id="ours", name="Ours", description="Ours.", system_prompt="You help.")
        with pytest.raises(AgentFailed):
            async for _ in embassy.client.stream(ours, a_task("Hello")):
                pass


async def consult(embassy: Embassy, task: AgentTask) -> list[AgentChunk]:
    """Return all chunks of the agent's answer."""
    return [chunk async for chunk in embassy.client.stream(embassy.agent, task)]
