"""Signs of life while others work: for the user, and for proxies that close silent connections."""

from __future__ import annotations

import asyncio
import itertools

from ag_ui.core import BaseEvent

from baton.agents.calls.progress import ProgressIndicator
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.tool_call import ToolCall
from baton_testing.fakes.agents.agent_client import Reply
from tests.fakes.chat_model import Answer
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.timed import in_virtual_time

EXPERT = AgentDefinition(id="expert", name="Expert", description="Knows.", system_prompt="Answer.")


def watch_progress(seconds: float) -> list[tuple[float, BaseEvent]]:
    """The notices for a user while one agent works for so long, with the second of each."""
    visible: list[tuple[float, BaseEvent]] = []

    async def wait() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with ProgressIndicator(
            "a1", ASSISTANT, [EXPERT], lambda event: visible.append((loop.time() - began, event))
        ) as indicator:
            await asyncio.sleep(seconds)
            indicator.show_end("expert", TaskStatus.COMPLETED)

    in_virtual_time(wait)
    return visible


def test_the_user_hears_something_at_least_every_ten_seconds() -> None:
    times = [at for at, _ in watch_progress(95)]
    assert max(later - earlier for earlier, later in itertools.pairwise(times)) <= 10


def test_after_thirty_seconds_the_user_learns_once_that_it_takes_longer() -> None:
    notices = [
        (at, operation["value"])
        for at, event in watch_progress(95)
        for operation in event.model_dump(by_alias=True).get("patch", [])
        if operation["path"] == "/notice"
    ]
    assert notices == [(30.0, "This is taking longer than expected. I'll let you know when I have results...")]


def test_nobody_sees_a_notice_when_it_is_quick() -> None:
    assert [event.type.value for _, event in watch_progress(3)] == ["ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"]


def test_a_silent_model_shows_as_heartbeats_outside_the_sequence() -> None:
    gate = asyncio.Event()

    async def talk() -> None:
        harness = Harness()
        harness.model.script(Answer(("At last.",), gate=gate, gate_at=0))
        asyncio.get_running_loop().call_later(35, gate.set)
        turn = await harness.say(seconds=120)
        beats = [event for event in turn.events if event.body.get("name") == "heartbeat"]
        assert len(beats) == 3
        assert all(event.seq is None for event in beats)

    in_virtual_time(talk)


def test_a_consulted_agent_that_is_slow_shows_as_research_and_its_answer_is_used() -> None:
    gate = asyncio.Event()

    async def talk() -> None:
        remote = EXPERT.model_dump() | {"system_prompt": "", "remote": {"card_url": "https://agents.example.com"}}
        asking = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"sub_agents": ["expert"]})
        harness = Harness(assistant=asking, others=(AgentDefinition.model_validate(remote),))
        harness.agent_client.script("expert", Reply(("Late.",), gate=gate, gate_at=0))
        harness.model.script(Answer.calling(ToolCall("c1", "ask_expert", '{"message": "Well?"}')), "Done.")
        asyncio.get_running_loop().call_later(45, gate.set)
        turn = await harness.say(seconds=120)
        assert turn.text == "Done."
        assert turn.types.count("ACTIVITY_DELTA") >= 5
        assert "CUSTOM" not in turn.types, "no heartbeat is needed beside them"

    in_virtual_time(talk)
