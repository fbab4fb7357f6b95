"""The content blocks of an answer, assembled from the pieces of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from baton.adapters.models.answers.parts import TooManyParts, get_text, is_object, make_unique_calls
from baton.adapters.models.bedrock.messages import select_reasoning
from baton.adapters.models.profiles.profile import ModelProfile
from baton.adapters.models.tool_schemas import ModelTools
from baton.domain.runs.tool_call import ToolCall, as_object
from baton.domain.text import count_bytes

MAX_BLOCKS = 2_000
"""The maximum number of blocks in one answer."""


@dataclass(slots=True)
class _Block:
    """A block of text, of reasoning or of a call."""

    length: int = 0
    """Characters of text that have been shown."""
    reasoning: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    redacted: list[str] = field(default_factory=list)
    """Base64, as the service sent it."""
    is_call: bool = False
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    @property
    def whole_reasoning(self) -> dict[str, str]:
        """All pieces of reasoning, joined into one."""
        if self.redacted:
            return {"redactedContent": "".join(self.redacted)}
        return {"text": "".join(self.reasoning), "signature": "".join(self.signature)}

    @property
    def input(self) -> str:
        """The arguments of a call as one text."""
        return as_object("".join(self.arguments).strip())


class AnswerBlocks:
    """The blocks of one answer, in their order."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._calls: dict[int, int] = {}
        """The keys of the newest calls' blocks, by index in the stream. Gateways send all calls under one index."""
        self.size = 0
        """Approximate bytes of all pieces but text."""

    def begin_call(self, index: int, call: Mapping[str, Any]) -> None:
        """Begin a call with its id and name, and its arguments if they arrive whole. Raises ``TooManyParts``."""
        newest = self._blocks.get(self._calls.get(index, index))
        if newest is not None and (newest.name or newest.length):
            self._calls[index] = max(self._blocks) + 1
        block = self._get_block(self._calls.get(index, index))
        block.is_call = True
        block.call_id, block.name = get_text(call.get("toolUseId")), get_text(call.get("name"))
        self.size += len(block.call_id) + len(block.name)
        if call.get("input"):
            self.add_arguments(index, call["input"])

    def add_arguments(self, index: int, piece: Any) -> None:
        """Add a piece of a call's JSON text, or a whole object. Raises ``TooManyParts``."""
        block = self._get_block(self._calls.get(index, index))
        block.is_call = True
        text = piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False) if piece is not None else ""
        block.arguments.append(text)
        self.size += count_bytes(text)

    def add_reasoning(self, index: int, piece: Mapping[str, Any]) -> str:
        """Add a piece of reasoning, and return its text. Raises ``TooManyParts``."""
        block = self._get_block(index)
        for pieces, name in ((block.reasoning, "text"), (block.signature, "signature")):
            if isinstance(piece.get(name), str):
                pieces.append(piece[name])
                self.size += count_bytes(piece[name])
        if isinstance(piece.get("redactedContent"), str):
            block.redacted.append(piece["redactedContent"])
            self.size += len(piece["redactedContent"])
        return get_text(piece.get("text"))

    def note_text(self, index: int, length: int) -> None:
        """Note that ``length`` more characters of a block have been shown. Raises ``TooManyParts``."""
        self._get_block(index).length += length

    def forget_text(self) -> None:
        """Note that no text so far belongs to the answer."""
        for block in self._blocks.values():
            block.length = 0

    def make_calls(self, tools: ModelTools, *, cut: bool) -> list[ToolCall]:
        """Return the calls; if the answer was ``cut``, without those whose arguments are incomplete.

        Raises ``ModelUnavailable`` for a call that names no tool.
        """
        blocks = [block for _, block in sorted(self._blocks.items()) if block.is_call]
        return make_unique_calls(
            (block.call_id, tools.name_inside(block.name), block.input)
            for block in blocks
            if not cut or is_object(block.input)
        )

    def make_parts(self, profile: ModelProfile, *, with_calls: bool) -> list[dict[str, Any]]:
        """Return the blocks as parts of a ``ProviderParts``, with the reasoning to send back in later requests.

        Reasoning that the model would refuse is left out, and so are calls unless ``with_calls``.
        """
        parts: list[dict[str, Any]] = []
        calls = 0
        for _, block in sorted(self._blocks.items()):
            if block.is_call:
                parts += [{"call": calls}] if with_calls else []
                calls += 1
            elif block.length:
                parts.append({"text": block.length})
            elif block.reasoning or block.signature or block.redacted:
                parts.append(select_reasoning(block.whole_reasoning, profile) or {})
        return [part for part in parts if part]

    def _get_block(self, index: int) -> _Block:
        block = self._blocks.get(index)
        if block is None:
            if len(self._blocks) >= MAX_BLOCKS:
                raise TooManyParts
            block = self._blocks[index] = _Block()
        return block
