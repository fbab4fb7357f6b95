"""Render messages, tools and settings for Chat Completions."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from baton.adapters.models.attachments.content import LaidMessage, Media, MediaKind, Piece
from baton.adapters.models.attachments.laid_out_attachments import Attachments
from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.prompt_layout import PromptLayout, lay_out, write_arguments
from baton.adapters.models.tool_schemas import ModelTools, make_model_tools
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Prompt, ToolSpec
from baton.ports.documents.files import ThreadFiles

MAX_METADATA_PAIRS = 16
MAX_METADATA_NAME = 64
"""Characters, like ``MAX_METADATA_VALUE``. OpenAI refuses a request that exceeds one of the three limits."""
MAX_METADATA_VALUE = 512

Wire = dict[str, Any]
"""A part of a request in its JSON form."""


async def make_wire_messages(prompts: Sequence[Prompt], files: ThreadFiles) -> list[Wire]:
    """Return the messages of a request to an unknown endpoint.

    A missing upload becomes a sentence that says so, because it must not fail every later turn. Raises the errors of
    ``files`` except ``NotFound``.
    """
    profile, attachments = ModelProfile(), Attachments(files, None)
    pieces = await attachments.make_all_pieces([prompt.content for prompt in prompts], profile)
    return make_chat_messages(lay_out(prompts, pieces, PromptLayout(profile, "")), ModelTools(), profile)


def make_wire_tools(tools: Sequence[ToolSpec]) -> list[Wire]:
    """Return the tools of a request to an unknown endpoint."""
    return make_chat_tools(make_model_tools(tools, ModelProfile()))


def make_chat_messages(laid: Sequence[LaidMessage], tools: ModelTools, profile: ModelProfile) -> list[Wire]:
    """Return the messages in their wire form."""
    return [_make_message(message, tools, profile) for message in laid]


def make_chat_tools(tools: ModelTools) -> list[Wire]:
    """Return the tools in their wire form."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools.tools
    ]


def make_wire_metadata(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the request's metadata within OpenAI's limits of number and length.

    Values that are not text become JSON, and long values are cut. Pairs with a long name are left out.
    """
    texts = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in values.items()
    }
    fitting = [(name, value) for name, value in texts.items() if len(name) <= MAX_METADATA_NAME]
    return {name: value[:MAX_METADATA_VALUE] for name, value in fitting[:MAX_METADATA_PAIRS]}


def make_data_url(media: Media) -> str:
    """Return an attachment as a data URL; its address if the provider fetches it."""
    if media.data is None:
        return media.url or ""
    return f"data:{media.mime_type};base64,{base64.b64encode(media.data).decode()}"


def _make_message(message: LaidMessage, tools: ModelTools, profile: ModelProfile) -> Wire:
    if message.role is Role.ASSISTANT:
        return _make_answer(message, tools, profile)
    if message.role is Role.TOOL:
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.role is Role.SYSTEM or not message.media:
        # Some servers accept plain strings only, so a list is sent only if it is needed.
        return {"role": message.role.value, "content": message.text}
    return {"role": "user", "content": [_make_part(piece) for piece in message.pieces]}


def _make_answer(message: LaidMessage, tools: ModelTools, profile: ModelProfile) -> Wire:
    """Return a message of the assistant with its calls, and with the fields that the endpoint wants back."""
    parts = message.parts.parts if message.parts is not None else ()
    answer: Wire = {"role": "assistant", "content": message.text}
    for part in parts:
        if "call" not in part:
            answer |= {name: value for name, value in part.get("fields", {}).items() if name in profile.replayed_fields}
    if profile.required_field is not None:
        answer.setdefault(profile.required_field, "")
    if message.calls:
        # Some endpoints reject empty text; OpenAI uses null for messages with calls.
        answer["content"] = answer["content"] or None
        fields = {part["call"]: part.get("fields", {}) for part in parts if "call" in part}
        answer["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": tools.name_outside(call.name), "arguments": write_arguments(call)},
                **fields.get(index, {}),
            }
            for index, call in enumerate(message.calls)
        ]
    return answer


def _make_part(piece: Piece) -> Wire:
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    if piece.kind is MediaKind.IMAGE:
        return {"type": "image_url", "image_url": {"url": make_data_url(piece)}}
    return {"type": "file", "file": {"filename": piece.name, "file_data": make_data_url(piece)}}
