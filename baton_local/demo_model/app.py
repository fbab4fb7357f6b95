"""The demo model's HTTP API: ``POST /chat/completions``, ``POST /embeddings`` and ``GET /models``, as in OpenAI's."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

from baton.adapters.models.token_counter import TiktokenCounter
from baton.domain.definition import get_message
from baton_local.demo_model import SCRIPT
from baton_local.demo_model.completion import Completion
from baton_local.demo_model.likeness import EncoderLikeness
from baton_local.demo_model.schema_instance import fit_to_format
from baton_local.demo_model.script import ScriptError
from baton_local.demo_model.script_file import ScriptFile
from baton_local.demo_model.sentence_encoder import DIMENSIONS, SentenceEncoder
from baton_local.demo_model.sentence_encoder import NAME as EMBEDDING_MODEL
from baton_local.demo_model.situation import Situation
from baton_local.demo_model.wire import ChatRequest, EmbeddingRequest
from baton_local.errors import LocalCloudError
from baton_local.root import TOKENIZER

if TYPE_CHECKING:
    from baton_local.demo_model.sentence_network import Array

logger = logging.getLogger("baton_local.demo_model")

LIGHT = "baton-demo-light"
"""A model that answers without pauses, for answers that no user watches."""
MODELS = ("baton-demo", LIGHT, EMBEDDING_MODEL)
DEFAULT_DELAY_MS = 25


def create_app(environ: Mapping[str, str] = os.environ, encoder: SentenceEncoder | None = None) -> FastAPI:
    """Return the ASGI app. Reads ``BATON_DEMO_SCRIPT``, ``BATON_DEMO_DELAY_MS`` (ms a word), ``TIKTOKEN_CACHE_DIR``.

    Without ``encoder``, an encoder of the installed package is made. If ``BATON_EMBEDDING_MODEL`` names another model,
    answers compare words and do not load the encoder.
    Raises ``ScriptError`` for a script that cannot be used.
    """
    app = FastAPI(title="Baton's offline demo model (a stand-in that plays a script)", docs_url=None, redoc_url=None)
    script = ScriptFile(Path(environ.get("BATON_DEMO_SCRIPT") or SCRIPT))
    encoder = encoder or SentenceEncoder()
    uses_encoder = environ.get("BATON_EMBEDDING_MODEL") in (None, "", EMBEDDING_MODEL)
    likeness = EncoderLikeness(encoder) if uses_encoder else None
    counter = TiktokenCounter(Path(environ.get("TIKTOKEN_CACHE_DIR") or TOKENIZER))

    @app.exception_handler(RequestValidationError)
    async def refuse_invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            return _make_error(400, "We could not parse the JSON body of your request.")
        param, message = ".".join(str(step) for step in first["loc"] if step != "body"), get_message(first)
        if not param:
            return _make_error(400, f"Invalid request: {message}.")
        return _make_error(400, f"Invalid value for '{param}': {message}.", param=param)

    @app.exception_handler(HTTPException)
    async def refuse_url(request: Request, error: HTTPException) -> JSONResponse:
        message = f"Invalid URL ({request.method} {request.url.path})" if error.status_code == 404 else error.detail
        return _make_error(error.status_code, message)

    @app.exception_handler(ScriptError)
    async def report_failure(_: Request, error: ScriptError) -> JSONResponse:
        logger.error("The demo model's script failed: %s", error)
        return _make_error(500, f"The script failed: {error}", kind="server_error")

    @app.get("/models")
    async def list_models() -> dict[str, Any]:
        return {
            "object": "list",
            "data": [
                {"id": name, "object": "model", "created": 0, "owned_by": "baton-offline-demo"} for name in MODELS
            ],
        }

    @app.post("/chat/completions", response_model=None)
    async def complete_chat(request: ChatRequest) -> JSONResponse | StreamingResponse:
        compare = partial(likeness.compare, loop=asyncio.get_running_loop()) if likeness else None

        def answer() -> Completion:
            reply = fit_to_format(script.load_engine().reply(Situation.of(request), compare), request)
            return Completion.of(request, reply, counter)

        completion = await asyncio.to_thread(answer)
        if not request.stream:
            return JSONResponse(completion.to_response())
        delay = 0.0 if request.model == LIGHT else _read_delay_seconds(environ)
        include_usage = request.stream_options is not None and request.stream_options.include_usage
        return StreamingResponse(_stream_events(completion, include_usage, delay), media_type="text/event-stream")

    @app.post("/embeddings")
    async def embed_texts(request: EmbeddingRequest) -> JSONResponse:
        if request.model != EMBEDDING_MODEL:
            return _make_error(404, f"The model '{request.model}' does not exist.", param="model")
        if request.dimensions not in (None, DIMENSIONS):
            return _make_error(400, f"The model's vectors have {DIMENSIONS} dimensions.", param="dimensions")
        encoded = await encoder.encode(request.texts)
        write = _encode_base64 if request.encoding_format == "base64" else _to_floats
        return JSONResponse(
            {
                "object": "list",
                "model": EMBEDDING_MODEL,
                "data": [
                    {"object": "embedding", "index": index, "embedding": write(vector)}
                    for index, vector in enumerate(encoded.vectors)
                ],
                "usage": {"prompt_tokens": encoded.tokens, "total_tokens": encoded.tokens},
            }
        )

    return app


def create_local_app(encoder: SentenceEncoder) -> FastAPI:
    """Return the app of a local cloud, as ``create_app`` does.

    Raises ``LocalCloudError``, which lists the mistakes, for a script that cannot be used.
    """
    try:
        return create_app(encoder=encoder)
    except ScriptError as problem:
        raise LocalCloudError(f"The demo model's script cannot be used.\n{problem}") from problem


def _encode_base64(vector: Array) -> str:
    return base64.b64encode(vector.tobytes()).decode()


def _to_floats(vector: Array) -> list[float]:
    return [float(number) for number in vector]


async def _stream_events(completion: Completion, include_usage: bool, delay: float) -> AsyncIterator[str]:
    """Yield the events of a stream, with a pause of ``delay`` seconds before each piece."""
    yield _format_event(completion.make_first_chunk())
    for piece in completion.make_content_chunks():
        await asyncio.sleep(delay)
        yield _format_event(piece)
    yield _format_event(completion.make_end_chunk())
    if include_usage:
        yield _format_event(completion.make_usage_chunk())
    yield "data: [DONE]\n\n"


def _format_event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _read_delay_seconds(environ: Mapping[str, str]) -> float:
    """Return the pause before each piece of a stream. A variable that is unset, or no number, means the default."""
    try:
        return max(0.0, float(environ.get("BATON_DEMO_DELAY_MS") or DEFAULT_DELAY_MS)) / 1000
    except ValueError:
        return DEFAULT_DELAY_MS / 1000


def _make_error(
    status: int, message: str, *, param: str | None = None, kind: str = "invalid_request_error"
) -> JSONResponse:
    """Return an error in OpenAI's form. ``param`` is the field that is wrong; None if the error is about no field."""
    error = {"message": message, "type": kind, "param": param, "code": None}
    return JSONResponse({"error": error}, status)
