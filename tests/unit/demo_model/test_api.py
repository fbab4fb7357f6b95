"""The demo model's HTTP API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from baton.adapters.models.token_counter import TiktokenCounter
from baton_local.demo_model.app import create_app
from baton_local.demo_model.sentence_encoder import SentenceEncoder
from baton_local.errors import EngineFailed

COUNTER = TiktokenCounter(Path(__file__).parents[3] / "layers" / "tokenizer")
HELLO: dict[str, Any] = {"model": "baton-demo", "messages": [{"role": "user", "content": "Say one two three"}]}
BYE: dict[str, Any] = {
    "model": "baton-demo",
    "messages": [{"role": "user", "content": "bye"}],
    "tools": [{"type": "function", "function": {"name": "end_conversation", "parameters": {"type": "object"}}}],
}
CALLED = {"id": "c1", "type": "function", "function": {"name": "end_conversation", "arguments": "{}"}}


@pytest.fixture(scope="module")
def app() -> FastAPI:
    return create_app({"BATON_DEMO_DELAY_MS": "0"})


@pytest.fixture
async def api(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as client:
        yield client


async def events(api: httpx.AsyncClient, request: dict[str, Any]) -> list[dict[str, Any]]:
    response = await api.post("/chat/completions", json=request | {"stream": True})
    assert response.headers["content-type"].startswith("text/event-stream")
    *lines, done = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert done == "[DONE]"
    return [json.loads(line) for line in lines]


async def test_a_whole_answer_has_openais_shape(api: httpx.AsyncClient) -> None:
    completion = (await api.post("/chat/completions", json=HELLO)).json()
    assert completion["object"] == "chat.completion"
    assert completion["model"] == "baton-demo"
    assert completion["system_fingerprint"] is None
    [choice] = completion["choices"]
    assert choice["message"] == {"role": "assistant", "content": "one two three", "refusal": None}
    assert choice["finish_reason"] == "stop"
    prompt = 3 + 3 + COUNTER.count("user") + COUNTER.count("Say one two three")
    assert completion["usage"] == {"prompt_tokens": prompt, "completion_tokens": 3, "total_tokens": prompt + 3}


async def test_a_stream_gives_word_after_word_and_the_counts_when_asked(api: httpx.AsyncClient) -> None:
    first, *words, finish, usage = await events(api, HELLO | {"stream_options": {"include_usage": True}})
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [word["choices"][0]["delta"]["content"] for word in words] == ["one", " two", " three"]
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 3
    assert len({event["id"] for event in (first, *words, finish, usage)}) == 1


async def test_a_stream_gives_no_counts_unasked(api: httpx.AsyncClient) -> None:
    assert not any("usage" in event for event in await events(api, HELLO))


async def test_a_tool_call_has_openais_shape(api: httpx.AsyncClient) -> None:
    completion = (await api.post("/chat/completions", json=BYE)).json()
    [choice] = completion["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"].startswith("Goodbye!")
    [call] = choice["message"]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "end_conversation")
    assert json.loads(call["function"]["arguments"]) == {"reason": "The user said goodbye."}
    assert call["id"]


async def test_a_stream_gives_the_text_first_and_then_the_tool_call_in_pieces(api: httpx.AsyncClient) -> None:
    deltas = [event["choices"][0]["delta"] for event in await events(api, BYE)]
    kinds = ["call" if "tool_calls" in delta else "text" for delta in deltas[:-1]]
    assert kinds == sorted(kinds, reverse=True)
    [head], *pieces = [delta["tool_calls"] for delta in deltas if "tool_calls" in delta]
    assert head["index"] == 0
    assert head["id"]
    assert head["function"] == {"name": "end_conversation", "arguments": ""}
    assert len(pieces) > 1
    arguments = "".join(piece["function"]["arguments"] for [piece] in pieces)
    assert json.loads(arguments) == {"reason": "The user said goodbye."}


@pytest.mark.parametrize("change", [{"max_tokens": 3}, {"tool_choice": "none"}])
async def test_no_tool_is_called_in_an_answer_that_is_cut_or_may_not(
    api: httpx.AsyncClient, change: dict[str, Any]
) -> None:
    completion = (await api.post("/chat/completions", json=BYE | change)).json()
    assert "tool_calls" not in completion["choices"][0]["message"]
    assert completion["choices"][0]["finish_reason"] != "tool_calls"


async def test_tools_their_calls_and_results_count_as_input(api: httpx.AsyncClient) -> None:
    async def prompt_tokens(request: dict[str, Any]) -> int:
        completion = (await api.post("/chat/completions", json=request)).json()
        return int(completion["usage"]["prompt_tokens"])

    messages = [*BYE["messages"], {"role": "assistant", "content": None, "tool_calls": [CALLED]}]
    messages.append({"role": "tool", "tool_call_id": "c1", "content": "Ended."})
    without_tools = {key: value for key, value in BYE.items() if key != "tools"}
    assert await prompt_tokens(without_tools) < await prompt_tokens(BYE)
    assert await prompt_tokens(BYE) < await prompt_tokens(BYE | {"messages": messages})


@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([{"role": "tool", "tool_call_id": "c1", "content": "x"}], id="a result without its call"),
        pytest.param([{"role": "assistant", "tool_calls": [CALLED]}], id="a call without its result"),
        pytest.param(
            [{"role": "assistant", "tool_calls": [CALLED]}, {"role": "user", "content": "x"}],
            id="a user between call and result",
        ),
    ],
)
async def test_calls_and_results_that_do_not_match_are_refused_as_openai_does(
    api: httpx.AsyncClient, messages: list[dict[str, Any]]
) -> None:
    response = await api.post("/chat/completions", json=HELLO | {"messages": messages})
    assert response.status_code == 400
    assert "tool_calls" in response.json()["error"]["message"]


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
async def test_an_answer_is_cut_at_its_limit(api: httpx.AsyncClient, limit: str) -> None:
    completion = (await api.post("/chat/completions", json=HELLO | {limit: 2})).json()
    assert completion["choices"][0]["message"]["content"] == "one two"
    assert completion["choices"][0]["finish_reason"] == "length"
    assert completion["usage"]["completion_tokens"] == 2


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role"),
        ({"model": ""}, "model"),
        ({"temperature": 3}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"tools": []}, "tools"),
        ({"tools": [{"type": "function", "function": {"name": "no spaces"}}]}, "tools.0.function.name"),
    ],
)
async def test_a_bad_request_gets_openais_error(api: httpx.AsyncClient, change: dict[str, Any], param: str) -> None:
    response = await api.post("/chat/completions", json=HELLO | change)
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, None)


async def test_a_rule_that_fails_is_reported_as_a_fault_of_the_server(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("scenes:\n  message:\n    - say: '{{ said + 1 }}'\n")
    transport = httpx.ASGITransport(create_app({"BATON_DEMO_SCRIPT": str(script)}))
    async with httpx.AsyncClient(transport=transport, base_url="http://demo") as client:
        response = await client.post("/chat/completions", json=HELLO)
    assert response.status_code == 500
    error = response.json()["error"]
    assert error["type"] == "server_error"
    assert f"{script}:3: scenes.message.0: TypeError" in error["message"]


async def test_what_is_not_json_and_what_does_not_exist_get_openais_error_too(api: httpx.AsyncClient) -> None:
    broken = await api.post("/chat/completions", content=b"{", headers={"content-type": "application/json"})
    assert (broken.status_code, broken.json()["error"]["type"]) == (400, "invalid_request_error")
    unknown = await api.get("/nothing")
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "invalid_request_error")


async def test_the_models_are_listed(api: httpx.AsyncClient) -> None:
    listed = (await api.get("/models")).json()
    assert [model["id"] for model in listed["data"]] == ["baton-demo", "baton-demo-light", "all-MiniLM-L6-v2"]


async def test_the_light_model_answers_without_a_pause() -> None:
    app = create_app({"BATON_DEMO_DELAY_MS": "3600000"})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://demo") as client:
        *_, finish = await events(client, HELLO | {"model": "baton-demo-light"})
    assert finish["choices"][0]["finish_reason"] == "stop"


MARRIED: list[dict[str, Any]] = [
    {"role": "user", "content": "My wife is Kim."},
    {"role": "assistant", "content": "I will remember it."},
]


async def answer_of(app: FastAPI, question: str) -> str:
    messages = [*MARRIED, {"role": "user", "content": question}]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://demo") as client:
        completion = (await client.post("/chat/completions", json=HELLO | {"messages": messages})).json()
    return str(completion["choices"][0]["message"]["content"])


async def test_a_statement_of_the_user_answers_a_question_in_other_words(app: FastAPI) -> None:
    assert await answer_of(app, "Who am I married to?") == "Your wife is Kim."


async def test_an_encoder_that_cannot_be_loaded_is_tried_once_and_words_are_compared(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def folder() -> Path:
        raise EngineFailed("There is no package.")

    broken = create_app({}, SentenceEncoder(folder))
    for question, answer in [
        ("Who is my wife?", "Your wife is Kim."),
        ("Who am I married to?", "You have not told me"),
    ]:
        assert (await answer_of(broken, question)).startswith(answer)
    assert caplog.text.count("There is no package.") == 1


async def test_another_embedding_model_leaves_the_encoder_alone() -> None:
    def folder() -> Path:
        raise AssertionError("It was loaded.")

    other = create_app({"BATON_EMBEDDING_MODEL": "off"}, SentenceEncoder(folder))
    assert await answer_of(other, "Who is my wife?") == "Your wife is Kim."


async def test_a_field_that_is_refused_is_described_in_openais_words(api: httpx.AsyncClient) -> None:
    error = (await api.post("/embeddings", json={"model": "all-MiniLM-L6-v2", "input": [""]})).json()["error"]
    assert error["message"].startswith("Invalid value for 'input': must")
