"""Parts of A2A messages and artifacts: their text, structured data and files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from a2a.types import Artifact, Message, Part
from google.protobuf.json_format import Error as JsonError  # type: ignore[import-untyped]
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value  # type: ignore[import-untyped]

from baton.adapters.a2a.failures import shortened
from baton.domain.web_url import has_credentials
from baton.ports.agents.agent_client import AgentData, AgentFile, Attachment
from baton_documents.media_types import OCTETS, MediaType

MAX_DATA_CHARS = 32_000
"""Characters of the JSON of one data part. A longer one is passed on as text, cut."""
MAX_NAME = 200
MAX_ADDRESS = 2_048
THOUGHTS = ("adk_thought", "thought")
"""Members of a part's metadata that mark it as thinking."""
UNKNOWN = "[A part of a kind that is not understood here.]"
TOO_LONG = "[Data, of which this is the beginning: {}]"


def text_of(whole: Message | Artifact) -> str:
    """Return the text of a message or artifact."""
    # The parts of a message are paragraphs. Those of an artifact are chunks of one text.
    parts = [part for part in whole.parts if not _is_thought(part)]
    texts = [part.text for part in parts if part.HasField("text")]
    notes = [note for part in parts if (note := _note(part))]
    text = "".join(texts) if isinstance(whole, Artifact) else "\n".join(texts)
    return "\n".join([*([text] if text else []), *notes])


def extras_of(whole: Message | Artifact) -> Iterator[tuple[str, AgentData | AgentFile]]:
    """Yield the data and files, each with a text that is the same for the same content."""
    for part in whole.parts:
        if _is_thought(part):
            continue
        if part.HasField("data"):
            encoded = _json(part)
            if len(encoded) <= MAX_DATA_CHARS:
                yield encoded, AgentData(json.loads(encoded))
        elif part.HasField("raw"):
            named = _named(part)
            yield f"{named} {hash(part.raw)}", AgentFile(Attachment(*named, data=part.raw))
        elif part.HasField("url"):
            named = _named(part)
            yield f"{named} {part.url}", AgentFile(Attachment(*named, url=_address(part.url)))


def data_part(value: Any) -> Part:
    """Return a data part. Raises ``ValueError`` for numbers, characters and depths that A2A cannot carry."""
    try:
        part = Part(data=ParseDict(value, Value()))
        MessageToDict(part.data)  # infinite numbers are refused only here
        return part
    except JsonError as error:
        raise ValueError(str(error)) from None


def accepts(modes: Iterable[str], media_type: str | None) -> bool:
    """Return whether one of a card's input ``modes`` covers the media type. A card without modes takes everything."""
    modes = [mode.partition(";")[0].strip().casefold() for mode in modes]
    requested = MediaType.parse(media_type)
    essence = requested.essence or OCTETS
    ranges = ("*", "*/*", essence, f"{essence.partition('/')[0]}/*")
    return not modes or any(mode in ranges for mode in modes)


def _is_thought(part: Part) -> bool:
    """Return whether the agent's metadata say that a part is its thinking, as ADK's do."""
    return any(name in part.metadata and bool(part.metadata[name]) for name in THOUGHTS)


def _named(part: Part) -> tuple[str | None, str | None]:
    return shortened(part.filename, MAX_NAME) or None, shortened(part.media_type, MAX_NAME) or None


def _address(encoded: str) -> str | None:
    """Return an address that clients may link to; None for one that would run or read something in their page.

    Also None for one with a user name or password, which everybody who reads the answer would learn.
    """
    is_web = encoded.casefold().startswith(("https://", "http://")) and not has_credentials(encoded)
    return encoded[:MAX_ADDRESS] if is_web else None


def _note(part: Part) -> str:
    match part.WhichOneof("content"):
        case "data":
            encoded = _json(part)
            return TOO_LONG.format(encoded[:MAX_DATA_CHARS]) if len(encoded) > MAX_DATA_CHARS else ""
        case "text" | "raw" | "url":
            return ""
    return UNKNOWN


def _json(part: Part) -> str:
    # protobuf keeps no order of names, so the same data would look like other data.
    return json.dumps(_with_whole_numbers(MessageToDict(part.data)), ensure_ascii=False, sort_keys=True)


def _with_whole_numbers(value: Any) -> Any:
    """Return the value with whole numbers as such: protobuf has only floating-point ones."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
