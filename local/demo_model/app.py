"""The demo model's HTTP API: ``POST /chat/completions`` and ``GET /models``, as OpenAI's."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

from baton.adapters.token_counter import TiktokenCounter
from local.demo_model.completion import Completion
from local.demo_model.wire import ChatRequest

LIGHT = "baton-demo-light"
"""The quick one, for what nobody reads along: it answers without a pause."""
MODELS = ("baton-demo", LIGHT)
DEFAULT_DELAY_MS = 25

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
        if not param:
            return _error(400, f"Invalid request: {first['msg'].removeprefix('Value error, ')}.")
        return _error(400, f"Invalid value for '{param}': {first['msg']}.", param=param)

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
        completion = await asyncio.to_thread(Completion.of, request, counter)
        if not request.stream:
            return JSONResponse(completion.whole())
        delay = 0.0 if request.model == LIGHT else _delay_seconds(environ)
        include_usage = request.stream_options is not None and request.stream_options.include_usage
        return StreamingResponse(_events(completion, include_usage, delay), media_type="text/event-stream")

    return app


async def _events(completion: Completion, include_usage: bool, delay: float) -> AsyncIterator[str]:
    yield _event(completion.first_chunk())
    for piece in completion.pieces():
        await asyncio.sleep(delay)
        yield _event(piece)
    yield _event(completion.end_chunk())
    if include_usage:
        yield _event(completion.usage_chunk())
    yield "data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _delay_seconds(environ: Mapping[str, str]) -> float:
    try:
        return max(0.0, float(environ.get("BATON_DEMO_DELAY_MS") or DEFAULT_DELAY_MS)) / 1000
    except ValueError:
        return DEFAULT_DELAY_MS / 1000


def _error(status: int, message: str, *, param: str | None = None) -> JSONResponse:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return JSONResponse({"error": error}, status)


app = create_app()
