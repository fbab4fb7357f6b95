"""Short answers of models, read to the end and limited in length, and requests to the light model."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from baton.domain.errors import ContextTooLong
from baton.domain.json_values import find_json_object
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.ports.agents import chat_model
from baton.ports.agents.chat_model import ChatModel, ModelCaller, ModelSettings, Prompt
from baton.ports.documents.files import NoFiles

MAX_SHORTENINGS = 3
"""The most halvings of a prompt. The light model may accept shorter prompts than the model that made the texts."""
WORTH_SHORTENING = 1_000
"""Characters below which a prompt is not shortened."""
NO_WORDS = "Your last answer had no words. Write it now, without thinking at length."


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """The text that a model wrote."""

    text: str
    finished: chat_model.Finished | None
    """The end of the model's answer; None if the answer was cut or broke off."""


async def ask_for_short_answer(
    model: ChatModel,
    settings: ModelSettings,
    prompts: Sequence[Prompt],
    *,
    max_characters: int,
    asks_again: bool = True,
) -> ShortAnswer:
    """Return the answer to prompts without files. The model is stopped at ``max_characters``.

    If the prompts are too long for the model, the last one is shortened. ``asks_again``: if the answer has no words,
    the model is asked once more. Raises as ``ChatModel`` does.
    """
    answer, prompts = await _ask_with_shortening(model, settings, prompts, max_characters)
    first = answer.finished
    if not asks_again or first is None or answer.text.strip():
        return answer
    again = await _read_answer(model, settings, [*prompts, Prompt(Role.SYSTEM, NO_WORDS)], max_characters)
    if again.finished is None or first.usage is None:
        return again
    return replace(again, finished=replace(again.finished, usage=first.usage + (again.finished.usage or Usage())))


async def _ask_with_shortening(
    model: ChatModel, settings: ModelSettings, prompts: Sequence[Prompt], max_characters: int
) -> tuple[ShortAnswer, Sequence[Prompt]]:
    """Return the answer, and the prompts that the model accepted."""
    for _ in range(MAX_SHORTENINGS):
        try:
            return await _read_answer(model, settings, prompts, max_characters), prompts
        except ContextTooLong:
            last = prompts[-1]
            if not isinstance(last.content, str) or len(last.content) < WORTH_SHORTENING:
                raise
            half = last.content[: len(last.content) // 2]
            prompts = [*prompts[:-1], replace(last, content=f"{half}\n[Cut: the rest was too long.]")]
    return await _read_answer(model, settings, prompts, max_characters), prompts


async def _read_answer(
    model: ChatModel, settings: ModelSettings, prompts: Sequence[Prompt], max_characters: int
) -> ShortAnswer:
    answer, finished = chat_model.AnswerText(), None
    async with contextlib.aclosing(model.stream(settings, prompts, thread_files=NoFiles())) as chunks:
        async for chunk in chunks:
            answer.take(chunk)
            if answer.size >= max_characters:
                break
            if isinstance(chunk, chat_model.Finished):
                finished = chunk  # read on: only a stream that ends counts as a success of its endpoint
    return ShortAnswer(answer.text[:max_characters], finished)


CHARACTERS_A_TOKEN = 16
"""The most characters of an answer for each of its tokens. A longer answer, by an endpoint without limits, is cut."""
TRIES = 2
"""The number of requests for JSON after which the model counts as unable to write it."""


class JunkAnswer(Exception):
    """The model did not answer in the requested form."""


@dataclass(frozen=True, slots=True)
class LightModel:
    """The model for tasks that need speed more than quality.

    The material is passed as JSON in a separate message, so that no text in it can pass for an instruction.
    """

    model: ChatModel
    name: str
    caller: ModelCaller | None = None
    """The tenant, user and conversation of the material; None for material of nobody."""

    def of(self, caller: ModelCaller) -> LightModel:
        """Return a copy whose requests have this caller."""
        return replace(self, caller=caller)

    async def write_text(self, task: str, instructions: str, data: Mapping[str, Any], *, max_tokens: int) -> str:
        """Return the answer. If it was cut, return it up to the end of its last whole sentence.

        ``task`` names the request for endpoints that get metadata. Raises ``ModelError``.
        """
        answer, is_cut = await self._ask(task, instructions, data, max_tokens, None)
        return cut_to_whole_sentences(answer) if is_cut else answer.strip()

    async def write_json(
        self, task: str, instructions: str, data: Mapping[str, Any], *, schema: Mapping[str, Any], max_tokens: int
    ) -> dict[str, Any]:
        """Return the object that the model answers with. It need not follow ``schema``: check every value.

        Raises ``ModelError``, and ``JunkAnswer`` if two answers in a row are not a JSON object.
        """
        for _ in range(TRIES):
            answer, _ = await self._ask(task, instructions, data, max_tokens, schema)
            parsed = find_json_object(answer, mends_lists=True)
            if parsed is not None:
                return parsed
        raise JunkAnswer(f"the light model wrote no JSON for {task}")

    async def _ask(
        self, task: str, instructions: str, data: Mapping[str, Any], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> tuple[str, bool]:
        """Return the text of the answer, and whether it was cut."""
        settings = ModelSettings(
            model=self.name,
            max_output_tokens=max_tokens,
            metadata={"task": task},
            answer_schema=schema,
            caller=self.caller,
        )
        prompts = [
            Prompt(Role.SYSTEM, instructions),
            Prompt(Role.USER, json.dumps(data, ensure_ascii=False, separators=(",", ":"))),
        ]
        max_characters = max_tokens * CHARACTERS_A_TOKEN
        # ``write_json`` repeats the request itself.
        answer = await ask_for_short_answer(
            self.model, settings, prompts, max_characters=max_characters, asks_again=schema is None
        )
        reason = answer.finished.reason if answer.finished is not None else None
        return answer.text, len(answer.text) == max_characters or reason is chat_model.FinishReason.LENGTH


def cut_to_whole_sentences(text: str) -> str:
    """Return a cut text up to the end of its last whole sentence, or all of it if it has none."""
    text = text.strip()
    end = max(text.rfind(mark) for mark in (". ", "! ", "? ", "。", "\n"))
    if text.endswith((".", "!", "?", "。")) or end < 0:
        return text
    return text[: end + 1].strip()
