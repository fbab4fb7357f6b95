"""The endpoint that the environment names, as a deployment asks it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from baton.adapters.document_reader import ChildProcessReader
from baton.adapters.openai import OpenAIChatModel
from baton.ports.chat_model import ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.files import ThreadFiles
from baton_testing.conversation_ports import ModelNames
from baton_testing.errors import CannotRun
from baton_testing.virtual_time import real_time

OPENAI = "https://api.openai.com/v1"


def real_names() -> ModelNames:
    """Return the models that the environment names. Raises ``CannotRun`` if it names none."""
    name = os.environ.get("BATON_CHAT_MODEL")
    if not name:
        raise CannotRun(
            "No model is named. Set BATON_CHAT_MODEL, and OPENAI_BASE_URL and OPENAI_API_KEY if the endpoint needs "
            "them; or use --model scripted."
        )
    return ModelNames(name, os.environ.get("BATON_LIGHT_MODEL") or name)


class RealModel:
    """``ports.chat_model.ChatModel`` over the product's adapter. While it works, time passes as on the wall."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        base_url = os.environ.get("OPENAI_BASE_URL") or OPENAI
        self._model = OpenAIChatModel(
            api_key=os.environ.get("OPENAI_API_KEY") or "none",
            base_url=base_url,
            sends_metadata=os.environ.get("BATON_MODEL_METADATA", "").lower() in ("1", "true", "yes"),
            reader=ChildProcessReader(),
        )

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield what the endpoint answers."""
        stream = self._model.stream(settings, prompts, thread_files=thread_files, tools=tools)
        async with real_time(), aclosing(stream) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        """Close the connections."""
        await self._model.aclose()
