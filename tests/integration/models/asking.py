"""Asking the product's chat model, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from baton.adapters.models.openai import OpenAIChatModel
from baton.domain.errors import ModelError
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from tests.fakes.thread_files import MemoryThreadFiles

SETTINGS = ModelSettings(model="fault-1", timeout_seconds=30)
ONE_WORD = "Half "
"""The text of an answer that fails in the middle."""
HELLO = (Prompt(Role.USER, "Hello"),)
FILES = MemoryThreadFiles()
ADD = ToolSpec("add", "Adds numbers.", {"type": "object", "properties": {"x": {"type": "number"}}})
MakeModel = Callable[..., OpenAIChatModel]


async def ask(model: OpenAIChatModel, settings: ModelSettings = SETTINGS, *prompts: Prompt) -> list[ModelChunk]:
    return [chunk async for chunk in model.stream(settings, prompts or HELLO, thread_files=FILES)]


async def ask_until_error(model: OpenAIChatModel, settings: ModelSettings = SETTINGS) -> tuple[str, ModelError]:
    text = ""
    try:
        async for chunk in model.stream(settings, HELLO, thread_files=FILES):
            text += chunk.text if isinstance(chunk, TextDelta) else ""
    except ModelError as error:
        return text, error
    pytest.fail("The model answered.")


def text_of(chunks: list[ModelChunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
