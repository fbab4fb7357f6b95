"""A request as data: its agent, messages, tools, and their results."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from baton.agents.answer_sources import CITED
from baton.memory.prompt.message_prompts import NOTED, WRITTEN_BY_PERSON
from baton_local.demo_model.wire import ChatMessage, ChatRequest

Json = dict[str, Any]


@dataclass(frozen=True)
class Situation:
    """A parsed request. System messages, quoted context and the descriptions of tools are left out.

    The demo model does not depend on their wording.
    """

    message: str
    """The user's last message."""
    earlier: Sequence[str]
    """The user's earlier messages, newest first."""
    results: Sequence[Json]
    """The results of tools since the user's last message, oldest first: ``tool``, ``arguments``, ``text``, ``json``.

    ``arguments`` and ``json``, the parsed ``text``, are None if they are not JSON."""
    batch: int
    """The number of ``results`` that answer the last calls."""
    tools: Mapping[str, Json]
    """The JSON Schemas of the tools that may be called, by name."""
    variables: Mapping[str, Any]
    """The data of the request, under the names that a script's templates use."""

    @classmethod
    def of(cls, request: ChatRequest) -> Situation:
        """Read a request."""
        messages = [
            _drop_quotations(message)
            for message in request.messages
            if message.role not in ("system", "developer") and not _is_context(message)
        ]
        last = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
        question = messages[last] if last >= 0 else None
        before, since = messages[: max(last, 0)], messages[last + 1 :]
        earlier = [read_text(message) for message in reversed(before) if message.role == "user"]
        answers = [read_text(message) for message in before if message.role == "assistant" and message.content]
        results = _read_results(since)
        metadata = _nest_metadata(request.metadata or {})
        variables: Json = {
            **{name: str(metadata.get(name, "")) for name in ("agent", "task")},
            **{name: _as_object(metadata.get(name)) for name in ("skill", "unfinished", "workflow")},
            "recalled": _list_numbered(_as_object(metadata.get("recalled"))),
            "said": read_text(question) if question else "",
            "data": _as_object(_parse_json(read_text(question))) if question and metadata.get("task") else {},
            "earlier": earlier,
            "answers": answers,
            "before": _join_answers_since_user(before),
            "attachments": _find_attachments(question) if question else [],
            "people": _find_quotations(request.messages, WRITTEN_BY_PERSON),
            "notes": _find_quotations(request.messages, NOTED),
            "results": results,
            "tools": {name: function.parameters or {} for name, function in request.offered.items()},
        }
        return cls(
            message=variables["said"],
            earlier=earlier,
            results=results,
            batch=next((index for index, message in enumerate(reversed(since)) if message.role != "tool"), 0),
            tools=variables["tools"],
            variables=variables,
        )

    @property
    def last_results(self) -> Sequence[Json]:
        """The results of the last calls."""
        return self.results[len(self.results) - self.batch :]

    def was_called(self, tool: str, arguments: Json) -> bool:
        """Return whether this call was made since the user's last message."""
        return any(result["tool"] == tool and result["arguments"] == arguments for result in self.results)


def read_text(message: ChatMessage) -> str:
    """Return a message's text, with straight apostrophes only, so that patterns need no others."""
    content = message.content or ""
    if not isinstance(content, str):
        content = "\n\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
    return content.strip().replace("\u2019", "'")


_CONTEXT = re.compile(r"<quoted-context>\n.*?\n</quoted-context>\s*", re.DOTALL)
"""Baton's quotations of others in messages of the user. Baton makes sure that users cannot write these tags."""

_QUOTED = re.compile(r"<quoted-context>\n(.*?)\n</quoted-context>", re.DOTALL)


def _find_quotations(messages: Sequence[ChatMessage], template: str) -> list[Json]:
    """Return what people at desks said, quoted in the form of ``template``: ``name`` and ``text``, oldest first."""
    parts = {"person": r'(?P<name>[^"\n]+)', "text": r'(?P<text>"[^\n]*")', "note": r'(?P<text>"[^\n]*")'}
    pattern = re.escape(template)
    for name, part in parts.items():
        pattern = pattern.replace(re.escape(f"{{{name}}}"), part)
    quotations = [
        quotation for message in messages if message.role == "user" for quotation in _QUOTED.findall(read_text(message))
    ]
    matches = [match for quotation in quotations if (match := re.fullmatch(pattern, quotation))]
    return [{"name": match["name"], "text": str(_parse_json(match["text"]) or "")} for match in matches]


def _is_context(message: ChatMessage) -> bool:
    """Return whether a message holds nothing but Baton's quotations of others."""
    content = message.content
    return message.role == "user" and isinstance(content, str) and bool(content) and not _CONTEXT.sub("", content)


def _drop_quotations(message: ChatMessage) -> ChatMessage:
    """Return a user's message without the quotations that Baton puts before it."""
    content = message.content
    if message.role != "user" or not content:
        return message
    if isinstance(content, str):
        return message.model_copy(update={"content": _CONTEXT.sub("", content)})
    parts = [
        {**part, "text": _CONTEXT.sub("", str(part.get("text", "")))} if part.get("type") == "text" else part
        for part in content
    ]
    remaining_parts = [part for part in parts if part.get("type") != "text" or part["text"]]
    return message.model_copy(update={"content": remaining_parts})


def _join_answers_since_user(messages: Sequence[ChatMessage]) -> str:
    """Return the assistant's texts after the last message of the user."""
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=-1)
    return "\n\n".join(
        read_text(message) for message in messages[last + 1 :] if message.role == "assistant" and message.content
    )


_NOTE = re.compile(rf"\n\n{re.escape(CITED).replace(re.escape('{}'), '.*')}\Z")
"""Baton's note, for models, of what a consulted agent cites. An answer must not repeat it."""


def _read_results(messages: Sequence[ChatMessage]) -> list[Json]:
    """Return the results of the calls in ``messages``, in the form of ``Situation.results``."""
    calls = {call.id: call.function for message in messages for call in message.tool_calls or ()}
    results = []
    for message in messages:
        if message.role == "tool" and message.tool_call_id in calls:
            call, text = calls[message.tool_call_id], read_text(message)
            text = _NOTE.sub("", text)
            arguments = _parse_json(call.arguments)
            results.append({"tool": call.name, "arguments": arguments, "text": text, "json": _parse_json(text)})
    return results


def _nest_metadata(metadata: Mapping[str, str]) -> Json:
    """Return metadata such as ``workflow.state`` as nested dictionaries, with texts of JSON parsed.

    Values of JSON that was cut off are left out.
    """
    nested: Json = {}
    for name, text in metadata.items():
        *parents, leaf = name.split(".")
        branch = nested
        for parent in parents:
            if not isinstance(branch.get(parent), dict):
                branch[parent] = {}
            branch = branch[parent]
        value = _parse_json(text)
        is_cut_off = value is None and text.startswith(("{", "["))
        if not is_cut_off:
            branch[leaf] = text if value is None else value
    return nested


def _as_object(metadata: Any) -> Json:
    """Return a value if it is a dictionary, otherwise an empty one."""
    return metadata if isinstance(metadata, dict) else {}


def _list_numbered(numbered: Json) -> list[Json]:
    """Return the dictionaries in metadata such as ``recalled.1`` and ``recalled.2``, by number."""
    numbers = sorted(int(name) for name in numbered if name.isdecimal() and str(int(name)) == name)
    return [item for item in (numbered[str(number)] for number in numbers) if _as_object(item)]


def _parse_json(text: str) -> Any:
    """Return the value of a text of JSON; None if the text is not JSON, is nested too deeply, or is ``null``."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_INLINED = re.compile(r'<document name="([^"\n]*)" type="([^"\n]*)" bytes="(\d+)">\s*([^\n]{0,200})')
"""A document that is given as text, and its first line."""


def _find_attachments(message: ChatMessage) -> list[Json]:
    """Return images and documents: ``kind``, ``name``, ``type`` and ``size`` in bytes, both None if unknown.

    Documents that are given as text have their first ``line`` too.
    """
    parts = message.content if isinstance(message.content, list) else [{"type": "text", "text": message.content or ""}]
    attachments: list[Json] = []
    for part in parts:
        attachment = _read_attachment(part)
        if attachment is not None:
            attachments.append(attachment)
        attachments += [
            {"kind": "document", "name": name, "type": kind, "size": int(size), "line": line}
            for name, kind, size, line in _INLINED.findall(str(part.get("text", "")))
        ]
    return attachments


def _read_attachment(part: Mapping[str, Any]) -> Json | None:
    """Return the image or file of a part of a message; None for another part."""
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)}} if url.startswith("data:"):
            mime_type, size = _read_data_url(url)
            name = f"{(mime_type or 'image').rpartition('/')[2].upper()} image"
            return {"kind": "image", "name": name, "type": mime_type, "size": size}
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return {"kind": "image", "name": url, "type": None, "size": None}
        case {"type": "file", "file": dict(file)}:
            mime_type, size = _read_data_url(str(file.get("file_data", "")))
            name = str(file.get("filename") or "a document")
            return {"kind": "document", "name": name, "type": mime_type, "size": size}
    return None


def _read_data_url(url: str) -> tuple[str | None, int | None]:
    """Return the media type of a data URL's content, and its size in bytes; None for what is unknown."""
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        return None, None
    try:
        size = len(base64.b64decode(data))
    except (binascii.Error, ValueError):
        size = None
    return head.removeprefix("data:").split(";")[0] or None, size
