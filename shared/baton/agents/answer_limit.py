"""The limit of the length of an agent's answers in a run."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import TypeVar

from baton.domain.runs.tool_call import ToolCall
from baton.domain.text import count_bytes, cut_to_bytes
from baton.ports.agents.chat_model import MAX_ANSWER_BYTES, ReasoningDelta, TextDelta

Chunk = TypeVar("Chunk")


class AnswerLimit:
    """The bytes of UTF-8 that an agent's texts, calls and visible thinking may still take in a run."""

    def __init__(self, room: int = MAX_ANSWER_BYTES) -> None:
        self.is_spent = False
        """True if the limit is used up, and the answer was cut."""
        self._room = room

    def cut(self, chunk: Chunk) -> Chunk | TextDelta | None:
        """Return the chunk or its part within the limit; None if nothing is left, or for an empty text.

        Pass no further chunks once ``is_spent`` is True.
        """
        if isinstance(chunk, ReasoningDelta):
            self._room -= count_bytes(chunk.text)
            self.is_spent = self._room < 0
            return None if self.is_spent else chunk
        if isinstance(chunk, TextDelta):
            size = count_bytes(chunk.text)
            if size <= self._room:
                self._room -= size
                return chunk if chunk.text else None
            text = cut_to_bytes(chunk.text, self._room)
            self._room -= count_bytes(text)
            self.is_spent = len(text) < len(chunk.text)
            return TextDelta(text) if text else None
        if isinstance(chunk, ToolCall):
            self._room -= count_bytes(chunk.name) + count_bytes(chunk.arguments)
            self.is_spent = self._room < 0
            return None if self.is_spent else chunk
        return chunk

    async def yield_within(self, chunks: AsyncGenerator[Chunk, None]) -> AsyncGenerator[Chunk | TextDelta, None]:
        """Yield the chunks up to the limit, then close the generator."""
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                if (part := self.cut(chunk)) is not None:
                    yield part
                if self.is_spent:
                    return
