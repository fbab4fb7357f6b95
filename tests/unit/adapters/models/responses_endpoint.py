"""An endpoint of the Responses API and of Chat Completions in memory, which plays the answers of a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2 as httpx

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import (
    Finished,
    ModelChunk,
    ModelSettings,
    Prompt,
    ReasoningDelta,
    TextDelta,
    TextTakenBack,
    ToolSpec,
)
from tests.fakes.thread_files import MemoryThreadFiles

OPENAI = "https://api.openai.com/v1"
GATEWAY = "https://gateway.test/v1"
KEY = "sk-secret"
HELLO = (Prompt(Role.USER, "Hello"),)
ADD = ToolSpec("add", "Adds numbers.", {"type": "object", "properties": {"x": {"type": "number"}}})
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 40},
    "total_tokens": 150,
}

Event = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """An answer that is an error."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> httpx.Response:
        error = {"message": self.message, "type": "invalid_request_error", "code": self.code, "param": self.param}
        return httpx.Response(self.status, json={"error": error}, headers=dict(self.headers))


@dataclass
class Asked:
    """A request."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class Stream(httpx.AsyncByteStream):
    """Events as server-sent ones; ``stays`` is set after them, and the connection stays open."""

    def __init__(self, events: Sequence[Any], stays: asyncio.Event | None) -> None:
        self._events = events
        self._stays = stays
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for event in self._events:
            kind = event.get("type") if isinstance(event, dict) else None
            yield (f"event: {kind}\n" if kind else "").encode() + f"data: {json.dumps(event)}\n\n".encode()
        if self._stays is not None:
            self._stays.set()
            await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.is_closed = True


@dataclass(frozen=True)
class Whole(httpx.AsyncByteStream):
    """An answer that is not a stream."""

    body: Any

    def response(self) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "application/json"}, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield json.dumps(self.body).encode()


class Endpoint(httpx.AsyncBaseTransport):
    """An endpoint with one answer for each request, the last one again and again.

    An answer is events, a refusal, or a whole answer.
    """

    def __init__(self, *answers: Sequence[Any] | Refusal | Whole, stays: bool = False) -> None:
        self._answers = list(answers)
        self.is_waiting = asyncio.Event()
        self._stays = self.is_waiting if stays else None
        self.requests: list[Asked] = []
        self.streams: list[Stream] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(await request.aread())
        self.requests.append(Asked(request.url.path, dict(request.headers), body))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Refusal | Whole):
            return answer.response()
        self.streams.append(Stream(answer, self._stays))
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=self.streams[-1])

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.body for request in self.requests]

    @property
    def paths(self) -> list[str]:
        return [request.path.removeprefix("/v1") for request in self.requests]

    def model(self, base_url: str = OPENAI, **options: Any) -> OpenAIChatModel:
        """Return the product's client of this endpoint, which does not wait between attempts."""
        value = {"api_key": KEY, "base_url": base_url, "backoff_seconds": 0.0, "transport": self} | options
        return OpenAIChatModel(**value)


def settings(model: str = "gpt-6-sol", **fields: Any) -> ModelSettings:
    return ModelSettings(model=model, **({"timeout_seconds": 5.0} | fields))


async def ask(
    client: OpenAIChatModel,
    prompts: Sequence[Prompt] = HELLO,
    *,
    tools: Sequence[ToolSpec] = (),
    files: Mapping[str, bytes] | None = None,
    **fields: Any,
) -> list[ModelChunk]:
    stream = client.stream(settings(**fields), prompts, thread_files=MemoryThreadFiles(dict(files or {})), tools=tools)
    return [chunk async for chunk in stream]


def text_of(chunks: Sequence[ModelChunk]) -> str:
    """Return the text that users see in the end."""
    text = ""
    for chunk in chunks:
        text = "" if isinstance(chunk, TextTakenBack) else text + (chunk.text if isinstance(chunk, TextDelta) else "")
    return text


def thinking_of(chunks: Sequence[ModelChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, ReasoningDelta))


def calls_of(chunks: Sequence[ModelChunk]) -> list[ToolCall]:
    return [chunk for chunk in chunks if isinstance(chunk, ToolCall)]


def end_of(chunks: Sequence[ModelChunk]) -> Finished:
    end = chunks[-1]
    assert isinstance(end, Finished)
    return end


def make_prompt(chunks: Sequence[ModelChunk]) -> Prompt:
    """Return an answer as a later prompt holds it."""
    end = end_of(chunks)
    calls = tuple(calls_of(chunks))
    return Prompt(Role.ASSISTANT, text_of(chunks), tool_calls=calls, provider_parts=end.provider_parts)


# The items of answers


def message(text: str, *, item_id: str = "msg_1", phase: str | None = None) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    reported = {"type": "message", "id": item_id, "role": "assistant", "status": "completed", "content": content}
    return reported | ({"phase": phase} if phase else {})


def call(name: str, arguments: str, *, item_id: str = "fc_1", call_id: str = "call_1") -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": item_id,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def reasoning(encrypted: str, *, item_id: str = "rs_1", summary: Sequence[str] = ()) -> dict[str, Any]:
    reported = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": item_id, "summary": reported, "encrypted_content": encrypted}


# The events of answers, as OpenAI sends them


def answers(*items: dict[str, Any], model: str = "gpt-6-sol-2026-09-01", usage: Any = USAGE) -> list[Event]:
    return [*stream_items(*items), make_end(*items, model=model, usage=usage)]


def stream_items(*items: dict[str, Any]) -> list[Event]:
    """Return the events of the items, without the one that ends the answer."""
    events: list[Event] = [{"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}]
    for index, item in enumerate(items):
        events += _events(index, item)
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def make_end(*items: dict[str, Any], status: str = "completed", **fields: Any) -> Event:
    response = {"id": "resp_1", "status": status, "output": list(items), "error": None, **fields}
    return {"type": f"response.{status}", "response": response}


def _events(index: int, item: dict[str, Any]) -> Iterator[Event]:
    location = {"output_index": index, "item_id": item["id"]}
    started = {**item, "status": "in_progress"}
    match item["type"]:
        case "message":
            yield _make_added(index, started | {"content": []})
            for piece in _pieces(item["content"][0]["text"]):
                yield {
                    "type": "response.output_text.delta",
                    **location,
                    "content_index": 0,
                    "delta": piece,
                    "logprobs": [],
                }
            yield {
                "type": "response.output_text.done",
                **location,
                "content_index": 0,
                "text": item["content"][0]["text"],
            }
        case "function_call":
            yield _make_added(index, started | {"arguments": ""})
            for piece in _pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **location, "delta": piece}
            yield {"type": "response.function_call_arguments.done", **location, "arguments": item["arguments"]}
        case "reasoning":
            yield _make_added(index, item | {"summary": [], "encrypted_content": "unfinished"})
            for number, part in enumerate(item["summary"]):
                at = {**location, "summary_index": number}
                yield {
                    "type": "response.reasoning_summary_part.added",
                    **at,
                    "part": {"type": "summary_text", "text": ""},
                }
                for piece in _pieces(part["text"]):
                    yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
                yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _make_added(index: int, item: dict[str, Any]) -> Event:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def _pieces(text: str) -> list[str]:
    return [text[at : at + 7] for at in range(0, len(text), 7)]
