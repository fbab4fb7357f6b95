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

from baton.adapters.a2a.extension import make_conversation_metadata
from baton.adapters.a2a.failures import shorten
from baton.domain.handoffs.handoff import ContextMode
from baton.domain.threads.a2a_task import EXTENSION_URI
from baton.domain.web_url import is_web_url
from baton.ports.agents.agent_client import AgentData, AgentFile, AgentTask, Attachment, HandedOver
from baton_documents.media_types import OCTETS, MediaType

MAX_DATA_CHARS = 32_000
"""The maximum length of the JSON of one data part, in characters. A longer one is cut and passed on as text."""
MAX_NAME = 200
"""The length to which a file's name or media type is cut, in characters."""
THOUGHTS = ("adk_thought", "thought")
"""Members of a part's metadata that mark it as thinking. Google's ADK writes the first one."""
UNKNOWN = "[A part of a kind that is not understood here.]"
TOO_LONG = "[Data, of which this is the beginning: {}]"


def read_text(item: Message | Artifact) -> str:
    """Return the text of a message or artifact, then notes about the parts that cannot be passed on."""
    # The parts of a message are paragraphs. The parts of an artifact are chunks of one text.
    parts = [part for part in item.parts if not _is_thought(part)]
    texts = [part.text for part in parts if part.HasField("text")]
    notes = [note for part in parts if (note := _make_note(part))]
    text = "".join(texts) if isinstance(item, Artifact) else "\n".join(texts)
    return "\n".join([*([text] if text else []), *notes])


def read_extras(item: Message | Artifact) -> Iterator[tuple[str, AgentData | AgentFile]]:
    """Yield the data and files of a message or artifact, with a key that is the same for the same content."""
    for part in item.parts:
        if _is_thought(part):
            continue
        if part.HasField("data"):
            encoded = _encode_data(part)
            if len(encoded) <= MAX_DATA_CHARS:
                yield encoded, AgentData(json.loads(encoded))
        elif part.HasField("raw"):
            label = _name_and_type(part)
            yield f"{label} {hash(part.raw)}", AgentFile(Attachment(*label, data=part.raw))
        elif part.HasField("url"):
            label = _name_and_type(part)
            # Clients link to the address. One of another scheme could run a script in the client's page.
            url = part.url if is_web_url(part.url) else None
            yield f"{label} {part.url}", AgentFile(Attachment(*label, url=url))


def make_data_part(value: Any) -> Part:
    """Return a data part with a JSON ``value``.

    Raises ``ValueError`` for numbers, characters and depths that A2A cannot carry.
    """
    try:
        part = Part(data=ParseDict(value, Value()))
        MessageToDict(part.data)  # infinite numbers are refused only here
        return part
    except JsonError as error:
        raise ValueError(str(error)) from None


def accepts(modes: Iterable[str], media_type: str | None) -> bool:
    """Return whether one of a card's input ``modes`` covers the media type; without modes all are accepted.

    A ``media_type`` that is None or has a wrong form counts as ``application/octet-stream``.
    """
    modes = [mode.partition(";")[0].strip().casefold() for mode in modes]
    essence = MediaType.parse(media_type).essence or OCTETS
    ranges = ("*", "*/*", essence, f"{essence.partition('/')[0]}/*")
    return not modes or any(mode in ranges for mode in modes)


def _is_thought(part: Part) -> bool:
    """Return whether the metadata of a part say that it is the agent's thinking."""
    return any(name in part.metadata and bool(part.metadata[name]) for name in THOUGHTS)


def _name_and_type(part: Part) -> tuple[str | None, str | None]:
    return shorten(part.filename, MAX_NAME) or None, shorten(part.media_type, MAX_NAME) or None


def _make_note(part: Part) -> str:
    """Return a note about a part that cannot be passed on; empty for others."""
    match part.WhichOneof("content"):
        case "data":
            encoded = _encode_data(part)
            return TOO_LONG.format(encoded[:MAX_DATA_CHARS]) if len(encoded) > MAX_DATA_CHARS else ""
        case "text" | "raw" | "url":
            return ""
    return UNKNOWN


def _encode_data(part: Part) -> str:
    """Return the JSON of a data part, which is the same for the same data."""
    # Sorted, because protobuf keeps no order of names and the same data must have the same text.
    return json.dumps(_with_whole_numbers(MessageToDict(part.data)), ensure_ascii=False, sort_keys=True)


def _with_whole_numbers(value: Any) -> Any:
    """Return the value with whole numbers as integers, because protobuf makes all numbers floating-point."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(member) for member in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


SUMMARY = "The conversation was handed over to you. About it so far: {summary}"
MESSAGES = "The conversation was handed over to you. What was said in it last:"
CONTEXT = {EXTENSION_URI: {"context": True}}
"""The metadata of text parts that are not the user's: the context of a handoff, and the names of missing files."""


JSON = "application/json"
NOT_TAKEN = "[The file {name} was not passed on: you take no {kind}.]"


def fit_to_modes(task: AgentTask, modes: Sequence[str]) -> tuple[AgentTask, Sequence[Attachment]]:
    """Return the task without the files that the input ``modes`` of the agent's card exclude, and these files.

    Structured data becomes text if the agent takes no JSON, or if A2A cannot carry it as data.
    """
    refused = [attachment for attachment in task.attachments if not accepts(modes, attachment.media_type)]
    texts = [task.message] if task.message else []
    data = task.data
    if data is not None:
        try:
            make_data_part(data)
        except ValueError:
            texts, data = [*texts, json.dumps(data)], None  # in ASCII, because half of a surrogate pair is not text
        else:
            if not accepts(modes, JSON):
                texts, data = [*texts, json.dumps(data, ensure_ascii=False)], None
    accepted = tuple(attachment for attachment in task.attachments if attachment not in refused)
    return replace(task, message="\n".join(texts), attachments=accepted, data=data), refused


def make_request(
    task: AgentTask, missing: Sequence[Attachment] = (), *, has_callback: bool = False
) -> SendMessageRequest:
    """Return the request that sends the message of ``task``. The last text part is the user's.

    A note names the ``missing`` files. With ``has_callback`` the request includes the task's callback.
    """
    message = Message(
        message_id=task.task_id,
        context_id=task.thread_id,
        task_id=task.remote_task_id or "",
        role=Role.ROLE_USER,
        parts=_make_parts(task, missing),
        extensions=[EXTENSION_URI],
        metadata=make_conversation_metadata(task),
    )
    request = SendMessageRequest(message=message)
    if has_callback and task.callback is not None:
        push = request.configuration.task_push_notification_config
        push.url, push.token = task.callback.url, task.callback.token
        # Some agents send back only the token, others only the credentials.
        push.authentication.scheme, push.authentication.credentials = "Bearer", task.callback.token
    return request


def _make_parts(task: AgentTask, missing: Sequence[Attachment]) -> Iterator[Part]:
    """Yield the parts of the message of ``task``: context, notes about missing files, files, data, and the text."""
    context = _describe_context(task.handoff, task.message) if task.handoff is not None else ""
    if context:
        yield Part(text=context, metadata=CONTEXT)
    for attachment in missing:
        kind = attachment.media_type or "files of an unknown type"
        yield Part(text=NOT_TAKEN.format(name=attachment.name or "without a name", kind=kind), metadata=CONTEXT)
    for attachment in task.attachments:
        name, media_type = attachment.name or "", attachment.media_type or ""
        if attachment.data is not None:
            yield Part(raw=attachment.data, filename=name, media_type=media_type)
        else:
            yield Part(url=attachment.url or "", filename=name, media_type=media_type)
    if task.data is not None:
        yield make_data_part(task.data)
    if task.message:
        yield Part(text=task.message)


def _describe_context(handoff: HandedOver, message: str) -> str:
    """Return the context that the handoff grants, as text, because most agents ignore metadata; empty without one."""
    if handoff.request.context_mode is ContextMode.SUMMARY:
        summary = handoff.request.context_summary.strip()
        return SUMMARY.format(summary=summary) if summary and summary != message.strip() else ""
    lines = [f"{role}: {text}" for role, text in handoff.recent_messages]
    return "\n".join([MESSAGES, *lines]) if lines else ""
