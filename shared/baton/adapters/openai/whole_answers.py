"""Answers that are no streams, of servers that ignore that one was asked for, or that send an error so."""

from __future__ import annotations

import json

import httpx2 as httpx

from baton.adapters.models.failure import FailureKind, ProviderFailure


def is_whole(response: httpx.Response) -> bool:
    """Return whether a response is one JSON text."""
    return "json" in response.headers.get("content-type", "")


async def read_whole(response: httpx.Response) -> object:
    """Return the JSON of such a response; None if it was read before.

    Raises ``ProviderFailure`` for a broken connection, and ``ValueError`` for what is no JSON.
    """
    if response.is_stream_consumed:
        return None
    try:
        pieces = [piece async for piece in response.aiter_bytes()]
    except httpx.HTTPError as error:
        raise ProviderFailure(type(error).__name__, FailureKind.CONNECTION, text=str(error)) from None
    return json.loads(b"".join(pieces))
