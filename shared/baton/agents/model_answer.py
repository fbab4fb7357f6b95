"""One answer of a model. A text is shown as it arrives, a structured answer once it is valid; both are recorded."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.agents.answer_sources import SourceCollection, select_answer_sources, select_cited_sources
from baton.agents.attempt_context import Attempt, Budget
from baton.agents.guardrails.hooks import HookRefusal
from baton.agents.text_batches import Take
from baton.agents.tools.tool_set import CallIds
from baton.agents.transcript import Transcript
from baton.concurrency.tasks import off_loop
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.answer_schema import AnswerProblems, find_answer_problems
from baton.domain.errors import AnswerInvalid, LeaseLost, StoreUnavailable
from baton.domain.json_values import count_values, find_json_object
from baton.domain.runs.provider_parts import ProviderParts
from baton.domain.runs.tool_call import MAX_VALUES, ToolCall
from baton.domain.schemas.schema_validator import estimate_check_size
from baton.domain.text import replace_surrogates, split_slices
from baton.domain.threads import events as message_events
from baton.domain.threads.message import Role
from baton.domain.tracing import find_error_code
from baton.memory.inspection.inspection import ModelCall
from baton.ports.agents import chat_model
from baton.ports.agents.chat_model import Finished, Prompt, ReasoningDelta, TextDelta, TextTakenBack

logger = Logger(child=True)

REPAIR = (
    "Your answer cannot be used: {problems}. Give the whole answer again, as one JSON object that is valid against "
    "this JSON Schema, and write nothing else: {schema}"
)
NO_OBJECT = AnswerProblems.without_details("it is no JSON object")
TOO_MANY_VALUES = AnswerProblems.without_details(f"it holds more than {MAX_VALUES} values")
UNFIT = "The agent's answer does not fit its schema: {problem}. Please try again."
TOO_LONG = (
    "The agent's answer was cut at its length limit, so that its JSON is not complete. Please ask for less, or ask the "
    "operator to raise the agent's max_output_tokens."
)


@dataclass(frozen=True, slots=True)
class HeldText:
    """A text that was held back until the model had finished, with the result of its check."""

    text: str = ""
    """The text to show and to store."""
    is_structured: bool = False
    """True if the text is the answer, as JSON; False for a text beside tool calls."""
    failure: AnswerInvalid | None = None
    """The error if the answer does not fit the schema; None if it fits."""


class StructuredAnswer:
    """One agent's answer in one turn, checked against its schema."""

    def __init__(self, agent: AgentDefinition, schema: dict[str, Any], budget: Budget) -> None:
        self._agent = agent
        self._schema = schema
        self._budget = budget
        self._problems = AnswerProblems()
        self._is_repaired = False

    @classmethod
    def of(cls, agent: AgentDefinition, budget: Budget) -> StructuredAnswer | None:
        """Return the checker of the agent's answers; None if they are text."""
        return cls(agent, agent.answer_schema, budget) if agent.answer_schema is not None else None

    async def judge(self, model_text: str, *, is_cut: bool) -> HeldText:
        """Check the model's final answer against the schema. Return the answer as compact JSON, or the error."""
        if is_cut:
            self._problems = AnswerProblems()
            return HeldText(failure=AnswerInvalid(TOO_LONG))
        values = count_values(model_text)
        size = estimate_check_size(self._schema, model_text)
        text, self._problems = (
            await off_loop(size, self._check, model_text) if values <= MAX_VALUES else ("", TOO_MANY_VALUES)
        )
        if not self._problems.sentences:
            return HeldText(text, is_structured=True)
        logger.warning("answer does not fit its schema", agent=self._agent.id, problems=self._problems.logged)
        return HeldText(failure=AnswerInvalid(UNFIT.format(problem=self._problems.sentences[0])))

    def make_repair_prompts(self, model_text: str, finished: Finished | None) -> Sequence[Prompt]:
        """Return the prompts to add so that the model corrects the answer that was judged last.

        Return no prompts if the model was asked for a correction before, if the answer was cut, or if one more call
        would exceed the agent's limits.
        """
        if self._is_repaired or not self._problems.sentences or not self._budget.allows_repair:
            return ()
        self._is_repaired = True
        schema = json.dumps(self._schema, ensure_ascii=False, separators=(",", ":"))
        note = Prompt(Role.SYSTEM, REPAIR.format(problems="; ".join(self._problems.sentences), schema=schema))
        if not model_text:
            return (note,)
        parts = finished.provider_parts if finished is not None else None
        return (Prompt(Role.ASSISTANT, replace_surrogates(model_text), provider_parts=parts), note)

    def _check(self, model_text: str) -> tuple[str, AnswerProblems]:
        """Return the answer as compact JSON, empty if it is no JSON object, and its problems."""
        value = find_json_object(model_text)
        if value is None:
            return "", NO_OBJECT
        try:
            text = replace_surrogates(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
        except (ValueError, RecursionError):  # a number is not finite, or the nesting is too deep
            return "", NO_OBJECT
        return text, find_answer_problems(self._schema, self._agent.code.answer_check, json.loads(text))


class AnswerEvents:
    """The events of one model call, which are made from its chunks, and the text so far."""

    def __init__(
        self,
        agent: AgentDefinition,
        transcript: Transcript,
        prefix: Callable[[], str],
        *,
        message_id: str | None = None,
        holds_text: bool = False,
    ) -> None:
        """``prefix`` returns the text that Baton shows before the next text of the model.

        ``message_id`` is the unused id of a discarded answer. With ``holds_text``, no text is shown until ``show`` is
        called.
        """
        self._agent = agent
        self._transcript = transcript
        self._prefix = prefix
        self._is_open = False
        self._thinking_id: str | None = None
        self._holds_text = holds_text
        self.message_id = message_id or transcript.new_id()
        self.text = ""
        """The text that the user has seen."""
        self.model_text = ""
        """The text that the model has written."""

    def of(self, chunk: TextDelta | ReasoningDelta | TextTakenBack) -> Iterable[BaseEvent]:
        """Yield the events of a chunk."""
        if isinstance(chunk, ReasoningDelta):
            if self._thinking_id is None:
                self._thinking_id = self._transcript.new_reasoning_id()
                yield from message_events.make_reasoning_start(self._thinking_id, self._agent)
            yield from message_events.make_reasoning_content(self._thinking_id, chunk.text)
            return
        yield from self._end_thinking()
        if isinstance(chunk, TextTakenBack):
            if self._is_open:
                yield message_events.make_text_end(self.message_id, is_taken_back=True)
                self._is_open, self.message_id = False, self._transcript.new_id()
            self.text = self.model_text = ""
            return
        self.model_text += chunk.text
        if self._holds_text:
            return
        if not self._is_open:
            self._is_open = True
            yield message_events.make_text_start(self.message_id, self._agent)
        text = self._prefix() + chunk.text
        self.text += text
        yield message_events.make_text_content(self.message_id, text)

    def show(self, text: str, *, is_structured: bool) -> Iterable[BaseEvent]:
        """Yield the events of a text that was held back, without its end."""
        if not text:
            return
        yield from self._end_thinking()
        self._is_open, self.text = True, text
        yield message_events.make_text_start(self.message_id, self._agent, is_structured=is_structured)
        for start, end in split_slices(text, message_events.MAX_DELTA_CHARS):
            yield message_events.make_text_content(self.message_id, text[start:end])

    def refuse(self, sentence: str, by: str) -> Iterable[BaseEvent]:
        """Yield the events that show ``sentence`` in place of the answer, without its end.

        ``by`` is the name of the guardrail or hook that has refused the answer.
        """
        yield from self._end_thinking()
        if self._is_open:
            yield message_events.make_text_end(self.message_id, is_taken_back=True)
            self.message_id = self._transcript.new_id()
        self._is_open, self.text = True, sentence
        yield message_events.make_text_start(self.message_id, self._agent, refused_by=by)
        yield message_events.make_text_content(self.message_id, sentence)

    def take_back(self) -> Iterable[BaseEvent]:
        """Yield the events that remove the shown text from clients."""
        yield from self._end_thinking()
        if self._is_open:
            yield message_events.make_text_end(self.message_id, is_taken_back=True)
        self._is_open, self.text = False, ""

    def end(self, sources: Iterable[Mapping[str, object]], *, is_cut: bool) -> Iterable[BaseEvent]:
        """Yield the events that end the thinking and the text. ``sources`` are those of the text."""
        yield from self._end_thinking()
        if self._is_open:
            yield message_events.make_text_end(self.message_id, [dict(source) for source in sources], is_cut=is_cut)

    def _end_thinking(self) -> Iterable[BaseEvent]:
        if self._thinking_id is not None:
            yield from message_events.make_reasoning_end(self._thinking_id)
            self._thinking_id = None


MAX_CALLS = 64
"""Calls of one answer. Further ones are not executed, and the model's history does not contain them."""

JudgeCalls = Callable[[Sequence[ToolCall]], Awaitable[list[ToolCall]]]
"""Returns the calls of an answer after hooks have judged or changed their arguments."""


class ModelAnswer:
    """One answer of a model, from its first chunk until it is recorded."""

    def __init__(
        self, context: Attempt, agent: AgentDefinition, events: AnswerEvents, prompts: list[Prompt], note: ModelCall
    ) -> None:
        """``prompts`` are sent to the model. ``note`` is the record of the request for the Context Inspector."""
        self._context = context
        self._agent = agent
        self._note = note
        self._parts: ProviderParts | None = None
        self._is_cut = False
        self._is_spent = False
        self.events = events
        self.prompts = prompts
        self.model = note.model
        self.calls: list[ToolCall] = []
        """The calls to execute, after ``record`` with the arguments that hooks allow."""
        self.written_calls: Sequence[ToolCall] = ()
        """The calls with the arguments that the model wrote."""
        self.finished: chat_model.Finished | None = None
        """The model's report of its end; None if the answer broke off or was refused."""
        self.refusal: HookRefusal | None = None
        self.hands_over = False
        """True if a hook has decided that another agent, or the people of a desk, answer instead."""
        self.failure: Exception | None = None
        """The error that ended the answer or makes it unusable; None if there is no error."""
        self.held = HeldText()
        self.is_whole = False
        """True if the model has neither failed nor been stopped."""

    @property
    def prompt(self) -> Prompt:
        """The answer for the model's next prompt, without the text that Baton has added for the user."""
        calls = tuple(self.calls)
        return Prompt(Role.ASSISTANT, self.events.model_text, tool_calls=calls, provider_parts=self._parts)

    @property
    def is_usable(self) -> bool:
        """True if it has a text that fits the agent's answer schema. Refusals and texts without a schema always fit."""
        fits = self._agent.answer_schema is None or self.held.is_structured or self.refusal is not None
        return bool(self.events.text) and fits

    @property
    def is_empty(self) -> bool:
        """True if the model has ended without a text and without calls."""
        return self.is_whole and not (self.events.text or self.calls or self._is_spent or self.hands_over)

    async def read(self, stream: Callable[[Take], Awaitable[None]], ids: CallIds) -> None:
        """Show and collect the chunks of ``stream``, with ids of ``ids`` for the calls.

        Raises ``LeaseLost`` and ``StoreUnavailable``. Other errors are stored in ``failure``, a refusal in ``refusal``.
        """

        def take(chunk: chat_model.ModelChunk) -> None:
            if isinstance(chunk, TextDelta | ReasoningDelta | TextTakenBack):
                self._context.emit_all(self.events.of(chunk))
            elif isinstance(chunk, ToolCall):
                if len(self.calls) < MAX_CALLS:
                    self.calls.append(ids.identify(chunk))
            elif isinstance(chunk, chat_model.AnsweredBy):
                self.model = self._note.model = chunk.model
            elif isinstance(chunk, chat_model.Finished):
                self.finished = chunk
                if chunk.warning is not None:
                    self._context.warn(chunk.warning)

        try:
            await stream(take)
        except (LeaseLost, StoreUnavailable):
            raise
        except HookRefusal as refusal:
            self.refusal = refusal
        except Exception as error:  # noqa: BLE001 - raised again, after the message has been ended
            self.failure = error
        self.is_whole = self.failure is None and not self._context.stop.is_set()

    def close(self, *, is_spent: bool, has_changed: bool, may_call: bool) -> None:
        """Decide after the last chunk which parts of the answer are used.

        ``is_spent`` says that the length limit has cut the text, ``has_changed`` that guardrails have changed it, and
        ``may_call`` that calls may still be made.
        """
        self._is_spent = is_spent
        if self.finished is not None and has_changed:
            self.finished = replace(self.finished, provider_parts=None)  # they contain the unchanged text
        is_long = self.finished is not None and self.finished.reason is chat_model.FinishReason.LENGTH
        self._is_cut = self.is_whole and (is_spent or is_long)
        if not self.is_whole or not may_call or is_spent or self.refusal is not None:
            self.calls.clear()
        if self.refusal is not None:
            self.finished = None

    async def show_rest(self, structured: StructuredAnswer | None, prefix: Callable[[], str]) -> None:
        """Show the sentence of a refusal, or the text that was held back. ``structured`` checks a final answer."""
        if self.hands_over:
            self._context.emit_all(self.events.take_back())
        elif self.refusal is not None:
            self._context.emit_all(self.events.refuse(self.refusal.sentence, self.refusal.by))
        elif structured is not None and self.is_whole:
            text = self.events.model_text
            if not self.calls:
                self.held = await structured.judge(text, is_cut=self._is_cut)
            elif text:
                self.held = HeldText(prefix() + replace_surrogates(text))
            self.failure = self.held.failure
            self._context.emit_all(self.events.show(self.held.text, is_structured=self.held.is_structured))

    async def record(
        self, transcript: Transcript, sources: SourceCollection, judge: JudgeCalls, *, after_calls: bool
    ) -> None:
        """End the message, and add the answer to the transcript and to the Context Inspector's record.

        ``sources`` are all sources that the agent has received. ``judge`` lets hooks judge the calls. ``after_calls``
        says that the agent has called tools before this answer.
        """
        cited_sources = self._select_sources(sources, after_calls=after_calls)
        self._context.emit_all(self.events.end(cited_sources, is_cut=self._is_cut))
        self.written_calls = self.calls
        self.calls = await judge(self.calls)
        # The provider's parts contain the model's arguments, so they are dropped if hooks have changed arguments.
        if self.finished is not None and self.is_whole and self.calls == self.written_calls:
            self._parts = self.finished.provider_parts
        if self.events.text or self.calls:
            transcript.add_answer(
                self.events.message_id,
                self._agent,
                self.events.text,
                calls=self.calls,
                is_whole=self.is_whole,
                is_cut=self._is_cut,
                is_structured=self.held.is_structured,
                refused_by=self.refusal.by if self.refusal is not None else None,
                sources=cited_sources if self.events.text else (),
                provider_parts=self._parts,
            )
        self._note.prompts, self._note.ended_at = tuple(self.prompts), self._context.services.clock.now()
        self._note.error = find_error_code(self.failure) if self.failure is not None else None
        if (end := self.finished) is not None:
            self._note.model, self._note.usage, self._note.dropped = end.model, end.usage, end.dropped

    def _select_sources(self, sources: SourceCollection, *, after_calls: bool) -> Sequence[Mapping[str, Any]]:
        """Return the sources of the text. If calls follow the text, return only the sources that it cites."""
        if self.refusal is not None:
            return ()
        if self.calls:
            return select_cited_sources(self.events.model_text, sources.all, self.events.text)
        caller = self._agent.id if after_calls else None
        return select_answer_sources(self.events.model_text, sources.all, self.events.text, caller=caller)
