"""The demo model's HTTP API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from baton.adapters.token_counter import TiktokenCounter
from local.demo_model.app import create_app

COUNTER = TiktokenCounter(Path(__file__).parents[3] / "layers" / "tokenizer")
HELLO = {"model": "baton-demo", "messages": [{"role": "user", "content": "Say one two three"}]}


@pytest.fixture
async def api() -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app({"BATON_DEMO_DELAY_MS": "0"}))
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
    ],
)
async def test_a_bad_request_gets_openais_error(api: httpx.AsyncClient, change: dict[str, Any], param: str) -> None:
    response = await api.post("/chat/completions", json=HELLO | change)
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, None)


async def test_what_is_not_json_and_what_does_not_exist_get_openais_error_too(api: httpx.AsyncClient) -> None:
    broken = await api.post("/chat/completions", content=b"{", headers={"content-type": "application/json"})
    assert (broken.status_code, broken.json()["error"]["type"]) == (400, "invalid_request_error")
    unknown = await api.get("/nothing")
    assert (unknown.status_code, unknown.json()["error"]["type"]) == (404, "invalid_request_error")


async def test_the_models_are_listed(api: httpx.AsyncClient) -> None:
    listed = (await api.get("/models")).json()
    assert [model["id"] for model in listed["data"]] == ["baton-demo", "baton-demo-light"]
