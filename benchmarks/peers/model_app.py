"""The model of all peers: OpenAI's chat API with a fixed answer, whose duration ``POST /pace`` sets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from benchmarks.inputs.model_server import TOKENS, USAGE, make_choice, make_chunk
from benchmarks.workload import ANSWER

SELECTED = {"userinput": "", "selected_agent": "assistant", "confidence": 1}
"""The arguments for a tool that a request requires, which classify the message as one for the only agent."""


class Model:
    """The state of the model: the ``seconds`` of a whole answer, and the number of streamed answers."""

    seconds = 0.0
    answers = 0

    async def set_pace(self, request: Request) -> Response:
        """Set the seconds of the following answers. Return the number of answers streamed so far."""
        self.seconds = (await request.json())["seconds"]
        return JSONResponse({"answers": self.answers})

    async def complete(self, request: Request) -> Response:
        """Answer a chat completion: as a stream, as a whole, or with the call of a tool that the request requires."""
        body = await request.json()
        if body.get("stream"):
            self.answers += 1
            with_usage = (body.get("stream_options") or {}).get("include_usage", False)
            return StreamingResponse(self._stream(with_usage), media_type="text/event-stream")
        message: dict[str, object] = {"role": "assistant", "content": ANSWER}
        if isinstance(demanded := body.get("tool_choice"), dict):
            function = {"name": demanded["function"]["name"], "arguments": json.dumps(SELECTED)}
            message |= {"content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": function}]}
        end = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {"id": "chatcmpl-benchmark", "object": "chat.completion", "created": 0, "model": "benchmark"}
        return JSONResponse({**whole, "choices": [end], "usage": USAGE})

    async def _stream(self, with_usage: bool) -> AsyncIterator[str]:
        yield make_chunk([make_choice({"role": "assistant", "content": ""})])
        for token in TOKENS:
            yield make_chunk([make_choice({"content": token})])
            if self.seconds:
                await asyncio.sleep(self.seconds / len(TOKENS))
        yield make_chunk([make_choice({}, "stop")])
        if with_usage:
            yield make_chunk([], usage=USAGE)
        yield "data: [DONE]\n\n"


model = Model()
app = Starlette(
    routes=[
        Route("/v1/chat/completions", model.complete, methods=["POST"]),
        Route("/pace", model.set_pace, methods=["POST"]),
    ]
)
