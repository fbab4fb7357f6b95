"""Conversations with a chat model, held as Baton holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from baton.domain.errors import ModelError
from baton.domain.runs.tool_call import ToolCall
from baton.domain.threads.content import Content
from baton.domain.threads.message import Role
from baton.ports.agents.chat_model import (
    ChatModel,
    Finished,
    ModelChunk,
    ModelSettings,
    Prompt,
    ReasoningDelta,
    TextDelta,
    TextTakenBack,
    ToolSpec,
)
from tests.fakes.thread_files import MemoryThreadFiles
from tests.models.endpoints import Endpoint

X = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
ADD = ToolSpec("add", "Adds.", X)
TOOLS = (ADD, ToolSpec("note", "Notes.", X), ToolSpec("now", "Tells the time.", {"type": "object"}))
LAST_ANSWER = "Answer now, without tools."
MAX_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One answer of the model."""

    chunks: tuple[ModelChunk, ...]

    @property
    def text(self) -> str:
        """The text that was not taken back."""
        texts: list[str] = []
        for chunk in self.chunks:
            if isinstance(chunk, TextTakenBack):
                texts.clear()
            elif isinstance(chunk, TextDelta):
                texts.append(chunk.text)
        return "".join(texts)

    @property
    def thinking(self) -> str:
        """The thinking that may be shown."""
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, ReasoningDelta))

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls."""
        return [chunk for chunk in self.chunks if isinstance(chunk, ToolCall)]

    @property
    def end(self) -> Finished:
        """The one end, which is the last chunk."""
        ends = [chunk for chunk in self.chunks if isinstance(chunk, Finished)]
        assert ends == [self.chunks[-1]]
        return ends[0]


class Talk:
    """A conversation that carries calls out. Calls get ids that are unique in it."""

    def __init__(self, model: ChatModel, endpoint: Endpoint, **settings: Any) -> None:
        self.model = model
        self.settings = ModelSettings(
            **({"model": endpoint.model, "timeout_seconds": 20.0} | endpoint.settings | settings)
        )
        self.prompts: list[Prompt] = [Prompt(Role.SYSTEM, "Be kind.", ends_prefix=True)]
        self.files = MemoryThreadFiles()
        self.last: ModelAnswer | None = None
        """The answer that came last."""

    async def ask(self, tools: Sequence[ToolSpec] = TOOLS, **settings: Any) -> ModelAnswer:
        """Ask with the prompts as they are."""
        options = replace(self.settings, **settings)
        stream = self.model.stream(options, tuple(self.prompts), thread_files=self.files, tools=tools)
        try:
            self.last = ModelAnswer(tuple([chunk async for chunk in stream]))
        except ModelError as error:
            error.add_note(f"The endpoint said: {error.reason}")
            raise
        return self.last

    async def say(
        self,
        content: Content,
        tools: Sequence[ToolSpec] = TOOLS,
        *,
        rounds: int = MAX_ROUNDS,
        results: Mapping[str, str] | None = None,
    ) -> str:
        """Say something, with a note before it, and return the answer after all calls.

        In the last of the rounds the model is asked to answer, and its calls are ignored.
        """
        self.prompts += [Prompt(Role.SYSTEM, "Today is Thursday."), Prompt(Role.USER, content)]
        for number in range(rounds + 1):
            is_last = number == rounds
            if is_last:
                self.prompts.append(Prompt(Role.SYSTEM, LAST_ANSWER))
            answer = await self.ask(tools, **({"tool_choice": "none"} if is_last else {}))
            ids = [call.id for call in answer.calls]
            assert all(ids)
            assert len(set(ids)) == len(ids)
            calls = [replace(call, id=f"ours_{len(self.prompts)}_{at}") for at, call in enumerate(answer.calls)]
            parts = answer.end.provider_parts
            # A last round without text, because calls could not be forbidden, ends the turn all the same.
            text = answer.text or ("" if calls else "I have no answer.")
            self.prompts.append(Prompt(Role.ASSISTANT, text, tool_calls=tuple(calls), provider_parts=parts))
            for call in calls:
                output = (results or {}).get(call.name, f"{call.name} done")
                self.prompts.append(Prompt(Role.TOOL, output, tool_call_id=call.id))
            if not calls:
                return answer.text
        raise AssertionError("The model calls tools though it was told to answer.")
