"""Repair answers of remote agents: an optional member of the wrong form must not cost the answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped]

from baton.adapters.egress.stream_limits import AsyncClosable

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
            yield b"".join(_line(line) + b"\n" for line in lines)
        last = b"".join(pieces)
        yield _line(last) if self._is_stream else _text(last)

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


def _line(line: bytes) -> bytes:
    """Return a line of an event stream, repaired if it has a whole answer. Others are left to the parser."""
    return DATA + b" " + _text(line.removeprefix(DATA).strip()) if line.startswith(DATA) else line


def _text(text: bytes) -> bytes:
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
"""Members in which others are looked for. Data and metadata are the agent's own."""
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
"""Further ones."""
