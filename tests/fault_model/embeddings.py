"""Answers to requests for embeddings."""

from __future__ import annotations

import base64
import json
from array import array
from collections.abc import Callable, Sequence

from tests.fault_model.chunks import Json
from tests.fault_model.exchange import Behaviour, Exchange


def make_vector(text: str, dimensions: int) -> list[float]:
    """Return the vector of a text: not of length 1, and another for another length or first letter."""
    vector = [0.0] * dimensions
    vector[len(text) % dimensions] = 3.0
    vector[ord(text[0]) % dimensions] += 4.0
    return vector


def embeds(
    dimensions: int,
    change: Callable[[list[Json]], object] = list,
    *,
    base64_too: bool = True,
    content_type: str = "application/json",
) -> Behaviour:
    """Answers with the vectors of the texts. ``change`` may change their list."""

    async def behave(exchange: Exchange) -> None:
        request = exchange.received.body
        as_base64 = base64_too and request.get("encoding_format") == "base64"

        def encode(vector: Sequence[float]) -> object:
            return base64.b64encode(array("f", vector).tobytes()).decode() if as_base64 else vector

        data: list[Json] = [
            {"object": "embedding", "index": index, "embedding": encode(make_vector(text, dimensions))}
            for index, text in enumerate(request["input"])
        ]
        body = {"object": "list", "model": request["model"], "data": change(data), "usage": {}}
        await exchange.respond(200, json.dumps(body).encode(), content_type)

    return behave
