"""An embedding endpoint that computes one text after another: ``uvicorn benchmarks.slow_embedder:app``.

``SECONDS_A_TEXT`` says how long each takes. Like a model on one accelerator, it computes what it has taken in though
nobody waits any more. ``GET /counts`` shows how many texts it has computed, and how many of them in vain.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import math
import os
from array import array
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

DIMENSIONS = 64
MODEL = "slow-embedder"
SECONDS_A_TEXT = float(os.environ.get("SECONDS_A_TEXT", "0.02"))


class Lane:
    """The place in which texts are computed, and the counts of them."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.computed = 0
        self.in_vain = 0

    async def compute(self, texts: int) -> None:
        """Take the time of some texts, after all that were taken in before."""
        async with self.lock:
            await asyncio.sleep(texts * SECONDS_A_TEXT)
        self.computed += texts


LANE = Lane()


async def embeddings(request: Request) -> JSONResponse:
    """Answer POST /v1/embeddings with vectors of the texts' words."""
    body = await request.json()
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    # A separate task continues when the client has left.
    await asyncio.shield(asyncio.create_task(LANE.compute(len(texts))))
    if await request.is_disconnected():
        LANE.in_vain += len(texts)
    data = [
        {"object": "embedding", "index": place, "embedding": _embedding(text, body.get("encoding_format"))}
        for place, text in enumerate(texts)
    ]
    return JSONResponse(
        {"object": "list", "model": MODEL, "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}}
    )


async def counts(request: Request) -> JSONResponse:
    """Answer GET /counts."""
    return JSONResponse({"computed": LANE.computed, "inVain": LANE.in_vain})


def _embedding(text: str, encoding: str | None) -> Any:
    vector = [0.0] * DIMENSIONS
    for word in text.lower().split() or [""]:
        vector[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    length = math.hypot(*vector)
    numbers = array("f", (number / length for number in vector))
    return base64.b64encode(numbers.tobytes()).decode() if encoding == "base64" else list(numbers)


app = Starlette(
    routes=[
        Route("/v1/embeddings", embeddings, methods=["POST"]),
        Route("/counts", counts),
        Route("/v1/models", counts),
    ]
)
