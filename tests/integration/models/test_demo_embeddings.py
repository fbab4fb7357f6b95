"""The sentence encoder is asked over real HTTP by the product's own embedder, and within its process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from baton.adapters.models.openai.embedder import OpenAIEmbedder
from baton.domain.documents.search import Vector
from baton.domain.errors import EmbedderUnavailable
from baton.ports.documents.search import Embedder
from baton_local.demo_model.app import create_app
from baton_local.demo_model.sentence_embedder import SentenceEmbedder, make_embedder
from baton_local.demo_model.sentence_encoder import (
    DIMENSIONS,
    NAME,
    PARALLEL_BATCHES,
    SentenceEncoder,
    make_encoder_url,
)
from baton_local.settings import default_cache_dir
from tests.fakes.token_counter import WordCounter
from tests.fault_model import ThreadedServer


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    server = ThreadedServer(create_app({"BATON_DEMO_DELAY_MS": "0"}))
    yield f"http://127.0.0.1:{server.start()}"
    server.stop()


@pytest.fixture(params=["over HTTP", "in its process"])
async def embedder(demo_url: str, request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    if request.param == "in its process":
        yield make_embedder(make_encoder_url(default_cache_dir()), NAME, DIMENSIONS)
        return
    embedder = OpenAIEmbedder(NAME, DIMENSIONS, counter=WordCounter(), api_key="none", base_url=demo_url)
    yield embedder
    await embedder.aclose()


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_similarities_are_those_that_the_model_is_known_for(embedder: Embedder) -> None:
    person, *others = await embedder.embed(
        ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    )
    # The figures of the model's page.
    assert [cosine(person, other) for other in others] == pytest.approx([0.695, 0.943, 0.257], abs=0.001)


async def test_a_text_has_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    texts = ["green", "My bicycle is green and was made in 1987.", "word " * 100, "green " * 400]
    together = await embedder.embed(texts)
    for text, vector in zip(texts, together, strict=True):
        [alone] = await embedder.embed([text])
        assert cosine(alone, vector) == pytest.approx(1.0, abs=1e-5)


async def test_what_lies_beyond_256_tokens_is_cut(embedder: Embedder) -> None:
    short, long, longer = await embedder.embed(["green " * 200, "green " * 254, "green " * 254 + "bicycle " * 50])
    assert cosine(long, longer) == pytest.approx(1.0, abs=1e-5)
    assert cosine(short, long) < 0.99999


async def test_an_empty_text_and_half_of_a_character_are_embedded_too(embedder: Embedder) -> None:
    vectors = await embedder.embed(["", " ", "half of a character: \ud83d"])
    assert [cosine(vector, vector) for vector in vectors] == pytest.approx([1.0] * 3)
    assert list(await embedder.embed([])) == []


async def test_the_encoder_of_the_process_has_time_limits_and_says_why_it_fails(tmp_path: Path) -> None:
    embedder = make_embedder(make_encoder_url(default_cache_dir()), NAME, DIMENSIONS)
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["word " * 200] * 50, seconds=0.0)
    broken = SentenceEmbedder(SentenceEncoder(lambda: tmp_path))
    with pytest.raises(EmbedderUnavailable):
        await broken.embed(["green"])
    with pytest.raises(ValueError, match="BATON_EMBEDDING_MODEL"):
        make_embedder(make_encoder_url(default_cache_dir()), "text-embedding-3-small", 1_536)


def test_event_loops_share_the_encoder() -> None:
    texts = [f"{number} sentences of some words " * 20 for number in range(8 * PARALLEL_BATCHES)]

    def embed(_: int) -> Sequence[Vector]:
        embedder = make_embedder(make_encoder_url(default_cache_dir()), NAME, DIMENSIONS)
        return asyncio.run(embedder.embed(texts))

    with ThreadPoolExecutor(4) as threads:
        first, *others = threads.map(embed, range(4))
    assert len(first) == len(texts)
    for other in others:
        assert [cosine(one, two) for one, two in zip(first, other, strict=True)] == pytest.approx([1.0] * len(texts))


async def test_a_question_does_not_wait_for_a_large_request(embedder: Embedder) -> None:
    await embedder.embed(["loads the model"])
    count = 24 * PARALLEL_BATCHES  # several times what is embedded at once
    large = asyncio.create_task(embedder.embed([f"{number} sentences of some words " * 20 for number in range(count)]))
    await asyncio.sleep(0.1)
    await embedder.embed(["a question"])
    assert not large.done()
    assert len(await large) == count


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"input": []}, 400),
        ({"input": ""}, 400),
        ({"input": ["a", ""]}, 400),
        ({"input": ["a"] * 2_049}, 400),
        ({"input": [1, 2]}, 400),
        ({"dimensions": 1_536}, 400),
        ({"model": "text-embedding-3-small"}, 404),
        ({"encoding_format": "hex"}, 400),
    ],
)
async def test_wrong_requests_are_refused_as_openai_does(demo_url: str, change: dict[str, object], status: int) -> None:
    async with httpx.AsyncClient(base_url=demo_url) as client:
        answer = await client.post("/embeddings", json={"model": NAME, "input": "green"} | change)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


async def test_numbers_are_written_as_text_unless_asked_otherwise(demo_url: str) -> None:
    async with httpx.AsyncClient(base_url=demo_url) as client:
        answer = (await client.post("/embeddings", json={"model": NAME, "input": "green"})).json()
    assert len(answer["data"][0]["embedding"]) == DIMENSIONS
    assert answer["usage"] == {"prompt_tokens": 3, "total_tokens": 3}
