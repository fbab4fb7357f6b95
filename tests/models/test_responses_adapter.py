"""The adapter of the Responses API against stand-ins that refuse what the real endpoints refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton.adapters.models.profiles.profile import Api
from baton.domain.errors import ContentFiltered, ContextTooLong, ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from tests.fakes.thread_files import MemoryThreadFiles
from tests.models.rerouting import Rerouted
from tests.models.standins import Fault, StandIns

ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "openai-astra": "https://api.openai.com/v1",
    "azure": "https://acme.openai.azure.com/openai/v1",
    "mantle": "https://bedrock-mantle.eu-west-1.api.aws/openai/v1",
    "xai": "https://api.x.ai/v1",
}
MODELS = {
    "openai": "gpt-6-sol",
    "openai-astra": "gpt-6-astra",
    "azure": "gpt-6-sol",
    "mantle": "openai.gpt-6-sol",
    "xai": "grok-4.6",
}
HOSTS = list(ADDRESSES)
X = {"type": "object", "properties": {"x": {"type": "integer"}}}
TOOLS = [
    ToolSpec("add", "Adds.", X),
    ToolSpec("now", "Tells the time.", {"type": "object"}),
    ToolSpec("note", "Notes.", X | {"required": ["x"], "additionalProperties": False}),
]
Make = Callable[..., OpenAIChatModel]


@pytest.fixture
async def make(stand_ins: StandIns) -> AsyncIterator[Make]:
    """Makes clients of real addresses, which the stand-ins of these names answer."""
    models: list[OpenAIChatModel] = []

    def of(host: str, address: str | None = None, chat: str = "plain", **options: Any) -> OpenAIChatModel:
        transport = Rerouted(stand_ins, {"/responses": host, "/chat/completions": chat})
        base_url = address or ADDRESSES[host]
        models.append(
            OpenAIChatModel(api_key="a-key", base_url=base_url, backoff_seconds=0.0, transport=transport, **options)
        )
        return models[-1]

    yield of
    for model in models:
        await model.aclose()


class Talk:
    """A conversation that carries calls out, as Baton does, with its own ids."""

    def __init__(self, client: OpenAIChatModel, model: str, **fields: Any) -> None:
        self.client = client
        self.settings = ModelSettings(model=model, timeout_seconds=10.0, **fields)
        self.prompts: list[Prompt] = [Prompt(Role.SYSTEM, "Be kind.", ends_prefix=True)]
        self.rounds = 0

    async def say(self, text: str, tools: Sequence[ToolSpec] = TOOLS) -> str:
        """Say something, answer the calls, and return the last answer."""
        self.prompts += [Prompt(Role.SYSTEM, "Today is Thursday."), Prompt(Role.USER, text)]
        while True:
            chunks = await self.ask(tools)
            calls = [chunk for chunk in chunks if isinstance(chunk, ToolCall)]
            calls = [replace(call, id=f"ours_{len(self.prompts)}_{at}") for at, call in enumerate(calls)]
            full_text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
            end = chunks[-1]
            assert isinstance(end, Finished)
            parts = end.provider_parts
            self.prompts.append(Prompt(Role.ASSISTANT, full_text, tool_calls=tuple(calls), provider_parts=parts))
            self.prompts += [Prompt(Role.TOOL, f"{call.name} done", tool_call_id=call.id) for call in calls]
            if not calls:
                return full_text

    async def ask(self, tools: Sequence[ToolSpec] = TOOLS) -> list[ModelChunk]:
        self.rounds += 1
        stream = self.client.stream(self.settings, self.prompts, thread_files=MemoryThreadFiles(), tools=tools)
        return [chunk async for chunk in stream]


def reasoning_sent(stand_ins: StandIns) -> list[int]:
    """Return how many reasoning items each request had."""
    return [
        sum(item.get("type") == "reasoning" for item in request.body.get("input", ()))
        for request in stand_ins.journal.requests
    ]


@pytest.mark.parametrize("host", HOSTS)
async def test_a_conversation_of_twenty_turns_with_tools_is_never_refused(
    make: Make, stand_ins: StandIns, host: str
) -> None:
    talk = Talk(make(host), MODELS[host], max_output_tokens=200, shows_reasoning=True, cache_key="thread")
    for turn in range(5):
        assert await talk.say("Hello") == "You said: Hello"
        assert await talk.say('think and use the tool add with {"x": 1} 3 times') == (
            "The tools say: add done | add done | add done"
        )
        assert await talk.say('think and use add and note in parallel with {"x": 1}') == (
            "The tools say: add done | note done"
        )
        assert (await talk.say(f"think of {turn}")).startswith("You said")
    assert stand_ins.journal.refused == []
    assert reasoning_sent(stand_ins)[:8] == [0, 0, 1, 2, 3, 0, 1, 0]


async def test_the_last_round_forbids_calls_and_keeps_the_tools(make: Make, stand_ins: StandIns) -> None:
    talk = Talk(make("openai"), "gpt-6-sol")
    await talk.say('think and use the tool add with {"x": 1}')
    talk.prompts = talk.prompts[:-1]
    talk.settings = replace(talk.settings, tool_choice="none")
    talk.prompts.append(Prompt(Role.SYSTEM, "Answer now."))
    chunks = await talk.ask()
    assert not any(isinstance(chunk, ToolCall) for chunk in chunks)
    assert len(stand_ins.journal.requests[-1].body["tools"]) == len(TOOLS)
    assert stand_ins.journal.refused == []


async def test_a_conversation_goes_on_at_another_host(make: Make, stand_ins: StandIns) -> None:
    talk = Talk(make("openai"), "gpt-6-sol")
    await talk.say('think and use the tool add with {"x": 1}')
    talk.client, talk.settings = make("mantle"), replace(talk.settings, model="openai.gpt-6-sol")
    await talk.say("think and use the tool now")
    assert stand_ins.journal.refused == []


async def test_a_route_that_changes_behind_an_address_costs_one_refusal(make: Make, stand_ins: StandIns) -> None:
    talk = Talk(make("azure", ADDRESSES["openai"]), "gpt-6-sol")
    talk.prompts.append(Prompt(Role.USER, 'think and use the tool add with {"x": 1}'))
    chunks = await talk.ask()
    [call] = [chunk for chunk in chunks if isinstance(chunk, ToolCall)]
    end = chunks[-1]
    assert isinstance(end, Finished)
    talk.prompts.append(Prompt(Role.ASSISTANT, "", tool_calls=(call,), provider_parts=end.provider_parts))
    talk.prompts.append(Prompt(Role.TOOL, "done", tool_call_id=call.id))
    talk.client = make("openai")
    await talk.ask()
    [refused] = stand_ins.journal.refused
    assert refused.refusal is not None
    assert refused.refusal.body["error"]["code"] == "invalid_encrypted_content"
    assert reasoning_sent(stand_ins) == [0, 1, 0]


@pytest.mark.parametrize(("chat", "model"), [("openai-gpt6", "gpt-5.6-sol"), ("openai-gpt6-astra", "gpt-6-astra")])
async def test_a_model_behind_an_unknown_address_is_switched_to_responses_once(
    make: Make, stand_ins: StandIns, chat: str, model: str
) -> None:
    talk = Talk(make("openai", "https://gateway.test/v1", chat), model, temperature=0.5)
    for _ in range(3):
        assert await talk.say('think and use the tool add with {"x": 1}') == "The tools say: add done"
    assert len(stand_ins.journal.refused) == 1


async def test_a_deployment_with_any_name_learns_the_api_and_the_fields(make: Make, stand_ins: StandIns) -> None:
    address = ADDRESSES["azure"]
    talk = Talk(make("azure", address, "openai-gpt6"), "production", temperature=0.5, reasoning_effort="low")
    for _ in range(3):
        assert await talk.say('use the tool add with {"x": 1}') == "The tools say: add done"
    codes = [refusal.refusal.body["error"]["param"] for refusal in stand_ins.journal.refused if refusal.refusal]
    assert sorted(codes) == ["reasoning_effort", "temperature"]


async def test_an_endpoint_without_responses_is_asked_over_chat_completions(make: Make, stand_ins: StandIns) -> None:
    profiles = {"*": {"api": Api.RESPONSES}}
    talk = Talk(make("nowhere", "https://gateway.test/v1", "plain", profiles=profiles), "some-model")
    for _ in range(2):
        assert await talk.say('use the tool add with {"x": 1}') == "The tools say: add done"
    assert len(stand_ins.journal.refused) == 1


async def test_a_model_that_does_not_think_is_asked_without_effort(make: Make, stand_ins: StandIns) -> None:
    profiles = {"*": {"api": Api.RESPONSES}}
    talk = Talk(make("openai-gpt4", ADDRESSES["openai"], profiles=profiles), "gpt-4.1", reasoning_effort="low")
    await talk.say("use the tool now")
    assert stand_ins.journal.refused == []


@pytest.mark.parametrize("further", [{"additionalProperties": False}, {}])
async def test_a_structured_answer_fits_its_schema(make: Make, stand_ins: StandIns, further: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    talk = Talk(make("openai"), "gpt-6-sol", answer_schema=schema | further)
    assert await talk.say("Hello", tools=()) == '{"word": "Hello"}'
    assert stand_ins.journal.refused == []


async def test_short_answers_are_not_used_up_by_thinking(make: Make, stand_ins: StandIns) -> None:
    talk = Talk(make("openai"), "gpt-6-sol", max_output_tokens=20)
    assert await talk.say("think, and say 30 words") != ""
    assert stand_ins.journal.requests[0].body["max_output_tokens"] == 4_020


@pytest.mark.parametrize("text", ["filter this", "filter this late", "refuse this"])
@pytest.mark.parametrize("host", ["openai", "azure"])
async def test_filters_and_refusals_are_reported_as_such(make: Make, stand_ins: StandIns, host: str, text: str) -> None:
    with pytest.raises(ContentFiltered):
        await Talk(make(host), MODELS[host]).say(text)
    assert len(stand_ins.journal.requests) == 1


async def test_a_conversation_that_is_too_long_is_an_overflow(make: Make, stand_ins: StandIns) -> None:
    stand_ins.responses.contexts["openai"] = 500
    with pytest.raises(ContextTooLong):
        await Talk(make("openai"), "gpt-6-sol").say("word " * 2_000)


FAULTS = [
    Fault(status=503, body={"error": {"message": "Overloaded"}}),
    Fault(then="drop", after=2),
    Fault(then="end", after=2),
    Fault(then="event", event={"type": "error", "code": "server_error", "message": "It failed.", "param": None}),
]


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failure_in_the_middle_of_a_tool_loop_is_overcome(
    make: Make, stand_ins: StandIns, fault: Fault
) -> None:
    talk = Talk(make("openai"), "gpt-6-sol")
    await talk.say("Hello")
    stand_ins.journal.fail(fault, who="openai")
    assert await talk.say('think and use the tool add with {"x": 1}') == "The tools say: add done"
    assert len(stand_ins.journal.requests) == talk.rounds + 1


async def test_an_answer_that_breaks_off_after_its_first_words_is_not_repeated(make: Make, stand_ins: StandIns) -> None:
    stand_ins.journal.fail(Fault(then="drop", after=6), who="openai")
    with pytest.raises(ModelUnavailable):
        await Talk(make("openai"), "gpt-6-sol").say("say 50 words")
    assert len(stand_ins.journal.requests) == 1


async def test_an_answer_is_cut_at_its_limit(make: Make) -> None:
    talk = Talk(make("openai"), "gpt-6-sol", max_output_tokens=20, reasoning_effort="none")
    talk.prompts.append(Prompt(Role.USER, "say 300 words"))
    end = (await talk.ask())[-1]
    assert isinstance(end, Finished)
    assert end.reason is FinishReason.LENGTH
