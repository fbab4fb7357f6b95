"""A model endpoint that answers without delay, as a process: ``uvicorn benchmarks.inputs.model_server:app``."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from benchmarks.workload import ANSWER, pieces

TOKENS = pieces(ANSWER)
USAGE = {"prompt_tokens": 100, "completion_tokens": len(TOKENS), "total_tokens": 100 + len(TOKENS)}


async def chat_completions(request: Request) -> StreamingResponse:
    """Answer ``POST /v1/chat/completions`` with the same answer each time, streamed with one chunk per token."""
    await request.json()
    return StreamingResponse(_stream(), media_type="text/event-stream")


async def _stream() -> AsyncIterator[str]:
    yield chunk([choice({"role": "assistant", "content": ""})])
    for token in TOKENS:
        yield chunk([choice({"content": token})])
    yield chunk([choice({}, "stop")])
    yield chunk([], usage=USAGE)
    yield "data: [DONE]\n\n"


def choice(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def chunk(choices: list[dict[str, Any]], **fields: Any) -> str:
    head = {"id": "chatcmpl-benchmark", "object": "chat.completion.chunk", "created": 0, "model": "benchmark"}
    return f"data: {json.dumps({**head, 'choices': choices, **fields}, separators=(',', ':'))}\n\n"


app = Starlette(routes=[Route("/v1/chat/completions", chat_completions, methods=["POST"])])
