"""Answers of the model in later requests, with their reasoning in its place and unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton.adapters.models.attachments.content import LaidMessage
from baton.adapters.models.bedrock.media import Block
from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.prompt_layout import arguments_of
from baton.adapters.models.tool_schemas import ModelTools
from baton.domain.runs.tool_call import ToolCall

REASONING = "reasoningContent"


def answer_blocks(message: LaidMessage, tools: ModelTools) -> list[Block]:
    """Return the blocks of an answer: reasoning, text and calls in the order in which the model gave them."""
    text, calls = message.text, dict(enumerate(_call(call, tools) for call in message.calls))
    blocks: list[Block] = []
    position = 0
    for part in message.parts.parts if message.parts is not None else ():
        if REASONING in part:
            blocks.append({REASONING: part[REASONING]})
        elif isinstance(length := part.get("text"), int):
            blocks += _text(text[position : position + length])
            position += length
        elif part.get("call") in calls:
            blocks.append(calls.pop(part["call"]))
    first_call = next((at for at, block in enumerate(blocks) if "toolUse" in block), len(blocks))
    blocks[first_call:first_call] = _text(text[position:])  # nothing but calls may follow a call
    return [*blocks, *calls.values()]


def kept_reasoning(reasoning: Mapping[str, Any], profile: ModelProfile) -> Block | None:
    """Return a block of reasoning as it goes back; None if the model would refuse it.

    Anthropic's models refuse a text without its signature, and all others a text with one.
    """
    if "redactedContent" in reasoning:
        return {REASONING: {"redactedContent": reasoning["redactedContent"]}}
    signature = reasoning.get("signature")
    if bool(signature) != (profile.further.get("reasoning") == "signed"):
        return None
    text = reasoning.get("text", "")
    if signature:
        return {REASONING: {"reasoningText": {"text": text, "signature": signature}}}
    return {REASONING: {"reasoningText": {"text": text}}} if text else None


def _call(call: ToolCall, tools: ModelTools) -> Block:
    arguments = arguments_of(call) if call.arguments.strip() else {}
    return {"toolUse": {"toolUseId": call.id, "name": tools.name_outside(call.name), "input": arguments}}


def _text(text: str) -> list[Block]:
    return [{"text": text}] if text.strip() else []
