"""A model's short text, read whole and bounded whatever the model sends."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass

from baton.ports.chat_model import ChatModel, Finished, ModelSettings, Prompt, TextDelta
from baton.ports.files import ThreadFiles


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """The text that a model has written."""

    text: str
    finished: Finished | None
    """How the model ended; None if its answer was cut, or broke off."""


async def short_answer(
    model: ChatModel,
    settings: ModelSettings,
    prompts: Sequence[Prompt],
    *,
    thread_files: ThreadFiles,
    max_characters: int,
) -> ShortAnswer:
    """Return the answer, cut at ``max_characters``: then the model is stopped. Raises as ``ChatModel`` does."""
    pieces: list[str] = []
    room, finished = max_characters, None
    async with contextlib.aclosing(model.stream(settings, prompts, thread_files=thread_files)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, TextDelta):
                pieces.append(chunk.text[:room])
                room -= len(chunk.text)
                if room <= 0:
                    break
            elif isinstance(chunk, Finished):
                finished = chunk  # read on: only a stream that ends counts as a success of its endpoint
    return ShortAnswer("".join(pieces), finished)
