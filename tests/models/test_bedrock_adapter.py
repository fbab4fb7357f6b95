"""The adapter of Amazon Bedrock against stand-ins that refuse what the real models refuse."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from ag_ui.core import DataSource, DocumentPart, ImagePart, TextPart
from botocore.credentials import Credentials

from baton.adapters.models.bedrock.chat_model import BedrockChatModel
from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.adapters.models.bedrock.embedder import BedrockEmbedder
from baton.adapters.models.bedrock.request import BedrockGuardrail
from baton.domain.errors import ContentFiltered, ContextTooLong, ModelError, ModelRateLimited, ModelUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.content import Content
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import (
    Finished,
    FinishReason,
    ModelChunk,
    ModelSettings,
    Prompt,
    ReasoningDelta,
    TextDelta,
    ToolSpec,
)
from baton.ports.documents.search import EmbeddingPurpose
from tests.fakes.thread_files import MemoryThreadFiles
from tests.fakes.token_counter import WordCounter
from tests.models.standins import Fault, StandIns
from tests.models.standins.signed import ACCESS_KEY, EXPIRED_TOKEN, SECRET_KEY

NEWEST = "eu.anthropic.claude-opus-5-5"
CLAUDE = "eu.anthropic.claude-haiku-4-5"
ARN = f"arn:aws:bedrock:eu-west-1:123456789012:inference-profile/{CLAUDE}"
NOVA = "amazon.nova-lite-v1:0"
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
MODELS = [
    NEWEST,
    "global.anthropic.claude-sonnet-5",
    "eu.anthropic.claude-sonnet-4-6",
    CLAUDE,
    ARN,
    NOVA,
    "us.amazon.nova-2-lite-v1:0",
    LLAMA,
    "mistral.mistral-large-3-675b-instruct",
    "openai.gpt-oss-120b-1:0",
    "us.openai.gpt-6-sol",
    "qwen.qwen3-32b-v1:0",
    "deepseek.v3-v1:0",
]
X = {"type": "object", "properties": {"x": {"type": "integer", "minimum": 0}}}
TOOLS = [
    ToolSpec("add", "Adds.", X),
    ToolSpec("now", "", {"type": "object"}),
    ToolSpec("note", "Notes.", X | {"required": ["x"], "additionalProperties": False}),
]
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x08\x00\x00\x00\x08\x08\x02\x00\x00\x00"
PDF = b"%PDF-1.7\n%%EOF"
Make = Callable[..., BedrockChatModel]


class Keys:
    """A session with the keys that the stand-ins know."""

    def __init__(self, *tokens: str | None) -> None:
        self.tokens = list(tokens)

    def get_credentials(self) -> Credentials:
        return Credentials(ACCESS_KEY, SECRET_KEY, self.tokens.pop(0) if self.tokens else None)


@pytest.fixture
async def make(stand_ins: StandIns) -> AsyncIterator[Make]:
    """Makes clients of the stand-ins."""
    models: list[BedrockChatModel] = []

    def of(keys: Keys | None = None, **options: Any) -> BedrockChatModel:
        connection = BedrockConnection("eu-west-1", lambda: keys or Keys(), endpoint=stand_ins.url)
        models.append(BedrockChatModel(connection, **{"backoff_seconds": 0.0} | options))
        return models[-1]

    yield of
    for model in models:
        await model.aclose()


class Talk:
    """A conversation that carries calls out, as Baton does."""

    def __init__(self, client: BedrockChatModel, model: str, **fields: Any) -> None:
        self.client = client
        self.settings = replace(ModelSettings(model, timeout_seconds=10.0), **fields)
        self.prompts: list[Prompt] = [Prompt(Role.SYSTEM, "Be kind. " * 300, ends_prefix=True)]

    async def say(self, content: Content, tools: Sequence[ToolSpec] = TOOLS) -> str:
        """Say something, answer the calls, and return the last answer."""
        self.prompts.append(Prompt(Role.USER, content, ends_prefix=True))
        while True:
            answer, calls, _ = await self.round(tools)
            if not calls:
                return answer

    async def round(self, tools: Sequence[ToolSpec] = TOOLS) -> tuple[str, list[ToolCall], Finished]:
        """Ask once, and keep the answer and the results of its calls."""
        chunks = await self.ask(tools)
        calls = [chunk for chunk in chunks if isinstance(chunk, ToolCall)]
        text = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
        end = chunks[-1]
        assert isinstance(end, Finished)
        self.prompts.append(Prompt(Role.ASSISTANT, text, tool_calls=tuple(calls), provider_parts=end.provider_parts))
        results = [Prompt(Role.TOOL, f"{call.name} done", tool_call_id=call.id) for call in calls]
        self.prompts += [replace(result, ends_prefix=result is results[-1]) for result in results]
        return text, calls, end

    async def ask(self, tools: Sequence[ToolSpec] = TOOLS) -> list[ModelChunk]:
        stream = self.client.stream(self.settings, self.prompts, thread_files=MemoryThreadFiles(), tools=tools)
        return [chunk async for chunk in stream]


@pytest.mark.long_conversation
@pytest.mark.parametrize("model", MODELS)
async def test_a_conversation_of_twenty_turns_with_tools_is_never_refused(
    make: Make, stand_ins: StandIns, model: str
) -> None:
    talk = Talk(make(), model, temperature=0.2, top_p=0.9, reasoning_effort="low", shows_reasoning=True)
    for turn in range(5):
        assert await talk.say("Hello") == "You said: Hello"
        answer = await talk.say('think and use the tool add with {"x": 1} 3 times')
        assert (answer.count("add done"), "The tools say" in answer) == (3, True)
        answer = await talk.say('think and use add and note in parallel with {"x": 1}')
        assert (answer.count("add done"), answer.count("note done")) == (1, 1)
        assert (await talk.say(f"think of {turn}")).startswith("You said")
    assert [refusal.refusal for refusal in stand_ins.journal.refused] == []


@pytest.mark.parametrize("model", [NEWEST, "global.anthropic.claude-sonnet-5", CLAUDE, "openai.gpt-oss-120b-1:0"])
async def test_thinking_stays_valid_through_a_turn_with_five_calls_notes_and_a_last_round(
    make: Make, stand_ins: StandIns, model: str
) -> None:
    talk = Talk(make(), model, reasoning_effort="high")
    talk.prompts.append(Prompt(Role.USER, 'think and use the tool add with {"x": 1} 9 times'))
    for number in range(5):
        assert len((await talk.round())[1]) == 1
        talk.prompts.append(Prompt(Role.SYSTEM, f"Note {number}."))
    talk.settings = replace(talk.settings, tool_choice="none")
    talk.prompts.append(Prompt(Role.SYSTEM, "Answer now, without tools."))
    answer, calls, _ = await talk.round()
    assert (calls, bool(answer)) == ([], True)
    assert stand_ins.journal.refused == []
    sent = [str(request.body["messages"]).count("reasoningContent") for request in stand_ins.journal.requests]
    assert sent[:6] == [0, 1, 2, 3, 4, 5]
    assert await talk.say("Hello") == "You said: Hello"
    assert "reasoningContent" not in str(stand_ins.journal.requests[-1].body)


async def test_thinking_that_nobody_may_read_goes_back_too(make: Make, stand_ins: StandIns) -> None:
    talk = Talk(make(), NEWEST)
    await talk.say('think secretly and use the tool add with {"x": 1} 2 times')
    assert "redactedContent" in str(stand_ins.journal.requests[-1].body)
    assert stand_ins.journal.refused == []


async def test_thinking_is_shown_if_it_is_asked_for(make: Make) -> None:
    talk = Talk(make(), NEWEST, shows_reasoning=True)
    talk.prompts.append(Prompt(Role.USER, "think of me"))
    assert any(isinstance(chunk, ReasoningDelta) for chunk in await talk.ask())


async def test_a_conversation_goes_on_with_one_model_after_the_other(make: Make, stand_ins: StandIns) -> None:
    talk = Talk(make(), MODELS[0], reasoning_effort="low")
    for model in [*MODELS, *reversed(MODELS)]:
        talk.settings = replace(talk.settings, model=model)
        assert "add done" in await talk.say('think and use the tool add with {"x": 1}')
    assert [refusal.refusal for refusal in stand_ins.journal.refused] == []


@pytest.mark.parametrize("model", MODELS)
async def test_an_agent_without_tools_goes_on_after_calls(make: Make, stand_ins: StandIns, model: str) -> None:
    talk = Talk(make(), model)
    await talk.say('use the tool add with {"x": 1}')
    assert await talk.say("Hello", tools=()) == "You said: Hello"
    assert [refusal.refusal for refusal in stand_ins.journal.refused] == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("arguments", ["malformed", "no", "null"])
async def test_odd_arguments_end_no_conversation(make: Make, stand_ins: StandIns, model: str, arguments: str) -> None:
    talk = Talk(make(), model)
    await talk.say(f"use the tool now with {arguments} arguments")
    assert await talk.say("Hello") == "You said: Hello"
    assert [refusal.refusal for refusal in stand_ins.journal.refused] == []


@pytest.mark.parametrize("model", MODELS)
async def test_odd_conversations_are_taken(make: Make, stand_ins: StandIns, model: str) -> None:
    talk = Talk(make(), model)
    foreign = ToolCall("call/1 " + "x" * 80, "another agent's tool", "{x")
    talk.prompts += [
        Prompt(Role.ASSISTANT, "What can I do for you?"),
        Prompt(Role.ASSISTANT, " "),
        Prompt(Role.USER, "\n"),
        Prompt(Role.USER, "Hello"),
        Prompt(Role.SYSTEM, "The user is called Ada."),
        Prompt(Role.USER, "Are you there?"),
        Prompt(Role.ASSISTANT, "", tool_calls=(foreign,)),
        Prompt(Role.TOOL, "", tool_call_id=foreign.id),
        Prompt(Role.ASSISTANT, "I am here."),
    ]
    await talk.ask()
    assert [refusal.refusal for refusal in stand_ins.journal.refused] == []


def attach(*parts: Any) -> Content:
    return (TextPart(text="What is this?"), *parts)


def document(name: str) -> DocumentPart:
    source = DataSource(value=base64.b64encode(PDF).decode(), mime_type="application/pdf")
    return DocumentPart(source=source, metadata={"name": name})


@pytest.mark.parametrize("model", MODELS)
async def test_attachments_end_no_conversation(make: Make, stand_ins: StandIns, model: str) -> None:
    image = ImagePart(source=DataSource(value=base64.b64encode(PNG).decode(), mime_type="image/png"))
    talk = Talk(make(), model)
    await talk.say('use the tool add with {"x": 1}')
    await talk.say(attach(image, *[document(f"Q{number} (final)!.pdf") for number in range(6)]))
    await talk.say(attach(document("Q1 (final)!.pdf"), *[image] * 21))
    assert await talk.say("Hello") == "You said: Hello"
    assert [refusal.refusal for refusal in stand_ins.journal.refused] == []


@pytest.mark.parametrize("model", MODELS)
async def test_a_structured_answer_is_asked_for_in_a_form_that_is_taken(
    make: Make, stand_ins: StandIns, model: str
) -> None:
    schema = {
        "type": "object",
        "properties": {
            "word": {"type": "string"},
            "many": {"type": "array", "maxItems": 3, "items": {"type": "number"}},
        },
        "required": ["word", "many"],
    }
    talk = Talk(make(), model, answer_schema=schema)
    await talk.say('use the tool add with {"x": 1}')
    assert [refusal.refusal for refusal in stand_ins.journal.refused] == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("choice", ["required", "add", "none"])
async def test_a_choice_of_tools_is_taken(make: Make, stand_ins: StandIns, model: str, choice: str) -> None:
    talk = Talk(make(), model, tool_choice=choice)
    talk.prompts.append(Prompt(Role.USER, "Hello"))
    chunks = await talk.ask()
    assert any(isinstance(chunk, ToolCall) for chunk in chunks) == (
        choice != "none" and "tool_choice" not in chunks[-1].dropped  # type: ignore[union-attr]
    )
    assert [refusal.refusal for refusal in stand_ins.journal.refused] == []


async def test_a_prefix_that_comes_again_is_read_from_the_cache(make: Make) -> None:
    talk = Talk(make(), CLAUDE)
    written: list[int] = []
    for _ in range(3):
        talk.prompts.append(Prompt(Role.USER, "Hello " * 600, ends_prefix=True))
        _, _, end = await talk.round()
        assert end.usage is not None
        assert end.usage.input_tokens >= end.usage.cached_input_tokens + end.usage.cache_write_tokens
        written.append(end.usage.cached_input_tokens)
    assert 0 == written[0] < written[1] < written[2]


async def test_an_unknown_model_learns_what_its_family_refuses(make: Make, stand_ins: StandIns) -> None:
    """An application inference profile, whose name implies nothing."""
    for profile, model in (
        ("ab12", CLAUDE),
        ("cd34", NEWEST),
        ("ef56", LLAMA),
        ("gh78", "amazon.titan-text-express-v1"),
    ):
        stand_ins.bedrock.aliases[profile] = model.partition(".")[2] if model[:3] in ("eu.", "us.") else model
        arn = f"arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/{profile}"
        talk = Talk(make(), arn, temperature=0.2, top_p=0.9)
        tools = () if profile == "gh78" else TOOLS
        for _ in range(3):
            assert (await talk.say("Hello", tools=tools)).startswith("You said: ")
    assert len(stand_ins.journal.refused) <= 6


@pytest.mark.parametrize("model", MODELS)
async def test_a_conversation_that_is_too_long_is_an_overflow(make: Make, stand_ins: StandIns, model: str) -> None:
    stand_ins.bedrock.contexts[model] = 500
    with pytest.raises(ContextTooLong):
        await Talk(make(), model).say("word " * 2_000)


@pytest.mark.parametrize("text", ["filter this", "filter this late", "refuse this"])
async def test_filters_are_reported_as_such(make: Make, text: str) -> None:
    with pytest.raises(ContentFiltered):
        await Talk(make(), CLAUDE).say(text)


async def test_a_guardrail_stops_an_answer_before_a_word_of_it(make: Make) -> None:
    talk = Talk(make(guardrail=BedrockGuardrail("gr1abc", "1")), CLAUDE)
    talk.prompts.append(Prompt(Role.USER, "filter this"))
    chunks: list[ModelChunk] = []
    with pytest.raises(ContentFiltered):
        chunks += await talk.ask()
    assert chunks == []
    talk.prompts.pop()
    assert await talk.say("Hello") == "You said: Hello"


FAULTS = [
    Fault(status=503, body={"message": "Down"}),
    Fault(status=429, body={"message": "Too many requests"}, headers={"x-amzn-errortype": "ThrottlingException"}),
    Fault(status=424, body={"message": "Failed"}, headers={"x-amzn-errortype": "ModelErrorException"}),
    Fault(then="drop", after=1),
    Fault(then="end", after=1),
    Fault(then="event", after=1, event={"exception": "throttlingException"}),
    Fault(then="event", after=1, event={"exception": "modelStreamErrorException"}),
    Fault(then="event", after=1, event={"error": "InternalError"}),
    Fault(crc=True, after=1),
]


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_failure_before_the_first_word_is_overcome(make: Make, stand_ins: StandIns, fault: Fault) -> None:
    talk = Talk(make(), CLAUDE)
    await talk.say("Hello")
    stand_ins.journal.fail(fault, who=CLAUDE)
    assert await talk.say('use the tool add with {"x": 1}') == "The tools say: add done"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(then="drop", after=4), ModelUnavailable),
        (Fault(then="end", after=4), ModelUnavailable),
        (Fault(crc=True, after=4), ModelUnavailable),
        (Fault(then="event", after=4, event={"exception": "throttlingException"}), ModelRateLimited),
    ],
)
async def test_an_answer_that_breaks_off_after_its_first_words_is_not_repeated(
    make: Make, stand_ins: StandIns, fault: Fault, error: type[ModelError]
) -> None:
    stand_ins.journal.fail(fault, who=CLAUDE)
    with pytest.raises(error):
        await Talk(make(), CLAUDE).say("say 500 words")
    assert len(stand_ins.journal.requests) == 1


@pytest.mark.parametrize("piece", [1, 7])
async def test_frames_come_in_any_pieces_with_unknown_ones_between(make: Make, stand_ins: StandIns, piece: int) -> None:
    stand_ins.journal.fail(Fault(then="insert", after=2, event={"event": "somethingNew"}, piece=piece), who=CLAUDE)
    assert await Talk(make(), CLAUDE).say("Hello") == "You said: Hello"


async def test_a_consumer_that_leaves_closes_the_connection(make: Make, stand_ins: StandIns) -> None:
    stand_ins.journal.fail(Fault(then="hang", after=4), who=CLAUDE)
    talk = Talk(make(), CLAUDE)
    talk.prompts.append(Prompt(Role.USER, "say 500 words"))
    async with aclosing(talk.client.stream(talk.settings, talk.prompts, thread_files=MemoryThreadFiles())) as chunks:
        assert isinstance(await anext(chunks), TextDelta)
    assert stand_ins.journal.wait_for_hangup()


async def test_expired_credentials_are_looked_for_again(make: Make, stand_ins: StandIns) -> None:
    assert await Talk(make(Keys(EXPIRED_TOKEN, None)), ARN).say("Hello") == "You said: Hello"
    assert len(stand_ins.journal.refused) == 1


async def test_an_answer_is_cut_at_its_limit(make: Make) -> None:
    talk = Talk(make(), CLAUDE, max_output_tokens=20)
    talk.prompts.append(Prompt(Role.USER, "say 300 words"))
    _, _, end = await talk.round()
    assert end.reason is FinishReason.LENGTH


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [
        ("amazon.titan-embed-text-v2:0", 512),
        ("cohere.embed-v4:0", 1536),
        ("cohere.embed-multilingual-v3", 1024),
        ("amazon.nova-2-multimodal-embeddings-v1:0", 384),
    ],
)
async def test_texts_are_embedded(stand_ins: StandIns, model: str, dimensions: int) -> None:
    connection = BedrockConnection("eu-west-1", Keys, endpoint=stand_ins.url)
    embedder = BedrockEmbedder(model, dimensions, connection=connection, counter=WordCounter(), backoff_seconds=0.0)
    texts = ["a green bicycle", " ", "word " * 9_000, *[f"text {number}" for number in range(100)]]
    vectors = await embedder.embed(texts)
    assert [len(vector) for vector in vectors] == [dimensions] * len(texts)
    [question] = await embedder.embed(["a green bicycle"], purpose=EmbeddingPurpose.QUERY)
    nearest = max(range(len(vectors)), key=lambda at: sum(a * b for a, b in zip(question, vectors[at], strict=True)))
    assert nearest == 0
    assert stand_ins.journal.refused == []
    await embedder.aclose()
