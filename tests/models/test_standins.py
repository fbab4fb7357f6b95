"""The stand-ins of Chat Completions refuse what the real endpoints refuse, and answer as they answer."""

from __future__ import annotations

import json

import httpx
import pytest
from openai.types.chat import ChatCompletionChunk

from tests.models.raw import Json, call_in, chat, deltas, events, make_call, text_of, tool, user
from tests.models.standins import StandIns
from tests.models.standins.dialects import dialects

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}}
FILE = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}
SYSTEM = {"role": "system", "content": "Be kind."}
HI = {"role": "assistant", "content": "Hi."}
WORD: Json = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": WORD}}
LOOSE = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": {"type": "object"}}}
TOOLS = [tool()]


def test_every_endpoint_answers_a_plain_question(stand_ins: StandIns) -> None:
    for name in dialects():
        response = chat(stand_ins, name, [user("Hello there")])
        parts = [delta["content"] for delta in deltas(response) if delta and delta.get("content")]
        assert "there" in json.dumps(parts), name
    assert not stand_ins.journal.refused


def test_the_chunks_are_those_of_openai(stand_ins: StandIns) -> None:
    request = [user('think and use the tool add with {"x": 1}')]
    response = chat(stand_ins, "openai-gpt4", request, tools=TOOLS, stream_options={"include_usage": True})
    chunks = [ChatCompletionChunk.model_validate(event, strict=True) for event in events(response)]
    assert chunks[-1].usage is not None
    assert chunks[-2].choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"top_k": 5}, "top_k"),
        ({"messages": [user("Hi", mood="good")]}, "messages[0].mood"),
        ({"messages": [user([{"type": "text", "text": "Hi", "cache_control": {}}])]}, "cache_control"),
        ({"messages": [user(), HI | {"reasoning_content": ""}]}, "messages[1].reasoning_content"),
        ({"messages": [user(), *make_call(call={"extra_content": {}})], "tools": TOOLS}, "extra_content"),
        ({"tools": [{"type": "function", "function": {"name": "a"}, "strict": True}]}, "tools[0].strict"),
        ({"max_tokens": "5"}, "max_tokens"),
        ({"messages": [user(5)]}, "content"),
        ({"messages": [{"role": "robot", "content": "Hi"}]}, "role"),
        ({"messages": [user(), *make_call()[:1]]}, "did not have response messages: call00001"),
        ({"messages": [user(), *make_call()[1:]]}, "tool_call_id"),
        ({"messages": [user(), *make_call()[:1], user(), *make_call()[1:]]}, "did not have response messages"),
        ({"messages": [user(), {"role": "assistant", "content": None}]}, "got null"),
        ({"tools": [tool("two words")]}, "string does not match pattern"),
        ({"tools": [tool("a" * 65)]}, "string does not match pattern"),
        ({"tools": [tool(), tool()]}, "tools[1]"),
        ({"tools": []}, "0 items"),
        ({"tools": [tool(f"t{number}") for number in range(129)]}, "129 items"),
    ],
)
def test_a_request_that_is_not_openais_is_refused(stand_ins: StandIns, fields: Json, reason: str) -> None:
    response = chat(stand_ins, "plain", **({"messages": [user()]} | fields))
    assert response.status_code == 400
    assert reason in response.text
    assert [request.refusal is not None for request in stand_ins.journal.requests] == [True]


ROLES = [user("one"), user("two")]
REFUSALS: list[tuple[str, Json, int, str]] = [
    ("openai-gpt4", {"tools": [tool(properties=None) | {"function": {"name": "a", "parameters": {"type": "object"}}}]},
     400, "object schema missing properties"),
    ("openai-gpt4", {"messages": [user(name="Ana María Two")]}, 400, "messages[0].name"),
    ("openai-gpt4", {"response_format": LOOSE}, 400, "additionalProperties"),
    ("openai-gpt5", {"temperature": 0.2}, 400, "'temperature' does not support 0.2 with this model"),
    ("openai-gpt5", {"top_p": 0.2}, 400, "'top_p' does not support 0.2"),
    ("openai-gpt5", {"max_tokens": 9}, 400, "Use 'max_completion_tokens' instead."),
    ("openai-gpt5", {"presence_penalty": 1}, 400, "unsupported_parameter"),
    ("openai-o", {"parallel_tool_calls": True, "tools": TOOLS}, 400, "'parallel_tool_calls' is not supported"),
    ("openai-gpt6", {"tools": TOOLS}, 400, "use /v1/responses or set reasoning_effort to 'none'."),
    ("openai-gpt6", {"reasoning_effort": "minimal"}, 400, "'reasoning_effort' does not support 'minimal'"),
    ("openai-gpt6-astra", {"tools": TOOLS, "reasoning_effort": "low"}, 400, "Please use /v1/responses instead."),
    ("openai-gpt6-astra", {"reasoning_effort": "none"}, 400, "does not support 'none'"),
    ("azure", {"messages": [user([FILE])]}, 400, "does not support file content types"),
    ("azure", {"messages": [user("filter this")]}, 400, "ResponsibleAIPolicyViolation"),
    ("gemini", {"metadata": {"a": "b"}}, 400, "Cannot find field"),
    ("gemini", {"tools": [tool(additionalProperties=False)]}, 400, "additionalProperties"),
    ("gemini", {"messages": [user(), *make_call()], "tools": TOOLS}, 400, "missing a thought_signature"),
    ("gemini", {"messages": [user(), *make_call(call={"extra_content": {"google": {"thought_signature": "else"}}})]},
     400, "Corrupted thought signature"),
    ("gemini", {"messages": [user(), *make_call()[:1]]}, 400, "number of function response parts is equal"),
    ("gemini", {"tools": [tool("7_seven")]}, 400, "Must start with a letter"),
    ("deepseek", {"messages": [user(), *make_call()], "tools": TOOLS}, 400, "must be passed back to the API"),
    ("deepseek", {"response_format": SCHEMA}, 400, "This response_format type is unavailable now"),
    ("deepseek", {"tool_choice": "required", "tools": TOOLS}, 400, "tool_choice"),
    ("mistral", {"metadata": {"a": "b"}}, 422, "extra_forbidden"),
    ("mistral", {"max_completion_tokens": 9}, 422, "extra_forbidden"),
    ("mistral-detail", {"stream_options": {"include_usage": True}}, 422, '"loc":["body","stream_options"]'),
    ("mistral", {"messages": [user(), *make_call(), user()]}, 400, "Unexpected role 'user' after role 'tool'"),
    ("mistral", {"messages": [user(), HI, SYSTEM, user()]}, 400, "Unexpected role 'system' after role 'assistant'"),
    ("mistral", {"messages": [user(), HI]}, 400, "3230"),
    ("mistral", {"messages": [user(), *make_call(call_id="call_0")]}, 400, "with a length of 9"),
    ("qwen-vllm", {"messages": [SYSTEM, SYSTEM, user()]}, 400, "System message must be at the beginning."),
    ("qwen-vllm", {"messages": ROLES}, 400, "roles must alternate"),
    ("qwen-vllm", {"messages": [user([FILE])]}, 400, "Unknown part type: file"),
    ("qwen-vllm", {"messages": [{"role": "developer", "content": "x"}, user()]}, 400, "Unexpected message role"),
    ("qwen-vllm", {"messages": [user(), *make_call("{half")]}, 400, "Expecting value"),
    ("gemma", {"messages": [SYSTEM, user()]}, 400, "System role not supported"),
    ("gemma", {"messages": [HI, user()]}, 400, "roles must alternate"),
    ("gemma", {"messages": ROLES}, 400, "roles must alternate"),
    ("mistral-vllm", {"messages": [user(), *make_call(), user()]}, 400, "After the optional system message"),
    ("mistral-vllm", {"messages": [user(), HI, SYSTEM, user()]}, 400, "System message must be at the beginning."),
    ("mistral-vllm", {"messages": [user(), *make_call(call_id="call_0")]}, 400, "alphanumeric strings with length 9"),
    ("gemma-no-tools", {"tools": TOOLS}, 400, "does not support tools"),
    ("llama-cpp", {"messages": [user([IMAGE])]}, 500, "image input is not supported"),
    ("llama-cpp", {"tools": [tool(properties={"x": {"type": "string", "pattern": "a+"}})]}, 400, "Pattern must start"),
    ("llama-cpp", {"tools": [tool(properties={"x": {"$ref": "https://a.example/b"}})]}, 400, "Unsupported ref"),
    ("llama-cpp", {"messages": [user(), *make_call("[1]")]}, 500, "Unable to generate parser for this template"),
    ("lm-studio", {"response_format": {"type": "json_object"}}, 400, "must be 'json_schema' or 'text'"),
    ("groq", {"messages": [user(name="ana")]}, 400, "property 'name' is unsupported"),
    ("groq", {"messages": [user(), HI | {"reasoning_content": ""}, user()]}, 400, "property 'reasoning_content' is"),
    ("groq", {"messages": [user(), HI | {"reasoning": "x"}, user()]}, 400, "property 'reasoning' is unsupported"),
    ("groq", {"n": 2}, 400, "not supported"),
    ("xai", {"stop": ["x"]}, 400, "Argument not supported on this model: stop"),
    ("xai", {"reasoning_effort": "none"}, 400, "does not support `reasoning_effort`"),
    ("together", {"tool_choice": "required", "tools": TOOLS}, 400, "tool_choice"),
    ("openrouter", {"messages": [user(), *make_call(reasoning_details=[{"text": "x"}])]}, 400, "Invalid `signature`"),
    ("litellm", {"temperature": 0.2}, 400, "litellm.BadRequestError: AnthropicException - "),
    ("litellm", {"messages": [user(), *make_call()]}, 400, "expects the `tools=` param"),
    ("litellm", {"messages": [user(" ")]}, 400, "text content blocks must be non-empty"),
    ("litellm", {"messages": [user(), *make_call(thinking_blocks=[{}])], "tools": TOOLS}, 400, "is changed"),
    ("bedrock-gateway", {"messages": [user(), *make_call()]}, 400, "The toolConfig field must be defined"),
    ("bedrock-gateway", {"messages": ROLES}, 400, "must alternate between user and assistant roles"),
    ("no-temperature", {"temperature": 0}, 400, "Only the default (1) value is supported."),
    ("one-system-message", {"messages": [user(), SYSTEM]}, 400, "System message must be at the beginning."),
    ("alternating-roles", {"messages": ROLES}, 400, "Conversation roles must alternate"),
    ("text-only", {"messages": [user([IMAGE])]}, 400, "Unsupported chat content part type: image_url"),
    ("strict-tools", {"tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}]},
     400, "object schema missing properties"),
    ("signatures", {"messages": [user(), *make_call(), HI, user()]}, 400, "missing a thought_signature"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "status", "reason"), REFUSALS, ids=lambda value: str(value)[:40])
def test_an_endpoint_refuses_in_its_own_words(
    stand_ins: StandIns, name: str, fields: Json, status: int, reason: str
) -> None:
    response = chat(stand_ins, name, **({"messages": [user()]} | fields))
    assert response.status_code == status
    assert reason in response.text or reason in str(response.json())


def test_no_rule_of_an_endpoint_is_without_a_test() -> None:
    tested = {name for name, *_ in REFUSALS}
    rules = {name for name, dialect in dialects().items() if dialect.rules or dialect.refuses}
    assert rules - tested <= {"gemini-own-delta", "qwen-vllm-no-parser", "ollama", "llama-cpp-500", "lm-studio-200",
                              "lm-studio-empty"}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("short-context", 400, "maximum context length is 3000 tokens"),
        ("gemini", 400, "exceeds the maximum number of tokens allowed"),
        ("mistral", 400, "too large for model with"),
        ("qwen-vllm", 400, "This model's maximum context length is"),
        ("llama-cpp", 400, "exceed_context_size_error"),
        ("llama-cpp-500", 500, "Context size has been exceeded."),
        ("lm-studio", 400, "greater than the context length"),
        ("lm-studio-200", 200, "greater than the context length"),
        ("lm-studio-empty", 200, "data: [DONE]"),
        ("groq", 400, "Please reduce the length of the messages"),
        ("xai", 400, "maximum prompt length is"),
        ("openrouter", 400, "This endpoint's maximum context length is"),
        ("litellm", 400, "prompt is too long"),
        ("bedrock-gateway", 400, "Input is too long for requested model."),
    ],
)
def test_a_prompt_that_is_too_long_is_refused(stand_ins: StandIns, name: str, status: int, reason: str) -> None:
    stand_ins.chat.contexts[name] = 3000
    response = chat(stand_ins, name, [user("word " * 4000)])
    assert (response.status_code, reason in response.text) == (status, True)
    assert "word" not in response.text
    assert chat(stand_ins, name, [user("short")]).status_code == 200


def test_ollama_cuts_what_does_not_fit_and_says_nothing(stand_ins: StandIns) -> None:
    stand_ins.chat.contexts["ollama"] = 300
    history = [SYSTEM, user("My dog is called Rufus."), HI, *[user("filler " * 60), HI] * 4, user("find Rufus")]
    assert text_of(chat(stand_ins, "ollama", history)) == "Found: ['find Rufus']"


@pytest.mark.parametrize("name", ["gemini", "gemini-own-delta", "signatures"])
def test_a_signature_that_comes_back_with_its_call_is_taken(stand_ins: StandIns, name: str) -> None:
    request = user('use the tool add with {"x": 1}')
    fragments = [
        d["tool_calls"][0] for d in deltas(chat(stand_ins, name, [request], tools=TOOLS)) if d.get("tool_calls")
    ]
    extra = next(fragment["extra_content"] for fragment in fragments if "extra_content" in fragment)
    answered = [request, *make_call(call={"extra_content": extra})]
    assert text_of(chat(stand_ins, name, answered, tools=TOOLS)) == "The tools say: 2"


@pytest.mark.parametrize(("name", "field"), [("openrouter", "reasoning_details"), ("litellm", "thinking_blocks")])
def test_thinking_must_come_back_within_its_turn(stand_ins: StandIns, name: str, field: str) -> None:
    request = user('think and use the tool add with {"x": 1}')
    response = chat(stand_ins, name, [request], tools=TOOLS)
    joined: dict[int, Json] = {}
    for part in [part for delta in deltas(response) for part in delta.get(field, ())]:
        whole = joined.setdefault(part.get("index", 0), dict.fromkeys(("text", "thinking"), ""))
        joined[part.get("index", 0)] = part | {k: whole[k] + part.get(k, "") for k in ("text", "thinking")}
    options = [{key: value for key, value in part.items() if value != ""} for part in joined.values()]
    assert chat(stand_ins, name, [request, *make_call()], tools=TOOLS).status_code == 400
    assert chat(stand_ins, name, [request, *make_call(), HI, user()], tools=TOOLS).status_code == 200
    assert chat(stand_ins, name, [request, *make_call(**{field: options})], tools=TOOLS).status_code == 200


def test_deepseek_takes_empty_reasoning(stand_ins: StandIns) -> None:
    assert chat(stand_ins, "deepseek", [user(), *make_call(reasoning_content="")], tools=TOOLS).status_code == 200


def test_groq_fails_at_the_first_call_only(stand_ins: StandIns) -> None:
    request = [user('use the tool add with {"x": 1}')]
    first, second = (chat(stand_ins, "groq", request, tools=TOOLS) for _ in range(2))
    assert first.json()["error"]["code"] == "tool_use_failed"
    assert first.json()["error"]["failed_generation"] == 'add({"x":1})'
    assert call_in(second)["function"]["name"] == "add"


def test_what_an_endpoint_drops_silently_is_noted(stand_ins: StandIns) -> None:
    chat(stand_ins, "qwen-vllm", [user("<|im_start|>system", name="ana"), HI | {"reasoning_content": "x"}, user()])
    [received] = stand_ins.journal.of("qwen-vllm")
    assert "messages[1].reasoning_content" in received.ignored
    assert "control token in messages[0]" in received.ignored


@pytest.mark.parametrize(("key", "status"), [("", 401), ("Bearer wrong", 401), ("Bearer right", 200)])
def test_a_key_is_needed(stand_ins: StandIns, key: str, status: int) -> None:
    url, body = f"{stand_ins.base_url('plain')}/chat/completions", {"model": "m", "messages": [user()]}
    assert httpx.post(url, json=body, headers={"authorization": key} if key else {}).status_code == status
