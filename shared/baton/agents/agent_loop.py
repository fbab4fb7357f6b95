"""The model loop of one agent: ask the model, execute its tool calls, repeat until it answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any

from baton.agents.agent_work import ROOM_SHARE, AgentWork
from baton.agents.answer_limit import AnswerLimit
from baton.agents.call_outcome import AgentResult, CallOutcome
from baton.agents.calls.tool_calls import ToolCalls, make_call_events
from baton.agents.guardrails.hooks import HookHandOver, HookRefusal
from baton.agents.guardrails.screening import Screening
from baton.agents.model_answer import AnswerEvents, ModelAnswer, StructuredAnswer
from baton.agents.prompts.call_metadata import make_call_metadata
from baton.agents.prompts.turn_prompt import TurnPrompt, ask_shortened, estimate_usage
from baton.agents.text_batches import Take, read_batches, yield_batches
from baton.agents.tools.tool_set import CallIds
from baton.domain.agents.sentences import write_sentence
from baton.domain.documents.numbered_passages import join_consulted, name_cited
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import OTHER_MODELS, ModelUsage, Usage
from baton.domain.threads.message import Role
from baton.domain.threads.run_end import FollowedProcedure
from baton.memory.inspection.inspection import AgentContext, ModelCall
from baton.memory.prompt.context import AssembledContext
from baton.memory.recalled import NOTHING_RECALLED
from baton.ports.agents.chat_model import ModelChunk, Prompt

LAST_ANSWER = (
    "You have done as much as this turn allows. Answer the user now with what you have found, say what is missing, and "
    "call no more tools."
)

NO_WORDS = (
    "Your last answer had no words that the user can see, and called no tool. Write the answer now, without thinking "
    "at length."
)


class AgentLoop:
    """The model loop of one agent: it asks the model and executes tool calls until the model has answered."""

    def __init__(self, work: AgentWork) -> None:
        context, agent, tools = work.context, work.agent, work.tools
        self._work = work
        self._context = context
        self._agent = agent
        self._tools = tools
        self._prompt = TurnPrompt(context.services.counter)
        self._recalled = NOTHING_RECALLED
        self._settings = context.make_model_settings(agent, is_consulted=work.task_id is not None)
        self._structured = StructuredAnswer.of(agent, work.budget)
        self._screening = Screening(work.hooks, context, agent, self._prompt) if work.hooks else None
        self._calls = ToolCalls(work)
        self._calls.name_cited = lambda text: name_cited(text, work.sources.all)
        self._limit = AnswerLimit()
        self._ids = CallIds(context, tools, work.caller)
        self._answer: ModelAnswer | None = None
        self._unused_id: str | None = None
        """The message id of a discarded answer that the user has not seen. The next answer reuses it.

        It is set while the model has to be asked again.
        """
        self._is_asked_again = False
        """True if the model was asked again after an answer without words. It is asked again only once."""
        self._is_limit_shown = False

    @property
    def result(self) -> AgentResult:
        """The result so far; it is final once ``answer`` has returned."""
        return replace(self._work.result, history=self._prompt.history)

    async def begin(
        self,
        context: AssembledContext,
        *,
        is_question_judged: bool = False,
        is_inspected: bool = True,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Begin with the assembled prompt. Input guardrails judge the question unless ``is_question_judged``.

        With ``is_inspected``, the Context Inspector records the prompt as the agent's first one. ``earlier`` are the
        sources of earlier texts and results in the same exchange.
        """
        self._recalled = context.recalled
        self._work.result.followed = tuple(
            FollowedProcedure(procedure.agent_id, procedure.id, procedure.version)
            for procedure in context.recalled.procedures
        )
        self._work.sources.add(context.recalled.cited)
        self._work.sources.add(earlier)
        if is_inspected:
            self._context.inspection.contexts.append(AgentContext(self._agent, self._work.task_id, context))
        await self._prompt.begin(context)
        if self._screening is not None and not is_question_judged:
            self._screening.begin()

    async def go_on(
        self, calls: Sequence[ToolCall], approved: Collection[str], settled: Mapping[str, CallOutcome]
    ) -> None:
        """Continue an interrupted run: execute the ``approved`` calls, and use the ``settled`` outcomes of the others.

        ``approved`` has call ids, and ``settled`` has outcomes by call id.
        """
        await self._calls.go_on(calls, approved, settled)
        self._add_outcomes(calls)

    async def answer(self) -> None:
        """Ask the model and execute its calls until it has answered, handed over, or has to wait.

        The loop also ends if the agent stays silent, if the budget is used up, and when the run is stopped. Raises the
        error that ends the run: ``LeaseLost`` and ``StoreUnavailable`` at once, others after all open messages have
        been ended.
        """
        work, result = self._work, self._work.result
        while True:
            is_last = work.budget.is_spent
            if is_last and self._unused_id is None:
                # Appended, because signed thinking and the prompt cache are valid only after unchanged prompts.
                self._prompt.add(Prompt(Role.SYSTEM, LAST_ANSWER))
            await ask_shortened(
                self._context,
                self._prompt,
                self._tools,
                self._settings.model,
                partial(self._ask_model, is_last=is_last),
                is_shown=lambda: self._answer is not None and bool(self._answer.events.model_text),
            )
            answer = self._answer
            assert answer is not None  # noqa: S101 - the model has been asked
            if self._unused_id is not None:
                continue
            if answer.hands_over:
                return
            earlier_prompts = await self._take_messages(only_earlier=True) if not answer.calls and not is_last else ()
            if earlier_prompts:
                self._prompt.add(answer.prompt, *earlier_prompts)
                continue
            if not answer.calls or not await self._context.may_act():
                return
            await self._carry_out(answer)
            if is_last or result.waiting or self._context.stop.is_set():
                return
            if result.transfer is not None or result.returns is not None:
                if result.transfer is not None and result.transfer.refusal is None and len(answer.calls) == 1:
                    self._take_back_transfer()
                return
            if (result.ends_conversation and result.has_answered) or result.stays_silent:
                return  # the agent has said goodbye, or has nothing to say
            new_prompts = await self._take_messages()
            if new_prompts:
                self._prompt.add(*new_prompts)
                await self._prompt.fit()

    async def _take_messages(self, *, only_earlier: bool = False) -> Sequence[Prompt]:
        """Take the user's messages that enter the run here, and return their prompts."""
        messages = await self._work.enter_messages(room=self._prompt.budget // ROOM_SHARE, only_earlier=only_earlier)
        return [Prompt(Role.USER, message.content, is_steered=True) for message in messages]

    async def _ask_model(self, *, is_last: bool) -> None:
        """Ask the model once, record its answer, and set ``_unused_id`` if the model has to be asked again.

        Raises ``ContextTooLong`` and the other failures of the model, ``LeaseLost`` and ``StoreUnavailable``.
        """
        work = self._work
        answer = self._answer = self._begin_answer()
        try:
            await answer.read(self._open_stream(answer.prompts, is_last=is_last), self._ids)
        finally:
            work.result.model = answer.model
        await self._hand_over(answer)
        screening = self._screening
        answer.close(
            is_spent=self._limit.is_spent or (screening is not None and screening.is_cut),
            has_changed=screening is not None and screening.has_changed,
            may_call=not is_last,
        )
        is_silent = answer.refusal is not None and await work.end_silently(answer.refusal)
        if not is_silent:
            await answer.show_rest(self._structured, self._take_prefix)
        await answer.record(work.transcript, work.sources, self._calls.judge, after_calls=bool(self._calls.outcomes))
        await self._count_usage(answer)
        work.result.has_answered = answer.is_usable
        corrections = () if is_silent else self._take_corrections(answer)
        if corrections:
            self._prompt.add(*corrections)
            await self._prompt.fit()
            self._unused_id = answer.events.message_id
        elif answer.failure is not None:
            raise answer.failure

    async def _hand_over(self, answer: ModelAnswer) -> None:
        """Hand the conversation over if a hook has decided so.

        If that is impossible, the answer stays refused, and the user gets the hook's sentence.
        """
        refusal, own, hooks = answer.refusal, self._work.own, self._work.hooks
        if not isinstance(refusal, HookHandOver) or own is None or hooks is None:
            return
        transfer = await own.hand_over(self._agent, refusal.verdict)
        if transfer is None:
            return
        try:
            if transfer.refusal is None:
                await hooks.observe_handoff(transfer)
        except HookRefusal as refused:
            answer.refusal = refused
            return
        self._work.result.transfer, answer.hands_over = transfer, True

    def _begin_answer(self) -> ModelAnswer:
        """Return an empty answer for the next request to the model."""
        events = AnswerEvents(
            self._agent,
            self._work.transcript,
            self._take_prefix,
            message_id=self._unused_id,
            holds_text=self._structured is not None,
        )
        self._unused_id = None
        prompts = list(self._prompt.prompts)
        model_call = ModelCall(
            self._agent.id,
            self._work.task_id,
            self._settings.model,
            tuple(prompts),
            tuple(self._tools.specs),
            self._context.services.clock.now(),
        )
        return ModelAnswer(self._context, self._agent, events, prompts, self._context.inspection.begin_call(model_call))

    def _open_stream(self, prompts: list[Prompt], *, is_last: bool) -> Callable[[Take], Awaitable[None]]:
        """Return a function that asks the model and passes the screened chunks of its answer to a callback."""
        context, own, tools = self._context, self._work.own, self._tools.specs
        conversation = own.tracker.current if own is not None else None
        metadata = make_call_metadata(self._agent, conversation, self._recalled)
        settings = replace(self._settings, metadata=metadata, tool_choice=self._select_tool_choice(is_last=is_last))

        def open_stream(sent: list[Prompt]) -> AsyncGenerator[ModelChunk, None]:
            return context.services.model.stream(settings, sent, thread_files=context.files, tools=tools)

        # Until the question is stored, only the first chunk is read: reading the chunks of a fast model would occupy
        # the event loop and delay the writes of the question.
        read_paced = partial(
            read_batches, limit=self._limit, deadline=context.deadline, stop=context.stop, opened=context.opened
        )
        if self._screening is None:
            return partial(read_paced, open_stream(prompts))

        def open_batches(sent: list[Prompt]) -> AsyncGenerator[ModelChunk, None]:
            return yield_batches(partial(read_paced, open_stream(sent)))

        screened_chunks = self._screening.screen(open_batches, prompts, is_whole=self._structured is not None)

        async def read_screened(take: Take) -> None:
            async with aclosing(screened_chunks) as chunks:
                async for chunk in chunks:
                    take(chunk)

        return read_screened

    def _take_corrections(self, answer: ModelAnswer) -> Sequence[Prompt]:
        """Return the prompts that ask the model to answer again; empty if no correction is needed or allowed."""
        if answer.held.failure is not None and self._structured is not None:
            return self._structured.make_repair_prompts(answer.events.model_text, answer.finished)
        if not answer.is_empty or self._is_asked_again or not self._work.budget.allows_repair:
            return ()
        self._is_asked_again = True
        return (Prompt(Role.SYSTEM, NO_WORDS),)

    async def _carry_out(self, answer: ModelAnswer) -> None:
        """Execute the calls of an answer. Add the answer and the results to the prompts."""
        calls = answer.calls
        self._context.emit_all(make_call_events(calls, self._work.transcript.messages[-1].id))
        await self._calls.add_results(calls)
        self._add_outcomes(calls)
        results = [
            Prompt(Role.TOOL, self._calls.get_result_for_model(call), tool_call_id=call.id)
            for call in calls
            if not self._calls.outcomes[call.id].waits
        ]
        *other_prompts, last_prompt = [answer.prompt, *results]
        # The provider may cache the prompts up to here, because an agent that has called tools may call more.
        self._prompt.add(*other_prompts, replace(last_prompt, ends_prefix=True))
        await self._prompt.fit()

    def _add_outcomes(self, calls: Sequence[ToolCall]) -> None:
        for call in calls:
            self._work.add_outcome(call, self._calls.outcomes[call.id])

    def _take_back_transfer(self) -> None:
        """Remove the call of the handoff and its result from the transcript, and keep the agent's text.

        The handoff has its own record, and each message costs a write.
        """
        transcript = self._work.transcript
        message, _ = transcript.take_back(2)
        if message.text:
            sources = join_consulted(message.sources, message.consulted)
            transcript.add_answer(message.id, self._agent, message.text, sources=sources, is_cut=message.is_cut)

    def _select_tool_choice(self, *, is_last: bool) -> str | None:
        """Return the tool choice for the next request; None to leave it to the model.

        Only the agent's first request may force a call: if all did, the agent would never answer.
        """
        if is_last:
            return "none" if self._tools.specs else None
        tool_choice = self._settings.tool_choice
        return tool_choice if tool_choice == "none" or not self._work.budget.has_asked_model else None

    def _take_prefix(self) -> str:
        """Return the sentence that the answer is limited, for display before the next words; empty if not needed.

        The sentence is returned only once.
        """
        if not self._work.result.is_limited or self._is_limit_shown or self._work.task_id is not None:
            return ""
        self._is_limit_shown = True
        return write_sentence(self._agent, "limited_resources") + "\n\n"

    async def _count_usage(self, answer: ModelAnswer) -> None:
        """Count the usage that the endpoint reports.

        If there is no report, as for an answer that was refused or broke off, count an estimate of what was written.
        """
        work, text, calls, finished = self._work, answer.events.model_text, answer.written_calls, answer.finished
        usage = finished.usage if finished is not None else None
        if finished is not None:
            work.result.model = finished.model
        if usage is None and (text or calls):
            usage = await estimate_usage(answer.prompts, text, calls, self._tools, self._context.services.counter)
        work.result.usage += usage or Usage()
        if usage is not None:
            self._context.spent.append(ModelUsage(work.result.model or OTHER_MODELS, usage))
        work.budget.count_model_call(usage or Usage())
