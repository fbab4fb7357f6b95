"""Screening of a model's answer by an agent's hooks and guardrails, before anything of it is shown."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from baton.agents.hooks import Hooks
from baton.agents.run_context import RunContext
from baton.agents.turn_prompt import TurnPrompt
from baton.concurrency import stop_all
from baton.domain.agent_code import HookPoint
from baton.domain.events import MAX_DELTA_CHARS
from baton.domain.message import Role, text_of, with_text
from baton.domain.text import slices
from baton.domain.tool_call import ToolCall
from baton.outbox.text_batches import AnswerLimit
from baton.ports.chat_model import Finished, ModelChunk, Prompt, ReasoningDelta, TextDelta, TextTakenBack

T = TypeVar("T")

MIN_WINDOW = 100
"""The least characters of a window of an answer, unless the answer is shorter."""
MAX_WINDOW = 1_000
"""The most characters of a window. A longer sentence is divided between two words, if it has any."""
_SENTENCE_END = re.compile("[.!?\u2026][\"')\\]]*\\s+|\n+|[\u3002\uff01\uff1f]")
_SPACE = re.compile(r"\s+")

OpenStream = Callable[[list[Prompt]], AsyncGenerator[ModelChunk, None]]
"""Asks the model."""


class _Stopped(Exception):
    """The run was stopped while a verdict was waited for."""


class Screening:
    """Screens the answers of one agent in a run.

    The question is judged beside the first request to the model. Nothing is yielded before it is allowed; if it is
    replaced, the model is asked again. Text is judged in windows that end with a sentence. Thinking is not yielded if
    there are guardrails for it to evade.
    """

    def __init__(self, hooks: Hooks, context: RunContext, prompt: TurnPrompt, *, is_consulted: bool) -> None:
        self._hooks = hooks
        self._context = context
        self._prompt = prompt
        self._is_consulted = is_consulted
        self._question: Prompt | None = None
        self._judging: asyncio.Task[str] | None = None
        self._limit = AnswerLimit()
        """Replacements may be longer than the model's text, which has a limit already."""
        self._judges_output = hooks.has(HookPoint.OUTPUT_GUARDRAIL)

    def begin(self) -> None:
        """Have the question judged. Until it is allowed, it counts as refused: a run may be stopped before."""
        if self._hooks.has(HookPoint.INPUT_GUARDRAIL):
            self._question = self._prompt.question
            self._note_question(is_refused=self._question is not None)

    def _note_question(self, *, is_refused: bool) -> None:
        if not self._is_consulted:
            self._context.screened.is_refused = is_refused

    async def screen(
        self, open_stream: OpenStream, prompts: list[Prompt], *, is_whole: bool
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the chunks of an answer to ``prompts`` that may be shown. The list is changed to what was sent.

        ``is_whole``: the text is one window. Raises ``Refused``, and the errors of the model. Ends when the run is
        stopped.
        """
        chunks: AsyncGenerator[ModelChunk, None] | None = None
        try:
            self._begin_to_judge()
            await self._add_instructions(prompts)
            chunks = open_stream(prompts)
            first = await self._first(chunks)
            if self._question is not None:
                replaced = await self._unless_stopped(self._verdict())
                self._note_question(is_refused=False)
                if replaced is not None:
                    await chunks.aclose()
                    self._replace_question(prompts, replaced)
                    chunks = open_stream(prompts)
                    first = await self._first(chunks)
                self._question = None
            async with contextlib.aclosing(self._windows(first, chunks, is_whole=is_whole)) as windows:
                async for chunk in windows:
                    yield chunk
        except _Stopped:
            return
        finally:
            if self._judging is not None:
                judging, self._judging = self._judging, None
                await stop_all(judging)
            if chunks is not None:
                await chunks.aclose()

    def _begin_to_judge(self) -> None:
        if self._question is not None:
            self._question = self._prompt.question  # it may have been shortened
        if self._question is not None:
            text = text_of(self._question.content)
            work = self._hooks.judge(HookPoint.INPUT_GUARDRAIL, {"text": text}, "text")
            self._judging = asyncio.ensure_future(work)

    async def _verdict(self) -> str | None:
        """Return the text in place of the question; None if it stays. Raises ``Refused``."""
        assert self._judging is not None and self._question is not None  # noqa: S101, PT018
        judged = await asyncio.shield(self._judging)
        return judged if judged != text_of(self._question.content) else None

    def _replace_question(self, prompts: list[Prompt], text: str) -> None:
        assert self._question is not None  # noqa: S101 - the caller has checked it
        content = with_text(self._question.content, text)
        new = replace(self._question, content=content)
        self._prompt.replace(self._question, new)
        prompts[:] = [new if each is self._question else each for each in prompts]
        self._question = None
        if not self._is_consulted:
            self._context.screened.text = text

    async def _first(self, chunks: AsyncGenerator[ModelChunk, None]) -> ModelChunk | None:
        """Return the first chunk, None at the end. A refusal of the question comes first. Raises ``Refused``."""
        if self._judging is None or self._judging.done():
            return await anext(chunks, None)
        coming: asyncio.Future[ModelChunk | None] = asyncio.ensure_future(anext(chunks, None))
        try:
            waiting: list[asyncio.Future[Any]] = [coming, self._judging]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                replaced = await self._verdict()
                if replaced is not None:
                    return None  # the model is asked again
            return await coming
        finally:
            await stop_all(coming)

    async def _add_instructions(self, prompts: list[Prompt]) -> None:
        if self._hooks.has(HookPoint.BEFORE_MODEL):
            messages = [{"role": each.role.value, "text": text_of(each.content)} for each in prompts]
            added = await self._unless_stopped(self._hooks.add_instructions(messages))
            prompts += [Prompt(Role.SYSTEM, text) for text in added]

    async def _windows(
        self, first: ModelChunk | None, rest: AsyncGenerator[ModelChunk, None], *, is_whole: bool
    ) -> AsyncGenerator[ModelChunk, None]:
        held, before = "", ""
        calls: list[ToolCall] = []
        chunk = first
        while chunk is not None:
            if isinstance(chunk, TextDelta) and self._judges_output:
                held += chunk.text
                while not is_whole and (end := find_window_end(held)):
                    text = await self._judge(held[:end], before, is_last=False)
                    held, before = held[end:], before + text
                    for piece in self._pieces(text):
                        yield piece
            elif isinstance(chunk, ReasoningDelta) and self._judges_output:
                pass
            else:
                if isinstance(chunk, TextDelta):
                    before += chunk.text
                elif isinstance(chunk, TextTakenBack):
                    held = before = ""
                elif isinstance(chunk, ToolCall):
                    calls.append(chunk)
                elif isinstance(chunk, Finished):
                    # Calls and the end come after all text; the calls are made when the answer has ended.
                    if held:
                        text = await self._judge(held, before, is_last=True)
                        held, before = "", before + text
                        for piece in self._pieces(text):
                            yield piece
                    await self._observe(before, calls)
                yield chunk
            chunk = await anext(rest, None)
        if held and not self._context.stop.is_set():
            for piece in self._pieces(await self._judge(held, before, is_last=True)):
                yield piece

    def _pieces(self, text: str) -> Iterator[TextDelta]:
        """Yield a text that may be shown in pieces that fit an event, as long as the answer has room for it."""
        for start, end in slices(text, MAX_DELTA_CHARS):
            piece = self._limit.cut(TextDelta(text[start:end]))
            if piece is not None and not self._limit.is_spent:
                yield piece

    async def _judge(self, text: str, before: str, *, is_last: bool) -> str:
        given = {"text": text, "before": before, "is_last": is_last}
        judged = await self._unless_stopped(self._hooks.judge(HookPoint.OUTPUT_GUARDRAIL, given, "text"))
        return str(judged)

    async def _observe(self, text: str, calls: list[ToolCall]) -> None:
        if self._hooks.has(HookPoint.AFTER_MODEL):
            shown = [{"name": call.name, "arguments": call.parsed() or call.arguments} for call in calls]
            given = {"text": text, "calls": shown}
            await self._unless_stopped(self._hooks.observe(HookPoint.AFTER_MODEL, given))

    async def _unless_stopped(self, work: Awaitable[T]) -> T:
        """Return the result of ``work``. Raises ``_Stopped`` as soon as the run is stopped."""
        stop = self._context.stop
        working, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise _Stopped
            return working.result()
        finally:
            await stop_all(working, stopped)


def find_window_end(text: str) -> int:
    """Return the length of the next window of a text that continues; 0 if more of it must be waited for.

    The rest has at least one character, so that the last window of an answer can be known as the last.
    """
    ends = [
        found.end() for found in _SENTENCE_END.finditer(text, MIN_WINDOW - 1, MAX_WINDOW) if found.end() < len(text)
    ]
    if ends:
        return ends[-1]
    if len(text) <= MAX_WINDOW:
        return 0
    spaces = [found.end() for found in _SPACE.finditer(text, MIN_WINDOW, MAX_WINDOW)]
    return spaces[-1] if spaces else MAX_WINDOW
