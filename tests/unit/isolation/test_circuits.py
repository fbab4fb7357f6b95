"""Failures that one tenant, or one conversation, causes keep no other from an endpoint."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator

import httpx2
import pytest

from baton.adapters.models.openai.embedder import OpenAIEmbedder
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import EmbedderUnavailable
from tests.fakes.token_counter import WordCounter
from tests.harness.harness import ASSISTANT
from tests.unit.adapters.models.chat_endpoint import Stream
from tests.unit.isolation.tenants import Body, Tenants, refuse

HASTY = AgentDefinition.model_validate(
    ASSISTANT.model_dump() | {"id": "hasty", "name": "Hasty", "model": {"timeout_seconds": 1}}
)


class Silence(Stream):
    """A stream that never says anything."""

    def __init__(self) -> None:
        super().__init__(b"")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        await asyncio.sleep(10_000)
        yield b""


def last_text(request: Body) -> str:
    return str(request["messages"][-1]["content"])


def fail_for_crash(request: Body) -> httpx2.Response | None:
    return refuse("out of memory", status=500) if "CRASH" in last_text(request) else None


def is_silent_for_slow(request: Body) -> httpx2.Response | None:
    return httpx2.Response(200, stream=Silence()) if "SLOW" in last_text(request) else None


async def test_a_tenant_whose_turns_fail_leaves_the_model_to_others() -> None:
    tenants = Tenants(fail_for_crash)
    for _ in range(7):
        assert (await tenants.ask("acme", "CRASH")).outcome == "model_unavailable"
    assert (await tenants.ask("globex")).outcome == "Yes."


async def test_a_tenant_has_a_circuit_of_its_own() -> None:
    tenants = Tenants(fail_for_crash)
    for _ in range(5):
        await tenants.ask("acme", "CRASH")
    left_alone = await tenants.ask("acme")
    assert (left_alone.outcome, left_alone.requests) == ("model_unavailable", [])


async def test_failures_of_one_conversation_leave_the_model_to_colleagues() -> None:
    tenants = Tenants(fail_for_crash)
    thread = str(uuid.uuid4())
    for _ in range(5):
        assert (await tenants.ask("acme", "CRASH", thread=thread)).requests
    assert not (await tenants.ask("acme", thread=thread)).requests
    assert (await tenants.ask("acme", user="bob")).outcome == "Yes."


async def test_a_short_time_limit_is_no_evidence_about_the_model() -> None:
    tenants = Tenants(is_silent_for_slow, others=(HASTY,))
    for _ in range(7):
        assert (await tenants.ask("acme", "SLOW", agent="hasty")).outcome == "model_timeout"
    assert (await tenants.ask("acme", agent="assistant")).outcome == "Yes."


@pytest.mark.parametrize("seconds", [0, 0.001, 0.5])
def test_a_time_limit_is_a_second_at_least(seconds: float) -> None:
    with pytest.raises(ValueError, match="timeout_seconds"):
        AgentDefinition.model_validate(ASSISTANT.model_dump() | {"model": {"timeout_seconds": seconds}})


class Embeddings(httpx2.AsyncBaseTransport):
    """An endpoint that embeds every text but those that ``fail``, which it answers with ``status``."""

    def __init__(self, status: int) -> None:
        self._status = status

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        texts = json.loads(await request.aread())["input"]
        if any("CRASH" in text for text in texts):
            return httpx2.Response(self._status, json={"error": {"message": "invalid text"}})
        data = [{"index": index, "embedding": [1.0, 0.0]} for index in range(len(texts))]
        return httpx2.Response(200, json={"data": data, "usage": {}})


@pytest.mark.parametrize(("status", "other"), [(500, "globex"), (400, "acme")])
async def test_texts_that_cannot_be_embedded_keep_no_others_from_it(status: int, other: str) -> None:
    embedder = OpenAIEmbedder(
        *("m", 2), counter=WordCounter(), api_key="k", base_url="http://m.test/v1", max_retries=0,
        transport=Embeddings(status),
    )  # fmt: skip
    for _ in range(7):
        with pytest.raises(EmbedderUnavailable):
            await embedder.embed(["CRASH"], tenant_id="acme")
    assert len(await embedder.embed(["Hello"], tenant_id=other)) == 1


async def test_a_short_time_limit_closes_no_circuit() -> None:
    def fail_or_stay_silent(request: Body) -> httpx2.Response | None:
        return fail_for_crash(request) or is_silent_for_slow(request)

    tenants = Tenants(fail_or_stay_silent, others=(HASTY,))
    for _ in range(4):
        await tenants.ask("acme", "CRASH", agent="assistant")
    await tenants.ask("acme", "SLOW", agent="hasty")
    await tenants.ask("acme", "CRASH", agent="assistant")
    assert not (await tenants.ask("acme", agent="assistant")).requests
