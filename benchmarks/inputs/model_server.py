"""A model endpoint that answers without delay, as a process: ``uvicorn benchmarks.inputs.model_server:app``."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from benchmarks.workload import ANSWER, split_into_pieces

TOKENS = split_into_pieces(ANSWER)
USAGE = {"prompt_tokens": 100, "completion_tokens": len(TOKENS), "total_tokens": 100 + len(TOKENS)}


async def complete_chat(request: Request) -> StreamingResponse:
    """Answer ``POST /v1/chat/completions`` with the same answer each time, streamed with one chunk per token."""
    await request.json()
    return StreamingResponse(_stream(), media_type="text/event-stream")


async def _stream() -> AsyncIterator[str]:
    yield make_chunk([make_choice({"role": "assistant", "content": ""})])
    for token in TOKENS:
        yield make_chunk([make_choice({"content": token})])
    yield make_chunk([make_choice({}, "stop")])
    yield make_chunk([], usage=USAGE)
    yield "data: [DONE]\n\n"


def make_choice(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    """Return a choice of a chunk of a chat completion."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def make_chunk(choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> str:
    """Return a chunk of a chat completion as an event of SSE."""
    head = {"id": "chatcmpl-benchmark", "object": "chat.completion.chunk", "created": 0, "model": "benchmark"}
    fields = {"usage": usage} if usage is not None else {}
    return f"data: {json.dumps({**head, 'choices': choices, **fields}, separators=(',', ':'))}\n\n"


app = Starlette(routes=[Route("/v1/chat/completions", complete_chat, methods=["POST"])])
