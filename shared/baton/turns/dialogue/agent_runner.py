"""Running the active agent: local or remote, in this thread or in a fork."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton.agents.agent_loop import AgentLoop
from baton.agents.agent_work import AgentWork, Consult
from baton.agents.approvals import audit_decision, find_settled_calls
from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import AgentResult
from baton.agents.calls.traced_steps import note_answer, trace_agent
from baton.agents.code.coroutine_agent import CoroutineAgent
from baton.agents.code.coroutine_models import AssemblePrompt
from baton.agents.consulting.consult import Consultations
from baton.agents.guardrails.hooks import judges_questions
from baton.agents.guardrails.judged_texts import judge_context, judge_tools
from baton.agents.prompts.prompt_notes import CONTINUING, compute_prompt, make_changing_notes, make_context_notes
from baton.agents.tools.builtin_tools import BuiltinTools
from baton.agents.tools.tool_set import ToolSet, find_tools
from baton.agents.transcript import Transcript
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import InterruptUnavailable
from baton.domain.handoffs.handoff import ContextMode, HandoffRequest
from baton.domain.runs.interrupt import PendingInterrupts
from baton.domain.runs.tool_call import RETURN, ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.threads.content import text_of
from baton.domain.threads.message import Role, StoredMessage, join_answer_texts
from baton.memory.prompt.context import AgentHistory, AssembledContext, Notes
from baton.memory.prompt.history_reading import make_handoff_notes, select_spoken_messages
from baton.memory.prompt.message_prompts import quote_cause
from baton.memory.recalled import MemorySearch
from baton.ports.agents.chat_model import Prompt
from baton.threads.handoffs.forks import ForkedExchange, derive_fork_id
from baton.turns.dialogue.agent_histories import AgentHistories, DialogueServices
from baton.turns.dialogue.merging import MergedAnswer
from baton.turns.dialogue.remote_agent_runner import RemoteAgentRunner

AnsweringAgent = AgentLoop | CoroutineAgent | RemoteAgentRunner
"""An agent that produces one answer."""


class AgentRunner:
    """The runner of the agents that speak in one run, one after the other."""

    def __init__(self, attempt: Attempt, services: DialogueServices, consult: Consult | None) -> None:
        """``consult`` answers in place of consulted agents; if it is None, the agents themselves are asked."""
        user_message = attempt.facts.user_message
        self._running: list[AnsweringAgent] = []
        self.forked: ForkedExchange | None = None
        """The exchange in the specialist's fork, which has yet to be written there."""
        self._attempt = attempt
        self._facts = attempt.facts
        self._tracker = attempt.tracker
        self.histories = AgentHistories(attempt, services)
        self._services = attempt.services
        self._conversations = services.conversations
        self._consultations = Consultations(attempt, user_message.content if user_message is not None else "")
        self._consult = consult or self._consultations.ask

    @property
    def results(self) -> Sequence[AgentResult]:
        """The results of the agents, in the order in which they spoke."""
        return [agent.result for agent in self._running]

    @property
    def consulted_usage(self) -> Usage:
        """The usage of consulted agents."""
        return self._consultations.usage

    async def run_active(self) -> AgentResult:
        """Let the active agent answer, in this thread or in its fork, and return its result."""
        conversation, context = self._tracker.current, self._attempt
        context.note_version(conversation.agent)
        transcript, handoff, merged_answer = context.transcript, conversation.handoff, None
        if handoff is not None and handoff.context_mode is ContextMode.FORKED:
            services, run = self._services, context.run
            transcript = Transcript(
                derive_fork_id(handoff), run, first_ordinal=0, clock=services.clock, counter=services.counter
            )
            merged_answer = MergedAnswer(conversation.agent, context.transcript, context.emit)
            context = replace(context, emit=merged_answer.take, enter=merged_answer.enter)
        is_whole = False
        try:
            before = len(transcript.messages)
            with trace_agent(conversation.agent) as span:
                agent = await self._prepare(transcript, context)
                if not context.stop.is_set():
                    await agent.answer()
                user_message = self._facts.user_message
                question = text_of(user_message.content) if user_message is not None else ""
                note_answer(span, conversation.agent, question, join_answer_texts(transcript.messages[before:]))
            if conversation.agent.remote is not None:
                self._note_task(agent.result.remote_task_id)
            is_whole = not context.stop.is_set()
            return agent.result
        finally:
            if merged_answer is not None and handoff is not None:
                merged_answer.end(is_whole=is_whole)
                self._keep_fork(handoff, conversation.agent, transcript)

    def _keep_fork(self, handoff: HandoffRequest, agent: AgentDefinition, fork: Transcript) -> None:
        """Note the specialist's messages for its fork, and add its report to this thread."""
        transcript = self._attempt.transcript
        for report in (message for message in fork.messages if message.is_handoff_summary):
            call = ToolCall(report.tool_call_id or report.id, RETURN, "{}")
            transcript.add_result(transcript.new_id(), agent, call, report.text, is_handoff_summary=True)
        if fork.messages and not self._attempt.screened.is_refused:
            opening = self._attempt.screened.apply(self._facts.question, self._services.counter)
            self.forked = ForkedExchange(handoff, agent, self._attempt.run, opening, fork.messages)

    async def _prepare(self, transcript: Transcript, context: Attempt) -> AnsweringAgent:
        """Return the active agent, ready to answer into ``transcript`` and to emit its events to ``context``."""
        conversation = self._tracker.current
        if not judges_questions(conversation.agent):
            self._attempt.screened.is_refused = False
        if conversation.agent.remote is not None and conversation.handoff is not None:
            remote = await self._make_remote_runner(conversation.handoff, transcript, context)
            self._running.append(remote)
            return remote
        client = self._facts.client if conversation.agent.code.run is None else None
        tools = await find_tools(
            conversation.agent,
            self._attempt.scope,
            self._facts.agents,
            self._services.tools,
            conversation=conversation,
            client=await judge_tools(self._attempt, conversation.agent, client),
            begins_itself=self._facts.began_with.begun_by is not None,
        )
        if conversation.agent.code.run is not None:
            return await self._prepare_coroutine(tools, transcript, context)
        loop = AgentLoop(self._make_work(tools, transcript, context))
        self._running.append(loop)
        message, client_results = self._screened_message, self._facts.client_results
        steered = [message for message in self._attempt.transcript.messages if message.is_steered]
        current: Sequence[StoredMessage] = (message, *steered) if message is not None else tuple(steered)
        is_judged, earlier_sources = False, self._reserve_numbers()
        if self._facts.answered is not None and len(self._running) == 1:
            await self._go_on(loop, self._facts.answered)
            is_judged = True
            current = (*self._facts.unfinished, *self._attempt.transcript.messages)
        elif (
            client_results is not None and client_results.agent_id == conversation.agent.id and len(self._running) == 1
        ):
            await self._take_client_results(loop, client_results)
            current = (*current, *(message for message in transcript.messages if not message.is_steered))
        # An approved call may have advanced the workflow.
        changing = [
            *await compute_prompt(conversation.agent, context),
            *make_changing_notes(self._tracker.current, tools, self._facts.began_with.begun_by),
        ]
        context_notes = await make_context_notes(conversation.agent, self._facts.client, self._services.counter)
        today = Prompt(Role.SYSTEM, self._attempt.today.sentence)
        notes = Notes(make_handoff_notes(self._tracker.current.handoff), changing, context_notes, today)
        await loop.begin(
            await self._make_prompt(tools, current, notes), is_question_judged=is_judged, earlier=earlier_sources
        )
        return loop

    def _reserve_numbers(self) -> list[Mapping[str, Any]]:
        """Reserve the numbers that the texts of an exchange that continues cite. Return the numbered sources."""
        sources = [source for message in self._facts.unfinished for source in message.sources]
        self._attempt.numbers.reserve(sources)
        return [source for source in sources if source.get("number") is not None]

    async def _prepare_coroutine(self, tools: ToolSet, transcript: Transcript, context: Attempt) -> AnsweringAgent:
        """Return the active agent as a ``CoroutineAgent``, whose ``run`` answers."""
        message, answered_interrupts = self._screened_message, self._facts.answered
        continued_interrupts = answered_interrupts if not self._running else None
        coroutine = CoroutineAgent(
            self._make_work(tools, transcript, context),
            self._make_assembler(transcript, context, is_continued=continued_interrupts is not None),
            content=message.content if message is not None else "",
            is_question_judged=continued_interrupts is not None,
        )
        self._running.append(coroutine)
        if continued_interrupts is not None:
            await self._go_on(coroutine, continued_interrupts)
        return coroutine

    def _make_assembler(self, transcript: Transcript, context: Attempt, *, is_continued: bool) -> AssemblePrompt:
        """Return a function that assembles the prompt of a step: from the conversation so far, or from one message."""
        computed: list[Prompt] | None = None

        async def assemble(single_message: str | None) -> AssembledContext:
            nonlocal computed
            agent, message, tools = self._tracker.current.agent, self._screened_message, ToolSet({})
            if computed is None:
                computed = await compute_prompt(agent, context)
            today = Prompt(Role.SYSTEM, context.today.sentence)
            if single_message is not None:
                search = MemorySearch(context.scope, single_message, with_episodes=False)
                notes = Notes(changing=computed, today=today)
                assembled = await self._services.memory.make_prompt(
                    context.fit_agent(agent), search, notes=notes, zone=context.today.zone, numbers=context.numbers
                )
                return await judge_context(context, agent, assembled)
            before = self._facts.unfinished if is_continued else (message,) if message is not None else ()
            context_notes = await make_context_notes(agent, self._facts.client, self._services.counter)
            changing = [*computed, *make_changing_notes(self._tracker.current, tools, self._facts.began_with.begun_by)]
            notes = Notes(make_handoff_notes(self._tracker.current.handoff), changing, context_notes, today)
            return await self._make_prompt(tools, (*before, *transcript.messages), notes)

        return assemble

    @property
    def _screened_message(self) -> StoredMessage | None:
        """The user's message, as guardrails have left it; None without a message."""
        user_message = self._facts.user_message
        return self._attempt.screened.apply(user_message, self._services.counter) if user_message is not None else None

    async def _make_remote_runner(
        self, handoff: HandoffRequest, transcript: Transcript, context: Attempt
    ) -> RemoteAgentRunner:
        """Return the runner of the remote specialist, with the messages that it gets."""
        history = select_spoken_messages((await self.histories.read()).messages)
        is_forked = handoff.context_mode is ContextMode.FORKED
        granted_ids = set(handoff.recent_messages)
        earlier_messages = [
            message
            for message in history
            if (message.id in granted_ids if is_forked else message.ordinal < handoff.ordinal)
        ]
        is_first = self._tracker.current.was_handed_over_by(self._facts.question)
        stored_message = self._screened_message
        if stored_message is not None and stored_message.begun_by is not None:
            cause = quote_cause(stored_message.begun_by, stored_message.text)
            stored_message = replace(stored_message, content=cause)
        text = (
            stored_message.text
            if stored_message is not None and stored_message.text
            else CONTINUING.format(workflow="this")
        )
        return RemoteAgentRunner(
            context,
            self._tracker.current.agent,
            transcript,
            handoff,
            text=text,
            earlier=earlier_messages,
            session=[message for message in history if message not in earlier_messages],
            is_first=is_first,
            content=stored_message.content if stored_message is not None else "",
        )

    def _make_work(self, tools: ToolSet, transcript: Transcript, context: Attempt) -> AgentWork:
        builtin_tools = BuiltinTools(
            self._tracker, self._attempt.scope, self._services.clock, self._conversations.skills.check
        )
        return AgentWork(
            context, self._tracker.current.agent, tools, transcript, consult=self._consult, own=builtin_tools
        )

    async def _make_prompt(self, tools: ToolSet, current: Sequence[StoredMessage], notes: Notes) -> AssembledContext:
        """Return the prompt of the active agent."""
        conversation, context = self._tracker.current, self._attempt
        read_history = await self.histories.read()
        prompt = None
        if self._facts.user_message is None and conversation.workflow is not None:
            prompt = Prompt(Role.USER, CONTINUING.format(workflow=conversation.workflow.name))
        history = AgentHistory(
            context.thread_id,
            read_history.messages,
            current,
            summary=read_history.summary,
            window=self.histories.window,
            handoff=conversation.handoff,
            asked=prompt,
        )
        assembled = await self._services.memory.make_prompt(
            context.fit_agent(conversation.agent),
            self._attempt.search,
            history,
            notes=notes,
            reserved=tools.count_tokens(self._services.counter),
            zone=context.today.zone,
            numbers=context.numbers,
        )
        return await judge_context(context, conversation.agent, assembled)

    async def _go_on(self, loop: AgentLoop | CoroutineAgent, answered: PendingInterrupts) -> None:
        """Make the approved calls, and give the model the refusals and the client's results of the other calls.

        Raises ``InterruptUnavailable`` if none of the interrupted calls can be found.
        """
        calls_by_id = {call.id: call for message in self._facts.unfinished for call in message.tool_calls}
        waiting_calls = {
            interrupt.tool_call_id: calls_by_id[interrupt.model_call.id]
            for interrupt in answered.interrupts
            if interrupt.model_call.id in calls_by_id
        }
        if not waiting_calls:
            raise InterruptUnavailable
        settled_outcomes = find_settled_calls(answered)
        calls = list(dict.fromkeys(waiting_calls.values()))
        await loop.go_on(calls, waiting_calls.keys() - settled_outcomes.keys(), settled_outcomes)

    async def _take_client_results(self, loop: AgentLoop, pending: PendingInterrupts) -> None:
        """Take the client's results of calls of the previous run, which came with the message."""
        if not await self._attempt.may_act():
            return
        history = (await self.histories.read()).messages
        calls = {call.id: call for message in history for call in message.tool_calls}
        interrupts = [
            interrupt
            for interrupt in pending.interrupts
            if interrupt.answer is not None and interrupt.tool_call_id in calls
        ]
        for interrupt in interrupts:
            if interrupt.tool_call_id not in self._attempt.journal:
                await audit_decision(self._services.audit, self._attempt.scope, self._attempt.thread_id, interrupt)
        settled_outcomes = find_settled_calls(replace(pending, interrupts=tuple(interrupts)))
        await loop.go_on([calls[call_id] for call_id in settled_outcomes], (), settled_outcomes)

    def _note_task(self, remote_task_id: str | None) -> None:
        """Store the id of the task that the remote specialist continues with the user's next message."""
        conversation = self._tracker.current
        if conversation.handoff is not None and conversation.handoff.remote_task_id != remote_task_id:
            self._tracker.current = conversation.with_handoff_details(remote_task_id=remote_task_id)
