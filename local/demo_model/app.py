"""The demo model's HTTP API: ``POST /chat/completions`` and ``GET /models``, as OpenAI's."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

from baton.adapters.token_counter import TiktokenCounter
from baton.ports.token_counter import TokenCounter
from local.demo_model.conversation import Conversation
from local.demo_model.rules import answer
from local.demo_model.wire import ChatMessage, ChatRequest

MODELS = ("baton-demo", "baton-demo-light")
DEFAULT_DELAY_MS = 25
IMAGE_TOKENS = 85
"""What OpenAI counts for an image of low detail; the stand-in counts every image so."""

_TOKENIZER = Path(__file__).parents[2] / "layers" / "tokenizer"


def create_app(environ: Mapping[str, str] = os.environ) -> FastAPI:
    """The ASGI app. Reads ``BATON_DEMO_DELAY_MS`` (milliseconds a word) and ``TIKTOKEN_CACHE_DIR`` at each start."""
    app = FastAPI(title="Baton's offline demo model (rule-based stand-in)", docs_url=None, redoc_url=None)
    counter = TiktokenCounter(Path(environ.get("TIKTOKEN_CACHE_DIR") or _TOKENIZER))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return _error(400, "We could not parse the JSON body of your request.")
        param = ".".join(str(step) for step in first["loc"] if step != "body")
        return _error(400, f"Invalid value for '{param}': {first['msg']}.", param=param or None)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        message = f"Invalid URL ({request.method} {request.url.path})" if error.status_code == 404 else error.detail
        return _error(error.status_code, message)

    @app.get("/models")
    async def models() -> dict[str, Any]:
        return {
            "object": "list",
            "data": [
                {"id": name, "object": "model", "created": 0, "owned_by": "baton-offline-demo"} for name in MODELS
            ],
        }

    @app.post("/chat/completions", response_model=None)
    async def chat_completions(request: ChatRequest) -> JSONResponse | StreamingResponse:
        completion = await asyncio.to_thread(_complete, request, counter)
        if not request.stream:
            return JSONResponse(completion.whole())
        delay = _delay_seconds(environ)
        include_usage = request.stream_options is not None and request.stream_options.include_usage
        return StreamingResponse(_events(completion, include_usage, delay), media_type="text/event-stream")

    return app


@dataclass(frozen=True, slots=True)
class _Completion:
    """One answer, ready to be given whole or word by word."""

    id: str
    created: int
    model: str
    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int

    def usage(self) -> dict[str, int]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
        }

    def whole(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}
        return self._envelope("chat.completion") | {"choices": [choice], "usage": self.usage()}

    def chunk(self, delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return self._envelope("chat.completion.chunk") | {"choices": [choice]}

    def last_chunk(self) -> dict[str, Any]:
        return self._envelope("chat.completion.chunk") | {"choices": [], "usage": self.usage()}

    def _envelope(self, kind: str) -> dict[str, Any]:
        head = {"id": self.id, "object": kind, "created": self.created, "model": self.model}
        return head | {"system_fingerprint": None}


def _complete(request: ChatRequest, counter: TokenCounter) -> _Completion:
    text = answer(Conversation.of(request.messages)).text
    finish_reason, tokens = "stop", counter.count(text)
    if request.output_limit is not None and tokens > request.output_limit:
        text = _cut(text, request.output_limit, counter)
        finish_reason, tokens = "length", counter.count(text)
    return _Completion(
        id=f"chatcmpl-demo-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=request.model,
        text=text,
        finish_reason=finish_reason,
        prompt_tokens=_prompt_tokens(request.messages, counter),
        completion_tokens=tokens,
    )


async def _events(completion: _Completion, include_usage: bool, delay: float) -> AsyncIterator[str]:
    yield _event(completion.chunk({"role": "assistant", "content": ""}))
    for word in _words(completion.text):
        await asyncio.sleep(delay)
        yield _event(completion.chunk({"content": word}))
    yield _event(completion.chunk({}, completion.finish_reason))
    if include_usage:
        yield _event(completion.last_chunk())
    yield "data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def _cut(text: str, limit: int, counter: TokenCounter) -> str:
    """The longest beginning of whole words within ``limit`` tokens, at least the first character."""
    words = _words(text)
    low, high = 0, len(words)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count("".join(words[:middle])) <= limit:
            low = middle
        else:
            high = middle - 1
    return "".join(words[:low]) or text[:1]


def _prompt_tokens(messages: Sequence[ChatMessage], counter: TokenCounter) -> int:
    """As OpenAI counts them: 3 for each message's frame, 1 for a name, 3 to open the answer."""
    total = 3
    for message in messages:
        total += 3 + counter.count(message.role)
        if message.name:
            total += 1 + counter.count(message.name)
        parts = (
            [{"type": "text", "text": message.content or ""}]
            if not isinstance(message.content, list)
            else message.content
        )
        total += sum(_part_tokens(part, counter) for part in parts)
    return total


def _part_tokens(part: dict[str, Any], counter: TokenCounter) -> int:
    if part.get("type") == "text":
        return counter.count(str(part.get("text", "")))
    if part.get("type") == "image_url":
        return IMAGE_TOKENS
    file = part.get("file")
    return counter.count(str(file.get("filename", ""))) if isinstance(file, dict) else 0


def _delay_seconds(environ: Mapping[str, str]) -> float:
    try:
        return max(0.0, float(environ.get("BATON_DEMO_DELAY_MS") or DEFAULT_DELAY_MS)) / 1000
    except ValueError:
        return DEFAULT_DELAY_MS / 1000


def _error(status: int, message: str, *, param: str | None = None) -> JSONResponse:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return JSONResponse({"error": error}, status)


app = create_app()
