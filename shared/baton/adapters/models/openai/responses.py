"""OpenAI's Responses API as an API of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton.adapters.models.attachments.content import LaidMessage, MediaKind, Piece
from baton.adapters.models.learning.request_form import RequestForm
from baton.adapters.models.openai.answer_body import AnswerBody
from baton.adapters.models.openai.clients import RESPONSES_LIMITS
from baton.adapters.models.openai.endpoint import (
    Endpoint,
    choose_tools,
    make_answer_format,
    make_tool_choice,
    note_refusal,
)
from baton.adapters.models.openai.messages import Wire, make_data_url
from baton.adapters.models.openai.responses_answer import ResponsesAnswer
from baton.adapters.models.profiles.profile import OBFUSCATION, EffortForm
from baton.adapters.models.prompt_layout import write_arguments
from baton.adapters.models.question import ModelQuestion, PreparedQuestion, choose_output_limit, prepare_question
from baton.adapters.models.tool_schemas import ModelTools, is_strict
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role

MIN_OUTPUT_TOKENS = 16
"""The minimum limit of an answer's tokens. OpenAI refuses lower limits."""


class Responses:
    """``ModelApi`` over the Responses API of any endpoint.

    Nothing is stored at the endpoint: every request says ``store: false`` and holds the whole conversation, with the
    encrypted reasoning of the turn.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    async def open(self, question: ModelQuestion, form: RequestForm) -> ResponsesAnswer:
        """See ``ModelApi``."""
        settings, profile = question.settings, form.profile
        origin = f"responses:{self._endpoint.host}/{settings.model}"
        declared = choose_tools(question, profile)
        prepared = await prepare_question(question, form, origin, declared, calls_as_text=question.hides_tools)
        fields = self._make_optional_fields(prepared)
        body = _join_fields(
            fields, {name: value for name, value in settings.extra.items() if name not in profile.dropped}
        )
        body |= {
            "model": settings.model,
            "input": make_input_items(prepared.messages, prepared.tools),
            "store": False,
            "stream": True,
        }
        sent = replace(prepared.make_features(*_list_field_names(fields), *settings.extra), body=body)
        with note_refusal(sent):
            stream = await self._endpoint.post("/responses", body)
        return ResponsesAnswer(AnswerBody(stream.response, RESPONSES_LIMITS), prepared, sent)

    def _make_optional_fields(self, question: PreparedQuestion) -> dict[str, Any]:
        """Return the fields besides model and input, without those that the model does not take."""
        settings, profile, tools = question.settings, question.profile, question.tools
        limit = choose_output_limit(settings, profile)
        takes_effort = profile.effort is not EffortForm.NONE and "reasoning_effort" not in profile.dropped
        shows_summary = settings.shows_reasoning and "reasoning_summary" not in profile.dropped
        is_padding_optional = profile.further.get(OBFUSCATION) == "optional"
        fields = {
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": max(limit, MIN_OUTPUT_TOKENS) if limit is not None else None,
            "reasoning": _drop_missing(
                effort=settings.reasoning_effort if takes_effort else None, summary="auto" if shows_summary else None
            ),
            "text": _drop_missing(
                format=make_answer_format(settings.answer_schema, profile),
                verbosity=settings.verbosity if "verbosity" not in profile.dropped else None,
            ),
            "stream_options": {"include_obfuscation": False} if is_padding_optional else None,
            "tools": make_response_tools(tools, takes_strict="strict" not in profile.dropped) or None,
            "tool_choice": make_tool_choice(settings.tool_choice, tools),
        }
        return self._endpoint.make_optional_fields(question, fields)


def _list_field_names(fields: Mapping[str, Any]) -> list[str]:
    """Return the profiles' names for the optional fields of a request."""
    names = [name for name in fields if name != "text"]
    names += [f"reasoning_{name}" for name in fields.get("reasoning", ())]
    names += ["verbosity"] if "verbosity" in fields.get("text", ()) else []
    return names + (["strict"] if any(tool["strict"] for tool in fields.get("tools", ())) else [])


def _join_fields(fields: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with further ones. Objects that both have, such as ``reasoning``, are joined."""
    joined = dict(fields)
    for name, value in extra.items():
        own = fields.get(name)
        joined[name] = {**own, **value} if isinstance(own, Mapping) and isinstance(value, Mapping) else value
    return joined


def _drop_missing(**members: Any) -> dict[str, Any] | None:
    """Return the members that have a value; None if none has."""
    return {name: value for name, value in members.items() if value is not None} or None


def make_input_items(laid: Sequence[LaidMessage], tools: ModelTools) -> list[Wire]:
    """Return the messages as input items.

    System messages are items too, not ``instructions``: later ones may follow, servers repeat ``instructions`` in every
    stream, and some do not take them.
    """
    return [item for message in laid for item in _make_items(message, tools)]


def make_response_tools(tools: ModelTools, *, takes_strict: bool = True) -> list[Wire]:
    """Return the tools in their wire form.

    ``strict`` is always set, because OpenAI treats schemas without it as strict, which makes optional arguments
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


def _make_items(message: LaidMessage, tools: ModelTools) -> list[Wire]:
    if message.role is Role.ASSISTANT:
        texts = [_make_message("assistant", message.text)] if message.text else []
        return _make_replayed_items(message, tools) or [
            *texts,
            *(_make_call_item(call, tools) for call in message.calls),
        ]
    if message.role is Role.TOOL:
        return [{"type": "function_call_output", "call_id": message.call_id, "output": message.text}]
    if message.role is Role.SYSTEM or not message.media:
        return [_make_message(message.role.value, message.text)]
    return [_make_message("user", [_make_part(piece) for piece in message.pieces])]


def _make_replayed_items(message: LaidMessage, tools: ModelTools) -> list[Wire]:
    """Return the items of an answer in the model's order, with reasoning; none if its parts do not cover the message.

    Ids are sent back only with reasoning: OpenAI refuses an item with an id if the item's reasoning is missing.
    """
    parts = message.parts.parts if message.parts is not None else ()
    if not _cover_message(parts, message):
        return []
    has_reasoning = any("item" in part for part in parts)
    items: list[Wire] = []
    position = 0
    for part in parts:
        if "item" in part:
            items.append(part["item"])
        elif "call" in part:
            named = {"id": part["id"]} if has_reasoning and "id" in part else {}
            items.append(_make_call_item(message.calls[part["call"]], tools) | named)
        else:
            end = position + part["text"]
            text, position = message.text[position + part.get("gap", 0) : end], end
            items += [_make_message_item(text, part, has_id=has_reasoning)] if text else []
    return items


def _cover_message(parts: Sequence[Mapping[str, Any]], message: LaidMessage) -> bool:
    """Return whether the parts cover the whole message, which may have been shortened since."""
    length = sum(part["text"] for part in parts if "text" in part)
    calls = [part["call"] for part in parts if "call" in part]
    return bool(parts) and length == len(message.text) and calls == list(range(len(message.calls)))


def _make_message_item(text: str, part: Mapping[str, Any], *, has_id: bool) -> Wire:
    phase = {"phase": part["phase"]} if "phase" in part else {}
    if not has_id or "id" not in part:
        return _make_message("assistant", text) | phase
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "id": part["id"], "role": "assistant", "status": "completed", "content": content}
    return item | phase


def _make_message(role: str, content: str | list[Wire]) -> Wire:
    return {"type": "message", "role": role, "content": content}


def _make_call_item(call: ToolCall, tools: ModelTools) -> Wire:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": tools.name_outside(call.name),
        "arguments": write_arguments(call),
    }


def _make_part(piece: Piece) -> Wire:
    if isinstance(piece, str):
        return {"type": "input_text", "text": piece}
    if piece.kind is MediaKind.IMAGE:
        return {"type": "input_image", "image_url": make_data_url(piece), "detail": "auto"}
    return {"type": "input_file", "filename": piece.name, "file_data": make_data_url(piece)}
