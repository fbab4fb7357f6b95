"""The adapter understands each endpoint's words for too much, for filters and for settings."""

from __future__ import annotations

import pytest

from baton.domain.errors import ContentFiltered, ContextTooLong
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import FinishReason, Prompt, TextDelta
from tests.models.endpoints import (
    ADAPTERS,
    CHAT,
    CONVERSE,
    GATEWAYS,
    KNOWN,
    RESPONSES_HOSTS,
    UNKNOWN,
    Endpoint,
    adapter,
    parametrise,
)
from tests.models.standins import StandIns
from tests.models.talking import Talk

SMALL = 3000
"""Tokens of a context."""
OVERFLOWING = (
    *(endpoint for endpoint in CHAT if endpoint.name != "ollama"),
    *(Endpoint(name, UNKNOWN, "some-model") for name in ("llama-cpp-500", "lm-studio-200", "lm-studio-empty", "xai")),
    *GATEWAYS,
    *RESPONSES_HOSTS,
    *CONVERSE,
)


def narrow(stand_ins: StandIns, endpoint: Endpoint) -> None:
    """Give the endpoint a small context."""
    for item in (stand_ins.chat, stand_ins.responses, stand_ins.bedrock):
        item.contexts[endpoint.name] = SMALL


@pytest.mark.parametrize(**parametrise(OVERFLOWING))
async def test_a_prompt_that_is_too_long_is_reported_as_such_in_any_words(
    stand_ins: StandIns, endpoint: Endpoint
) -> None:
    narrow(stand_ins, endpoint)
    async with adapter(stand_ins, endpoint) as model:
        with pytest.raises(ContextTooLong):
            await Talk(model, endpoint).say("word " * 8000)
        assert (await Talk(model, endpoint).say("Hello")).endswith("Hello")


FILTERING = (*(endpoint for endpoint in CHAT if endpoint.name != "gemma"), *RESPONSES_HOSTS, *CONVERSE)


@pytest.mark.parametrize("text", ["filter this", "filter this late"])
@pytest.mark.parametrize(**parametrise(FILTERING))
async def test_a_filtered_question_or_answer_is_reported_as_such(
    stand_ins: StandIns, endpoint: Endpoint, text: str
) -> None:
    async with adapter(stand_ins, endpoint) as model:
        with pytest.raises(ContentFiltered):
            await Talk(model, endpoint).say(text)
    assert len(stand_ins.journal.requests) == 1


async def test_what_a_guardrail_says_is_no_answer(stand_ins: StandIns) -> None:
    from baton.adapters.models.bedrock.request import BedrockGuardrail

    async with adapter(stand_ins, CONVERSE[3], guardrail=BedrockGuardrail("abc1", "1")) as model:
        talk = Talk(model, CONVERSE[3])
        talk.prompts.append(Prompt(Role.USER, "filter this"))
        chunks = []
        with pytest.raises(ContentFiltered):
            chunks += [chunk async for chunk in model.stream(talk.settings, talk.prompts, thread_files=talk.files)]
        assert not any(isinstance(chunk, TextDelta) for chunk in chunks)


@pytest.mark.parametrize(**parametrise((ADAPTERS[0], *RESPONSES_HOSTS)))
async def test_a_model_that_declines_is_reported_as_filtered(stand_ins: StandIns, endpoint: Endpoint) -> None:
    async with adapter(stand_ins, endpoint) as model:
        with pytest.raises(ContentFiltered):
            await Talk(model, endpoint).say("refuse this")


THINKING = (RESPONSES_HOSTS[0], CONVERSE[0], CONVERSE[1], CONVERSE[6])
"""Models that take no temperature."""


@pytest.mark.parametrize(**parametrise(THINKING))
async def test_settings_that_a_model_does_not_take_are_left_out_and_named(
    stand_ins: StandIns, endpoint: Endpoint
) -> None:
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint, temperature=0.2, top_p=0.5)
        await talk.say("Hello")
        assert talk.last is not None
        assert {"temperature", "top_p"} <= set(talk.last.end.dropped)
    assert stand_ins.journal.refused == []


@pytest.mark.parametrize("name", ["openai-gpt5", "openai-o", "no-temperature", "litellm"])
async def test_a_refused_temperature_is_learned_by_one_refusal_and_named(stand_ins: StandIns, name: str) -> None:
    endpoint = Endpoint(name, UNKNOWN, "some-model")
    async with adapter(stand_ins, endpoint) as model:
        for _ in range(2):
            talk = Talk(model, endpoint, temperature=0.2)
            await talk.say("Hello")
            assert talk.last is not None
            assert "temperature" in talk.last.end.dropped
        assert "temperature" in model.list_learned_facts("some-model")["dropped"]
    assert len(stand_ins.journal.refused) == 1


@pytest.mark.parametrize(**parametrise(KNOWN))
async def test_a_limit_is_sent_in_a_field_that_is_taken_and_cuts_the_answer(
    stand_ins: StandIns, endpoint: Endpoint
) -> None:
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint, max_output_tokens=20)
        talk.prompts.append(Prompt(Role.USER, "say 9000 words"))
        answer = await talk.ask(tools=())
    assert stand_ins.journal.refused == []
    assert answer.end.reason is FinishReason.LENGTH
    assert 0 < len(answer.text) < 40_000


@pytest.mark.parametrize("effort", ["minimal", "none", "low", "max"])
@pytest.mark.parametrize(**parametrise((*RESPONSES_HOSTS, *CONVERSE)))
async def test_an_effort_that_a_model_does_not_know_ends_no_conversation(
    stand_ins: StandIns, endpoint: Endpoint, effort: str
) -> None:
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint, reasoning_effort=effort)
        assert "add done" in await talk.say('use the tool add with {"x": 1}')
    assert len(stand_ins.journal.refused) <= 1
