"""The windows of several agents in one thread: each agent has its own, a specialist for its session."""

from __future__ import annotations

from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.threads.history_window import HistoryWindow
from baton.domain.threads.message import Role
from baton.domain.threads.queued import QueuedSummary
from tests.fakes.chat_model import Answer
from tests.harness.handoffs import MAKER, HandoffHarness
from tests.harness.harness import TODAY, Harness
from tests.harness.wiki import answer, run_until_interrupt, wiki, yes

ROOM = {"max_working_memory_tokens": 700}


class ThriftyHarness(HandoffHarness):
    """A harness whose agents have room for about ten exchanges."""

    def __init__(self, **handoff: Any) -> None:
        maker = AgentDefinition.model_validate({**MAKER.model_dump(), "memory": ROOM})
        super().__init__(maker=maker, **handoff)
        main = self.shipped_agents.definitions["assistant"]
        self.shipped_agents.definitions["assistant"] = AgentDefinition.model_validate(
            {**main.model_dump(), "memory": ROOM}
        )
        self.model.otherwise = Answer(("word " * 40,))

    async def talk(self, first: str, count: int) -> None:
        for number in range(count):
            await self.say(f"{first}{number}", f"{first} question {number}")

    @property
    def windows(self) -> tuple[HistoryWindow, ...]:
        return self.store.rows["acme", self.thread_id].thread.windows


@pytest.mark.parametrize("mode", ["summary", "recent", "full", "forked"])
async def test_a_specialist_has_a_window_of_its_own_until_it_hands_back(mode: str) -> None:
    harness = ThriftyHarness(context_mode=mode)
    await harness.talk("before", 15)
    (main,) = harness.windows
    assert main.first_ordinal > 0
    await harness.hand_over("trigger")
    await harness.talk("during", 20)
    assert main in harness.windows, "the main agent's prompts go on where they were"
    (own,) = (window for window in harness.windows if window != main)
    assert (own.agent_id, own.session.split(".")[0]) == ("maker", "30")
    assert own.first_ordinal > 0
    prompts = harness.model.requests[-1].prompts
    assert [str(prompt.content) for prompt in prompts if prompt.role is Role.USER][-2:] == [
        "during question 18",
        "during question 19",
    ]
    await harness.exit()
    assert harness.windows == (main,)
    await harness.talk("after", 1)
    visible = [str(prompt.content) for prompt in harness.model.requests[-1].prompts]
    assert visible[-1] == "after question 0"


async def test_a_second_session_of_a_specialist_begins_again() -> None:
    harness = ThriftyHarness(context_mode="forked")
    await harness.hand_over("trigger")
    await harness.talk("first", 20)
    await harness.exit()
    await harness.hand_over("trigger", message_id="again")
    await harness.talk("second", 2)
    questions = [str(prompt.content) for prompt in harness.model.requests[-1].prompts if prompt.role is Role.USER]
    assert questions[-3:] == ["Please make me a thing", "second question 0", "second question 1"]


@pytest.mark.parametrize(("mode", "is_secret"), [("summary", True), ("recent", True), ("full", False)])
async def test_a_specialists_summary_shows_only_what_it_may_see(mode: str, is_secret: bool) -> None:
    harness = ThriftyHarness(context_mode=mode, recent_messages=1)
    await harness.say("m0", "The password is swordfish.")
    await harness.talk("before", 12)
    await harness.hand_over("trigger")
    harness.queue.sent.clear()
    for number in range(20):
        await harness.say(f"during{number}", f"during question {number}")
        for _, message in list(harness.queue.sent):
            if isinstance(message, QueuedSummary) and message.due.agent_id == "maker":
                await harness.app.memory.history_summaries.write(message.scope, message.due)
        harness.queue.sent.clear()
    prompts = [str(request.prompts) for request in harness.model.requests]
    material = [text for text in prompts if "You keep the summary" in text]
    assert material
    assert any("during question 0" in entry for entry in material)
    assert any("swordfish" in entry or "before question" in entry for entry in material) is not is_secret


async def write_summaries(harness: ThriftyHarness, text: str) -> int:
    """Let a worker write the summaries that wait in the queue."""
    waiting = [message for _, message in harness.queue.sent if isinstance(message, QueuedSummary)]
    harness.queue.sent.clear()
    for message in waiting:
        harness.model.script(text)
        await harness.app.memory.history_summaries.write(message.scope, message.due)
    return len(waiting)


@pytest.mark.parametrize("mode", ["summary", "recent", "forked"])
async def test_the_main_agents_summary_is_not_shown_to_a_specialist(mode: str) -> None:
    harness = ThriftyHarness(context_mode=mode, recent_messages=1)
    for number in range(15):
        await harness.say(f"first{number}", f"first question {number}")
        if await write_summaries(harness, "The password is swordfish."):
            break
    await harness.talk("later", 15)
    (main,) = harness.windows
    assert main.summary_at is not None
    assert main.summary_at < main.first_ordinal, "the summary is read apart, because its message has left the history"
    assert "swordfish" in str(harness.model.requests[-1].prompts)
    await harness.hand_over("trigger")
    prompts = harness.model.requests[-1].prompts
    assert "Please make me a thing" in str(prompts)
    assert "swordfish" not in str(prompts)


async def test_a_second_session_does_not_get_the_summary_of_the_first() -> None:
    harness = ThriftyHarness(context_mode="recent", recent_messages=16)
    await harness.hand_over("trigger")
    harness.queue.sent.clear()
    for number in range(20):
        await harness.say(f"during{number}", f"during question {number}")
        if await write_summaries(harness, "The password is swordfish."):
            break
    await harness.talk("more", 2)
    assert "swordfish" in str(harness.model.requests[-1].prompts)
    await harness.exit()
    await harness.hand_over("trigger", message_id="again")
    await harness.talk("second", 6)
    assert all("swordfish" not in str(request.prompts) for request in harness.model.requests[-7:])


@pytest.mark.parametrize("mode", ["summary", "full", "forked"])
async def test_a_specialist_keeps_its_summary_after_a_stride_without_a_new_one(mode: str) -> None:
    harness = ThriftyHarness(context_mode=mode)
    await harness.hand_over("trigger")
    for number in range(20):
        await harness.say(f"first{number}", f"first question {number}")
        if await write_summaries(harness, "The user wants a lamp."):
            break
    await harness.talk("later", 15)
    own = next(window for window in harness.windows if window.agent_id == "maker")
    assert own.summary_at is not None
    assert own.summary_at < own.first_ordinal
    assert "The user wants a lamp." in str(harness.model.requests[-1].prompts)


async def test_an_approval_goes_on_with_the_prompt_that_asked() -> None:
    harness: Harness = wiki()
    for number in range(3):
        await harness.say(f"q{number}", f"Question {number}")
    (interrupt,) = await run_until_interrupt(harness)
    prompts = harness.model.requests[-1].prompts
    harness.model.script("Done.")
    await answer(harness, yes(interrupt))
    assert harness.model.requests[-1].prompts[: len(prompts)] == prompts


async def test_notes_that_change_stand_behind_the_history() -> None:
    harness = HandoffHarness()
    await harness.hand_over("trigger")
    await harness.say("m2", "A lamp.")
    first = harness.model.requests[-1].prompts
    await harness.say("m3", "A red one.")
    second = harness.model.requests[-1].prompts
    assert str(second[-3].content).startswith("Workflow: making.")
    assert str(second[-2].content) == TODAY[1]
    assert second[: len(first) - 3] == first[:-3], "all but the notes and the message stays where it is"
