"""Embeddings by the models of Amazon Bedrock."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import httpx2
import pytest

from baton.adapters.models.bedrock.connection import BedrockConnection
from baton.adapters.models.bedrock.embedder import BedrockEmbedder
from baton.domain.errors import EmbedderUnavailable, WrongEmbeddings
from baton.ports.documents.search import EmbeddingPurpose
from tests.fakes.token_counter import WordCounter
from tests.unit.adapters.models.scripted_bedrock import Body, Keys, ScriptedBedrock, make_refusal

TITAN = "amazon.titan-embed-text-v2:0"
NOVA = "amazon.nova-2-multimodal-embeddings-v1:0"
COHERE = "eu.cohere.embed-v4:0"
COHERE_3 = "cohere.embed-multilingual-v3"
QUERY = EmbeddingPurpose.QUERY
DIMENSIONS = {TITAN: 256, NOVA: 256, COHERE: 256, COHERE_3: 1024}


class Embedding(ScriptedBedrock):
    """An endpoint whose vector of a text is its length and zeros, in the form of the model that is asked."""

    def __init__(self, *failures: Any) -> None:
        super().__init__(list(failures))
        self.at_once = self.most_at_once = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if len(self.requests) < len(self.answers):
            return await super().handle_async_request(request)
        await request.aread()
        self.requests.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        return make_response(_answer(request.url.path, json.loads(request.content)))


def make_response(answer: object) -> httpx2.Response:
    return httpx2.Response(200, stream=Body([json.dumps(answer).encode()]))


def _answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
    if "titan" in path:
        return {"embedding": vector(body["inputText"], body["dimensions"]), "inputTextTokenCount": 3}
    if "nova" in path:
        request = body["singleEmbeddingParams"]
        instance = vector(request["text"]["value"], request["embeddingDimension"])
        return {"embeddings": [{"embeddingType": "TEXT", "embedding": instance}]}
    made_of_each = [vector(text, body.get("output_dimension", 1024)) for text in body["texts"]]
    return {"embeddings": {"float": made_of_each} if "embedding_types" in body else made_of_each}


def vector(text: str, dimensions: int) -> list[float]:
    return [float(len(text)), 1.0, *[0.0] * (dimensions - 2)]


def embedder(model: str, bedrock: ScriptedBedrock, **options: Any) -> BedrockEmbedder:
    connection = BedrockConnection("eu-west-1", Keys, transport=bedrock)
    value: dict[str, Any] = {"connection": connection, "counter": WordCounter(), "backoff_seconds": 0.0}
    return BedrockEmbedder(model, options.pop("dimensions", DIMENSIONS.get(model, 256)), **(value | options))


@pytest.mark.parametrize("model", DIMENSIONS)
async def test_each_text_has_its_vector_of_length_1(model: str) -> None:
    vectors = await embedder(model, Embedding()).embed(["green paint", "boat"])
    assert [len(vector) for vector in vectors] == [DIMENSIONS[model]] * 2
    assert [vector[0] for vector in vectors] == [
        pytest.approx(11 / math.hypot(11, 1)),
        pytest.approx(4 / math.hypot(4, 1)),
    ]


async def test_what_is_asked_has_the_form_of_the_model() -> None:
    titan, nova, cohere, cohere_3 = (Embedding() for _ in range(4))
    await embedder(TITAN, titan).embed(["boat"], purpose=QUERY)
    assert titan.body == {"inputText": "boat", "dimensions": 256, "normalize": True}
    await embedder(NOVA, nova).embed(["boat"], purpose=QUERY)
    assert nova.body == {
        "taskType": "SINGLE_EMBEDDING",
        "singleEmbeddingParams": {
            "embeddingPurpose": "GENERIC_RETRIEVAL",
            "embeddingDimension": 256,
            "text": {"value": "boat", "truncationMode": "END"},
        },
    }
    await embedder(COHERE, cohere).embed(["boat"], purpose=QUERY)
    assert cohere.body == {
        "texts": ["boat"],
        "input_type": "search_query",
        "output_dimension": 256,
        "embedding_types": ["float"],
        "truncate": "RIGHT",
    }
    assert cohere.paths == ["/model/eu.cohere.embed-v4:0/invoke"]
    await embedder(COHERE_3, cohere_3).embed(["boat"])
    assert cohere_3.body == {"texts": ["boat"], "input_type": "search_document", "truncate": "END"}


async def test_documents_are_embedded_as_such() -> None:
    nova, cohere = Embedding(), Embedding()
    await embedder(NOVA, nova).embed(["boat"])
    await embedder(COHERE, cohere).embed(["boat"])
    assert nova.body["singleEmbeddingParams"]["embeddingPurpose"] == "GENERIC_INDEX"
    assert cohere.body["input_type"] == "search_document"


async def test_models_of_one_text_are_asked_five_times_at_once() -> None:
    bedrock = Embedding()
    texts = [f"text {number}" * (number + 1) for number in range(40)]
    vectors = await embedder(TITAN, bedrock).embed(texts)
    assert (len(bedrock.requests), bedrock.most_at_once) == (40, 5)
    assert [vector[0] for vector in vectors] == [pytest.approx(len(text) / math.hypot(len(text), 1)) for text in texts]


async def test_cohere_is_asked_for_96_texts_together() -> None:
    bedrock = Embedding()
    assert len(await embedder(COHERE, bedrock).embed(["boat"] * 200)) == 200
    assert sorted(len(body["texts"]) for body in bedrock.bodies) == [8, 96, 96]


async def test_long_and_empty_texts_are_made_to_fit() -> None:
    bedrock = Embedding()
    await embedder(COHERE_3, bedrock).embed(["x" * 3_000, " ", "\ud800"])
    assert [len(text) for text in bedrock.body["texts"]] == [2_048, 1, 1]


async def test_a_text_that_is_too_long_by_the_models_count_is_halved() -> None:
    too_long = make_refusal(
        400, "ValidationException", "Too many input tokens. Max input tokens: 8192, request input: 9000"
    )
    bedrock = Embedding(too_long, too_long)
    await embedder(TITAN, bedrock).embed(["word " * 100])
    assert [len(body["inputText"]) for body in bedrock.bodies] == [499, 249, 124]


@pytest.mark.parametrize(
    "failure",
    [
        make_refusal(429, "ThrottlingException", "Too many requests"),
        make_refusal(503, "ServiceUnavailableException", "Down"),
        httpx2.ConnectError("no route"),
        lambda: make_response({"embedding": []}),
        lambda: make_response([]),
        lambda: httpx2.Response(200, stream=Body([b"<html>"])),
    ],
    ids=["throttled", "down", "no connection", "no numbers", "a list", "a page"],
)
async def test_what_passes_is_tried_again(failure: Any) -> None:
    bedrock = Embedding(failure)
    assert len(await embedder(TITAN, bedrock).embed(["boat"])) == 1
    assert len(bedrock.requests) == 2


@pytest.mark.parametrize("name", ["AccessDeniedException", "ResourceNotFoundException"])
async def test_what_does_not_pass_is_not(name: str) -> None:
    bedrock = Embedding(*[make_refusal(403, name, "no")] * 9)
    with pytest.raises(EmbedderUnavailable):
        await embedder(TITAN, bedrock).embed(["boat"])
    assert len(bedrock.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"embeddings": {"float": [[1.0] * 255]}},
        {"embeddings": {"float": [[1.0] * 256] * 2}},
        {"embeddings": {"float": ["text"]}},
        {"embeddings": {"float": [[0.0] * 256]}},
        {"embeddings": {"int8": [[1] * 256]}},
        {"embeddings": None},
    ],
)
async def test_what_is_no_embedding_is_refused(answer: Any) -> None:
    bedrock = Embedding(*[lambda: make_response(answer)] * 9)
    with pytest.raises(EmbedderUnavailable):
        await embedder(COHERE, bedrock).embed(["boat"])


async def test_an_endless_answer_is_refused() -> None:
    bedrock = Embedding(*[lambda: httpx2.Response(200, stream=Body([b"[" + b"0," * 500_000] * 2))] * 9)
    with pytest.raises(EmbedderUnavailable):
        await embedder(TITAN, bedrock).embed(["boat"])


async def test_the_callers_time_is_kept() -> None:
    with pytest.raises(EmbedderUnavailable):
        await embedder(TITAN, Embedding()).embed(["boat"], seconds=0.001)


def test_a_model_that_is_unknown_is_refused_with_what_there_is() -> None:
    with pytest.raises(ValueError, match="no known embedding model"):
        embedder("anthropic.claude-opus-5", Embedding())


async def test_a_length_that_the_model_does_not_make_is_the_operators_matter() -> None:
    bedrock = Embedding()
    with pytest.raises(WrongEmbeddings, match="256 or 512 or 1024 numbers, and BATON_EMBEDDING_DIMENSIONS is 1536"):
        await embedder(TITAN, bedrock, dimensions=1536).embed(["boat"])
    assert bedrock.requests == []


def test_a_name_may_hide_the_family() -> None:
    arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/ab12cd34ef56"
    instance = embedder(arn, Embedding(), family=TITAN, name="bedrock/titan")
    assert (instance.name, instance.dimensions) == ("bedrock/titan", 256)
