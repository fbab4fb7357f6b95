"""Prepare HTTP clients for remote agents, with limits on credentials and sizes, and fetch the files of answers.

Answers are repaired: an optional member of the wrong form is dropped, so that the rest can be used.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx
from aws_lambda_powertools import Logger
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from baton.adapters.egress.stream_limits import (
    AsyncClosable,
    ClosableIterator,
    MeteredIterator,
    StreamLimits,
    StreamTooLong,
)
from baton.ports.agents.agent_client import AgentFailed, Attachment

LIMITS = StreamLimits(stream_bytes=8 * 1024 * 1024, event_bytes=2 * 1024 * 1024, event_values=10_000)
"""The limits of one response or stream. JSON values are limited, because parsing takes time for each of them."""
CONNECT_SECONDS = 5.0
"""The time limit for connecting, unless the read timeout is shorter."""


def prepare(client: httpx.AsyncClient, home: str, credentials: Mapping[str, str], silence_seconds: float) -> None:
    """Configure ``client`` for requests to a remote agent.

    ``credentials`` (headers) are sent only to the origin of the address ``home``, whatever addresses the agent's card
    contains. ``silence_seconds`` is the read timeout. If ``home`` is an HTTPS address, requests to addresses without
    encryption raise ``AgentFailed``. So do responses that are compressed or too large.
    """
    origin = httpx.URL(home)

    async def add_credentials_at_home(request: httpx.Request) -> None:
        if origin.scheme == "https" and request.url.scheme != "https":
            raise AgentFailed("The agent's card names an address without encryption.")
        if _get_origin(request.url) == _get_origin(origin):
            request.headers.update(credentials)

    client.event_hooks = {
        "request": [*client.event_hooks["request"], add_credentials_at_home],
        "response": [*client.event_hooks["response"], _check_response],
    }
    # A compressed answer may be a thousand times larger than its counted bytes.
    client.headers["Accept-Encoding"] = "identity"
    client.timeout = httpx.Timeout(silence_seconds, connect=min(CONNECT_SECONDS, silence_seconds))
    client.follow_redirects = False


def _get_origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx leaves default ports out


async def _check_response(response: httpx.Response) -> None:
    """Refuse a compressed response. Limit and repair the body of others. Raises ``AgentFailed``."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise AgentFailed("The agent's answer is compressed, although Baton asks for an uncompressed one.")
    assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - an AsyncClient has no other streams
    limited = _LimitedBody(response.stream, LIMITS)
    response.stream = RepairedBody(limited, response.headers.get("Content-Type", ""))


class _LimitedBody(MeteredIterator, httpx.AsyncByteStream):
    """A body that raises ``AgentFailed`` beyond ``LIMITS``."""

    async def __anext__(self) -> bytes:
        try:
            return await super().__anext__()
        except StreamTooLong:
            raise AgentFailed("The agent's answer is longer than Baton reads.") from None


MAX_FETCHED = 5
"""The number of files of an answer that are fetched. Further files stay addresses."""
MAX_FETCHED_BYTES = 5 * 1024 * 1024
"""The maximum size of a fetched file. A larger one stays an address."""
FETCH_SECONDS = 5.0
"""Seconds for all files of an answer together, because the user waits for them."""


async def fetch_files(
    files: list[Attachment], http: Callable[[], httpx.AsyncClient], home: str, credentials: Mapping[str, str]
) -> list[Attachment]:
    """Return the files with their bytes if they can be fetched; the others keep only their address.

    ``http`` makes a guarded client. ``credentials`` are sent to the origin of ``home`` only.
    """
    attachments = list(files)
    try:
        async with asyncio.timeout(FETCH_SECONDS), http() as client:
            client.follow_redirects = False
            client.headers["Accept-Encoding"] = "identity"  # a compressed file may be a thousand times larger
            client.timeout = httpx.Timeout(FETCH_SECONDS, connect=CONNECT_SECONDS)
            for index, file in enumerate(attachments[:MAX_FETCHED]):
                if file.url is not None:
                    attachments[index] = await _fetch_bytes(file, file.url, client, home, credentials)
    except TimeoutError:
        Logger(child=True).info("Files of a remote agent came too slowly")
    return attachments


async def _fetch_bytes(
    file: Attachment, url: str, client: httpx.AsyncClient, home: str, credentials: Mapping[str, str]
) -> Attachment:
    """Return the file with its bytes, or unchanged if it cannot be fetched."""
    try:
        headers = dict(credentials) if _get_origin(httpx.URL(url)) == _get_origin(httpx.URL(home)) else {}
        async with client.stream("GET", url, headers=headers) as response:
            if response.status_code != httpx.codes.OK or "Content-Encoding" in response.headers:
                return file
            body = bytearray()
            async with aclosing(ClosableIterator(response.aiter_raw())) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > MAX_FETCHED_BYTES:
                        return file
            media_type = response.headers.get("Content-Type", "").partition(";")[0].strip()
    except Exception as error:  # noqa: BLE001 - the address is the remote agent's, and may be invalid
        Logger(child=True).info("A file of a remote agent is not fetched", extra={"failure": type(error).__name__})
        return file
    return replace(file, data=bytes(body), media_type=file.media_type or media_type or None)


DATA = b"data:"
EVENT_STREAM = "text/event-stream"


class RepairedBody(httpx.AsyncByteStream):
    """The body of a JSON-RPC answer, or of an event stream of such answers, whose results are repaired."""

    def __init__(self, body: httpx.AsyncByteStream, content_type: str) -> None:
        self._body = body
        self._is_stream = content_type.partition(";")[0].strip().lower() == EVENT_STREAM

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces: list[bytes] = []
        async for piece in self._body:
            if not self._is_stream or b"\n" not in piece:
                pieces.append(piece)
                continue
            *lines, incomplete_line = b"".join([*pieces, piece]).split(b"\n")
            pieces = [incomplete_line]
            yield b"".join(_repair_line(line) + b"\n" for line in lines)
        last = b"".join(pieces)
        yield _repair_line(last) if self._is_stream else _repair_answer(last)

    async def aclose(self) -> None:
        if isinstance(self._body, AsyncClosable):
            await self._body.aclose()


def repair(value: Any) -> Any:
    """Return a task, message, artifact, part or update without optional members of the wrong form.

    An example is a time without a zone, as fasta2a writes it, for which the SDK would refuse the whole answer.
    """
    if isinstance(value, list):
        return [repair(member) for member in value if isinstance(member, dict)]
    if not isinstance(value, dict):
        return value
    return {
        name: repair(member) if name in REPAIRED_MEMBERS else member
        for name, member in value.items()
        if _is_valid_member(name, member)
    }


def _repair_line(line: bytes) -> bytes:
    """Return a line of an event stream, repaired if it contains a complete answer."""
    return DATA + b" " + _repair_answer(line.removeprefix(DATA).strip()) if line.startswith(DATA) else line


def _repair_answer(text: bytes) -> bytes:
    """Return a JSON-RPC answer with a repaired result. Other text is returned unchanged."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(answer, dict) or not isinstance(answer.get("result"), dict):
        return text
    repaired = repair(answer["result"])
    return text if repaired == answer["result"] else json.dumps({**answer, "result": repaired}).encode()


def _is_valid_member(name: str, member: Any) -> bool:
    """Return whether a member has the form that its name requires. Members with unlisted names are valid."""
    if name in LISTS_OF_TEXTS:
        return isinstance(member, list) and all(isinstance(text, str) for text in member)
    if not isinstance(member, MEMBER_TYPES.get(name, object)):
        return False
    if name == "timestamp":
        try:
            Timestamp().FromJsonString(member)
        except (ValueError, TypeError, AttributeError):
            return False
    return True


REPAIRED_MEMBERS = frozenset(
    {"task", "message", "statusUpdate", "artifactUpdate", "status", "artifact", "artifacts", "history", "parts", "file"}
)
"""Members whose own members are repaired too. Data and metadata are not, because agents choose their form."""
MEMBER_TYPES: Mapping[str, type] = {
    "timestamp": str,
    "metadata": dict,
    "name": str,
    "description": str,
    "filename": str,
    "mediaType": str,
    "mimeType": str,
    "append": bool,
    "lastChunk": bool,
    "history": list,
    "artifacts": list,
}
"""The JSON types of optional members, by name. They are the same in A2A 0.3 and 1.0."""
LISTS_OF_TEXTS = frozenset({"extensions", "referenceTaskIds"})
"""The optional members that are lists of texts."""
