"""Background requests for embeddings keep to a pace that the endpoint can follow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.embedding_calls import ApiEmbedder, EmbeddingLimits
from baton.adapters.models.embedding_pace import EmbeddingPaces
from baton.adapters.models.failures.failure import Backoff, FailureKind, ProviderFailure
from baton.domain.documents.search import Vector
from baton.domain.errors import EmbedderUnavailable
from baton.ports.documents.search import EmbeddingPurpose
from tests.fakes.token_counter import WordCounter

LIMITS = EmbeddingLimits(batch_texts=64, batch_tokens=100_000, text_tokens=1_000, text_characters=None, parallel=4)
DOCUMENT, QUERY = EmbeddingPurpose.DOCUMENT, EmbeddingPurpose.QUERY


@dataclass
class SlowEndpoint:
    """An endpoint that computes one text after another, whether or not anybody still waits for the answer."""

    seconds_a_text: float
    limits: EmbeddingLimits = LIMITS
    most_at_once: int = 1000
    """Requests above which it refuses."""
    batch_sizes: list[int] = field(default_factory=list)
    """The texts of each request."""
    answered: int = 0
    """Texts whose answer somebody waited for."""
    refused: int = 0
    busiest: int = 0
    _busy: int = 0
    _free_at: float = 0.0

    async def ask(self, texts: Sequence[str], purpose: EmbeddingPurpose) -> list[Vector]:
        loop = asyncio.get_running_loop()
        if self._busy >= self.most_at_once:
            self.refused += 1
            raise ProviderFailure("TooMany", FailureKind.ANSWER, status=429, retry_after=3.0)
        self.batch_sizes.append(len(texts))
        self._busy += 1
        self.busiest = max(self.busiest, self._busy)
        try:
            self._free_at = max(self._free_at, loop.time()) + len(texts) * self.seconds_a_text
            await asyncio.sleep(self._free_at - loop.time())
        finally:
            self._busy -= 1
        self.answered += len(texts)
        return [(1.0,) for _ in texts]


class SlowEmbedder(ApiEmbedder):
    """An embedder that asks the endpoint of its process."""

    def __init__(self, process: Process) -> None:
        self._endpoint_of_all = process.endpoint
        super().__init__(
            "model",
            1,
            model="model",
            endpoint="endpoint",
            limits=process.endpoint.limits,
            counter=WordCounter(),
            timeout_seconds=30.0,
            max_retries=2,
            backoff=Backoff(0.5),
            breakers=CircuitBreakers(),
            paces=process.paces,
        )

    async def ask(self, texts: Sequence[str], purpose: EmbeddingPurpose) -> list[Vector]:
        return await self._endpoint_of_all.ask(texts, purpose)


class Process:
    """A process: some embedders of one model, each with its own settings and circuit, and one pace."""

    def __init__(self, endpoint: SlowEndpoint) -> None:
        self.endpoint = endpoint
        self.paces = EmbeddingPaces()

    def embedder(self) -> ApiEmbedder:
        return SlowEmbedder(self)

    async def embed(self, texts: int) -> None:
        vectors = await self.embedder().embed([f"text {number}" for number in range(texts)], purpose=DOCUMENT)
        assert list(vectors) == [(1.0,)] * texts


async def test_many_callers_at_once_discard_nothing_of_a_slow_endpoint() -> None:
    endpoint = SlowEndpoint(seconds_a_text=0.25)  # 64 texts take 16 of the 30 seconds that a request has
    process = Process(endpoint)
    await asyncio.gather(*(process.embed(60) for _ in range(50)))
    assert endpoint.answered == 50 * 60
    assert sum(endpoint.batch_sizes) == 50 * 60


async def test_a_batch_that_is_too_slow_by_itself_is_sent_in_parts() -> None:
    endpoint = SlowEndpoint(seconds_a_text=2.0)  # 64 texts take 128 seconds
    await Process(endpoint).embed(64)
    assert endpoint.answered == 64
    assert sum(endpoint.batch_sizes) < 64 * 3  # those that were too large once each: 64, 32, 16 ... texts


async def test_refusals_for_load_slow_the_sender_and_end_no_work() -> None:
    endpoint = SlowEndpoint(seconds_a_text=0.01, most_at_once=1)
    process = Process(endpoint)
    await asyncio.gather(*(process.embed(64) for _ in range(40)))
    assert endpoint.answered == 40 * 64
    assert endpoint.refused < 20


async def test_a_quick_endpoint_is_asked_for_as_much_at_once_as_the_api_allows() -> None:
    endpoint = SlowEndpoint(seconds_a_text=0.0001)
    await Process(endpoint).embed(64 * 60)
    assert endpoint.busiest == LIMITS.parallel
    assert endpoint.batch_sizes == [64] * 60


async def test_a_question_waits_for_no_background_request_in_the_process() -> None:
    endpoint = SlowEndpoint(seconds_a_text=0.25)
    process = Process(endpoint)
    background = asyncio.gather(*(process.embed(60) for _ in range(20)))
    await asyncio.sleep(60)
    for _ in range(10):
        # Behind what is being computed, and not behind what waits.
        await process.embedder().embed(["a question"], purpose=QUERY, seconds=5.0)
        await asyncio.sleep(3)
    await background
    assert endpoint.answered == 20 * 60 + 10


async def test_an_endpoint_that_refuses_for_ever_ends_the_work() -> None:
    endpoint = SlowEndpoint(seconds_a_text=1.0, most_at_once=0)
    began = asyncio.get_running_loop().time()
    with pytest.raises(EmbedderUnavailable):
        await Process(endpoint).embed(1)
    assert 240 <= asyncio.get_running_loop().time() - began <= 300


async def test_a_caller_that_gives_up_gives_its_turn_back() -> None:
    endpoint = SlowEndpoint(seconds_a_text=1.0)
    process = Process(endpoint)
    tasks = [asyncio.create_task(process.embed(1)) for _ in range(6)]
    await asyncio.sleep(0.5)
    for task in tasks[:5:2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await process.embed(3)
    assert [task.cancelled() for task in tasks] == [True, False, True, False, True, False]


@given(st.data())
async def test_callers_that_give_up_at_once_leave_the_turns_to_others(data: st.DataObject) -> None:
    endpoint = SlowEndpoint(seconds_a_text=1.0)
    process = Process(endpoint)
    tasks = [asyncio.create_task(process.embed(1)) for _ in range(6)]
    await asyncio.sleep(data.draw(st.floats(0.0, 4.0)))
    given_up = data.draw(st.lists(st.sampled_from(tasks), unique=True))
    cancelled = [task for task in given_up if task.cancel()]
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [task for task in tasks if task.cancelled()] == [task for task in tasks if task in cancelled]
    assert all(outcome is None or isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    await process.embed(3)


@given(st.lists(st.integers(1, 130), min_size=1, max_size=12), st.floats(0.0, 3.0), st.integers(1, 6))
async def test_every_text_gets_its_vector_whatever_the_endpoint_takes(
    callers: list[int], seconds_a_text: float, most_at_once: int
) -> None:
    endpoint = SlowEndpoint(seconds_a_text, most_at_once=most_at_once)
    process = Process(endpoint)
    await asyncio.gather(*(process.embed(texts) for texts in callers))
    assert endpoint.answered == sum(callers)
    assert endpoint.busiest <= min(LIMITS.parallel, most_at_once)
