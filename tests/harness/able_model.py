"""A chat model that can do some things and not others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field

from ag_ui.core import ImagePart
from pydantic import JsonValue

from baton.domain.agents.model_providers import Ability
from baton.domain.errors import ModelError
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from baton.ports.documents.files import ThreadFiles

CITIES = ("Oslo", "Lima")


@dataclass
class AbleModel:
    """``ports.agents.chat_model.ChatModel`` and ``LearningModel`` with all abilities that tests do not take away."""

    unable: Mapping[Ability, ModelError | str] = field(default_factory=dict)
    """The stand-in's reaction instead: an error, or an answer in words."""
    refused: frozenset[str] = frozenset()
    """Settings that it does not take, and ``images``."""
    is_serial: bool = False
    """True if it calls one tool at a time."""
    gate: asyncio.Event | None = None
    """Answers wait for it."""
    was_asked: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[ModelSettings] = field(default_factory=list)
    """The settings of every call."""

    def list_learned_facts(self, model: str) -> Mapping[str, JsonValue]:
        settings = sorted(self.refused - {"images"})
        facts: dict[str, JsonValue] = {"dropped": list[JsonValue](settings)} if settings and self.requests else {}
        return facts | ({"images": False} if "images" in self.refused and self.requests else {})

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        self.requests.append(settings)
        self.was_asked.set()
        if self.gate is not None:
            await self.gate.wait()
        ability = _ability(settings, prompts, tools)
        dropped = {name for name in self.refused if getattr(settings, name, None) is not None}
        dropped |= self.refused & {"images"} if ability is Ability.IMAGE else set()
        instead = self.unable.get(ability)
        if isinstance(instead, ModelError):
            raise instead
        reason = FinishReason.STOP
        if instead is not None:
            yield TextDelta(instead)
        elif ability in (Ability.TOOL_CALL, Ability.PARALLEL_CALLS) and prompts[-1].role is Role.USER:
            for call in _calls(str(prompts[-1].content))[: 1 if self.is_serial else None]:
                yield call
            reason = FinishReason.TOOL_CALLS
        elif prompts[-1].role is Role.TOOL:
            yield TextDelta(" and ".join(str(prompt.content) for prompt in prompts if prompt.role is Role.TOOL))
        elif ability is Ability.STRUCTURED_ANSWER:
            yield TextDelta(json.dumps({"city": "Paris", "days": 3}))
        else:
            yield TextDelta("Green." if ability is Ability.IMAGE else "ready")
        yield Finished(reason, settings.model, Usage(1, 1), dropped=tuple(sorted(dropped)))


def _ability(settings: ModelSettings, prompts: Sequence[Prompt], tools: Sequence[ToolSpec]) -> Ability:
    content = prompts[0].content
    if not isinstance(content, str) and any(isinstance(part, ImagePart) for part in content):
        return Ability.IMAGE
    if settings.answer_schema is not None:
        return Ability.STRUCTURED_ANSWER
    if not tools:
        return Ability.TEXT
    return Ability.PARALLEL_CALLS if len(_calls(str(content))) > 1 else Ability.TOOL_CALL


def _calls(question: str) -> list[ToolCall]:
    cities = [city for city in CITIES if city in question]
    return [ToolCall(f"call-{city}", "get_temperature", json.dumps({"city": city})) for city in cities]
