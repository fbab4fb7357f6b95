"""A model's short text, read whole and bounded."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from baton.domain.errors import ContextTooLong
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ChatModel, Finished, ModelSettings, Prompt, TextDelta, TextTakenBack
from baton.ports.documents.files import NoFiles

MAX_SHORTENINGS = 3
"""The most halvings of a prompt. The light model may read less at once than the model that it works for."""
WORTH_SHORTENING = 1_000
"""Characters below which a prompt is not shortened."""
NO_WORDS = "Your last answer had no words. Write it now, without thinking at length."


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """The text that a model has written."""

    text: str
    finished: Finished | None
    """The end of the model's answer; None if it was cut, or broke off."""


async def short_answer(
    model: ChatModel,
    settings: ModelSettings,
    prompts: Sequence[Prompt],
    *,
    max_characters: int,
    asks_again: bool = True,
) -> ShortAnswer:
    """Return the answer to prompts without files, cut at ``max_characters``: then the model is stopped.

    If the model calls the prompt too long, it gets a shorter part of the last one. ``asks_again``: an answer without
    words is asked for once more. Raises as ``ChatModel`` does.
    """
    answer, prompts = await _shortened(model, settings, prompts, max_characters)
    first = answer.finished
    if not asks_again or first is None or answer.text.strip():
        return answer
    again = await _answer(model, settings, [*prompts, Prompt(Role.SYSTEM, NO_WORDS)], max_characters)
    if again.finished is None or first.usage is None:
        return again
    return replace(again, finished=replace(again.finished, usage=first.usage + (again.finished.usage or Usage())))


async def _shortened(
    model: ChatModel, settings: ModelSettings, prompts: Sequence[Prompt], max_characters: int
) -> tuple[ShortAnswer, Sequence[Prompt]]:
    """Return the answer, and the prompts that the model has taken."""
    for _ in range(MAX_SHORTENINGS):
        try:
            return await _answer(model, settings, prompts, max_characters), prompts
        except ContextTooLong:
            last = prompts[-1]
            if not isinstance(last.content, str) or len(last.content) < WORTH_SHORTENING:
                raise
            half = last.content[: len(last.content) // 2]
            prompts = [*prompts[:-1], replace(last, content=f"{half}\n[Cut: the rest was too long.]")]
    return await _answer(model, settings, prompts, max_characters), prompts


async def _answer(
    model: ChatModel, settings: ModelSettings, prompts: Sequence[Prompt], max_characters: int
) -> ShortAnswer:
    pieces: list[str] = []
    room, finished = max_characters, None
    async with contextlib.aclosing(model.stream(settings, prompts, thread_files=NoFiles())) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, TextDelta):
                pieces.append(chunk.text[:room])
                room -= len(chunk.text)
                if room <= 0:
                    break
            elif isinstance(chunk, TextTakenBack):
                pieces, room = [], max_characters
            elif isinstance(chunk, Finished):
                finished = chunk  # read on: only a stream that ends counts as a success of its endpoint
    return ShortAnswer("".join(pieces), finished)
