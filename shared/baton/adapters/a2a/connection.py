"""Prepare HTTP clients for remote agents, limited to one origin and in size, and fetch the files of their answers.

Answers are repaired: an optional member of the wrong form must not cost the answer.
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
"""The limits of one response or stream. Events are parsed by Python code, value by value."""
CONNECT_SECONDS = 5.0


def prepare(client: httpx.AsyncClient, home: str, credentials: Mapping[str, str], silence_seconds: float) -> None:
    """Configure ``client`` for requests to a remote agent.

    ``credentials`` (headers) are sent to the origin of ``home`` only, whatever addresses the agent's card contains.
    ``silence_seconds`` is the read timeout. Reading a response that is too large raises ``AgentFailed``.
    """
    origin = httpx.URL(home)

    async def keep_credentials_at_home(request: httpx.Request) -> None:
        if origin.scheme == "https" and request.url.scheme != "https":
            raise AgentFailed("The agent's card names an address without encryption.")
        if _origin(request.url) == _origin(origin):
            request.headers.update(credentials)

    client.event_hooks = {
        "request": [*client.event_hooks["request"], keep_credentials_at_home],
        "response": [*client.event_hooks["response"], _limit],
    }
    # A compressed answer may be a thousand times larger than its counted bytes.
    client.headers["Accept-Encoding"] = "identity"
    client.timeout = httpx.Timeout(silence_seconds, connect=min(CONNECT_SECONDS, silence_seconds))
    client.follow_redirects = False


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port  # httpx leaves default ports out


async def _limit(response: httpx.Response) -> None:
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise AgentFailed("The agent's answer is compressed, which was not asked for.")
    assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - an AsyncClient has no other streams
    limited = _Limited(response.stream, LIMITS)
    response.stream = RepairedBody(limited, response.headers.get("Content-Type", ""))


class _Limited(MeteredIterator, httpx.AsyncByteStream):
    """A body that is read through limits."""

    async def __anext__(self) -> bytes:
        try:
            return await super().__anext__()
        except StreamTooLong:
            raise AgentFailed("The agent's answer is longer than Baton reads.") from None


MAX_FETCHED = 5
"""Files of an answer that are fetched. Further ones stay addresses."""
MAX_FETCHED_BYTES = 5 * 1024 * 1024
"""Bytes of one file. A longer one stays an address."""
FETCH_SECONDS = 5.0
"""Seconds for all files of an answer: the user waits for its end."""


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
            client.headers["Accept-Encoding"] = "identity"  # what is compressed may be a thousand times as long
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
    try:
        headers = dict(credentials) if _origin(httpx.URL(url)) == _origin(httpx.URL(home)) else {}
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


DATA = b"data:"
EVENTS = "text/event-stream"


class RepairedBody(httpx.AsyncByteStream):
    """The body of an answer by JSON-RPC, or of a stream of answers, whose results are repaired."""

    def __init__(self, body: httpx.AsyncByteStream, content_type: str) -> None:
        self._body = body
        self._is_stream = content_type.partition(";")[0].strip().lower() == EVENTS

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces: list[bytes] = []
        async for piece in self._body:
            if not self._is_stream or b"\n" not in piece:
                pieces.append(piece)
                continue
            *lines, rest = b"".join([*pieces, piece]).split(b"\n")
            pieces = [rest]
            yield b"".join(_repair_line(line) + b"\n" for line in lines)
        last = b"".join(pieces)
        yield _repair_line(last) if self._is_stream else _repair_answer(last)

    async def aclose(self) -> None:
        if isinstance(self._body, AsyncClosable):
            await self._body.aclose()


def repair(value: Any) -> Any:
    """Return a task, message, artifact, part or update without optional members of the wrong form.

    An example is a time without a zone, as fasta2a writes it: the SDK would refuse the whole answer.
    """
    if isinstance(value, list):
        return [repair(member) for member in value if isinstance(member, dict)]
    if not isinstance(value, dict):
        return value
    return {
        name: repair(member) if name in HOLDERS else member
        for name, member in value.items()
        if _has_its_form(name, member)
    }


def _repair_line(line: bytes) -> bytes:
    """Return a line of an event stream, repaired if it has a whole answer. Others are left to the parser."""
    return DATA + b" " + _repair_answer(line.removeprefix(DATA).strip()) if line.startswith(DATA) else line


def _repair_answer(text: bytes) -> bytes:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(answer, dict) or not isinstance(answer.get("result"), dict):
        return text
    repaired = repair(answer["result"])
    return text if repaired == answer["result"] else json.dumps({**answer, "result": repaired}).encode()


def _has_its_form(name: str, member: Any) -> bool:
    if name in LISTS_OF_TEXTS:
        return isinstance(member, list) and all(isinstance(text, str) for text in member)
    if not isinstance(member, FORMS.get(name, object)):
        return False
    if name == "timestamp":
        try:
            Timestamp().FromJsonString(member)
        except (ValueError, TypeError, AttributeError):
            return False
    return True


HOLDERS = frozenset(
    {"task", "message", "statusUpdate", "artifactUpdate", "status", "artifact", "artifacts", "history", "parts", "file"}
)
"""Members whose own members are repaired too. Data and metadata are the agent's own."""
FORMS: Mapping[str, type] = {
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
"""The optional members by name, which are the same in both protocol lines, and the form of each."""
LISTS_OF_TEXTS = frozenset({"extensions", "referenceTaskIds"})
"""The optional members that are lists of texts."""
