"""The texts that a coroutine shows to the user."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from baton.agents.agent_work import AgentWork
from baton.agents.answer_limit import AnswerLimit
from baton.agents.answer_sources import select_answer_sources
from baton.agents.guardrails.hooks import HookRefusal
from baton.agents.model_answer import NO_OBJECT, UNFIT, AnswerEvents
from baton.concurrency.tasks import LARGE, off_loop
from baton.domain.agents.agent_code import HookPoint
from baton.domain.agents.answer_schema import find_answer_problems
from baton.domain.errors import AnswerInvalid
from baton.domain.runs.run_step import RunStep, StepKind
from baton.domain.text import replace_surrogates
from baton.ports.agents.chat_model import TextDelta


class CoroutineAnswer:
    """The texts of one coroutine. Guardrails judge each text as a whole before it is shown."""

    def __init__(self, work: AgentWork) -> None:
        self._work = work
        self._context = work.context
        self._agent = work.agent
        self._transcript = work.transcript
        self._hooks = work.hooks if work.hooks is not None and work.hooks.has(HookPoint.OUTPUT_GUARDRAIL) else None
        self._limit = AnswerLimit()
        self._text_before = ""

    async def say(self, step: RunStep, text: str) -> RunStep:
        """Show a text, and return its step with the shown text. Raises ``HookRefusal``."""
        cut_text = self._cut_to_limit(await self._judge(text, is_last=False))
        self._show(cut_text)
        return replace(step, value=cut_text, ended_at=self._context.services.clock.now())

    def note(self, step: RunStep) -> None:
        """Treat a recorded text, which the user has seen already, as the beginning of the answer."""
        if step.kind in (StepKind.SAY, StepKind.ANSWER) and step.value:
            self._text_before += step.value
            self._work.result.has_answered = True

    def show_again(self, step: RunStep) -> None:
        """Show a recorded text again, because clients have discarded the events of the earlier attempt."""
        is_structured = step.kind is StepKind.ANSWER and self._agent.answer_schema is not None
        self._show(step.value, is_structured=is_structured)

    async def finish(self, returned: Any) -> None:
        """Show the value that the coroutine has returned. An empty text shows nothing if a text was shown before.

        Raises ``HookRefusal``, ``AnswerInvalid`` for a value that does not fit the schema, and ``TypeError`` or
        ``ValueError`` for a value that is no answer.
        """
        if returned == "" and self._work.result.has_answered:
            return
        if self._agent.answer_schema is not None:
            text = await off_loop(LARGE, self._write_structured, returned, self._agent.answer_schema)
            self._show(await self._judge(text, is_last=True), is_structured=True)
            return
        if not isinstance(returned, str):
            kind = type(returned).__name__
            raise TypeError(f"run of {self._agent.id} returned {kind}; without output_type it returns text or None")
        if not returned.strip():
            raise ValueError(f"run of {self._agent.id} has neither returned a text nor shown one")
        self._show(self._cut_to_limit(await self._judge(returned, is_last=True)))

    def refuse(self, refusal: HookRefusal) -> None:
        """Show the sentence of a guardrail or hook as the rest of the answer."""
        answer = self._make_events()
        self._context.emit_all(answer.refuse(refusal.sentence, refusal.by))
        self._context.emit_all(answer.end((), is_cut=False))
        self._transcript.add_answer(answer.message_id, self._agent, answer.text, refused_by=refusal.by)
        self._work.result.has_answered = True

    def _write_structured(self, returned: Any, schema: dict[str, Any]) -> str:
        """Return a value as compact JSON. Raises ``AnswerInvalid`` if it does not fit the schema."""
        try:
            value = json.loads(returned) if isinstance(returned, str) else to_jsonable_python(returned)
            text = replace_surrogates(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
            check = self._agent.code.answer_check if isinstance(returned, str | dict) else None
            is_object = isinstance(value, dict)
            problems = find_answer_problems(schema, check, json.loads(text)) if is_object else NO_OBJECT
        except (PydanticSerializationError, ValueError, RecursionError):
            text, problems = "", NO_OBJECT
        if problems.sentences:
            raise AnswerInvalid(UNFIT.format(problem=problems.sentences[0]))
        return text

    async def _judge(self, text: str, *, is_last: bool) -> str:
        text = replace_surrogates(text)
        if self._hooks is not None:
            about = {"text": text, "before": self._text_before, "is_last": is_last}
            text = str(await self._hooks.judge(HookPoint.OUTPUT_GUARDRAIL, about, "text"))
        return text

    def _cut_to_limit(self, text: str) -> str:
        delta = self._limit.cut(TextDelta(text))
        return delta.text if delta is not None else ""

    def _show(self, text: str, *, is_structured: bool = False) -> None:
        """Show a text as a message with its sources, and add it to the transcript; nothing for an empty text."""
        if not text:
            return
        answer, is_cut = self._make_events(), self._limit.is_spent
        sources = select_answer_sources(text, self._work.sources.all)
        self._context.emit_all(answer.show(text, is_structured=is_structured))
        self._context.emit_all(answer.end(sources, is_cut=is_cut))
        self._transcript.add_answer(
            answer.message_id, self._agent, text, is_structured=is_structured, is_cut=is_cut, sources=sources
        )
        self._text_before += text
        self._work.result.has_answered = True

    def _make_events(self) -> AnswerEvents:
        return AnswerEvents(self._agent, self._transcript, lambda: "")
