"""Answers that cost much are bounded, and are not asked for again."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from baton.adapters.models.openai.clients import LIMITS
from baton.adapters.models.openai.embedder import OpenAIEmbedder
from baton.domain.errors import BatonError, ModelMisconfigured, ModelUnavailable
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, Finished, FinishReason
from tests.fakes.token_counter import WordCounter
from tests.unit.adapters.models.chat_endpoint import Endpoint, Stream, ask, chunk, sse
from tests.unit.adapters.models.responses_endpoint import calls_of
from tests.unit.adapters.models.three_apis import LOOKUP


def fragment(arguments: str | None, name: str | None = None) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})


@pytest.mark.parametrize("names_each", [False, True])
async def test_a_call_in_very_many_pieces_is_whole(names_each: bool) -> None:
    written = json.dumps({"key": 'a}"\\{' * 2_000})
    name = "lookup" if names_each else None
    pieces = [fragment(written[at : at + 2], name) for at in range(0, len(written), 2)]
    endpoint = Endpoint(lambda _: sse(fragment("", "lookup"), *pieces, chunk({}, "tool_calls")))
    [call] = calls_of(await ask(endpoint, tools=[LOOKUP]))
    assert call.arguments == written


async def test_fragments_of_nothing_count_in_the_limit_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton.adapters.models.openai.tool_calls.MIN_FRAGMENT", MAX_ANSWER_BYTES // 100)
    endpoint = Endpoint(lambda _: sse(*[fragment(None)] * 200, chunk({}, "tool_calls")))
    chunks = await ask(endpoint, tools=[LOOKUP])
    assert [item.reason for item in chunks if isinstance(item, Finished)] == [FinishReason.LENGTH]
    assert len(endpoint.bodies) == 1


async def test_a_stream_that_is_too_long_before_it_has_said_anything_is_not_asked_for_again() -> None:
    event = f"data: {json.dumps({'choices': [], 'padding': list(range(LIMITS.event_values + 1))})}\n\n".encode()
    endpoint = Endpoint(
        lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream(event))
    )
    with pytest.raises(ModelUnavailable):
        await ask(endpoint)
    assert len(endpoint.bodies) == 1


@pytest.mark.parametrize(("length", "times"), [(10, 2), (100_000, 1)])
async def test_only_a_short_answer_that_came_to_nothing_is_asked_for_again(length: int, times: int) -> None:
    endpoint = Endpoint(lambda _: sse(fragment("x" * length), chunk({}, "tool_calls")))  # it names no tool
    with pytest.raises(ModelUnavailable):
        await ask(endpoint, tools=[LOOKUP])
    assert len(endpoint.bodies) == times


LOCATION = "https://ada:secret@elsewhere.test/v1/chat?key=secret#secret"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_of_a_models_endpoint_is_an_error_for_the_operator(status: int) -> None:
    requests: list[httpx2.Request] = []

    def redirect(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(status, headers={"location": LOCATION})

    with pytest.raises(ModelMisconfigured) as raised:
        await ask(Endpoint(lambda _: redirect(httpx2.Request("POST", "http://model.test"))))
    assert len(requests) == 1
    assert "https://elsewhere.test/v1/chat" in str(raised.value.reason)
    assert "secret" not in str(raised.value.reason)


async def test_an_endpoint_of_embeddings_is_not_followed_either() -> None:
    requests: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request.url.host)
        return httpx2.Response(302, headers={"location": "http://elsewhere.test/v1/embeddings"})

    embedder = OpenAIEmbedder(
        "e",
        3,
        counter=WordCounter(),
        api_key="k",
        base_url="http://model.test/v1",
        transport=httpx2.MockTransport(answer),
    )
    with pytest.raises(BatonError):
        await embedder.embed(["text"])
    assert set(requests) == {"model.test"}
