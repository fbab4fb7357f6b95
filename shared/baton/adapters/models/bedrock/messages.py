"""Render laid-out prompts as ``system`` and ``messages`` of Converse, with places for cache points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton.adapters.models.attachments.content import LaidMessage
from baton.adapters.models.bedrock.media import Block, MessageMedia
from baton.adapters.models.profiles.profile import CacheHints, ModelProfile
from baton.adapters.models.prompt_layout import BEGINNING, BETWEEN, parse_arguments
from baton.adapters.models.tool_schemas import ModelTools
from baton.domain.json_values import load_json
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.message import Role

REASONING = "reasoningContent"


def is_allowed_after(block: Block, profile: ModelProfile) -> bool:
    """Return whether a cache point may follow the block."""
    if "cachePoint" in block or "reasoningContent" in block:
        return False
    if "document" in block:
        return bool(block["document"]["format"] == "pdf")  # other documents are moved to the front of the message
    return "toolResult" not in block or profile.further.get("cache_after_results") != "no"


def remove_excess_cache_points(contents: Sequence[list[Block]], limit: int) -> bool:
    """Remove cache points from the lists of blocks until ``limit`` are left. Return whether any are left.

    Half of the remaining cache points are the oldest, whose prefixes change least, and half are the newest.
    """
    points = [(content, block) for content in contents for block in content if "cachePoint" in block]
    if len(points) > limit:
        oldest = limit // 2
        for content, block in points[oldest : len(points) - (limit - oldest)]:
            content[:] = [other for other in content if other is not block]
    return bool(points) and limit > 0


GO_ON = "[Please go on.]"
"""The user's message after a last answer of the model, because models refuse an answer as the last message."""
NO_RESULT = "(The tool gave no result.)"
CACHE_POINT: Block = {"cachePoint": {"type": "default"}}


class ConverseMessages:
    """The prompts of one request in their wire form."""

    def __init__(self, laid: Sequence[LaidMessage], tools: ModelTools, profile: ModelProfile) -> None:
        self.system: list[Block] = []
        self.messages: list[dict[str, Any]] = []
        """Roles alternate, and the first and the last message are the user's."""
        self._tools = tools
        self._profile = profile
        self._adds_cache_points = profile.cache is CacheHints.POINTS and "cache_point" not in profile.dropped
        self._media = MessageMedia(1)
        self._call_ids: set[str] = set()
        self._unanswered: dict[str, str] = {}
        """The calls of the last answer that have no result yet: their ids, and their ids in the request."""
        for message in laid:
            if message.role is Role.SYSTEM:
                texts = [piece for piece in message.pieces if isinstance(piece, str) and piece.strip()]
                self.system += [{"text": text} for text in texts]
                self._mark(self.system, message)
            elif self._add(message):
                self._mark(self.messages[-1]["content"], message)
        self._answer_all()
        if self._last_role != "user":
            self._extend("user", [{"text": GO_ON if self.messages else BEGINNING}])
        contents = [self.system, *(wire_message["content"] for wire_message in self.messages)]
        self.has_cache_points = remove_excess_cache_points(contents, profile.max_cache_marks)

    @property
    def _last_role(self) -> str | None:
        return self.messages[-1]["role"] if self.messages else None

    def _add(self, message: LaidMessage) -> bool:
        """Render a message, and return whether it has content."""
        if message.role is Role.TOOL and message.call_id in self._unanswered:
            return self._extend("user", [self._make_result_block(message, self._unanswered.pop(message.call_id or ""))])
        self._answer_all()
        if message.role is Role.ASSISTANT:
            self._unanswered = {call.id: self._make_unique(call.id) for call in message.calls}
            calls = tuple(replace(call, id=self._unanswered[call.id]) for call in message.calls)
            return self._extend("assistant", _make_answer_blocks(replace(message, calls=calls), self._tools))
        holds_results = self.messages and any("toolResult" in block for block in self.messages[-1]["content"])
        if message.media and holds_results:
            # No model takes a document beside a result, and Converse joins neighbours of one role.
            self._extend("assistant", [{"text": BETWEEN}])
        if self._last_role != "user":
            self._media = MessageMedia(len(self.messages) + 1)
        blocks: list[Block] = []
        for piece in message.pieces:
            if not isinstance(piece, str):
                blocks += self._media.make_blocks(piece)
            elif piece.strip():
                blocks.append({"text": piece})
        return self._extend("user", blocks)

    def _extend(self, role: str, blocks: Sequence[Block]) -> bool:
        """Add the blocks to the last message of this role, or to a new one. Return whether there are any."""
        if blocks and self._last_role != role:
            self.messages.append({"role": role, "content": []})
        if blocks:
            self.messages[-1]["content"].extend(blocks)
        return bool(blocks)

    def _make_unique(self, call_id: str) -> str:
        """Return an id that no earlier call of the request has, because some models use the same ids in each answer."""
        unique, number = call_id, 2
        while unique in self._call_ids:
            unique, number = f"{call_id[:56]}.{number}", number + 1
        self._call_ids.add(unique)
        return unique

    def _answer_all(self) -> None:
        """Add a result to each call that has none, because the service refuses a call without a result."""
        for call_id in self._unanswered.values():
            self._extend(
                "user", [self._make_result_block(LaidMessage(Role.TOOL, (NO_RESULT,), is_error=True), call_id)]
            )
        self._unanswered = {}

    def _make_result_block(self, message: LaidMessage, call_id: str) -> Block:
        text = message.text if message.text.strip() else NO_RESULT
        result: dict[str, Any] = {"toolUseId": call_id, "content": [_make_output_block(text, self._profile)]}
        if message.is_error and "result_status" not in self._profile.dropped:
            result["status"] = "error"
        return {"toolResult": result}

    def _mark(self, content: list[Block], message: LaidMessage) -> None:
        """Add a cache point to content that ends with ``message``, if a prefix ends there and a point may follow."""
        if self._adds_cache_points and message.ends_prefix and content and is_allowed_after(content[-1], self._profile):
            content.append(dict(CACHE_POINT))


def _make_output_block(text: str, profile: ModelProfile) -> Block:
    """Return the block of a tool's output: JSON for the models that read JSON better, text for others."""
    if profile.further.get("results") != "json":
        return {"text": text}
    value = load_json(text)
    return {"json": value if isinstance(value, dict) else {"result": text}}


def _make_answer_blocks(message: LaidMessage, tools: ModelTools) -> list[Block]:
    """Return the blocks of an answer: reasoning, text and calls in the order in which the model gave them."""
    text, calls = message.text, dict(enumerate(_make_call_block(call, tools) for call in message.calls))
    blocks: list[Block] = []
    position = 0
    for part in message.parts.parts if message.parts is not None else ():
        if REASONING in part:
            blocks.append({REASONING: part[REASONING]})
        elif isinstance(length := part.get("text"), int):
            blocks += _make_text_blocks(text[position : position + length])
            position += length
        elif part.get("call") in calls:
            blocks.append(calls.pop(part["call"]))
    first_call = next((index for index, block in enumerate(blocks) if "toolUse" in block), len(blocks))
    blocks[first_call:first_call] = _make_text_blocks(text[position:])  # nothing but calls may follow a call
    return [*blocks, *calls.values()]


def select_reasoning(reasoning: Mapping[str, Any], profile: ModelProfile) -> Block | None:
    """Return the block of reasoning that is sent back; None if the model would refuse it, or if it is empty.

    Anthropic's models refuse a text without its signature. All other models refuse a text with a signature.
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


def _make_call_block(call: ToolCall, tools: ModelTools) -> Block:
    arguments = parse_arguments(call) if call.arguments.strip() else {}
    return {"toolUse": {"toolUseId": call.id, "name": tools.name_outside(call.name), "input": arguments}}


def _make_text_blocks(text: str) -> list[Block]:
    return [{"text": text}] if text.strip() else []
