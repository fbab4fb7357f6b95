"""Fetch files that a remote agent's answer has by their address."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import replace

import httpx
from aws_lambda_powertools import Logger

from baton.adapters.a2a.connection import CONNECT_SECONDS, same_origin
from baton.adapters.stream_limits import ClosableIterator
from baton.ports.agent_client import Attachment

MAX_FETCHED = 5
"""Files of an answer that are fetched. Further ones stay addresses."""
MAX_FETCHED_BYTES = 5 * 1024 * 1024
"""Bytes of one file. A longer one stays an address."""
FETCH_SECONDS = 5.0
"""For all files of an answer: the user waits for its end."""


async def fetched(
    files: list[Attachment], http: Callable[[], httpx.AsyncClient], home: str, credentials: Mapping[str, str]
) -> list[Attachment]:
    """Return the files with their bytes, as far as they can be had; the others keep their address alone.

    ``http`` makes a guarded client. ``credentials`` are sent to the origin of ``home`` only.
    """
    kept = list(files)
    try:
        async with asyncio.timeout(FETCH_SECONDS), http() as client:
            client.follow_redirects = False
            client.headers["Accept-Encoding"] = "identity"  # what is compressed may be a thousand times as long
            client.timeout = httpx.Timeout(FETCH_SECONDS, connect=CONNECT_SECONDS)
            for index, file in enumerate(kept[:MAX_FETCHED]):
                if file.url is not None:
                    kept[index] = await _with_bytes(file, file.url, client, home, credentials)
    except TimeoutError:
        Logger(child=True).info("Files of a remote agent came too slowly")
    return kept


async def _with_bytes(
    file: Attachment, url: str, client: httpx.AsyncClient, home: str, credentials: Mapping[str, str]
) -> Attachment:
    try:
        headers = dict(credentials) if same_origin(url, home) else {}
        async with client.stream("GET", url, headers=headers) as response:
            if response.status_code != httpx.codes.OK or "Content-Encoding" in response.headers:
                return file
            body = bytearray()
            async with aclosing(ClosableIterator(response.aiter_raw())) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > MAX_FETCHED_BYTES:
                        return file
            declared = response.headers.get("Content-Type", "").partition(";")[0].strip()
    except Exception as error:  # noqa: BLE001 - a stranger's address may be no address, or lead nowhere
        Logger(child=True).info("A file of a remote agent is not fetched", extra={"failure": type(error).__name__})
        return file
    return replace(file, data=bytes(body), media_type=file.media_type or declared or None)
