"""Execute a model's tool calls: all calls of one answer at once, each validated, limited and recorded."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.agents.answer_sources import select_recorded_sources
from baton.agents.attempt_context import Attempt, Budget, EmitEvent
from baton.agents.call_outcome import FAULT, STOPPED, CallOutcome
from baton.agents.calls.hooked_calls import Admitted, HookedCall, Judge, JudgedCalls
from baton.agents.calls.passed_citations import renumber
from baton.agents.calls.progress import ProgressIndicator
from baton.agents.calls.traced_steps import note_outcome, trace_call
from baton.agents.given_sources import bound_sources
from baton.agents.guardrails.hooks import Hooks
from baton.agents.guardrails.judged_texts import judge_outcome
from baton.agents.tools.attached_files import AttachedFiles
from baton.agents.tools.builtin_tools import BuiltinTools
from baton.agents.tools.tool_progress import ToolProgress
from baton.agents.tools.tool_set import BadCall, Offer, OutOfReach, ToolSet
from baton.concurrency.tasks import off_loop, stop_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.documents.chunk import AGENT_SOURCE
from baton.domain.documents.numbered_passages import drop_citation
from baton.domain.errors import LeaseLost, StoreUnavailable, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.runs.conversation_data import DataChange
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.tool_call import ASK, CallEnd, ToolCall, ToolCallRecord, is_shown
from baton.domain.schemas.schema_validator import checking_size
from baton.domain.text import encodable, first_bytes
from baton.domain.threads.run_events import tool_call, tool_result
from baton.ports.agents.tools import CallContext, ToolFailed

logger = Logger(child=True)

OVER = "Error: it was stopped when the time for it was over."
GRACE_SECONDS = 5.0
MAX_RESULT = 1024 * 1024
"""Bytes of a tool's answer in UTF-8. Longer answers are cut, also in the record of the call."""
CUT = "\n[Cut: the tool has answered {} characters in all.]"
MAX_CLIENT_CALLS = 8
"""Calls of one answer that the user's application may carry out. The thread's item keeps all of their results."""
TOO_MANY_CLIENT_CALLS = f"Error: the application takes at most {MAX_CLIENT_CALLS} calls at once. Call it again later."
ADVICE = " Answer with what you know. The user is told about it already: do not apologise for it."
"""The end of the outcome of a question that an agent could not answer, for the model that has asked."""
NO_MORE = "Error: no more calls can be made in this turn. Answer with what you have."


def _show_nothing(label: str) -> None:
    """Show nothing, where no user waits."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of one agent to another."""

    call: ToolCall
    agent: AgentDefinition
    """The agent that is asked."""
    message: str
    data: Mapping[str, Any] | None = None
    """A structured answer to a remote agent's question."""
    report: Callable[[str], None] = _show_nothing
    """Shows the user the agent's reports on its work."""
    judge: Judge | None = None
    """Has the hooks of the agent that asks judge the outcome, before it is stored; None without any."""


Consult = Callable[[Question, EmitEvent], Awaitable[CallOutcome]]
"""Consults an agent: the question, and the callback for events."""


@dataclass(slots=True)
class ToolCalls:
    """The calls of one agent in one attempt at a run."""

    context: Attempt
    agent: AgentDefinition
    tools: ToolSet
    budget: Budget
    consult: Consult | None = None
    own: BuiltinTools | None = None
    """The built-in tools; None for a consulted agent."""
    task_id: str | None = None
    """The sub-task of a consulted agent; None if the agent answers the user."""
    hooks: Hooks | None = None
    """The agent's hooks; None without any."""
    outcomes: dict[str, CallOutcome] = field(default_factory=dict)
    """Outcomes by call id."""
    name_cited: Callable[[str], str] = str
    """Returns a text for another agent, which does not have the passages that it cites by number."""
    _research: ProgressIndicator | None = None
    _activity_id: str = ""
    """The id of the indicator, from which those of the calls' own activities are derived."""
    _fatal: BaseException | None = None
    _is_waiting: bool = False
    """True if a call of the same answer waits for a person or for the user's application."""
    _client_calls: int = 0
    """Calls of the same answer that the user's application carries out."""
    _judged: JudgedCalls = field(init=False)

    def __post_init__(self) -> None:
        self._judged = JudgedCalls(self.context, self.hooks, self._admit)

    async def judge(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Return the calls of an answer as hooks before tools leave them, before they are shown and stored."""
        return await self._judged.judge(calls)

    async def carry_out(
        self,
        calls: Sequence[ToolCall],
        result_ids: Mapping[str, str],
        *,
        activity_id: str,
        approved: Collection[str] = (),
    ) -> None:
        """Execute all calls at once and emit their events. ``outcomes`` has the results afterwards.

        ``result_ids`` has the ids of the calls' result messages, ``activity_id`` is that of the progress indicator, and
        ``approved`` has the ids of approved calls. Ends promptly when the run is stopped. Raises ``LeaseLost`` and
        ``StoreUnavailable``.
        """
        if self._judged.fatal is not None:
            raise self._judged.fatal
        self._is_waiting, self._client_calls = any(self._waits(call, approved) for call in calls), 0
        self._activity_id = activity_id
        # Reading the thread may have outlasted the lease, and events are sent only while the calls are made.
        await self.context.ensure_lease()
        async with self._indicator(calls, activity_id):
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
        """Record the outcome of a call that somebody has refused, or that the user's application has carried out.

        Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        outcome = self.outcomes[call.id] = await judge_outcome(self.hooks, outcome)
        await self._record(call, outcome, self.context.services.clock.now())

    def _waits(self, call: ToolCall, approved: Collection[str]) -> bool:
        offer = self.tools.offers.get(call.name)
        if offer is None or self._judged.is_settled(call):
            return False
        needs_approval = offer.tool is not None and offer.tool.requires_approval
        return offer.is_client or (needs_approval and call.id not in approved)

    def _indicator(self, calls: Sequence[ToolCall], activity_id: str) -> contextlib.AbstractAsyncContextManager[object]:
        offers = [self.tools.offers.get(call.name) for call in calls]
        definitions = [offer.agent for offer in offers if offer is not None and offer.agent is not None]
        if not definitions:
            return contextlib.nullcontext()
        self._research = ProgressIndicator(activity_id, self.agent, definitions, self.context.emit)
        return self._research

    async def _cancel_on_stop(self, jobs: Sequence[asyncio.Future[None]]) -> None:
        await self.context.stop.wait()
        for job in jobs:
            job.cancel()

    async def _carry_out_one(self, call: ToolCall, result_id: str, *, is_approved: bool) -> None:
        began = self.context.services.clock.now()
        try:
            with trace_call(call, self.tools.offers.get(call.name)) as span:
                outcome = await self._execute(call, is_approved=is_approved)
                note_outcome(span, outcome)
        except asyncio.CancelledError:
            if not self.context.stop.is_set():
                # The consultation's time is over. The call may have had its effect.
                self.context.writes.add(self._record(call, CallOutcome.failed(OVER), began))
                raise
            outcome = CallOutcome.failed(STOPPED)
        except (LeaseLost, StoreUnavailable, Unauthorized) as error:
            self._fatal = error
            return
        except Exception:
            logger.exception("tool call failed", tool=call.name, thread_id=self.context.thread_id)
            count(Metric.INTERNAL_FAULTS)
            outcome = CallOutcome.failed(FAULT)
        self.outcomes[call.id] = outcome
        self.budget.count_tokens(outcome.tokens)
        if outcome.waits:
            return
        offer = self.tools.offers.get(call.name)
        if offer is not None and offer.tool is not None:
            # Record it before the result is used, so that a worker that takes over does not repeat the call.
            try:
                await self._record(call, outcome, began)
            except (LeaseLost, StoreUnavailable) as error:
                self._fatal = error
                return
        else:
            self.context.writes.add(self._record(call, outcome, began))
        self._show_progress(call, outcome)
        if is_shown(call.name):
            self.context.emit(tool_result(call, result_id, self._write_client_output(call, outcome), outcome.end))

    def _show_progress(self, call: ToolCall, outcome: CallOutcome) -> None:
        offer = self.tools.offers.get(call.name)
        if self._research is not None and offer is not None and offer.agent is not None:
            failed = TaskStatus.FAILED if outcome.error else TaskStatus.COMPLETED
            self._research.ended(offer.agent.id, TaskStatus(outcome.task_status) if outcome.task_status else failed)

    async def _execute(self, call: ToolCall, *, is_approved: bool) -> CallOutcome:
        admitted = self._judged.take(call) or await self._admit(call)
        if isinstance(admitted, CallOutcome):
            return admitted
        if self.hooks is None:
            return await self._use(call, admitted, is_approved=is_approved)
        hooked = HookedCall(self.hooks, call, admitted)
        return await hooked.carry_out(lambda judge: self._use(call, admitted, is_approved=is_approved, judge=judge))

    async def _admit(self, call: ToolCall) -> CallOutcome | Admitted:
        """Return whether a call may be made, or the outcome that it has without that."""
        try:
            offer = self.tools.offer(call)
            size = checking_size(offer.spec.parameters, call.arguments)
            arguments = await off_loop(size, offer.arguments, call)
        except OutOfReach as error:
            return CallOutcome.failed(f"Error: {error}", is_outage=True)
        except BadCall as bad:
            self.budget.count_bad_call()
            return CallOutcome.refused(f"Error: {bad}")
        call_record = self.context.facts.journal.get(call.id)
        if call_record is not None and is_shown(call.name):
            return self._reuse(call_record, offer)  # built-in tools are executed again, because their effects were lost
        if not self.budget.take_call():
            return CallOutcome.refused(NO_MORE)
        return Admitted(offer, arguments)

    async def _use(
        self, call: ToolCall, admitted: Admitted, *, is_approved: bool, judge: Judge | None = None
    ) -> CallOutcome:
        """Make a call whose arguments are valid, or have it wait."""
        offer, arguments = admitted.offer, admitted.arguments
        if offer.is_client:
            self._client_calls += 1
            if self._client_calls > MAX_CLIENT_CALLS:
                return CallOutcome.refused(TOO_MANY_CLIENT_CALLS)
            return CallOutcome("", waits=True)
        if offer.tool is not None and offer.tool.requires_approval and not is_approved:
            return CallOutcome("", waits=True)
        if offer.agent is not None and self.consult is not None:
            report = self._research.make_reporter(offer.agent.id) if self._research is not None else _show_nothing
            message = self.name_cited(arguments["message"])
            question = Question(call, offer.agent, message, arguments.get("data"), report, judge)
            return await self.consult(question, self.context.emit)
        if offer.tool is not None:
            return await self._call_outside(call, offer, arguments)
        if self.own is not None:
            named = {
                name: self.name_cited(argument) if isinstance(argument, str) else argument
                for name, argument in arguments.items()
            }
            return await self.own.use(self.agent, call.name, named, self.context.emit, waits=self._is_waiting)
        return CallOutcome.refused(f"Error: {call.name} cannot be used here.")

    async def _call_outside(self, call: ToolCall, offer: Offer, arguments: Mapping[str, Any]) -> CallOutcome:
        context = self.context
        assert offer.tool is not None  # noqa: S101 - the caller has checked it
        progress = ToolProgress(call, self._activity_id, context.emit)
        attached = AttachedFiles(context, self.agent.id)
        before, state = context.data.copy(), context.data.copy()
        about = CallContext(
            scope=context.scope,
            thread_id=context.thread_id,
            run_id=context.run.run_id,
            agent_id=self.agent.id,
            call_id=call.id,
            idempotency_key=call.id,
            time_zone=context.today.known_zone,
            state=state,
            report=progress.report,
            keep=attached.keep,
        )
        end = CallEnd.FAILED
        try:
            # Slightly longer than the tool's timeout, which the adapter enforces, so that the adapter fails first.
            async with asyncio.timeout(context.work_seconds(offer.tool.timeout_seconds + GRACE_SECONDS)):
                result = await context.services.tools.call(self.agent, call.name, arguments, about)
            change = self._take_data(call, before, state)
            end = CallEnd.SUCCEEDED
        except TimeoutError:
            return CallOutcome.failed(f"Error: {call.name} did not answer in time.", is_outage=True)
        except ToolFailed as failure:
            is_outage, is_refused = failure.is_outage, failure.is_refused
            return CallOutcome.failed(f"Error: {failure.message}", is_outage=is_outage, is_refused=is_refused)
        finally:
            progress.end(end)
        text = await off_loop(len(result.text), _cut, result.text)
        files = tuple(attached.sources)
        named = map(drop_citation, result.sources)
        return CallOutcome(text, sources=(*named, *files), data=change, files=files)

    def _take_data(self, call: ToolCall, before: Mapping[str, Any], after: Mapping[str, Any]) -> DataChange | None:
        """Take what a call has changed of the conversation's data. Raises ``ToolFailed`` if it cannot be kept."""
        try:
            change = DataChange.between(before, after)
            if change is not None:
                self.context.data.apply(change)
        except ValueError as problem:
            count(Metric.TOOL_FAILURES)
            logger.error("state not kept", tool=call.name, thread_id=self.context.thread_id, reason=str(problem))
            raise ToolFailed(f"{call.name} was carried out, but what it has noted cannot be kept.") from problem
        return change

    def _reuse(self, record: ToolCallRecord, offer: Offer) -> CallOutcome:
        """Return the result that an earlier attempt recorded, without calling the tool again."""
        if record.data is not None:
            self.context.data.apply(record.data)
        return CallOutcome(
            record.output or "",
            task_id=record.task_id,
            task_status=TaskStatus.COMPLETED.value if record.task_id else None,
            sources=select_recorded_sources(offer.agent, record),
            files=record.files,
        )

    def renumber(self, call: ToolCall, *, lists: bool) -> None:
        """Put the citations of a consulted agent's answer into the run's numbers: see ``passed_citations``.

        Calls are renumbered in their order and not as they end, so that a model gets the same numbers every time.
        """
        offer, outcome = self.tools.offers.get(call.name), self.outcomes[call.id]
        if offer is not None and offer.agent is not None:
            self.outcomes[call.id] = renumber(outcome, self.context.numbers, lists=lists)

    def result_for_model(self, call: ToolCall) -> str:
        """Return a call's output for the model, cut to the agent's limits."""
        output = self.outcomes[call.id].output
        longest = self.agent.limits.result_chars
        if len(output) <= longest:
            return output or "(no output)"
        return f"{output[:longest]}\n[Cut: {len(output)} characters in all. Ask for less to see the rest.]"

    def _write_client_output(self, call: ToolCall, outcome: CallOutcome) -> str:
        if call.name.startswith(ASK) and outcome.task_id is not None:
            return json.dumps({"taskId": outcome.task_id, "status": outcome.task_status})
        return self.result_for_model(call)

    async def _record(self, call: ToolCall, outcome: CallOutcome, began: datetime) -> None:
        services, parsed = self.context.services, call.parsed()
        record = ToolCallRecord(
            id=call.id,
            run_id=self.context.run.run_id,
            agent_id=self.agent.id,
            tool_name=call.name,
            input=parsed if parsed is not None else call.arguments,
            output=outcome.output if outcome.error is None else None,
            succeeded=outcome.error is None,
            error_message=outcome.error,
            called_at=began,
            duration=services.clock.now() - began,
            task_id=outcome.task_id or self.task_id,
            data=outcome.data,
            files=outcome.files,
            sources=bound_sources([source for source in outcome.sources if _is_recorded(source, outcome.files)]),
        )
        await services.records.put_call(self.context.lease(), record)


def make_call_events(calls: Sequence[ToolCall], parent_message_id: str) -> list[BaseEvent]:
    """Return the calls as clients see them, before their results."""
    return [event for call in calls if is_shown(call.name) for event in tool_call(call, parent_message_id)]


def _is_recorded(source: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> bool:
    return source.get("kind") != AGENT_SOURCE and source not in files


def _cut(text: str) -> str:
    """Return a tool's answer, cut to the limit, as text that can be sent and stored."""
    mended = encodable(text[:MAX_RESULT])
    beginning = first_bytes(mended, MAX_RESULT)
    is_whole = len(text) <= MAX_RESULT and len(beginning) == len(mended)
    return beginning if is_whole else beginning + CUT.format(len(text))
