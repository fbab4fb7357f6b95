"""The text of a model's answer."""

from __future__ import annotations

from collections.abc import AsyncIterable

from baton.ports.agents.chat_model import AnswerText, ModelChunk


async def read_answer_text(chunks: AsyncIterable[ModelChunk]) -> str:
    """Return the text of an answer, without text that the model's adapter has taken back; empty without text."""
    answer = AnswerText()
    async for chunk in chunks:
        answer.take(chunk)
    return answer.text
