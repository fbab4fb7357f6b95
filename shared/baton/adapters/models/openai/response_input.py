"""Render messages, tools and settings for the Responses API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton.adapters.models.answers.answer_forms import is_strict
from baton.adapters.models.attachments.content import LaidMessage, MediaKind, Piece
from baton.adapters.models.openai.messages import Wire, data_url
from baton.adapters.models.prompt_layout import arguments_text
from baton.adapters.models.tool_schemas import ModelTools
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role


def input_items(laid: Sequence[LaidMessage], tools: ModelTools) -> list[Wire]:
    """Return the messages as input items.

    System messages are items too, not ``instructions``: later ones may follow, servers repeat ``instructions`` in every
    stream, and some do not take them.
    """
    return [item for message in laid for item in _items(message, tools)]


def response_tools(tools: ModelTools, *, takes_strict: bool = True) -> list[Wire]:
    """Return the tools in their wire form.

    ``strict`` is always said, because OpenAI makes schemas strict that say nothing: optional arguments would become
    required.
    """
    return [
        {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "strict": takes_strict and is_strict(tool.parameters),
        }
        for tool in tools.tools
    ]


def _items(message: LaidMessage, tools: ModelTools) -> list[Wire]:
    if message.role is Role.ASSISTANT:
        return _replay(message, tools) or _answer_items(message, tools)
    if message.role is Role.TOOL:
        return [{"type": "function_call_output", "call_id": message.call_id, "output": message.text}]
    if message.role is Role.SYSTEM or not message.media:
        return [_message(message.role.value, message.text)]
    return [_message("user", [_part(piece) for piece in message.pieces])]


def _answer_items(message: LaidMessage, tools: ModelTools) -> list[Wire]:
    """Return an answer without what only its model can read."""
    texts = [_message("assistant", message.text)] if message.text else []
    return [*texts, *(_call(call, tools) for call in message.calls)]


def _replay(message: LaidMessage, tools: ModelTools) -> list[Wire]:
    """Return an answer as its model gave it, reasoning in its place; nothing if its parts do not fit the message.

    Ids go back with reasoning only: OpenAI refuses an item that it knows to need reasoning which is missing.
    """
    parts = message.parts.parts if message.parts is not None else ()
    if not _fits(parts, message):
        return []
    has_reasoning = any("item" in part for part in parts)
    items: list[Wire] = []
    position = 0
    for part in parts:
        if "item" in part:
            items.append(part["item"])
        elif "call" in part:
            items.append(_call(message.calls[part["call"]], tools) | (_fields(part, "id") if has_reasoning else {}))
        else:
            text, position = (
                message.text[position + part.get("gap", 0) : position + part["text"]],
                position + part["text"],
            )
            items += [_message_item(text, part, has_id=has_reasoning)] if text else []
    return items


def _fits(parts: Sequence[Mapping[str, Any]], message: LaidMessage) -> bool:
    """Return whether the parts stand for the whole message, which something may have shortened since."""
    length = sum(part["text"] for part in parts if "text" in part)
    calls = [part["call"] for part in parts if "call" in part]
    return bool(parts) and length == len(message.text) and calls == list(range(len(message.calls)))


def _message_item(text: str, part: Mapping[str, Any], *, has_id: bool) -> Wire:
    phase = _fields(part, "phase")
    if not has_id or "id" not in part:
        return _message("assistant", text) | phase
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "id": part["id"], "role": "assistant", "status": "completed", "content": content}
    return item | phase


def _message(role: str, content: str | list[Wire]) -> Wire:
    return {"type": "message", "role": role, "content": content}


def _call(call: ToolCall, tools: ModelTools) -> Wire:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": tools.name_outside(call.name),
        "arguments": arguments_text(call),
    }


def _fields(part: Mapping[str, Any], *names: str) -> Wire:
    return {name: part[name] for name in names if name in part}


def _part(piece: Piece) -> Wire:
    if isinstance(piece, str):
        return {"type": "input_text", "text": piece}
    if piece.kind is MediaKind.IMAGE:
        return {"type": "input_image", "image_url": data_url(piece), "detail": "auto"}
    return {"type": "input_file", "filename": piece.name, "file_data": data_url(piece)}
