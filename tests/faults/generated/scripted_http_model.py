"""The model's HTTP endpoint, in memory and in virtual time: answers that say what they answer, and every failure."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx

from baton.adapters.models.openai import OpenAIChatModel
from tests.fault_model import chunk, usage_chunk
from tests.faults.generated.actors import current

FAILURES = ("429", "503", "401", "breaks", "hangs", "ends early", "empty", "not JSON", "refuses connection")


@dataclass
class ModelEndpoint(httpx.AsyncBaseTransport):
    """An endpoint that answers "<question>: word word ...", with pauses; a share of the answers fails in some way."""

    random: random.Random
    failing: float = 0.0
    """The share of requests that fail."""
    longest_pause: float = 0.0
    """Seconds between two words, at most."""
    words: int = 6
    """Words of an answer, at most."""
    counts: Counter[str] = field(default_factory=Counter)
    requests: int = 0

    def chat_model(self) -> OpenAIChatModel:
        """The product's adapter on this endpoint, which waits and retries as in production."""
        return OpenAIChatModel(api_key="no-key", base_url="http://model.test/v1", transport=self)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        _check()
        self.requests += 1
        messages = json.loads(await request.aread())["messages"]
        question = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        failure = self.random.choice(FAILURES) if self.random.random() < self.failing else None
        if failure is not None:
            self.counts[f"model {failure}"] += 1
        await self._pause()
        match failure:
            case "429":
                return httpx.Response(429, headers={"retry-after": "1"}, json={"error": {"message": "slow down"}})
            case "503" | "401":
                return httpx.Response(int(failure), json={"error": {"message": "no"}})
            case "refuses connection":
                raise httpx.ConnectError("refused")
        return httpx.Response(
            200, headers={"content-type": "text/event-stream"}, stream=_Stream(self._lines(_start(question), failure))
        )

    async def _lines(self, question: str, failure: str | None) -> AsyncIterator[bytes]:
        words = [f"{question}:", *(f" w{n}" for n in range(self.random.randint(0, self.words)))]
        breaking_at = self.random.randint(0, len(words)) if failure in ("breaks", "hangs", "ends early") else None
        if failure == "empty":
            words = []
        yield _line(chunk({"role": "assistant", "content": ""}))
        for number, word in enumerate([*words, ""]):
            await self._pause()
            if number == breaking_at:
                if failure == "breaks":
                    raise httpx.ReadError("the connection broke")
                if failure == "hangs":
                    await asyncio.sleep(10**6)
                return
            if word:
                yield _line(chunk({"content": word}))
        if failure == "not JSON":
            yield b"data: {not json\n\n"
            return
        yield _line(chunk({}, "stop"))
        yield _line(usage_chunk(len(question), len(words)))
        yield b"data: [DONE]\n\n"

    async def _pause(self) -> None:
        await asyncio.sleep(self.random.uniform(0, self.longest_pause))
        _check()


class _Stream(httpx.AsyncByteStream):
    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._lines:
            yield line


def _check() -> None:
    actor = current()
    if actor is not None:
        actor.check()


def _line(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


def _start(question: Any) -> str:
    """The key that distinguishes one question from the others."""
    text = question if isinstance(question, str) else json.dumps(question)
    return text.partition(" ")[0]
