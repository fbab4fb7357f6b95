"""Thinking and other opaque parts of answers: shown if asked, sent back where they are wanted, and to nobody else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import FinishReason, Prompt, ToolSpec
from tests.models.endpoints import CHAT, CONVERSE, RESPONSES_HOSTS, Endpoint, adapter, parametrise
from tests.models.standins import Fault, StandIns
from tests.models.talking import ADD, TOOLS, Talk

CALLS = 'think and use the tool add with {"x": 1}'
PLAIN = Endpoint("plain", "http://models.internal/v1", "some-model")


def chat(name: str) -> Endpoint:
    """Return a dialect of Chat Completions."""
    return next((dialect for dialect in CHAT if dialect.name == name), Endpoint(name, PLAIN.address, PLAIN.model))


GPT, DEEPSEEK, GEMINI, GROQ = RESPONSES_HOSTS[0], chat("deepseek"), chat("gemini"), chat("groq")
CLAUDE, OLD_CLAUDE, NOVA = CONVERSE[0], CONVERSE[2], CONVERSE[3]
OPENROUTER, MISTRAL = chat("openrouter"), chat("mistral")
HANDOFFS = [
    (CLAUDE, GPT),
    (GPT, CLAUDE),
    (DEEPSEEK, GROQ),
    (GEMINI, GPT),
    (GPT, GEMINI),
    (CLAUDE, NOVA),
    (CLAUDE, OLD_CLAUDE),
    (OPENROUTER, CLAUDE),
    (MISTRAL, DEEPSEEK),
    (GROQ, MISTRAL),
    (DEEPSEEK, GEMINI),
    (GPT, RESPONSES_HOSTS[3]),
]


@pytest.mark.parametrize(
    ("first", "second"), HANDOFFS, ids=[f"{first.name}-{second.name}" for first, second in HANDOFFS]
)
async def test_a_conversation_goes_from_one_model_to_another_and_back(
    stand_ins: StandIns, first: Endpoint, second: Endpoint
) -> None:
    async with adapter(stand_ins, first) as first_model, adapter(stand_ins, second) as second_model:
        talk = Talk(first_model, first)
        for model, endpoint in (
            (first_model, first),
            (second_model, second),
            (first_model, first),
            (second_model, second),
        ):
            talk.model = model
            talk.settings = Talk(model, endpoint).settings
            assert "add done" in await talk.say(f"{CALLS} 2 times")
    bodies = [str(refusal.refusal.body) for refusal in stand_ins.journal.refused if refusal.refusal]
    assert [body for body in bodies if "tool_use_failed" not in body] == []


async def test_a_turn_that_one_model_began_is_ended_by_another(stand_ins: StandIns) -> None:
    for first in (CLAUDE, GPT, DEEPSEEK, GEMINI, OPENROUTER):
        for second in (CLAUDE, GPT, DEEPSEEK, GEMINI, GROQ, NOVA, MISTRAL):
            async with adapter(stand_ins, first) as first_model, adapter(stand_ins, second) as second_model:
                talk = Talk(first_model, first)
                talk.prompts.append(Prompt(Role.USER, CALLS))
                answer = await talk.ask()
                parts = answer.end.provider_parts
                talk.prompts.append(Prompt(Role.ASSISTANT, "", tool_calls=tuple(answer.calls), provider_parts=parts))
                talk.prompts.append(Prompt(Role.TOOL, "add done", tool_call_id=answer.calls[0].id))
                talk.model, talk.settings = second_model, Talk(second_model, second).settings
                await talk.ask()
    assert stand_ins.journal.refused == []


SHOWING = [
    *(chat(name) for name in ("deepseek", "mistral", "openrouter", "qwen-vllm", "qwen-vllm-no-parser", "ollama")),
    *(chat(name) for name in ("llama-cpp", "together", "think-tags", "list-content", "litellm")),
    GPT,
    CLAUDE,
    OLD_CLAUDE,
]


@pytest.mark.parametrize("visible", [True, False])
@pytest.mark.parametrize(**parametrise(tuple(SHOWING)))
async def test_thinking_is_no_part_of_the_answer_and_shown_only_if_asked_for(
    stand_ins: StandIns, endpoint: Endpoint, *, visible: bool
) -> None:
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint, shows_reasoning=visible)
        answer = await talk.say("think hard")
        assert answer.endswith("think hard")
        assert answer.startswith("You said")
        assert talk.last is not None
        assert ("think hard" in talk.last.thinking) is visible


@pytest.mark.parametrize(**parametrise((CLAUDE, GPT)))
async def test_thinking_of_an_earlier_turn_is_sent_to_models_that_bind_it_no_more(
    stand_ins: StandIns, endpoint: Endpoint
) -> None:
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint)
        await talk.say(f"{CALLS} 2 times")
        talk.prompts[1] = Prompt(Role.SYSTEM, "Today is Friday.")  # each turn says it again
        await talk.say("Hello")
    sent = [json.dumps(request.body) for request in stand_ins.journal.requests]
    kind = '"reasoningContent"' if endpoint is CLAUDE else '"type": "reasoning"'
    assert [body.count(kind) for body in sent] == [0, 1, 2, 0]
    assert stand_ins.journal.refused == []


async def test_redacted_thinking_survives_storage(stand_ins: StandIns) -> None:
    async with adapter(stand_ins, CLAUDE) as model:
        talk = Talk(model, CLAUDE)
        talk.prompts.append(Prompt(Role.USER, 'think secretly and use the tool add with {"x": 1}'))
        answer = await talk.ask()
        parts = answer.end.provider_parts
        assert parts is not None
        stored: list[dict[str, Any]] = json.loads(json.dumps(parts.parts))
        stored_value = ProviderParts(parts.origin, parts.replay, tuple(stored))
        talk.prompts.append(Prompt(Role.ASSISTANT, "", tool_calls=tuple(answer.calls), provider_parts=stored_value))
        talk.prompts.append(Prompt(Role.TOOL, "add done", tool_call_id=answer.calls[0].id))
        await talk.ask()
    assert "redactedContent" in json.dumps(stand_ins.journal.requests[-1].body)
    assert stand_ins.journal.refused == []


@pytest.mark.parametrize("name", ["no-ids", "zero-index", "reused-ids", "gemini", "together", "ollama"])
async def test_calls_without_index_or_ids_stay_apart(stand_ins: StandIns, name: str) -> None:
    endpoint = chat(name)
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint)
        talk.prompts.append(Prompt(Role.USER, 'use add and note in parallel with {"x": 1}'))
        answer = await talk.ask()
    assert [(call.name, json.loads(call.arguments)) for call in answer.calls] == [("add", {"x": 1}), ("note", {"x": 1})]
    assert answer.end.reason is FinishReason.TOOL_CALLS
    assert len({call.id for call in answer.calls}) == 2


@pytest.mark.parametrize("words", ["no", "null"])
@pytest.mark.parametrize(**parametrise((PLAIN, chat("no-ids"), chat("gemini"), GPT)))
async def test_a_call_without_arguments_has_an_empty_object(
    stand_ins: StandIns, endpoint: Endpoint, words: str
) -> None:
    now = ToolSpec("now", "Tells the time.", {"type": "object"})
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint)
        talk.prompts.append(Prompt(Role.USER, f"use the tool now with {words} arguments"))
        [call] = (await talk.ask(tools=(now,))).calls
        assert call.parse_arguments() == {}
        await talk.say(f"use the tool now with {words} arguments", tools=(now,))


@pytest.mark.parametrize(**parametrise((PLAIN, GPT, CLAUDE, NOVA, MISTRAL, GEMINI)))
async def test_a_call_with_malformed_arguments_can_be_answered(stand_ins: StandIns, endpoint: Endpoint) -> None:
    async with adapter(stand_ins, endpoint) as model:
        answer = await Talk(model, endpoint).say("use the tool add with malformed arguments", tools=(ADD,))
    assert "add done" in answer
    assert stand_ins.journal.refused == []


async def test_an_answer_without_a_reason_to_stop_is_an_answer_at_its_end_mark(stand_ins: StandIns) -> None:
    endpoint = Endpoint("ollama-no-finish", "http://localhost:11434/v1", "qwen3.5:8b")
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint)
        assert "add done" in await talk.say('use the tool add with {"x": 1}')


@pytest.mark.parametrize("name", ["gemini", "openrouter", "qwen-vllm"])
async def test_signatures_of_another_route_cost_one_refusal(stand_ins: StandIns, name: str) -> None:
    words = {
        "gemini": [{"error": {"code": 400, "message": "Corrupted thought signature.", "status": "INVALID_ARGUMENT"}}],
        "openrouter": {"error": {"code": 400, "message": "Invalid `signature` in `thinking` block"}},
        "qwen-vllm": {"error": {"code": 400, "message": "Unexpected reasoning content", "type": "BadRequestError"}},
    }
    endpoint = chat(name)
    async with adapter(stand_ins, endpoint) as model:
        talk = Talk(model, endpoint)
        talk.prompts.append(Prompt(Role.USER, CALLS))
        answer = await talk.ask()
        parts = answer.end.provider_parts
        assert parts is not None
        talk.prompts.append(Prompt(Role.ASSISTANT, "", tool_calls=tuple(answer.calls), provider_parts=parts))
        talk.prompts.append(Prompt(Role.TOOL, "add done", tool_call_id=answer.calls[0].id))
        stand_ins.chat.forget()
        stand_ins.journal.fail(Fault(status=400, body=words[name]))
        await talk.ask(TOOLS)
    assert len(stand_ins.journal.requests) == 3
