"""Load the chat model when it is first used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from baton.ports.chat_model import ChatModel, ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.files import ThreadFiles


class DeferredChatModel:
    """``ChatModel`` that is created by its first use or ``load``, because loading the SDK takes half a second."""

    def __init__(self, make: Callable[[], ChatModel]) -> None:
        self._make = make
        self._model: ChatModel | None = None

    def load(self) -> ChatModel:
        """Return the model and create it if needed. Blocks while the SDK loads."""
        model = self._model
        if model is None:
            model = self._model = self._make()
        return model

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """See ``ChatModel``."""
        model = self._model
        if model is None:
            model = await asyncio.to_thread(self.load)
        async with aclosing(model.stream(settings, prompts, thread_files=thread_files, tools=tools)) as chunks:
            async for chunk in chunks:
                yield chunk
