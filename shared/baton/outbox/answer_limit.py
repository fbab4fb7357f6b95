"""The length limit of one agent's answer, over all its model calls."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import TypeVar

from baton.domain.text import first_bytes, utf8_size
from baton.domain.tool_call import ToolCall
from baton.ports.chat_model import MAX_ANSWER_BYTES, ReasoningDelta, TextDelta

Chunk = TypeVar("Chunk")


class AnswerLimit:
    """The bytes of UTF-8 that an agent's texts, calls and visible thinking may still take in a run."""

    def __init__(self, room: int = MAX_ANSWER_BYTES) -> None:
        self.is_spent = False
        """True if the answer was cut."""
        self._room = room

    def cut(self, chunk: Chunk) -> Chunk | TextDelta | None:
        """Return the chunk or its part within the limit; None if nothing is left. After the cut, ask for no others."""
        if isinstance(chunk, ReasoningDelta):
            self._room -= utf8_size(chunk.text)
            self.is_spent = self._room < 0
            return None if self.is_spent else chunk
        if isinstance(chunk, TextDelta):
            size = utf8_size(chunk.text)
            if size <= self._room:
                self._room -= size
                return chunk if chunk.text else None
            text = first_bytes(chunk.text, self._room)
            self._room -= utf8_size(text)
            self.is_spent = len(text) < len(chunk.text)
            return TextDelta(text) if text else None
        if isinstance(chunk, ToolCall):
            self._room -= utf8_size(chunk.name) + utf8_size(chunk.arguments)
            self.is_spent = self._room < 0
            return None if self.is_spent else chunk
        return chunk

    async def within(self, chunks: AsyncGenerator[Chunk, None]) -> AsyncGenerator[Chunk | TextDelta, None]:
        """Yield the chunks up to the limit, then close the generator."""
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                if (kept := self.cut(chunk)) is not None:
                    yield kept
                if self.is_spent:
                    return
