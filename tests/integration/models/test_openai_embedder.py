"""The embedder's adapter against an endpoint that answers, errs and fails, over real HTTP."""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from baton.adapters.models.openai.embedder import MAX_BATCH_TEXTS, MAX_TEXT_TOKENS, OpenAIEmbedder
from baton.domain.errors import EmbedderUnavailable, WrongEmbeddings
from tests import fault_model as fault
from tests.fakes.token_counter import WordCounter
from tests.fault_model import FaultModel
from tests.fault_model.chunks import Json
from tests.fault_model.embeddings import embeds, make_vector
from tests.fault_model.exchange import Behaviour, Exchange
from tests.integration.models.conftest import SECRET

DIMENSIONS = 8
MakeEmbedder = Callable[..., OpenAIEmbedder]


@pytest.fixture
async def make_embedder(fault_model: FaultModel) -> AsyncIterator[MakeEmbedder]:
    """Makes an embedder for the fault model, without waiting between its attempts."""
    fault_model.otherwise = embeds(DIMENSIONS)
    embedders: list[OpenAIEmbedder] = []

    def make(model: str = "local-model", dimensions: int = DIMENSIONS, **options: Any) -> OpenAIEmbedder:
        value = {"api_key": SECRET, "base_url": fault_model.base_url, "backoff_seconds": 0.0, "counter": WordCounter()}
        embedder = OpenAIEmbedder(model, dimensions, **(value | options))
        embedders.append(embedder)
        return embedder

    yield make
    for embedder in embedders:
        await embedder.aclose()


@pytest.fixture
def embedder(make_embedder: MakeEmbedder) -> OpenAIEmbedder:
    """The embedder with its defaults."""
    return make_embedder()


def unit(text: str) -> list[float]:
    vector = make_vector(text, DIMENSIONS)
    return [number / math.hypot(*vector) for number in vector]


async def test_each_text_has_its_vector_of_length_1(embedder: OpenAIEmbedder, fault_model: FaultModel) -> None:
    vectors = await embedder.embed(["green paint", "boat"])
    assert [list(vector) for vector in vectors] == [pytest.approx(unit("green paint")), pytest.approx(unit("boat"))]
    [request] = fault_model.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "local-model", "input": ["green paint", "boat"], "encoding_format": "base64"}
    assert request.headers["authorization"] == f"Bearer {SECRET}"


async def test_only_models_that_shorten_their_vectors_get_a_length(
    make_embedder: MakeEmbedder, fault_model: FaultModel
) -> None:
    await make_embedder("text-embedding-3-small").embed(["a"])
    assert fault_model.bodies[0]["dimensions"] == DIMENSIONS


async def test_no_texts_are_no_request(embedder: OpenAIEmbedder, fault_model: FaultModel) -> None:
    assert await embedder.embed([]) == []
    assert fault_model.requests == []


async def test_a_text_without_characters_has_a_vector_too(embedder: OpenAIEmbedder, fault_model: FaultModel) -> None:
    assert len(await embedder.embed(["", " \n", "\ud800"])) == 3
    assert fault_model.bodies[0]["input"] == [".", ".", "?"]


async def test_many_texts_are_asked_in_batches_and_keep_their_order(
    embedder: OpenAIEmbedder, fault_model: FaultModel
) -> None:
    texts = [chr(97 + n % 26) * (1 + n % 50) for n in range(5 * MAX_BATCH_TEXTS + 3)]
    vectors = await embedder.embed(texts)
    assert [list(vector) for vector in vectors] == [pytest.approx(unit(text)) for text in texts]
    assert sorted(len(body["input"]) for body in fault_model.bodies) == [3] + [MAX_BATCH_TEXTS] * 5


async def test_long_texts_are_cut_and_not_asked_all_at_once(embedder: OpenAIEmbedder, fault_model: FaultModel) -> None:
    assert len(await embedder.embed(["word " * 10_000] * 50)) == 50
    request = [text for body in fault_model.bodies for text in body["input"]]
    assert all(0.9 * MAX_TEXT_TOKENS < len(text.split()) <= MAX_TEXT_TOKENS for text in request)
    assert max(len(body["input"]) for body in fault_model.bodies) < 30


async def test_what_the_endpoint_finds_too_long_is_cut_further(
    embedder: OpenAIEmbedder, fault_model: FaultModel
) -> None:
    too_long = fault.status(400, {"message": "This model's maximum context length is 512 tokens."})
    fault_model.script(too_long, too_long)
    assert len(await embedder.embed(["word " * 1_000, "short"])) == 2
    assert [len(body["input"][0]) for body in fault_model.bodies] == [4_999, 2_499, 1_249]
    assert fault_model.bodies[-1]["input"][1] == "short"


async def test_an_endpoint_that_knows_no_base64_is_understood(
    embedder: OpenAIEmbedder, fault_model: FaultModel
) -> None:
    fault_model.otherwise = embeds(DIMENSIONS, base64_too=False)
    [vector] = await embedder.embed(["green"])
    assert list(vector) == pytest.approx(unit("green"))


async def test_large_vectors_are_read_whole(make_embedder: MakeEmbedder, fault_model: FaultModel) -> None:
    fault_model.otherwise = embeds(4_096, base64_too=False)
    vectors = await make_embedder(dimensions=4_096).embed(["green"] * MAX_BATCH_TEXTS)
    assert {len(vector) for vector in vectors} == {4_096}


async def test_an_answer_in_another_order_is_put_right(embedder: OpenAIEmbedder, fault_model: FaultModel) -> None:
    fault_model.otherwise = embeds(DIMENSIONS, lambda data: data[::-1])
    vectors = await embedder.embed(["green", "x"])
    assert [list(vector) for vector in vectors] == [pytest.approx(unit("green")), pytest.approx(unit("x"))]


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(fault.rate_limited(), id="429"),
        pytest.param(fault.rate_limited("0"), id="429 with Retry-After"),
        pytest.param(fault.status(500), id="500"),
        pytest.param(fault.unavailable(), id="503"),
        pytest.param(fault.refused_connection(), id="dropped connection"),
        pytest.param(fault.html(), id="a web page"),
        pytest.param(embeds(DIMENSIONS, lambda data: data[:-1]), id="a vector is missing"),
    ],
)
async def test_a_failure_that_passes_is_not_noticed(
    embedder: OpenAIEmbedder, fault_model: FaultModel, failure: Behaviour
) -> None:
    fault_model.script(failure, failure)
    assert len(await embedder.embed(["green", "red"])) == 2
    assert len(fault_model.requests) == 3


def _with(vector: object) -> Callable[[list[Json]], object]:
    return lambda data: [data[0] | {"embedding": vector}, *data[1:]]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda data: [], id="no vectors"),
        pytest.param(lambda data: None, id="no list"),
        pytest.param(lambda data: "vectors", id="a text"),
        pytest.param(lambda data: data + data, id="too many"),
        pytest.param(lambda data: [item | {"index": 0} for item in data], id="one place twice"),
        pytest.param(lambda data: [item | {"index": item["index"] + 1} for item in data], id="another place"),
        pytest.param(_with(None), id="a vector is null"),
        pytest.param(_with([]), id="a vector is empty"),
        pytest.param(_with([1.0] * (DIMENSIONS + 1)), id="a vector is too long"),
        pytest.param(_with([0.0] * DIMENSIONS), id="a vector is zero"),
        pytest.param(_with(["1"] * DIMENSIONS), id="texts for numbers"),
        pytest.param(_with([None] * DIMENSIONS), id="nulls for numbers"),
        pytest.param(_with([math.nan] * DIMENSIONS), id="not a number"),
        pytest.param(_with([math.inf] * DIMENSIONS), id="infinite"),
        pytest.param(_with([10**400] * DIMENSIONS), id="an integer beyond floats"),
        pytest.param(_with("???"), id="no base64"),
        pytest.param(_with("AAAA"), id="base64 of half a number"),
    ],
)
async def test_what_is_no_embedding_is_refused(
    embedder: OpenAIEmbedder, fault_model: FaultModel, change: Callable[[list[Json]], object]
) -> None:
    fault_model.otherwise = embeds(DIMENSIONS, change, base64_too=False)
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["green", "red"])
    assert len(fault_model.requests) == 3


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream"])
async def test_an_answer_is_read_under_any_content_type(
    embedder: OpenAIEmbedder, fault_model: FaultModel, content_type: str
) -> None:
    fault_model.otherwise = embeds(DIMENSIONS, content_type=content_type)
    assert len(await embedder.embed(["green", "red"])) == 2


@pytest.mark.parametrize("body", [b"<html>Sign in</html>", b"", b"[" * 100_000, b"null"])
@pytest.mark.parametrize("content_type", ["text/html", "application/json"])
async def test_what_is_no_answer_is_an_outage(
    embedder: OpenAIEmbedder, fault_model: FaultModel, body: bytes, content_type: str
) -> None:
    async def behave(exchange: Exchange) -> None:
        await exchange.respond(200, body, content_type)

    fault_model.otherwise = behave
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["green"])


async def test_vectors_of_another_length_are_refused_by_name_and_not_asked_for_again(
    make_embedder: MakeEmbedder, fault_model: FaultModel
) -> None:
    embedder = make_embedder(dimensions=DIMENSIONS * 2)
    for _ in range(8):  # more often than it takes to open a circuit, whose error would hide the cause
        with pytest.raises(WrongEmbeddings, match=rf"{DIMENSIONS} numbers.*{DIMENSIONS * 2}"):
            await embedder.embed(["green", "red"])
    assert len(fault_model.requests) == 8


@pytest.mark.parametrize("failure", [fault.unauthorized(), fault.status(404), fault.rate_limited("3600")])
async def test_what_does_not_pass_is_not_repeated(
    embedder: OpenAIEmbedder, fault_model: FaultModel, failure: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    fault_model.otherwise = failure
    with caplog.at_level(logging.WARNING), pytest.raises(EmbedderUnavailable) as raised:
        await embedder.embed(["green"])
    assert len(fault_model.requests) == 1
    assert raised.value.__cause__ is None
    assert SECRET not in caplog.text + str(vars(caplog.records[-1]))


async def test_silence_ends_with_the_time_limit(make_embedder: MakeEmbedder, fault_model: FaultModel) -> None:
    fault_model.otherwise = fault.silence()
    with pytest.raises(EmbedderUnavailable):
        await make_embedder(timeout_seconds=0.2).embed(["green"])


async def test_an_endpoint_that_keeps_failing_is_left_alone(embedder: OpenAIEmbedder, fault_model: FaultModel) -> None:
    fault_model.otherwise = fault.unavailable()
    for _ in range(20):
        with pytest.raises(EmbedderUnavailable):
            await embedder.embed(["green"])
    assert len(fault_model.requests) < 30
