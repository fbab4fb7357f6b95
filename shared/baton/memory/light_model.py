"""Requests to the light model for a text or for JSON, whose answers are bounded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from baton.domain.json_values import json_object
from baton.domain.threads.message import Role
from baton.memory.short_answer import short_answer
from baton.ports.agents.chat_model import ChatModel, FinishReason, ModelCaller, ModelSettings, Prompt

CHARACTERS_A_TOKEN = 16
"""An answer with more characters for each token that it may have is cut: the endpoint ignores the limit."""
TRIES = 2
"""The number of requests for JSON after which the model counts as unable to write it."""


class JunkAnswer(Exception):
    """The model answered with something else than it was asked for."""


@dataclass(frozen=True, slots=True)
class LightModel:
    """The model for tasks that need speed more than quality.

    The material is passed as JSON in a separate message, so that no text in it can pass for an instruction.
    """

    model: ChatModel
    name: str
    caller: ModelCaller | None = None
    """The tenant, user and conversation of the material."""

    def of(self, caller: ModelCaller) -> LightModel:
        """Return the model for material of a caller."""
        return replace(self, caller=caller)

    async def text(self, task: str, instructions: str, data: Mapping[str, Any], *, max_tokens: int) -> str:
        """Return the answer. If it was cut, return it up to the end of its last whole sentence.

        ``task`` names the request for endpoints that get metadata. Raises ``ModelError``.
        """
        answer, is_cut = await self._answer(task, instructions, data, max_tokens, None)
        return whole_sentences(answer) if is_cut else answer.strip()

    async def json(
        self, task: str, instructions: str, data: Mapping[str, Any], *, schema: Mapping[str, Any], max_tokens: int
    ) -> dict[str, Any]:
        """Return the object that the model answers with. It need not follow ``schema``: check every value.

        Raises ``ModelError``, and ``JunkAnswer`` if two answers in a row are not a JSON object.
        """
        for _ in range(TRIES):
            answer, _ = await self._answer(task, instructions, data, max_tokens, schema)
            parsed = json_object(answer, mends_lists=True)
            if parsed is not None:
                return parsed
        raise JunkAnswer(f"the light model wrote no JSON for {task}")

    async def _answer(
        self, task: str, instructions: str, data: Mapping[str, Any], max_tokens: int, schema: Mapping[str, Any] | None
    ) -> tuple[str, bool]:
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
        longest = max_tokens * CHARACTERS_A_TOKEN
        # An object is asked for again in any case.
        answer = await short_answer(self.model, settings, prompts, max_characters=longest, asks_again=schema is None)
        reason = answer.finished.reason if answer.finished is not None else None
        return answer.text, len(answer.text) == longest or reason is FinishReason.LENGTH


def whole_sentences(text: str) -> str:
    """Return a cut text up to the end of its last whole sentence, or all of it if it has none."""
    text = text.strip()
    end = max(text.rfind(mark) for mark in (". ", "! ", "? ", "。", "\n"))
    if text.endswith((".", "!", "?", "。")) or end < 0:
        return text
    return text[: end + 1].strip()
