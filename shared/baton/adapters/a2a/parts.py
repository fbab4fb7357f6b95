"""Parts of A2A messages and artifacts: their text, structured data and files, and the message of a task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from a2a.types import Artifact, Message, Part, Role, SendMessageRequest
from google.protobuf.json_format import Error as JsonError  # type: ignore[import-untyped]
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value  # type: ignore[import-untyped]

from baton.adapters.a2a.extension import conversation_metadata
from baton.adapters.a2a.failures import shortened
from baton.domain.handoffs.handoff import ContextMode
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.domain.web_url import has_credentials
from baton.ports.agents.agent_client import AgentData, AgentFile, AgentTask, Attachment, HandedOver
from baton_documents.media_types import OCTETS, MediaType

MAX_DATA_CHARS = 32_000
"""Characters of the JSON of one data part. A longer one is passed on as text, cut."""
MAX_NAME = 200
MAX_ADDRESS = 2_048
"""Characters of a file's name, and of its address."""
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


SUMMARY = "The conversation was handed over to you. About it so far: {summary}"
MESSAGES = "The conversation was handed over to you. What was said in it last:"
CONTEXT = {EXTENSION_URI: {"context": True}}
"""Metadata of text parts that are not the user's: the handoff's metadata in words, and files that are missing."""


JSON = "application/json"
NOT_TAKEN = "[The file {name} was not passed on: you take no {kind}.]"


def fit_to_modes(task: AgentTask, modes: Sequence[str]) -> tuple[AgentTask, Sequence[Attachment]]:
    """Return the task with what the agent takes, by the input ``modes`` of its card, and the files that it does not.

    Structured data becomes text for an agent that takes no JSON, and where A2A cannot carry it as data.
    """
    refused = [attachment for attachment in task.attachments if not accepts(modes, attachment.media_type)]
    words = [task.message] if task.message else []
    data = task.data
    if data is not None:
        try:
            data_part(data)
        except ValueError:
            words, data = [*words, json.dumps(data)], None  # in ASCII: half of a surrogate pair is not text
        else:
            if not accepts(modes, JSON):
                words, data = [*words, json.dumps(data, ensure_ascii=False)], None
    taken = tuple(attachment for attachment in task.attachments if attachment not in refused)
    return replace(task, message="\n".join(words), attachments=taken, data=data), refused


def make_request(task: AgentTask, missing: Sequence[Attachment] = ()) -> SendMessageRequest:
    """Return the request that sends ``task``'s message. Its last text part is the message itself.

    The request names the ``missing`` files.
    """
    message = Message(
        message_id=task.task_id,
        context_id=task.thread_id,
        task_id=task.remote_task_id or "",
        role=Role.ROLE_USER,
        parts=_parts(task, missing),
        extensions=[EXTENSION_URI],
        metadata=conversation_metadata(task),
    )
    return SendMessageRequest(message=message)


def _parts(task: AgentTask, missing: Sequence[Attachment]) -> Iterator[Part]:
    context = _context(task.handoff, task.message) if task.handoff is not None else ""
    if context:
        yield Part(text=context, metadata=CONTEXT)
    for lacking in missing:
        kind = lacking.media_type or "files of an unknown type"
        yield Part(text=NOT_TAKEN.format(name=lacking.name or "without a name", kind=kind), metadata=CONTEXT)
    for attachment in task.attachments:
        name, media_type = attachment.name or "", attachment.media_type or ""
        if attachment.data is not None:
            yield Part(raw=attachment.data, filename=name, media_type=media_type)
        else:
            yield Part(url=attachment.url or "", filename=name, media_type=media_type)
    if task.data is not None:
        yield data_part(task.data)
    if task.message:
        yield Part(text=task.message)


def _context(handed: HandedOver, message: str) -> str:
    """Return the granted context of the handoff as text, because most agents ignore metadata."""
    if handed.request.context_mode is ContextMode.SUMMARY:
        summary = handed.request.context_summary.strip()
        return SUMMARY.format(summary=summary) if summary and summary != message.strip() else ""
    lines = [f"{role}: {text}" for role, text in handed.recent_messages]
    return "\n".join([MESSAGES, *lines]) if lines else ""
