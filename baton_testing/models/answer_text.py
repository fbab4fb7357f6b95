"""The text of a model's answer."""

from __future__ import annotations

from collections.abc import AsyncIterable

from baton.ports.agents.chat_model import ModelChunk, TextDelta, TextTakenBack


async def read_answer_text(chunks: AsyncIterable[ModelChunk]) -> str:
    """Return the text of an answer, without text that the model's adapter has taken back; empty without text."""
    texts: list[str] = []
    async for chunk in chunks:
        if isinstance(chunk, TextDelta):
            texts.append(chunk.text)
        elif isinstance(chunk, TextTakenBack):
            texts.clear()
    return "".join(texts)
