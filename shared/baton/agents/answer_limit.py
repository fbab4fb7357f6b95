"""How long the answer of one agent may be, however often its model is asked for it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import TypeVar

from baton.domain.text import first_bytes, utf8_size
from baton.domain.tool_call import ToolCall
from baton.ports.chat_model import MAX_ANSWER_BYTES, TextDelta

Chunk = TypeVar("Chunk")


class AnswerLimit:
    """What an agent may still say and call in a run, in bytes of UTF-8."""

    def __init__(self, room: int = MAX_ANSWER_BYTES) -> None:
        self.is_spent = False
        """Whether something was left out: the answer ends there."""
        self._room = room

    async def within(self, chunks: AsyncGenerator[Chunk, None]) -> AsyncGenerator[Chunk | TextDelta, None]:
        """The same chunks, as far as there is room; whoever gives more is closed."""
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                if isinstance(chunk, TextDelta) and (size := utf8_size(chunk.text)) <= self._room:
                    self._room -= size
                    if chunk.text:
                        yield chunk
                elif isinstance(chunk, TextDelta):
                    text = first_bytes(chunk.text, self._room)
                    self._room -= utf8_size(text)
                    if text:
                        yield TextDelta(text)
                    self.is_spent = len(text) < len(chunk.text)
                elif isinstance(chunk, ToolCall):
                    self._room -= utf8_size(chunk.name) + utf8_size(chunk.arguments)
                    self.is_spent = self._room < 0
                    if not self.is_spent:
                        yield chunk
                else:
                    yield chunk
                if self.is_spent:
                    return
