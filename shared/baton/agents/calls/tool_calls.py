"""The execution of a model's tool calls: all calls of one answer at once, each validated, limited and recorded."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.agents.agent_work import AgentQuestion, AgentWork, Judge, show_nothing
from baton.agents.answer_sources import renumber_citations
from baton.agents.call_outcome import FAULT, STOPPED, CallOutcome
from baton.agents.calls.background_calls import begin_agent
from baton.agents.calls.call_records import CallRecords
from baton.agents.calls.hooked_calls import AdmittedCall, HookedCalls
from baton.agents.calls.outside_calls import OutsideCalls
from baton.agents.calls.progress import ProgressIndicator
from baton.agents.calls.traced_steps import note_outcome, trace_call
from baton.agents.guardrails.judged_texts import judge_outcome
from baton.agents.tools.tool_set import BadCall, OutOfReach
from baton.concurrency.tasks import off_loop, stop_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import LeaseLost, StoreUnavailable, Unauthorized
from baton.domain.handoffs.completion_arguments import make_completion_arguments
from baton.domain.handoffs.workflow import Workflow
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.metrics import Metric, count
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.tool_call import ADVANCE, ASK, ToolCall, derive_completing_call_id, derive_tool_call_id, is_shown
from baton.domain.schemas.schema_validator import estimate_check_size
from baton.domain.text import replace_surrogates
from baton.domain.threads.run_events import make_tool_call, make_tool_result

logger = Logger(child=True)

OVER = "Error: it was stopped when the time for it was over."
MAX_CLIENT_CALLS = 8
"""Calls of one answer that the user's application may carry out. One item, the thread's, has to hold their results."""
TOO_MANY_CLIENT_CALLS = f"Error: the application takes at most {MAX_CLIENT_CALLS} calls at once. Call it again later."
ADVICE = " Answer with what you know. The user is told about it already: do not apologise for it."
"""Ends the outcome of a question that an agent could not answer, for the asking model."""
NO_MORE = "Error: no more calls can be made in this turn. Answer with what you have."


class ToolCalls:
    """The calls of one agent in one attempt at a run."""

    def __init__(self, work: AgentWork, *, asks_at_once: bool = False) -> None:
        """With ``asks_at_once``, agents that can work in the background are consulted like other agents."""
        self._work = work
        self._asks_at_once = asks_at_once
        self._context = work.context
        self._agent = work.agent
        self._tools = work.tools
        self._budget = work.budget
        undo_transfer = work.own.undo_transfer if work.own is not None else None
        self._hooked = HookedCalls(work.context, work.hooks, self._admit, undo_transfer)
        self._outside = OutsideCalls(work)
        self._records = CallRecords(work)
        self.outcomes: dict[str, CallOutcome] = {}
        """Outcomes by call id."""
        self.name_cited: Callable[[str], str] = str
        """Replaces citation numbers in a text for another agent, which does not have the passages, by their titles."""
        self._research: ProgressIndicator | None = None
        self._activity_id = ""
        """The id of the progress indicator, from which the ids of the calls' activities are derived."""
        self._fatal: BaseException | None = None
        self._is_waiting = False
        """True if a call of the same answer waits for a person or for the user's application."""
        self._client_calls = 0
        """The number of calls in the same answer that the user's application carries out."""
        self._advances = False
        """True if a call of the same answer moves the workflow."""
        self._approved: Collection[str] = ()
        self._settled: Mapping[str, CallOutcome] = {}
        """The outcomes of calls that waited, by call id."""
        self._completions: dict[str, str] = {}
        """The idempotency keys of calls that complete a workflow, by call id."""

    async def judge(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Return the calls of an answer, for display and storage, after the hooks before tools have judged them."""
        return await self._hooked.judge(calls)

    async def go_on(
        self, calls: Sequence[ToolCall], approved: Collection[str], settled: Mapping[str, CallOutcome]
    ) -> None:
        """Execute the ``approved`` calls of an interrupted run, and add all results to the transcript.

        The calls in ``settled`` have these outcomes and are not executed. ``calls`` are the calls of the model. They
        include the call that moves a workflow to its end, but not the call that completes the workflow.
        """
        self._settled = settled
        for call in calls:
            if call.id in settled:
                await self.settle(call, settled[call.id])
        await self.add_results(calls, approved)

    async def add_results(self, calls: Sequence[ToolCall], approved: Collection[str] = ()) -> None:
        """Execute the calls that have no outcome yet, and add the results of all calls to the transcript.

        ``approved`` has the ids of approved calls. Calls that wait get no result. Raises the errors of ``carry_out``.
        """
        outcomes, transcript = self.outcomes, self._work.transcript
        result_ids = {call.id: transcript.new_id() for call in calls}
        for call in calls:
            if call.id in outcomes:
                output = self.get_result_for_model(call)
                self._context.emit(make_tool_result(call, result_ids[call.id], output, outcomes[call.id].end))
        remaining = [call for call in calls if call.id not in outcomes]
        if remaining:
            activity_id = transcript.new_activity_id()
            await self.carry_out(remaining, result_ids, activity_id=activity_id, approved=approved)
        for call in calls:
            self.renumber_citations(call, lists=True)
            outcome = outcomes[call.id]
            if not outcome.waits:
                transcript.add_result(
                    result_ids[call.id],
                    self._agent,
                    call,
                    self.get_result_for_model(call),
                    end=outcome.end,
                    is_handoff_summary=outcome.returns is not None,
                    sources=outcome.sources,
                )
            await asyncio.sleep(0)  # counting a result takes time, so let other tasks run in between

    async def carry_out(
        self,
        calls: Sequence[ToolCall],
        result_ids: Mapping[str, str],
        *,
        activity_id: str,
        approved: Collection[str] = (),
    ) -> None:
        """Execute all calls at once and emit their events. Afterwards ``outcomes`` has the results.

        ``result_ids`` has the ids of the result messages by call id, ``activity_id`` is the id of the progress
        indicator, and ``approved`` has the ids of approved calls. If the run is stopped, the calls are cancelled.

        Raises ``LeaseLost``, ``StoreUnavailable`` and ``Unauthorized``.
        """
        if self._hooked.fatal is not None:
            raise self._hooked.fatal
        self._is_waiting, self._client_calls = any(self._must_wait(call, approved) for call in calls), 0
        self._activity_id, self._approved = activity_id, approved
        self._advances = any(call.name == ADVANCE for call in calls)
        # The lease may have ended while the thread was read. Without it, no call and no event is allowed.
        await self._context.ensure_lease()
        async with self._make_indicator(calls, activity_id):
            jobs = [
                asyncio.ensure_future(self._carry_out_one(call, result_ids[call.id], is_approved=call.id in approved))
                for call in calls
            ]
            stopper = asyncio.ensure_future(self._cancel_on_stop(jobs))
            try:
                await asyncio.wait(jobs)
            finally:
                await stop_all(stopper, *jobs)
        for job in jobs:
            if not job.cancelled():
                job.result()
        if self._fatal is not None:
            raise self._fatal

    async def settle(self, call: ToolCall, outcome: CallOutcome) -> None:
        """Record the outcome of a call that a person has refused or the user's application has carried out.

        The input guardrails judge the outcome first. Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        outcome = self.outcomes[call.id] = await judge_outcome(self._work.hooks, outcome)
        await self._records.put(call, outcome, self._context.services.clock.now())

    def _must_wait(self, call: ToolCall, approved: Collection[str]) -> bool:
        offer = self._tools.offers.get(call.name)
        if offer is None or self._hooked.is_settled(call):
            return False
        needs_approval = offer.tool is not None and offer.tool.requires_approval
        return offer.is_client or (needs_approval and call.id not in approved)

    def _make_indicator(
        self, calls: Sequence[ToolCall], activity_id: str
    ) -> contextlib.AbstractAsyncContextManager[object]:
        """Return the indicator of the agents that are asked; a context without effect if none is."""
        offers = [self._tools.offers.get(call.name) for call in calls]
        definitions = [offer.agent for offer in offers if offer is not None and offer.agent is not None]
        if not definitions:
            return contextlib.nullcontext()
        self._research = ProgressIndicator(activity_id, self._agent, definitions, self._context.emit)
        return self._research

    async def _cancel_on_stop(self, jobs: Sequence[asyncio.Future[None]]) -> None:
        await self._context.stop.wait()
        for job in jobs:
            job.cancel()

    async def _carry_out_one(self, call: ToolCall, result_id: str, *, is_approved: bool) -> None:
        """Execute a call, record it and show its result. An error that ends the run is stored in ``_fatal``."""
        began_at, offer = self._context.services.clock.now(), self._tools.offers.get(call.name)
        try:
            outcome = self.outcomes[call.id] = await self._execute_traced(call, began_at, is_approved=is_approved)
            self._budget.count_tokens(outcome.tokens)
            if outcome.waits:
                return
            record = self._records.put(call, outcome, began_at)
            if offer is not None and offer.tool is not None:
                await record  # before the result is used, so that a worker that takes over does not repeat the call
            else:
                self._context.writes.add(record)
        except (LeaseLost, StoreUnavailable, Unauthorized) as error:
            self._fatal = error
            return
        self._show_result(call, result_id, outcome)

    async def _execute_traced(self, call: ToolCall, began_at: datetime, *, is_approved: bool) -> CallOutcome:
        """Execute a call and return its outcome, even if it failed or was stopped. Raises errors that end the run."""
        try:
            with trace_call(call, self._tools.offers.get(call.name)) as span:
                outcome = await self._execute(call, is_approved=is_approved)
                note_outcome(span, outcome)
                return outcome
        except asyncio.CancelledError:
            if not self._context.stop.is_set():
                # The consultation's time is over. The call is recorded, because it may have had its effect.
                self._context.writes.add(self._records.put(call, CallOutcome.failed(OVER), began_at))
                raise
            return CallOutcome.failed(STOPPED)
        except (LeaseLost, StoreUnavailable, Unauthorized):
            raise
        except Exception:
            logger.exception("tool call failed", tool=call.name, thread_id=self._context.thread_id)
            count(Metric.INTERNAL_FAULTS)
            return CallOutcome.failed(FAULT)

    def _show_result(self, call: ToolCall, result_id: str, outcome: CallOutcome) -> None:
        """Emit the events that show the result of a call, and the end of an agent that was asked."""
        offer = self._tools.offers.get(call.name)
        if self._research is not None and offer is not None and offer.agent is not None:
            status = TaskStatus.FAILED if outcome.error else TaskStatus.COMPLETED
            self._research.show_end(offer.agent.id, TaskStatus(outcome.task_status) if outcome.task_status else status)
        if is_shown(call.name):
            output = self.get_result_for_model(call)
            if call.name.startswith(ASK) and outcome.task_id is not None:
                output = json.dumps({"taskId": outcome.task_id, "status": outcome.task_status})
            self._context.emit(make_tool_result(call, result_id, output, outcome.end))

    async def _execute(self, call: ToolCall, *, is_approved: bool) -> CallOutcome:
        admitted = self._hooked.take(call) or await self._admit(call)
        if isinstance(admitted, CallOutcome):
            return admitted
        return await self._hooked.carry_out(call, admitted, partial(self._use, call, admitted, is_approved=is_approved))

    async def _admit(self, call: ToolCall) -> CallOutcome | AdmittedCall:
        """Return an admitted call, or the outcome of a call that may not be made or was made by an earlier attempt."""
        try:
            completing = self._tools.completing if call.id in self._completions else None
            offer = completing or self._tools.find_offer(call)
            size = estimate_check_size(offer.spec.parameters, call.arguments)
            arguments = await off_loop(size, offer.parse_arguments, call)
        except OutOfReach as error:
            return CallOutcome.failed(f"Error: {error}", is_outage=True)
        except BadCall as bad:
            self._budget.count_bad_call()
            # Data that the tool cannot take send a workflow back, like a refusal by the tool.
            refused_to = "" if call.id in self._completions else None
            return CallOutcome.failed(f"Error: {bad}", is_refused=True, refused_to=refused_to)
        call_record = self._context.journal.get(call.id)
        # Built-in tools are executed again, because the effects of the earlier attempt were not committed.
        if call_record is not None and is_shown(call.name):
            return self._records.reuse(call_record, offer)
        if not self._budget.take_call():
            return CallOutcome.refused(NO_MORE)
        return AdmittedCall(offer, arguments)

    async def _use(
        self, call: ToolCall, admitted: AdmittedCall, judge: Judge | None = None, *, is_approved: bool
    ) -> CallOutcome:
        """Make an admitted call, or let it wait for an approval or for the user's application."""
        offer, arguments = admitted.offer, admitted.arguments
        if offer.is_client:
            self._client_calls += 1
            if self._client_calls > MAX_CLIENT_CALLS:
                return CallOutcome.refused(TOO_MANY_CLIENT_CALLS)
            return CallOutcome("", waits=True)
        if offer.tool is not None and offer.tool.requires_approval and not is_approved:
            return CallOutcome("", waits=True)
        background = self._context.services.background
        if offer.agent is not None and offer.is_background and not self._asks_at_once and background is not None:
            message = self.name_cited(arguments["message"])
            return await begin_agent(self._work, background(), call, offer.agent, message, arguments.get("data"))
        if offer.agent is not None and self._work.consult is not None:
            report = self._research.make_reporter(offer.agent.id) if self._research is not None else show_nothing
            message = self.name_cited(arguments["message"])
            question = AgentQuestion(call, offer.agent, message, arguments.get("data"), report, judge)
            return await self._work.consult(question, self._context.emit)
        if offer.tool is not None:
            key = self._completions.get(call.id, call.id)
            return await self._outside.make(
                call, offer.tool, arguments, idempotency_key=key, activity_id=self._activity_id
            )
        if self._work.own is not None:
            own_arguments = {
                name: self.name_cited(argument) if isinstance(argument, str) else argument
                for name, argument in arguments.items()
            }
            return await self._work.own.use(
                self._agent,
                call.name,
                own_arguments,
                self._context.emit,
                waits=self._is_waiting,
                advances=self._advances,
                complete=partial(self._complete, call),
            )
        return CallOutcome.refused(f"Error: {call.name} cannot be used here.")

    async def _complete(self, call: ToolCall, definition: WorkflowDefinition, workflow: Workflow) -> CallOutcome:
        """Make the call that completes a workflow, after the model's ``call`` has moved the workflow to its end."""
        completion, offer = definition.on_complete, self._tools.completing
        assert completion is not None  # noqa: S101 - the caller has checked it
        if offer is None:
            problem = f"{completion.tool} cannot be used for this user here at the moment"
            return CallOutcome.failed(f"Error: {problem}.", is_outage=bool(self._tools.missing))
        values = make_completion_arguments(definition, completion, workflow.data, offer.spec.parameters)
        arguments = replace_surrogates(json.dumps(values, ensure_ascii=False, sort_keys=True))
        completing = ToolCall(derive_completing_call_id(call.id, arguments), offer.spec.name, arguments, offer.label)
        # The key is the same for the same data, even if the model tries again in a later turn.
        self._completions[completing.id] = derive_tool_call_id(
            workflow.id, "", "on_complete", completing.name, arguments, 0
        )
        result_id, was_asked = self._work.transcript.new_id(), completing.id in (*self._approved, *self._settled)
        if not was_asked:
            [completing] = await self._hooked.judge([completing])
            messages = self._work.transcript.messages
            self._context.emit_all(make_call_events([completing], messages[-1].id if messages else result_id))
        if completing.id in self._settled:
            await self.settle(completing, self._settled[completing.id])
            output = self.get_result_for_model(completing)
            self._context.emit(make_tool_result(completing, result_id, output, self.outcomes[completing.id].end))
        else:
            await self._carry_out_one(completing, result_id, is_approved=completing.id in self._approved)
        if self._fatal is not None:
            raise self._fatal
        outcome = self.outcomes[completing.id]
        return replace(outcome, waits_for=completing) if outcome.waits else outcome

    def renumber_citations(self, call: ToolCall, *, lists: bool) -> None:
        """Renumber the citations in a consulted agent's answer: see ``answer_sources.renumber_citations``.

        Calls are renumbered in the order of the model's answer, so that each attempt has the same numbers.
        """
        offer, outcome = self._tools.offers.get(call.name), self.outcomes[call.id]
        if offer is not None and offer.agent is not None:
            self.outcomes[call.id] = renumber_citations(outcome, self._context.numbers, lists=lists)

    def get_result_for_model(self, call: ToolCall) -> str:
        """Return a call's output for the model; see ``fit_result``."""
        return fit_result(self.outcomes[call.id].output, self._agent)


def fit_result(output: str, agent: AgentDefinition) -> str:
    """Return an output for the model, cut to the agent's limits with a note, or a note in place of an empty output."""
    longest = agent.limits.result_chars
    if len(output) <= longest:
        return output or "(no output)"
    return f"{output[:longest]}\n[Cut: {len(output)} characters in all. Ask for less to see the rest.]"


def make_call_events(calls: Sequence[ToolCall], parent_message_id: str) -> list[BaseEvent]:
    """Return the events that show the calls to clients. Calls of built-in tools have none."""
    return [event for call in calls if is_shown(call.name) for event in make_tool_call(call, parent_message_id)]
