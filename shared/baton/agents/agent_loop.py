"""The model loop of one agent: ask the model, execute its tool calls, repeat until it answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from baton.agents.answer_events import AnswerEvents
from baton.agents.answer_sources import select_answer_sources, select_cited_sources
from baton.agents.attempt_context import Attempt, Budget
from baton.agents.call_outcome import AgentResult, CallOutcome, Transfer
from baton.agents.calls.tool_calls import Consult, ToolCalls, make_call_events
from baton.agents.given_sources import GivenSources
from baton.agents.guardrails.hooks import Hooks, Refused
from baton.agents.guardrails.screening import Screening
from baton.agents.prompts.call_metadata import make_call_metadata
from baton.agents.prompts.prompt_shortening import PromptShortening
from baton.agents.prompts.turn_prompt import TurnPrompt, estimate_usage
from baton.agents.structured_answer import HeldText, StructuredAnswer
from baton.agents.tools.builtin_tools import BuiltinTools
from baton.agents.tools.tool_set import CallIds, ToolSet
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.sentences import sentence
from baton.domain.documents.numbered_passages import join_consulted, name_cited
from baton.domain.errors import LeaseLost, StoreUnavailable
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import OTHER_MODELS, ModelUsage, Usage
from baton.domain.text import encodable
from baton.domain.threads.message import FollowedProcedure, Role
from baton.domain.threads.run_events import tool_result
from baton.domain.tracing import error_code
from baton.memory.inspection.inspection import AgentContext, ModelCall
from baton.memory.prompt.context import AssembledContext
from baton.memory.recalled import NOTHING_RECALLED
from baton.ports.agents.agent_client import AgentReport
from baton.ports.agents.chat_model import (
    AnsweredBy,
    Finished,
    FinishReason,
    ModelChunk,
    Prompt,
    ReasoningDelta,
    TextDelta,
    TextTakenBack,
)
from baton.threads.outbox.text_batches import AnswerLimit, batch

LAST_ANSWER = (
    "You have done as much as this turn allows. Answer the user now with what you have found, say what is missing, and "
    "call no more tools."
)

NO_WORDS = (
    "Your last answer had no words that the user can see, and called no tool. Write the answer now, without thinking "
    "at length."
)

MAX_CALLS = 64
"""Calls of one answer. Further ones are not executed, and the model's history does not contain them."""


class AgentLoop:
    """One agent's work on one answer: it asks the model and executes tool calls until the model has answered.

    Texts and tool results go into ``transcript``, and as events to the run's ``emit``.
    """

    def __init__(
        self,
        context: Attempt,
        agent: AgentDefinition,
        tools: ToolSet,
        transcript: Transcript,
        *,
        consult: Consult | None = None,
        own: BuiltinTools | None = None,
        task_id: str | None = None,
    ) -> None:
        self._agent = agent
        self._task_id = task_id
        self._prompt = TurnPrompt(context.services.counter)
        self._recalled = NOTHING_RECALLED
        self._usage = Usage()
        self._is_limited = bool(tools.missing)
        self._ends_conversation = False
        self._waiting: list[ToolCall] = []
        self._transfer: Transfer | None = None
        self._returns: AgentReport | None = None
        self._has_answered = False
        self._context = context
        self._tools = tools
        self._transcript = transcript
        self._settings = context.model_settings(agent, is_consulted=task_id is not None)
        self._model: str | None = self._settings.model
        self._shortening = PromptShortening(self._prompt, tools, context, self._settings.model)
        self._budget = Budget(agent.limits, lambda: context.work_seconds(1.0) <= 0)
        self._structured = StructuredAnswer.of(agent, self._budget)
        self._unused_id: str | None = None
        """The id of an answer that the model is asked to give again: nothing was shown of it."""
        self._is_asked_again = False
        """True if an answer without words has been asked for again, which is done once."""
        self._tracker = own.tracker if own is not None else None
        hooks = Hooks.of(context, agent, task_id)
        self._screening = Screening(hooks, context, agent, self._prompt) if hooks else None
        self._calls = ToolCalls(context, agent, tools, self._budget, consult, own, task_id, hooks)
        self._calls.name_cited = self._name_cited
        self._caller = task_id or agent.id
        self._limit = AnswerLimit()
        self._ids = CallIds(context, tools, self._caller)
        self._sources = GivenSources()
        self._is_limit_shown = False
        self._said: Prompt | None = None
        """The model's last answer as its next prompt has it."""

    @property
    def documents(self) -> tuple[Mapping[str, Any], ...]:
        """The passages of documents that the agent was given, whether or not its answer cites them."""
        return self._sources.documents

    @property
    def files(self) -> tuple[Mapping[str, Any], ...]:
        """The files that its tools have attached."""
        return self._sources.files

    @property
    def result(self) -> AgentResult:
        """The result so far; it is final once ``answer`` has returned."""
        return AgentResult(
            agent=self._agent,
            model=self._model,
            usage=self._usage,
            has_answered=self._has_answered,
            is_limited=self._is_limited,
            waiting=tuple(self._waiting),
            transfer=self._transfer,
            returns=self._returns,
            ends_conversation=self._ends_conversation,
            followed=tuple(
                FollowedProcedure(procedure.agent_id, procedure.id, procedure.version)
                for procedure in self._recalled.procedures
            ),
            history=self._prompt.history,
        )

    async def begin(
        self,
        context: AssembledContext,
        *,
        is_question_judged: bool = False,
        is_noted: bool = True,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Set the prompt. ``is_question_judged``: guardrails have judged it before.

        ``earlier`` are the sources of what was said and found before in the same exchange.
        ``is_noted``: the inspector's record gets the prompt, as that with which the agent began.
        """
        self._recalled = context.recalled
        self._sources.add(context.recalled.cited)
        self._sources.add(earlier)
        if is_noted:
            self._context.inspection.begin_agent(AgentContext(self._agent, self._task_id, context))
        await self._prompt.begin(context)
        if self._screening is not None and not is_question_judged:
            self._screening.begin()

    async def answer(self) -> None:
        """Answer the prompt. Raises the error that ends the run, after it has ended open messages."""
        while True:
            is_last = self._budget.is_spent
            if is_last and self._unused_id is None:
                # At the end: the model's thinking and its prompt cache are bound to the prompts before it.
                self._prompt.add(Prompt(Role.SYSTEM, LAST_ANSWER))
            calls: list[ToolCall] = []
            await self._shortening.ask(partial(self._ask_model, calls, is_last=is_last), is_shown=self._has_said)
            if self._unused_id is not None:
                continue
            if not calls or not await self._context.may_act():
                return
            await self._carry_out(calls, self._transcript.messages[-1].id)
            if is_last or self._waiting or self._context.stop.is_set():
                return
            if self._transfer is not None or self._returns is not None:
                if self._transfer is not None and self._transfer.refusal is None and len(calls) == 1:
                    self._take_back_transfer()
                return
            if self._ends_conversation and self._has_answered:
                return  # it has said goodbye

    def _take_back_transfer(self) -> None:
        """Keep the agent's text, but not the call: the handoff has its own record, and each message is a write."""
        message, _ = self._transcript.take_back(2)
        if message.text:
            cited = join_consulted(message.sources, message.consulted)
            self._transcript.add_answer(message.id, self._agent, message.text, sources=cited, is_cut=message.is_cut)

    async def go_on(
        self, calls: Sequence[ToolCall], approved: Collection[str], settled: Mapping[str, CallOutcome]
    ) -> None:
        """Execute the ``approved`` calls of an interrupted run. The model gets the outcomes of ``settled`` ones."""
        for call in calls:
            if call.id in settled:
                await self._calls.settle(call, settled[call.id])
        await self._add_results(calls, approved)

    def _has_said(self) -> bool:
        """Return whether the user has seen a text of the model's last answer."""
        return self._said is not None and bool(self._said.content)

    async def _ask_model(self, calls: list[ToolCall], *, is_last: bool) -> None:
        """Ask the model once. Its text goes into the transcript, its tool calls into ``calls``.

        Raises ``ContextTooLong`` and the other failures of the model.
        """
        self._said = None
        context = self._context
        answer = AnswerEvents(
            self._agent,
            self._transcript,
            self._prefix,
            message_id=self._unused_id,
            holds_text=self._structured is not None,
        )
        finished: Finished | None = None
        held, self._unused_id = HeldText(), None
        failure: Exception | None = None
        refused: Refused | None = None
        prompts, tools = list(self._prompt.prompts), self._tools.specs
        conversation = self._tracker.current if self._tracker is not None else None
        metadata = make_call_metadata(self._agent, conversation, self._recalled)
        noted = context.inspection.begin_call(
            ModelCall(
                self._agent.id,
                self._task_id,
                self._settings.model,
                tuple(prompts),
                tuple(tools),
                context.services.clock.now(),
            )
        )
        settings = replace(self._settings, metadata=metadata, tool_choice=self._tool_choice(is_last=is_last))

        def open_stream(sent: list[Prompt]) -> AsyncGenerator[ModelChunk, None]:
            # The model is asked at once, but a fast model's chunks are work on the event loop, for which the question's
            # writes would have to wait.
            stream = context.services.model.stream(settings, sent, thread_files=context.files, tools=tools)
            return batch(stream, limit=self._limit, deadline=context.deadline, stop=context.stop, opened=context.opened)

        if self._screening is None:
            chunks = open_stream(prompts)
        else:
            chunks = self._screening.screen(open_stream, prompts, is_whole=self._structured is not None)
        try:
            async with contextlib.aclosing(chunks):
                async for chunk in chunks:
                    if isinstance(chunk, TextDelta | ReasoningDelta | TextTakenBack):
                        context.emit_all(answer.of(chunk))
                    elif isinstance(chunk, ToolCall):
                        if len(calls) < MAX_CALLS:
                            calls.append(self._ids.identify(chunk))
                    elif isinstance(chunk, AnsweredBy):
                        self._model = noted.model = chunk.model
                    elif isinstance(chunk, Finished):
                        finished = chunk
        except (LeaseLost, StoreUnavailable):
            raise
        except Refused as refusal:
            refused = refusal
        except Exception as error:  # noqa: BLE001 - raised again, after the message has been ended
            failure = error
        is_whole, is_spent = failure is None and not context.stop.is_set(), self._limit.is_spent
        if self._screening is not None:
            is_spent |= self._screening.is_cut
            if finished is not None and self._screening.has_changed:
                finished = replace(finished, provider_parts=None)  # they have the text as the model wrote it
        is_cut = is_whole and (is_spent or (finished is not None and finished.reason is FinishReason.LENGTH))
        if not is_whole or is_last or is_spent or refused is not None:
            calls.clear()
        if refused is not None:
            finished = None
            context.emit_all(answer.refuse(refused.sentence, refused.by))
        elif self._structured is not None and is_whole:
            if not calls:
                held = await self._structured.judge(answer.model_text, is_cut=is_cut)
            elif answer.model_text:
                held = HeldText(self._prefix() + encodable(answer.model_text))
            failure = held.failure
            context.emit_all(answer.show(held.text, is_structured=held.is_structured))
        text = answer.text
        sources = () if refused else self._select_sources(answer, is_last=not calls)
        context.emit_all(answer.end(sources, is_cut=is_cut))
        parts, tool_calls = finished.provider_parts if finished is not None and is_whole else None, list(calls)
        calls[:] = await self._calls.judge(calls)
        if calls != tool_calls:
            parts = None  # they have the arguments as the model wrote them
        if text or calls:
            self._transcript.add_answer(
                answer.message_id,
                self._agent,
                text,
                calls=calls,
                is_whole=is_whole,
                is_cut=is_cut,
                is_structured=held.is_structured,
                refused_by=refused.by if refused is not None else None,
                sources=sources if text else (),
                provider_parts=parts,
            )
        self._said = Prompt(Role.ASSISTANT, answer.model_text, tool_calls=tuple(calls), provider_parts=parts)
        noted.prompts, noted.ended_at = tuple(prompts), context.services.clock.now()
        noted.error = error_code(failure) if failure is not None else None
        if finished is not None:
            noted.model, noted.usage, noted.dropped = finished.model, finished.usage, finished.dropped
        await self._count(finished, prompts, answer.model_text, tool_calls)
        self._has_answered = bool(text) and (self._structured is None or held.is_structured or refused is not None)
        again: Sequence[Prompt] = ()
        if held.failure is not None and self._structured is not None:
            again = self._structured.repair(answer.model_text, finished)
        elif is_whole and not (text or calls or is_spent or self._is_asked_again) and self._budget.allows_repair:
            self._is_asked_again = True
            again = (Prompt(Role.SYSTEM, NO_WORDS),)
        if again:
            self._prompt.add(*again)
            await self._prompt.fit()
            self._unused_id = answer.message_id
            return
        if failure is not None:
            raise failure

    def _select_sources(self, answer: AnswerEvents, *, is_last: bool) -> Sequence[Mapping[str, Any]]:
        """Return the sources of a text; of one that is said together with calls, those that it cites."""
        select = select_answer_sources if is_last else select_cited_sources
        return select(answer.model_text, self._sources.all, answer.text)

    def _name_cited(self, text: str) -> str:
        return name_cited(text, self._sources.all)

    async def _carry_out(self, calls: Sequence[ToolCall], message_id: str) -> None:
        """Execute the calls of the answer ``message_id`` and add their results to the prompts."""
        self._context.emit_all(make_call_events(calls, message_id))
        prompt = self._said
        await self._add_results(calls, ())
        assert prompt is not None  # noqa: S101 - calls come with an answer
        results = [
            Prompt(Role.TOOL, self._calls.result_for_model(call), tool_call_id=call.id)
            for call in calls
            if call not in self._waiting
        ]
        *others, last = [prompt, *results]  # said exactly as by the model, without what Baton has added for the user
        self._prompt.add(*others, replace(last, ends_prefix=True))  # a turn that has called may call again
        await self._prompt.fit()

    async def _add_results(self, calls: Sequence[ToolCall], approved: Collection[str]) -> None:
        result_ids = {call.id: self._transcript.new_id() for call in calls}
        outcomes = self._calls.outcomes
        for call in calls:
            if call.id in outcomes:
                output = self._calls.result_for_model(call)
                self._context.emit(tool_result(call, result_ids[call.id], output, outcomes[call.id].end))
        tool_calls = [call for call in calls if call.id not in outcomes]
        if tool_calls:
            activity_id = self._transcript.new_activity_id()
            await self._calls.carry_out(tool_calls, result_ids, activity_id=activity_id, approved=approved)
        for call in calls:
            self._calls.renumber(call, lists=True)
            self._take(call, outcomes[call.id], result_ids[call.id])
            await asyncio.sleep(0)  # counting a result takes time, so let other tasks run in between

    def _take(self, call: ToolCall, outcome: CallOutcome, result_id: str) -> None:
        """Record the consequences of a call's outcome."""
        if outcome.waits:
            self._waiting.append(call)
            return
        is_report = outcome.returns is not None
        output = self._calls.result_for_model(call)
        self._transcript.add_result(
            result_id, self._agent, call, output, end=outcome.end, is_handoff_summary=is_report, sources=outcome.sources
        )
        if self._transfer is None or self._transfer.refusal is not None:
            self._transfer = outcome.transfer or self._transfer
        self._returns = self._returns or outcome.returns
        self._is_limited |= outcome.is_outage
        self._ends_conversation |= outcome.ends_conversation
        self._sources.add(outcome.sources)

    def _tool_choice(self, *, is_last: bool) -> str | None:
        """Return the tool choice for the next request: after the first call a forced one would be endless."""
        if is_last:
            return "none" if self._tools.specs else None
        chosen = self._settings.tool_choice
        return chosen if chosen == "none" or not self._budget.has_called else None

    def _prefix(self) -> str:
        """Return the sentence about a limitation, once, to show in front of the words that follow it."""
        if not self._is_limited or self._is_limit_shown or self._caller != self._agent.id:
            return ""
        self._is_limit_shown = True
        return sentence(self._agent, "limited_resources") + "\n\n"

    async def _count(
        self, finished: Finished | None, prompts: Sequence[Prompt], text: str, calls: Sequence[ToolCall]
    ) -> None:
        """Add the model's usage, or an own count if the endpoint reports none or the answer broke off."""
        usage = finished.usage if finished is not None else None
        if finished is not None:
            self._model = finished.model
        if usage is None and (text or calls):
            usage = await estimate_usage(prompts, text, calls, self._tools, self._context.services.counter)
        self._usage += usage or Usage()
        if usage is not None:
            self._context.spent.append(ModelUsage(self._model or OTHER_MODELS, usage))
        self._budget.count_model_call(usage or Usage())
