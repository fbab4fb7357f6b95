"""Models give parts that go back and thinking besides text, and refuse prompts that are too long."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from itertools import pairwise
from typing import Any

import pytest

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import ContentFiltered, ContextTooLong, ModelUnavailable
from baton.domain.runs.provider_parts import MAX_PARTS_BYTES, ProviderParts, Replay
from baton.domain.threads.message import Role
from baton.memory.prompt.message_prompts import count_prompt_tokens
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, ReasoningDelta, TextTakenBack, ToolSpec
from baton.ports.documents.files import ThreadFiles
from tests.fakes.chat_model import Answer, ScriptedChatModel
from tests.harness.armed import CITY, arm_assistant, call
from tests.harness.harness import ASSISTANT, Harness


def parts(replay: Replay, *entries: dict[str, Any]) -> ProviderParts:
    result_parts = ProviderParts.of("chat:here/m", replay, entries or ({"fields": {"reasoning": "hm"}},))
    assert result_parts is not None
    return result_parts


def with_weather(assistant: AgentDefinition) -> Harness:
    harness = Harness(assistant=assistant)

    async def weather(city: str) -> str:
        return f"Sunny in {city}."

    harness.tools.add("weather", weather, parameters=CITY)
    return harness


def list_replayed_parts(harness: Harness, request: int) -> list[ProviderParts]:
    return [
        prompt.provider_parts for prompt in harness.model.requests[request].prompts if prompt.provider_parts is not None
    ]


# Parts


@pytest.mark.parametrize("replay", [Replay.TURN, Replay.ALWAYS])
async def test_parts_go_back_with_the_calls_that_they_came_with(replay: Replay) -> None:
    harness, signed = with_weather(arm_assistant()), parts(replay)
    harness.model.script(Answer.calling(call(city="Oslo"), parts=signed), "Sunny.")
    await harness.say()
    assert list_replayed_parts(harness, 1) == [signed]


async def test_later_turns_hold_only_the_parts_that_belong_to_every_prompt() -> None:
    harness = with_weather(arm_assistant())
    in_turn, always = parts(Replay.TURN), parts(Replay.ALWAYS, {"call": 0, "fields": {"signature": "x"}})
    harness.model.script(
        Answer.calling(call(city="Oslo"), parts=in_turn), Answer.calling(call(city="Rome"), parts=always), "Sunny."
    )
    await harness.say()
    await harness.say("m2")
    assert list_replayed_parts(harness, 2) == [in_turn, always]
    assert list_replayed_parts(harness, 3) == [always]


async def test_parts_survive_a_pause_for_an_approval_and_are_served_to_nobody() -> None:
    harness, signed = with_weather(arm_assistant()), parts(Replay.ALWAYS)
    harness.model.script(Answer.calling(call(city="Oslo"), parts=signed), "Sunny.")
    turn = await harness.say()
    stored = await harness.store.read_messages(
        harness.ada, await harness.store.get_thread(harness.ada, harness.thread_id), limit=50, before=None
    )
    assert [message.provider_parts for message in stored.messages if message.tool_calls] == [signed]
    for message in stored.messages:
        assert "reasoning" not in message.as_ag_ui().model_dump_json()
    assert "reasoning" not in str([event.body for event in turn.events])


def test_parts_are_bounded_all_or_none() -> None:
    entries = [{"fields": {"thinking": "x" * (MAX_PARTS_BYTES // 2)}}] * 3
    assert ProviderParts.of("o", Replay.TURN, entries) is None
    assert ProviderParts.of("o", Replay.TURN, entries[:1]) is not None
    assert ProviderParts.of("o", Replay.NEVER, entries[:1]) is None
    assert ProviderParts.of("o", Replay.TURN, [{"text": 5}, {"call": 0}]) is None


async def test_parts_count_in_the_budget_of_the_prompt() -> None:
    harness, large = Harness(), parts(Replay.ALWAYS, {"fields": {"thinking": "x" * 40_000}})
    harness.model.script(Answer(("One.",), parts=large))
    await harness.say()
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    assert thread.stored_tokens > large.tokens > 9_000
    prompt = Prompt(Role.ASSISTANT, "One.", provider_parts=large)
    assert count_prompt_tokens(prompt, harness.counter) > large.tokens


# The order of prompts within a turn


async def test_each_request_of_a_turn_begins_with_the_one_before_it() -> None:
    harness = with_weather(arm_assistant(model_calls=4))
    harness.model.script(
        *(Answer.calling(call(city=city), parts=parts(Replay.TURN)) for city in ("Oslo", "Rome", "Bonn")), "Sunny."
    )
    await harness.say()
    assert len(harness.model.requests) == 4
    for earlier, later in pairwise(harness.model.requests):
        assert later.prompts[: len(earlier.prompts)] == earlier.prompts
        assert later.tools == earlier.tools
    assert [request.settings.tool_choice for request in harness.model.requests] == [None, None, None, "none"]


async def test_a_forced_call_is_forced_once_a_turn() -> None:
    agent = arm_assistant().model_copy(update={"model": ASSISTANT.model.model_copy(update={"tool_choice": "required"})})
    harness = with_weather(agent)
    harness.model.script(Answer.calling(call(city="Oslo")), "Sunny.")
    await harness.say()
    assert [request.settings.tool_choice for request in harness.model.requests] == ["required", None]


# Thinking


async def test_visible_thinking_is_distinguished_from_the_answer() -> None:
    harness = Harness()
    harness.model.script(Answer((ReasoningDelta("The user "), ReasoningDelta("greets."), "Hello.")))
    turn = await harness.say()
    types = [event.type for event in turn.events if event.type.startswith(("REASONING", "TEXT"))]
    assert list(dict.fromkeys(types)) == [
        "REASONING_START",
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
    ]
    assert turn.text == "Hello."


async def test_thinking_is_asked_for_only_if_the_agent_shows_it() -> None:
    visible = ASSISTANT.model_copy(update={"model": ASSISTANT.model.model_copy(update={"show_reasoning": True})})
    for agent, request in ((ASSISTANT, False), (visible, True)):
        harness = Harness(assistant=agent)
        await harness.say()
        assert harness.model.requests[0].settings.shows_reasoning is request


async def test_thinking_that_an_error_interrupts_is_ended() -> None:
    harness = Harness()
    harness.model.script(Answer((ReasoningDelta("Hm."),), ModelUnavailable()))
    turn = await harness.say()
    assert [event.type for event in turn.events][-2:] == ["REASONING_END", "RUN_ERROR"]


async def test_text_that_was_thinking_is_taken_back_and_not_stored() -> None:
    harness = Harness()
    harness.model.script(Answer(("The user greets.", TextTakenBack(), "Hello.")))
    turn = await harness.say()
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    stored = await harness.store.read_messages(harness.ada, thread, limit=50, before=None)
    assert [message.text for message in stored.messages] == ["Hello", "Hello."]
    ends = [event.body["metadata"].get("takenBack", False) for event in turn.events if event.type == "TEXT_MESSAGE_END"]
    assert ends in ([False], [True, False])  # the text may not have been shown yet


# Prompts that are too long


class ShortSighted(ScriptedChatModel):
    """A model that reads a number of characters at once."""

    def __init__(self, characters: int) -> None:
        super().__init__(otherwise=Answer(("Fine.",)))
        self.characters = characters
        self.refused = 0

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        if sum(len(str(prompt.content)) for prompt in prompts) > self.characters:
            self.refused += 1
            raise ContextTooLong
        async for chunk in super().stream(settings, prompts, thread_files=thread_files, tools=tools):
            yield chunk


async def test_a_prompt_that_is_too_long_is_shortened_and_the_length_is_remembered() -> None:
    harness = Harness(model=ShortSighted(3_000))
    model = harness.model
    assert isinstance(model, ShortSighted)
    for number in range(12):
        turn = await harness.say(f"m{number}", content=f"{number} " + "many words " * 60)
        assert turn.text == "Fine.", number
    assert 1 <= model.refused <= 4
    refused = model.refused
    await harness.say("m-last", content="last " + "many words " * 60)
    assert model.refused == refused


async def test_a_message_that_is_too_long_by_itself_is_reported_as_such_and_ends_nothing() -> None:
    harness = Harness(model=ShortSighted(3_000))
    turn = await harness.say("m1", content="many words " * 2_000)
    assert turn.last["code"] == "context_too_long"
    assert "shorter" in turn.last["message"]
    assert (await harness.say("m2", content="Short.")).text == "Fine."


async def test_a_declared_context_length_bounds_prompts_from_the_first_one_on() -> None:
    harness = Harness()
    harness.context_lengths["test-model"] = 600
    for number in range(10):
        await harness.say(f"m{number}", content=f"{number} " + "many words " * 60)
    lengths = [
        sum(count_prompt_tokens(prompt, harness.counter) for prompt in request.prompts)
        for request in harness.model.requests
    ]
    assert max(lengths) <= 600
    assert lengths[-1] > 200


async def test_results_of_tools_are_shortened_before_a_turn_fails() -> None:
    harness = Harness(assistant=arm_assistant(), model=ShortSighted(4_000))

    async def weather(city: str) -> str:
        return f"Sunny in {city}. " * 600

    harness.tools.add("weather", weather, parameters=CITY)
    harness.model.script(Answer.calling(call(city="Oslo")), "Sunny.")
    assert (await harness.say()).text == "Sunny."


async def test_an_answer_that_was_shown_is_not_asked_for_again_with_a_shorter_prompt() -> None:
    harness = Harness()
    await harness.say("m1", content="many words " * 200)
    harness.model.script(Answer(("Half of it",), error=ContextTooLong()))
    turn = await harness.say("m2")
    assert (turn.text, turn.last["code"]) == ("Half of it", "context_too_long")
    assert len(harness.model.requests) == 2


async def test_an_answer_of_nothing_does_not_shorten_the_prompts_of_other_conversations() -> None:
    harness, silent = Harness(), ContextTooLong()
    silent.is_guess = True
    long = "many words " * 200
    await harness.say("m1", content=long)
    harness.model.script(silent, "Fine.")
    assert (await harness.say("m2", content="hi")).text == "Fine."
    assert questions(harness, 2) == ["hi"]
    for message_id, content in (("o1", long), ("o2", "Go on.")):
        await harness.say(message_id, content=content, thread_id="other")
    assert questions(harness, 4) == [long, "Go on."]


# Questions that failed


def questions(harness: Harness, request: int) -> list[str]:
    return [str(prompt.content) for prompt in harness.model.requests[request].prompts if prompt.role is Role.USER]


@pytest.mark.parametrize("error", [ModelUnavailable(), ContentFiltered()])
async def test_a_question_that_failed_is_readable_but_in_no_later_prompt(error: Any) -> None:
    harness = Harness()
    harness.model.script("One.", error, "Three.")
    await harness.say("m1", content="first")
    assert (await harness.say("m2", content="second")).last["code"] == error.code
    assert (await harness.say("m3", content="third")).text == "Three."
    assert questions(harness, 2) == ["first", "third"]
    thread = await harness.store.get_thread(harness.ada, harness.thread_id)
    stored = await harness.store.read_messages(harness.ada, thread, limit=50, before=None)
    assert [message.text for message in stored.messages] == ["first", "One.", "second", "third", "Three."]


async def test_a_thread_whose_first_question_failed_goes_on() -> None:
    harness = Harness()
    harness.model.script(ModelUnavailable())
    await harness.say("m1", content="first")
    for number in range(2, 8):
        assert (await harness.say(f"m{number}", content=f"{number}")).text == "Hello there."
    assert questions(harness, 6) == [str(number) for number in range(2, 8)]


async def test_an_answer_that_broke_off_stays_in_later_prompts() -> None:
    harness = Harness()
    harness.model.script(Answer(("Half an ",), ModelUnavailable()))
    await harness.say("m1", content="first")
    await harness.say("m2", content="second")
    assert questions(harness, 1) == ["first", "second"]


async def test_of_a_filtered_exchange_only_the_calls_stay() -> None:
    harness = with_weather(arm_assistant())
    harness.model.script(Answer.calling(call(city="Oslo"), text="Looking."), Answer(("Bad wo",), ContentFiltered()))
    await harness.say("m1", content="first")
    await harness.say("m2", content="second")
    request = harness.model.requests[2].prompts
    assert "first" not in str(request)
    assert "Bad wo" not in str(request)
    assert [len(prompt.tool_calls) for prompt in request if prompt.role is Role.ASSISTANT] == [1]
    assert "Sunny in Oslo." in str(request)
