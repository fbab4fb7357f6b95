"""An embedding endpoint that takes requests and never answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import httpx2 as httpx
import pytest

from baton.adapters.egress.circuit_breaker import CircuitBreakers
from baton.adapters.models.openai.embedder import OpenAIEmbedder
from baton.composition.app import build
from baton.domain.errors import EmbedderUnavailable
from baton.domain.tenants.identity import Scope
from baton.memory.agent_memory import AgentMemory
from baton.memory.recall.recall import DEADLINE
from baton.memory.recalled import MemorySearch
from tests.fakes.token_counter import WordCounter
from tests.harness.harness import ASSISTANT, Harness

ADA = Scope("acme", "ada")
FAILURES = 5


class Hung(httpx.AsyncBaseTransport):
    """Never answers."""

    def __init__(self) -> None:
        self.requests = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        await asyncio.Event().wait()
        raise AssertionError


@dataclass
class Turns:
    """Messages that recall something, one after the other."""

    endpoint: Hung
    embedder: OpenAIEmbedder
    memory: AgentMemory

    async def seconds(self) -> float:
        """Return how long one more takes."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        search = await self.memory.search(ASSISTANT, MemorySearch(ADA, "How is the cat called?"))
        assert search.found.episodes.error == "embedder_unavailable: searched by words only"
        return loop.time() - began


@pytest.fixture
async def turns() -> Turns:
    endpoint = Hung()
    embedder = OpenAIEmbedder(
        "local-model",
        8,
        counter=WordCounter(),
        api_key="no-key",
        base_url="http://model.test/v1",
        breakers=CircuitBreakers(failures=FAILURES, monotonic=asyncio.get_running_loop().time),
        transport=endpoint,
    )
    memory = build(Harness().with_ports(embedder=embedder)).memory.agent_memory
    return Turns(endpoint, embedder, memory)


async def test_after_a_few_turns_messages_are_searched_by_words_at_once(turns: Turns) -> None:
    waited = [await turns.seconds() for _ in range(FAILURES)]
    assert all(0 < seconds < DEADLINE.total_seconds() for seconds in waited)
    assert [await turns.seconds() for _ in range(20)] == [0] * 20
    assert turns.endpoint.requests == FAILURES


async def test_an_endpoint_that_is_too_slow_for_turns_still_embeds_for_closings(turns: Turns) -> None:
    for _ in range(FAILURES + 1):
        await turns.seconds()
    with pytest.raises(EmbedderUnavailable):
        await turns.embedder.embed(["a session's messages"])
    assert turns.endpoint.requests > FAILURES
