"""Calls of tools and agents by a coroutine, with the same limits, records and events as the calls of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton.agents.agent_work import AgentWork
from baton.agents.call_outcome import CallOutcome
from baton.agents.calls.tool_calls import ADVICE, NO_MORE, ToolCalls, fit_result, make_call_events
from baton.domain.errors import RunLimitReached
from baton.domain.runs.run_step import RunStep, StepKind
from baton.domain.runs.tool_call import ASK, CallEnd, ToolCall, derive_tool_call_id, is_shown
from baton.domain.threads.run_events import make_tool_result

CALLS = (StepKind.CALL, StepKind.ASK, StepKind.BEGIN)
"""The steps that are calls of tools or agents."""
NO_TOOL = "{agent} has no tool {name} that it may call for this user here. Tools: {known}."
NO_AGENT = "{agent} has no agent {name} that it may ask for this user here. Agents: {known}."
NO_TASK = (
    "{agent} cannot have {name} work in the background here. Agents that it can: {known}. It takes an agent of "
    "background_agents, and neither a fork nor a consulted agent can begin a task: nobody waits for the result there."
)


class CoroutineCalls:
    """The calls of one coroutine. A call is added to the transcript, with its result, once it has ended."""

    def __init__(self, work: AgentWork) -> None:
        self._work = work
        self._context = work.context
        self._agent = work.agent
        self._tools = work.tools
        self._transcript = work.transcript
        self._settled: dict[str, tuple[CallOutcome, ToolCall]] = {}
        """The outcomes of calls of the interrupted run, by call id."""

    def may_wait(self, name: str) -> bool:
        """Return whether a call of the tool may wait for an approval."""
        offer = self._tools.offers.get(name)
        return offer is not None and offer.tool is not None and offer.tool.requires_approval

    async def go_on(
        self, calls: Sequence[ToolCall], approved: Collection[str], settled: Mapping[str, CallOutcome]
    ) -> None:
        """Execute the ``approved`` calls of an interrupted run, and use the ``settled`` outcomes of the others.

        This is done at the beginning of the run, because model providers require results to follow the calls directly.
        """
        executor = ToolCalls(self._work)
        await executor.go_on(calls, approved, settled)
        self._settled |= {call.id: (executor.outcomes[call.id], call) for call in calls}

    async def make(self, step: RunStep, name: str, arguments: str) -> RunStep:
        """Make a call, and return ``step`` with its outcome. ``arguments`` are JSON.

        Raises ``RunLimitReached`` after the last call that one answer may make.
        """
        call = self._make_call(step, name, arguments)
        refusal = self._refuse_unknown(step.kind, name)
        if call.id in self._settled:
            outcome, call = self._settled[call.id]
        elif refusal is not None:
            outcome = refusal
        else:
            outcome, call = await self._carry_out(call, asks_at_once=step.kind is not StepKind.BEGIN)
        if outcome.output == NO_MORE and outcome.is_refused:
            raise RunLimitReached(
                f"{self._agent.name} has made as many calls as one answer may make: see limits.tool_calls and "
                "limits.tool_seconds of the agent."
            )
        self._work.add_outcome(call, outcome)
        return replace(
            step,
            ended_at=self._context.services.clock.now(),
            value=outcome.output if outcome.error is None else "",
            error=outcome.error.removesuffix(ADVICE) if outcome.error is not None else None,
            is_refused=outcome.is_refused,
            is_outage=outcome.is_outage,
            waits=outcome.waits,
            tool_name=name,
            arguments=call.arguments,
            data=outcome.data,
            sources=outcome.sources,
            task_id=outcome.task_id,
        )

    async def use_control_tool(self, name: str, arguments: str) -> str | None:
        """Use a built-in tool that ends the coroutine. Return None, or the reason why the tool cannot be used."""
        if name not in self._tools.offers or self._work.own is None:
            return f"{self._agent.name} cannot use {name} now."
        call = ToolCall(derive_tool_call_id(self._context.thread_id, "", "", name, arguments, 0), name, arguments)
        calls = ToolCalls(self._work)
        await calls.carry_out([call], {call.id: ""}, activity_id=self._transcript.new_activity_id())
        outcome = calls.outcomes[call.id]
        if outcome.error is not None:
            return outcome.error
        self._work.result.transfer, self._work.result.returns = outcome.transfer, outcome.returns
        if outcome.returns is not None:
            self._add(call, self._transcript.new_id(), self._transcript.new_id(), outcome.output, outcome.end)
        return None

    def count(self, step: RunStep) -> None:
        """Count a recorded step towards the limits of calls, and add its sources."""
        if step.kind in CALLS:
            self._work.budget.take_call()
            self._work.result.is_limited |= step.is_outage
        self._work.sources.add(step.sources)

    def is_settled(self, step: RunStep) -> bool:
        """Return whether ``go_on`` has applied the outcome of the recorded step's call, because it had to wait."""
        return self._recreate_call(step).id in self._settled

    def show_again(self, step: RunStep) -> None:
        """Show a recorded call again, because clients have discarded the events of the earlier attempt."""
        call = self._recreate_call(step)
        if call.name not in self._tools.offers:
            return  # it was refused
        message_id, result_id = self._transcript.new_id(), self._transcript.new_id()
        end = CallEnd.SUCCEEDED if step.error is None else CallEnd.REFUSED if step.is_refused else CallEnd.FAILED
        output = fit_result(step.value if step.error is None else f"Error: {step.error}", self._agent)
        self._context.emit_all(make_call_events([call], message_id))
        self._context.emit(make_tool_result(call, result_id, output, end))
        self._add(call, message_id, result_id, output, end, step.sources)

    def show_waiting(self) -> None:
        """Show the calls that wait for an approval, as one message at the end of the answer."""
        message_id = self._transcript.new_id()
        self._context.emit_all(make_call_events(self._work.result.waiting, message_id))
        self._transcript.add_answer(message_id, self._agent, "", calls=self._work.result.waiting)

    async def _carry_out(self, call: ToolCall, *, asks_at_once: bool) -> tuple[CallOutcome, ToolCall]:
        """Make a call. Return its outcome, and the call with the arguments that hooks have allowed."""
        message_id, result_id = self._transcript.new_id(), self._transcript.new_id()
        calls = ToolCalls(self._work, asks_at_once=asks_at_once)
        [call] = await calls.judge([call])
        if not self.may_wait(call.name):
            self._context.emit_all(make_call_events([call], message_id))
        await calls.carry_out([call], {call.id: result_id}, activity_id=self._transcript.new_activity_id())
        calls.renumber_citations(call, lists=False)
        outcome = calls.outcomes[call.id]
        if outcome.waits:
            return outcome, call
        if self.may_wait(call.name):
            self._context.emit_all(make_call_events([call], message_id))
        self._add(call, message_id, result_id, calls.get_result_for_model(call), outcome.end, outcome.sources)
        return outcome, call

    def _refuse_unknown(self, kind: StepKind, name: str) -> CallOutcome | None:
        """Return the refusal of a call of a tool or agent that the agent does not have for this user; else None."""
        begins, asks = kind is StepKind.BEGIN, kind is not StepKind.CALL
        usable_names = [
            tool for tool, offer in self._tools.offers.items() if is_shown(tool) and (offer.is_background or not begins)
        ]
        if name in usable_names:
            return None
        text = NO_TASK if begins else NO_AGENT if asks else NO_TOOL
        names = ", ".join(tool.removeprefix(ASK) for tool in usable_names if tool.startswith(ASK) is asks)
        return CallOutcome.refused(
            text.format(agent=self._agent.name, name=name.removeprefix(ASK), known=names or "none")
        )

    def _recreate_call(self, step: RunStep) -> ToolCall:
        return self._make_call(step, step.tool_name or "", step.arguments or "{}")

    def _make_call(self, step: RunStep, name: str, arguments: str) -> ToolCall:
        """Return the call of a step. Its id, derived from the step's place and digest, is the same in all attempts."""
        caller = f"{self._work.caller}\0{step.place}"
        call_id = derive_tool_call_id(self._context.thread_id, step.message_id, caller, name, step.digest, 0)
        offer = self._tools.offers.get(name)
        return ToolCall(call_id, name, arguments, offer.label if offer is not None else None)

    def _add(
        self,
        call: ToolCall,
        message_id: str,
        result_id: str,
        output: str,
        end: CallEnd,
        sources: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Add a call and its result to the transcript."""
        # A result must follow its call directly. Other calls may end in between, so both are added at once.
        is_report = self._work.result.returns is not None
        self._transcript.add_answer(message_id, self._agent, "", calls=[call])
        self._transcript.add_result(
            result_id, self._agent, call, output, end=end, is_handoff_summary=is_report, sources=sources
        )
