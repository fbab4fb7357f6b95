"""Short texts of the light model."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest

from baton.domain.errors import ContextTooLong
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.memory.light_model import ask_for_short_answer
from baton.ports.agents.chat_model import ModelChunk, ModelSettings, Prompt, TextTakenBack, ToolSpec
from baton.ports.documents.files import ThreadFiles
from tests.fakes.chat_model import Answer, ScriptedChatModel

SETTINGS = ModelSettings(model="light")


class ShortSighted(ScriptedChatModel):
    """A model that reads 5,000 characters at once."""

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        if sum(len(str(prompt.content)) for prompt in prompts) > 5_000:
            raise ContextTooLong
        async for chunk in super().stream(settings, prompts, thread_files=thread_files, tools=tools):
            yield chunk


async def ask(model: ScriptedChatModel, content: str) -> str:
    prompts = [Prompt(Role.SYSTEM, "Sum up."), Prompt(Role.USER, content)]
    answer = await ask_for_short_answer(model, SETTINGS, prompts, max_characters=100)
    return answer.text


async def test_material_that_is_too_long_is_halved_until_it_fits() -> None:
    model = ShortSighted()
    assert await ask(model, "x" * 30_000) == "Hello there."
    assert str(model.requests[0].prompts[-1].content).startswith("xxx")


async def test_material_that_never_fits_raises_what_the_model_raises() -> None:
    with pytest.raises(ContextTooLong):
        await ask(ShortSighted(), "x" * 100_000)


async def test_an_answer_without_words_is_asked_for_once_more_and_both_are_counted() -> None:
    model = ScriptedChatModel()
    model.script(Answer(("  ",)), "So.", Answer(()), Answer(()))
    prompts = [Prompt(Role.USER, "x")]
    answer = await ask_for_short_answer(model, SETTINGS, prompts, max_characters=100)
    assert answer.text == "So."
    assert answer.finished is not None
    assert answer.finished.usage == Usage(20, 4)
    assert model.requests[1].prompts[0] == prompts[0]
    assert (await ask_for_short_answer(model, SETTINGS, prompts, max_characters=100)).text == ""
    assert len(model.requests) == 4


async def test_text_that_was_thinking_is_no_part_of_the_answer() -> None:
    model = ScriptedChatModel()
    model.script(Answer(("I think.", TextTakenBack(), "So.")))
    assert await ask(model, "short") == "So."
