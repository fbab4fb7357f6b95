"""A chat model whose answers are scripted, in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from baton.domain.errors import ModelError
from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.content import Content
from baton.ports.agents.chat_model import (
    Finished,
    FinishReason,
    ModelChunk,
    ModelSettings,
    Prompt,
    ReasoningDelta,
    TextDelta,
    TextTakenBack,
    ToolSpec,
)
from baton.ports.documents.files import ThreadFiles


@dataclass(frozen=True, slots=True)
class Answer:
    """One scripted answer: ``pieces``, then ``error``, or ``calls`` and the end, with ``parts``.

    A piece is text, or a chunk of another kind. With ``gate``, the answer pauses before its piece number ``gate_at``
    until the test sets the gate.
    """

    pieces: tuple[str | ReasoningDelta | TextTakenBack, ...] = ("Hello ", "there.")
    error: ModelError | None = None
    reason: FinishReason = FinishReason.STOP
    usage: Usage | None = field(default_factory=lambda: Usage(10, 2))
    gate: asyncio.Event | None = None
    gate_at: int = 0
    calls: tuple[ToolCall, ...] = ()
    parts: ProviderParts | None = None
    dropped: tuple[str, ...] = ()

    @classmethod
    def calling(cls, *calls: ToolCall, text: str = "", parts: ProviderParts | None = None) -> Answer:
        """An answer that ends in tool calls, after ``text`` if there is any."""
        return cls((text,) if text else (), reason=FinishReason.TOOL_CALLS, calls=calls, parts=parts)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request of the model."""

    settings: ModelSettings
    prompts: tuple[Prompt, ...]
    tools: tuple[ToolSpec, ...] = ()

    @property
    def contents(self) -> list[tuple[str, Content]]:
        """Role and content of each prompt."""
        return [(prompt.role.value, prompt.content) for prompt in self.prompts]


@dataclass
class ScriptedChatModel:
    """``ChatModel`` that gives its scripted answers in order, and repeats ``otherwise`` after them."""

    otherwise: Answer = field(default_factory=Answer)
    requests: list[ModelRequest] = field(default_factory=list)
    """Every request so far."""
    abandoned: int = 0
    """Answers that were cancelled or closed before their end."""

    def __post_init__(self) -> None:
        self._script: deque[Answer] = deque()

    def script(self, *answers: Answer | str | ModelError) -> None:
        """Add the next answers: text in one piece, an error before any text, or an ``Answer``."""
        for answer in answers:
            if isinstance(answer, str):
                self._script.append(Answer((answer,)))
            elif isinstance(answer, ModelError):
                self._script.append(Answer((), answer))
            else:
                self._script.append(answer)

    def forget(self) -> None:
        """Drop the scripted answers that have not been requested yet."""
        self._script.clear()

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """The next scripted answer."""
        self.requests.append(ModelRequest(settings, tuple(prompts), tuple(tools)))
        answer = self._script.popleft() if self._script else self.otherwise
        complete = False
        try:
            for index, piece in enumerate(answer.pieces):
                await self._pass(answer, index)
                yield TextDelta(piece) if isinstance(piece, str) else piece
            await self._pass(answer, len(answer.pieces))
            if answer.error is None:
                for call in answer.calls:
                    yield call
            complete = True
            if answer.error is not None:
                raise answer.error
            yield Finished(answer.reason, settings.model, answer.usage, answer.parts, answer.dropped)
        finally:
            self.abandoned += not complete

    async def _pass(self, answer: Answer, index: int) -> None:
        # A real model gives way to other tasks between two pieces; so does this one.
        await asyncio.sleep(0)
        if answer.gate is not None and answer.gate_at == index:
            await answer.gate.wait()
