"""An answer without words is asked for once more, wherever a model is asked."""

from __future__ import annotations

import json

import pytest

from baton import Agent, RunContext
from baton.agents.agent_loop import NO_WORDS
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_settings import ModelChoice
from baton.domain.errors import ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import FinishReason, ReasoningDelta, TextTakenBack
from tests.fakes.chat_model import Answer
from tests.harness.coded import make_coded_harness
from tests.harness.harness import ASSISTANT, LIBRARIAN, Harness, Turn
from tests.harness.structured import SCHEMA, WRITTEN

EMPTY = {
    "nothing": Answer(()),
    "thoughts": Answer((ReasoningDelta("I think."),)),
    "text that was thinking": Answer(("I think.", TextTakenBack())),
    "a limit that was spent on thoughts": Answer((), reason=FinishReason.LENGTH),
}


def answers(turn: Turn) -> list[str]:
    """The stored answers of a turn."""
    assert turn.finished is not None
    return [message.text for message in turn.finished.messages if message.role is Role.ASSISTANT]


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
async def test_the_user_sees_one_answer_and_both_calls_are_counted(empty: Answer) -> None:
    harness = Harness(assistant=ASSISTANT.model_copy(update={"model": ModelChoice(show_reasoning=True)}))
    harness.model.script(empty, "Hello.")
    turn = await harness.say()
    assert answers(turn) == ["Hello."]
    assert [turn.last["usage"][0][name] for name in ("inputTokens", "outputTokens")] == [20, 4]
    first, second = harness.model.requests
    assert second.prompts == (*first.prompts, second.prompts[-1])
    assert (second.prompts[-1].role, second.prompts[-1].content) == (Role.SYSTEM, NO_WORDS)
    stored = await harness.say("m2", "Again")
    assert stored.text == "Hello there."
    assert NO_WORDS not in str(harness.model.requests[-1].prompts)


async def test_a_second_empty_answer_is_an_error_and_the_question_may_be_repeated() -> None:
    harness = Harness()
    harness.model.script(Answer(()), Answer(()))
    turn = await harness.say()
    assert turn.types[-1] == "RUN_ERROR"
    assert len(harness.model.requests) == 2
    assert (await harness.say("m2", "Again")).text == "Hello there."


async def test_a_failure_is_no_empty_answer() -> None:
    harness = Harness()
    harness.model.script(ModelUnavailable())
    assert (await harness.say()).types[-1] == "RUN_ERROR"
    assert len(harness.model.requests) == 1


async def test_the_limit_of_model_calls_holds() -> None:
    harness = Harness(assistant=AgentDefinition.model_validate(ASSISTANT.model_dump() | {"limits": {"model_calls": 1}}))
    harness.model.script(Answer(()))
    assert (await harness.say()).types[-1] == "RUN_ERROR"
    assert len(harness.model.requests) == 1


async def test_a_consulted_agent_is_asked_again() -> None:
    asking = AgentDefinition.model_validate(ASSISTANT.model_dump() | {"sub_agents": ["books"]})
    books = LIBRARIAN.model_copy(update={"id": "books", "main": False, "required_permissions": ()})
    harness = Harness(assistant=asking, others=(books,))
    ask = ToolCall("c1", "ask_books", json.dumps({"message": "Which book?"}))
    harness.model.script(Answer.calling(ask), Answer(()), "Faust.", "It is Faust.")
    assert (await harness.say()).text == "It is Faust."
    assert harness.model.requests[-1].prompts[-1].content == "Faust."


async def test_an_agent_with_a_schema_is_asked_again() -> None:
    harness = Harness(assistant=ASSISTANT.model_copy(update={"answer_schema": SCHEMA}))
    harness.model.script(Answer(()), WRITTEN)
    assert (await harness.say()).text == WRITTEN
    assert len(harness.model.requests) == 2


async def test_a_coroutine_gets_the_second_answer() -> None:
    clerk = Agent("assistant", "Sell.", main=True)

    @clerk.run
    async def answer(context: RunContext) -> None:
        word = await context.model("Say a word.")
        await context.answer(f"Use the word {word}.")

    harness = make_coded_harness(clerk, answers=(Answer(()), "blue", Answer(()), "The sky is blue."))
    assert (await harness.say()).text == "The sky is blue."
    assert len(harness.model.requests) == 4
