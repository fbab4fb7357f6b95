"""Answers that never end: cut, kept, marked, sent again, and out of the way of what follows."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import MessageStatus, Role
from baton.memory.prompt.message_prompts import CUT_NOTE
from baton.ports.agents.agent_client import AgentDone
from baton.ports.agents.chat_model import (
    MAX_ANSWER_BYTES,
    FinishReason,
    ModelChunk,
    ModelSettings,
    Prompt,
    TextDelta,
    ToolSpec,
)
from baton.ports.documents.files import ThreadFiles
from baton_testing.fakes.agents.agent_client import Reply
from tests.e2e.ag_ui_rules import check_run
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.armed import arm_assistant
from tests.harness.handoffs import HandoffHarness, transfer
from tests.harness.harness import ASSISTANT, Harness, Turn
from tests.harness.relays import RelayHarness

PIECE = "word " * 2_000


@dataclass
class EndlessModel(ScriptedChatModel):
    """A model that says the same again and again, and never comes to an end."""

    characters: int = 0
    """Bytes that were taken of it."""

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        if self._script:
            async for chunk in super().stream(settings, prompts, thread_files=thread_files, tools=tools):
                yield chunk
            return
        for _ in range(100 * MAX_ANSWER_BYTES // len(PIECE)):
            self.characters += len(PIECE)
            yield TextDelta(PIECE)


@pytest.fixture
def model() -> EndlessModel:
    return EndlessModel()


def last_message(turn: Turn) -> Any:
    assert turn.finished is not None
    return turn.finished.messages[-1]


async def test_an_answer_without_end_is_cut_kept_and_marked(model: EndlessModel) -> None:
    harness = Harness(model=model)
    turn = await harness.say()

    check_run([event.body for event in turn.events])
    assert len(turn.text.encode()) == MAX_ANSWER_BYTES
    assert model.characters < MAX_ANSWER_BYTES + 2 * len(PIECE)
    assert last_message(turn).text == turn.text
    assert last_message(turn).status is MessageStatus.COMPLETE
    assert last_message(turn).make_metadata()["finishReason"] == "length"
    ends = {event.type: event.body.get("metadata", {}) for event in turn.events}
    assert ends["TEXT_MESSAGE_END"]["finishReason"] == "length"
    assert ends["RUN_FINISHED"]["finishReason"] == "length"
    assert turn.last["outcome"] == {"type": "success"}


async def test_a_repeated_message_learns_the_same_end(model: EndlessModel) -> None:
    harness = Harness(model=model)
    turn = await harness.say()
    again = await harness.say()
    assert again.text == turn.text
    assert again.last["metadata"]["finishReason"] == "length"
    harness.clock.advance(25 * 3600)
    short = await harness.say()
    assert short.last["metadata"]["finishReason"] == "length"


async def test_what_follows_a_cut_answer_stays_within_its_budget(model: EndlessModel) -> None:
    harness = Harness(model=model)
    await harness.say("m1")
    model.script("Shorter now.")
    turn = await harness.say("m2", "Shorter, please.")
    assert turn.text == "Shorter now."
    assert sum(len(str(prompt.content)) for prompt in model.requests[-1].prompts) < 10_000


async def test_the_model_learns_that_its_answer_was_cut() -> None:
    harness = Harness()
    harness.model.script(Answer(("Once upon a time",), reason=FinishReason.LENGTH), "there was.")
    turn = await harness.say("m1")
    assert last_message(turn).make_metadata()["finishReason"] == "length"
    await harness.say("m2", "Go on.")
    assert harness.model.requests[-1].contents[2] == ("assistant", f"Once upon a time\n{CUT_NOTE}")


async def test_a_whole_answer_is_not_marked() -> None:
    turn = await Harness().say()
    assert last_message(turn).make_metadata()["finishReason"] is None
    assert all("finishReason" not in event.body.get("metadata", {}) for event in turn.events)


async def test_arguments_count_as_part_of_the_answer() -> None:
    harness = Harness(assistant=arm_assistant())

    async def weather(city: str) -> str:
        return "Sunny."

    harness.tools.add("weather", weather, parameters={"type": "object"})
    half = ToolCall("call-1", "weather", json.dumps({"city": "x" * (MAX_ANSWER_BYTES // 2)}))
    more = ToolCall("call-2", "weather", json.dumps({"city": "y" * (MAX_ANSWER_BYTES // 2)}))
    harness.model.script(Answer.calling(half, text="Let me see."), Answer.calling(more, text="And once more."))
    turn = await harness.say()
    assert [event.type for event in turn.events].count("TOOL_CALL_RESULT") == 1
    assert turn.text == "Let me see.And once more."
    assert last_message(turn).make_metadata()["finishReason"] == "length"
    assert not last_message(turn).tool_calls
    assert len(harness.model.requests) == 2


async def test_a_sub_agents_answer_without_end_is_cut(model: EndlessModel) -> None:
    expert = AgentDefinition(id="expert", name="Expert", description="Knows.", system_prompt="Know.")
    assistant = ASSISTANT.model_copy(update={"sub_agents": ("expert",)})
    harness = Harness(model=model, assistant=assistant, others=(expert,))
    asking = Answer.calling(ToolCall("call-1", "ask_expert", json.dumps({"message": "Tell me everything."})))
    model.script(asking)
    turn = await harness.say()
    [task], _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=9, cursor=None)
    assert task.result is not None
    assert task.result.endswith(CUT_NOTE)
    assert len(task.result) < MAX_ANSWER_BYTES + 200
    assert 0 < len(turn.text) <= MAX_ANSWER_BYTES


async def test_a_remote_agents_answer_without_end_is_cut() -> None:
    agent = AgentDefinition.model_validate(
        {"id": "expert", "name": "Expert", "description": "Knows.", "remote": {"card_url": "https://a.example.com"}}
    )
    harness = Harness(assistant=ASSISTANT.model_copy(update={"sub_agents": ("expert",)}), others=(agent,))
    harness.model.script(Answer.calling(ToolCall("call-1", "ask_expert", json.dumps({"message": "Everything."}))))
    harness.agent_client.script("expert", Reply((PIECE,) * 1_000))
    await harness.say()
    [task], _ = await harness.records.list_tasks(harness.ada, harness.thread_id, limit=9, cursor=None)
    assert task.result is not None
    assert task.result.endswith(CUT_NOTE)
    assert len(task.result) < MAX_ANSWER_BYTES + 200
    assert len(harness.agent_client.stopped) == 1


async def test_a_specialist_elsewhere_is_cut_kept_and_asked_to_stop() -> None:
    harness = RelayHarness()
    harness.agent_client.script("booker", Reply((PIECE,) * 1_000, end=AgentDone("remote-1")))
    turn = await harness.say()
    record = [message for message in await harness.messages() if message.role is Role.ASSISTANT][-1]
    assert len(record.text.encode()) == MAX_ANSWER_BYTES
    assert record.make_metadata()["finishReason"] == "length"
    assert turn.last["metadata"]["finishReason"] == "length"
    assert len(harness.agent_client.stopped) == 1


async def test_what_is_said_in_a_fork_is_cut_and_marked_in_both(model: EndlessModel) -> None:
    harness = HandoffHarness(transfer("helper", context_summary="All of it."), context_mode="forked")
    harness.model.script(Answer((PIECE,) * 200))
    turn = await harness.say()
    assert last_message(turn).source == "specialist"
    assert last_message(turn).make_metadata()["finishReason"] == "length"
    assert len(last_message(turn).text.encode()) == MAX_ANSWER_BYTES
