"""Screening of a model's answer by an agent's hooks and guardrails before the answer is shown."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import replace
from typing import Any

from baton.agents.answer_limit import AnswerLimit
from baton.agents.attempt_context import Attempt
from baton.agents.guardrails.hooks import REPLACING, HookHandOver, HookRefusal, Hooks, RunStopped, run_unless_stopped
from baton.agents.guardrails.judged_texts import judge_question
from baton.agents.prompts.turn_prompt import TurnPrompt
from baton.concurrency.tasks import stop_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.agent_code import HookPoint
from baton.domain.runs.tool_call import ToolCall
from baton.domain.schedules.run_source import RunSource
from baton.domain.text import split_slices
from baton.domain.threads.content import Content, text_of, with_text
from baton.domain.threads.events import MAX_DELTA_CHARS
from baton.domain.threads.message import Role
from baton.domain.tracing import content_withheld
from baton.memory.prompt.message_prompts import quote_cause
from baton.ports.agents.chat_model import Finished, ModelChunk, Prompt, ReasoningDelta, TextDelta, TextTakenBack

MIN_WINDOW = 100
"""The least characters of a window, which is a part of an answer that is judged at once. The last may be shorter."""
MAX_WINDOW = 1_000
"""The most characters of a window. A longer sentence is divided, between two words if possible."""
_SENTENCE_END = re.compile("[.!?\u2026][\"')\\]]*\\s+|\n+|[\u3002\uff01\uff1f]")
_SPACE = re.compile(r"\s+")

OpenStream = Callable[[list[Prompt]], AsyncGenerator[ModelChunk, None]]


class Screening:
    """The guardrails of one agent's answers in a run.

    The question is judged during the first request to the model. Nothing is yielded before the question is allowed. If
    it is replaced, the model is asked again. Text is judged in windows that end with a sentence. Thinking is not
    judged, so it is not yielded if the agent has output guardrails.
    """

    def __init__(self, hooks: Hooks, context: Attempt, agent: AgentDefinition, prompt: TurnPrompt) -> None:
        self._agent = agent
        self._hooks = hooks
        self._context = context
        self._prompt = prompt
        self._question: Prompt | None = None
        self._cause: RunSource | None = None
        """The cause that the question quotes; None if a person or another agent wrote the question."""
        self._judging: asyncio.Task[str] | None = None
        self._limit = AnswerLimit()
        """The limit of the judged text: replacements may be longer than the model's text, which has its own limit."""
        self._judges_output = hooks.has(HookPoint.OUTPUT_GUARDRAIL)
        self._is_traced = not any(map(hooks.has, REPLACING))
        self._shown = ""
        """The text of the answer that was yielded."""
        self._is_observed = False
        """True if hooks after the model have seen the answer."""
        self.has_changed = False
        """True if guardrails have changed the text of the last answer."""

    @property
    def is_cut(self) -> bool:
        """True if an answer was cut because replacements made it too long."""
        return self._limit.is_spent

    def begin(self) -> None:
        """Mark the question to be judged. It counts as refused until it is allowed, because the run may be stopped."""
        if self._hooks.has(HookPoint.INPUT_GUARDRAIL):
            self._question = self._prompt.question
            self._context.screened.is_refused = self._question is not None
            self._cause = self._find_cause()

    def _find_cause(self) -> RunSource | None:
        facts, screened = self._context.facts, self._context.screened
        cause = facts.question.begun_by
        if self._question is None or cause is None:
            return None
        message = screened.apply(facts.question, self._context.services.counter)
        return cause if self._question.content == quote_cause(cause, message.text) else None

    @property
    def _judged_content(self) -> Content:
        """The part of the question that is judged: its content, or the text of a quoted cause."""
        assert self._question is not None  # noqa: S101 - the caller has checked it
        if self._cause is None:
            return self._question.content
        return self._context.screened.apply(self._context.facts.question, self._context.services.counter).text

    async def screen(
        self, open_stream: OpenStream, prompts: list[Prompt], *, is_whole: bool
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the chunks of an answer to ``prompts`` that may be shown. End when the run is stopped.

        ``prompts`` is changed to the prompts that were sent. With ``is_whole``, the whole text is one window. Raises
        ``HookRefusal``, and the errors of the model.
        """
        chunks: AsyncGenerator[ModelChunk, None] | None = None
        self._shown, self.has_changed, self._is_observed = "", False, not self._hooks.has(HookPoint.AFTER_MODEL)
        try:
            if self._question is not None:
                self._question = self._prompt.question  # it may have been shortened
            if self._question is not None:
                work = judge_question(self._hooks, self._context, self._judged_content)
                self._judging = asyncio.ensure_future(work)
            try:
                await self._add_instructions(prompts)
            except HookHandOver:
                await self._settle_question(prompts)  # the other agent gets only the text that is allowed
                raise
            chunks = open_stream(prompts)
            first = await self._read_first(chunks)
            if self._question is not None:
                if await self._settle_question(prompts):
                    await chunks.aclose()
                    chunks = open_stream(prompts)
                    first = await self._read_first(chunks)
                self._question = None
            async with contextlib.aclosing(self._yield_judged(first, chunks, is_whole=is_whole)) as chunks_to_show:
                async for chunk in chunks_to_show:
                    yield chunk
            await self._observe_broken_off()
        except RunStopped:
            await self._observe_broken_off()
        except HookRefusal:
            raise
        except Exception:
            await self._observe_broken_off()
            raise
        finally:
            if self._judging is not None:
                judging, self._judging = self._judging, None
                await stop_all(judging)
            if chunks is not None:
                await chunks.aclose()

    async def _settle_question(self, prompts: list[Prompt]) -> bool:
        """Wait until the question is allowed, if it was not judged before. Return whether ``prompts`` has a new text.

        Raises ``HookRefusal`` and ``RunStopped``.
        """
        if self._question is None:
            return False
        replacement = await run_unless_stopped(self._context, self._await_replacement())
        self._context.screened.allow(self._agent)
        if replacement is not None:
            self._replace_question(prompts, replacement)
        return replacement is not None

    async def _await_replacement(self) -> str | None:
        """Return the replacement of the question's text; None if it is unchanged. Raises ``HookRefusal``."""
        assert self._judging is not None and self._question is not None  # noqa: S101, PT018
        judged_text = await asyncio.shield(self._judging)
        return judged_text if judged_text != text_of(self._judged_content) else None

    def _replace_question(self, prompts: list[Prompt], text: str) -> None:
        """Replace the text of the question in the prompts, in the inspection and for storage."""
        assert self._question is not None  # noqa: S101 - the caller has checked it
        content = with_text(self._question.content, text) if self._cause is None else quote_cause(self._cause, text)
        new_question = replace(self._question, content=content)
        self._prompt.replace(self._question, new_question)
        self._context.inspection.replace_question(self._question, new_question)
        prompts[:] = [new_question if prompt is self._question else prompt for prompt in prompts]
        self._question = None
        self._context.screened.text = text

    async def _read_first(self, chunks: AsyncGenerator[ModelChunk, None]) -> ModelChunk | None:
        """Return the first chunk; None if there is none, or if the question was replaced.

        Raises ``HookRefusal`` as soon as the question is refused, even before the model has answered.
        """
        with contextlib.nullcontext() if self._is_traced else content_withheld():
            if self._judging is None or self._judging.done():
                return await anext(chunks, None)
            coming: asyncio.Future[ModelChunk | None] = asyncio.ensure_future(anext(chunks, None))
        try:
            futures: list[asyncio.Future[Any]] = [coming, self._judging]
            await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                replacement = await self._await_replacement()
                if replacement is not None:
                    return None  # the model is asked again
            return await coming
        finally:
            await stop_all(coming)

    async def _add_instructions(self, prompts: list[Prompt]) -> None:
        if self._hooks.has(HookPoint.BEFORE_MODEL):
            messages = [{"role": prompt.role.value, "text": text_of(prompt.content)} for prompt in prompts]
            instructions = await run_unless_stopped(self._context, self._hooks.add_instructions(messages))
            prompts += [Prompt(Role.SYSTEM, text) for text in instructions]

    async def _yield_judged(
        self, first: ModelChunk | None, rest: AsyncGenerator[ModelChunk, None], *, is_whole: bool
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the model's chunks. Text is judged before: window by window, or all at once if ``is_whole``."""
        unjudged = ""
        calls: list[ToolCall] = []
        chunk = first
        while chunk is not None and not self.is_cut:
            match chunk:
                case TextDelta() if self._judges_output:
                    unjudged += chunk.text
                    while not is_whole and (end := find_window_end(unjudged)):
                        text, unjudged = await self._judge(unjudged[:end], is_last=False), unjudged[end:]
                        for piece in self._yield_pieces(text):
                            yield piece
                case ReasoningDelta() if self._judges_output:
                    pass  # Thinking is not judged, and may contain what the guardrail refuses.
                case TextDelta():
                    self._shown += chunk.text
                    yield chunk
                case TextTakenBack():
                    unjudged = self._shown = ""
                    self.has_changed = False
                    yield chunk
                case ToolCall():
                    calls.append(chunk)
                    yield chunk
                case Finished():
                    # All text has arrived. The calls are made only after this chunk.
                    if unjudged:
                        text, unjudged = await self._judge(unjudged, is_last=True), ""
                        for piece in self._yield_pieces(text):
                            yield piece
                    await run_unless_stopped(self._context, self._observe(calls))
                    yield chunk
                case _:
                    yield chunk
            chunk = await anext(rest, None)
        # A model whose answer breaks off sends no ``Finished``.
        if unjudged and not self.is_cut and not self._context.stop.is_set():
            for piece in self._yield_pieces(await self._judge(unjudged, is_last=True)):
                yield piece

    def _yield_pieces(self, text: str) -> Iterator[TextDelta]:
        """Yield a judged text in pieces that fit an event, up to the length limit of the answer."""
        for start, end in split_slices(text, MAX_DELTA_CHARS):
            piece = self._limit.cut(TextDelta(text[start:end]))
            if isinstance(piece, TextDelta):
                self._shown += piece.text
                yield piece
            if self.is_cut:
                return

    async def _judge(self, text: str, *, is_last: bool) -> str:
        window = {"text": text, "before": self._shown, "is_last": is_last}
        judged_text = str(
            await run_unless_stopped(self._context, self._hooks.judge(HookPoint.OUTPUT_GUARDRAIL, window, "text"))
        )
        self.has_changed |= judged_text != text
        return judged_text

    async def _observe(self, calls: list[ToolCall]) -> None:
        """Call the hooks after the model with the answer, only once. Raises ``HookRefusal``."""
        if not self._is_observed:
            called = [{"name": call.name, "arguments": call.parse_arguments() or call.arguments} for call in calls]
            await self._hooks.observe(HookPoint.AFTER_MODEL, {"text": self._shown, "calls": called})
            self._is_observed = True

    async def _observe_broken_off(self) -> None:
        """Call the hooks after the model with an answer that was cut or stopped, or whose model failed.

        The hooks get no calls, because none is made. Raises ``HookRefusal``.
        """
        if self._shown and not self._context.stop.is_set():
            with contextlib.suppress(RunStopped):
                await run_unless_stopped(self._context, self._observe([]))
        if self._shown and self._context.stop.is_set():
            await self._observe([])


def find_window_end(text: str) -> int:
    """Return the length of the next window of a text that may continue; 0 if more text is needed.

    At least one character remains after the window, so that the last window of an answer is recognised as the last.
    """
    ends = [
        match.end() for match in _SENTENCE_END.finditer(text, MIN_WINDOW - 1, MAX_WINDOW) if match.end() < len(text)
    ]
    if ends:
        return ends[-1]
    if len(text) <= MAX_WINDOW:
        return 0
    spaces = [match.end() for match in _SPACE.finditer(text, MIN_WINDOW, MAX_WINDOW)]
    return spaces[-1] if spaces else MAX_WINDOW
