"""An endpoint of Chat Completions without a socket, and questions to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx2

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, TextDelta
from tests.fakes.thread_files import MemoryThreadFiles

Answer = Callable[[dict[str, Any]], httpx2.Response]


class Endpoint(httpx2.AsyncBaseTransport):
    """An endpoint that answers requests by a function, and keeps their bodies."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(json.loads(await request.aread()))
        return self.answer(self.bodies[-1])


class Stream(httpx2.AsyncByteStream):
    def __init__(self, body: bytes) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def sse(*chunks: Any) -> httpx2.Response:
    lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Stream(lines.encode()))


def body(value: Any, status: int = 200) -> httpx2.Response:
    return httpx2.Response(
        status, headers={"content-type": "application/json"}, stream=Stream(json.dumps(value).encode())
    )


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


async def ask(
    endpoint: Endpoint, prompts: Sequence[Prompt] = (Prompt(Role.USER, "Hi"),), *, max_retries: int = 1, **settings: Any
) -> list[ModelChunk]:
    model = OpenAIChatModel(
        api_key="k", base_url="http://model.test/v1", transport=endpoint, backoff_seconds=0.0, max_retries=max_retries
    )
    tools = settings.pop("tools", ())
    stream = model.stream(ModelSettings("m", **settings), prompts, thread_files=MemoryThreadFiles(), tools=tools)
    try:
        return [item async for item in stream]
    finally:
        await model.aclose()


def text(chunks: Sequence[ModelChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
