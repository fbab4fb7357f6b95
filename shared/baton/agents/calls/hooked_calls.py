"""Calls of tools, agents and handoffs with the hooks of the agent that makes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from aws_lambda_powertools import Logger

from baton.agents.agent_work import Judge
from baton.agents.attempt_context import Attempt
from baton.agents.call_outcome import FAULT, STOPPED, CallOutcome
from baton.agents.guardrails.hooks import HookRefusal, Hooks
from baton.agents.tools.tool_set import BadCall, ToolOffer
from baton.concurrency.tasks import stop_all
from baton.domain.agents.agent_code import HookPoint
from baton.domain.errors import LeaseLost, StoreUnavailable, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.runs.tool_call import ToolCall, is_shown
from baton.domain.text import replace_surrogates

logger = Logger(child=True)

NOT_CHANGED = "Error: the call was not made: a hook has changed its arguments, which {}."
_APPROVED = "somebody has agreed to as they were"
"""The reason in ``NOT_CHANGED`` for a call that was approved."""


@dataclass(frozen=True, slots=True)
class AdmittedCall:
    """A call that may be made, with arguments that fit the tool."""

    offer: ToolOffer
    arguments: Mapping[str, Any]
    is_judged: bool = False
    """True if hooks before tools have judged the arguments."""


Admit = Callable[[ToolCall], Awaitable[CallOutcome | AdmittedCall]]
"""Returns an admitted call, or the outcome of a call that may not be made."""
Make = Callable[[Judge | None], Awaitable[CallOutcome]]
"""Makes a call and returns its outcome. A call that stores its outcome itself applies the judge before."""


class HookedCalls:
    """The calls of one agent with its hooks. The hooks before tools judge a call before it is shown or stored."""

    def __init__(
        self, context: Attempt, hooks: Hooks | None, admit: Admit, undo_transfer: Callable[[], None] | None = None
    ) -> None:
        """``undo_transfer`` lets the agent hand over elsewhere; None for an agent without built-in tools."""
        self._context = context
        self._hooks = hooks
        self._admit = admit
        self._undo_transfer = undo_transfer
        self._judged: dict[str, CallOutcome | AdmittedCall] = {}
        self.fatal: Exception | None = None
        """The failure that ends the run."""

    async def judge(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Return the calls with the arguments that hooks allow.

        A call that will not be made has empty arguments, or those with which an earlier attempt made it.
        When the run is stopped, calls that were not judged yet are not made.
        """
        if not calls or self._hooks is None or not self._hooks.has(HookPoint.BEFORE_TOOL):
            return list(calls)
        jobs = [asyncio.ensure_future(self._judge_one(call, self._hooks)) for call in calls]
        stopped = asyncio.ensure_future(self._context.stop.wait())
        judging = asyncio.ensure_future(asyncio.wait(jobs))
        try:
            await asyncio.wait({judging, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stop_all(stopped, judging, *jobs)
        return [
            self._settle(call, CallOutcome.failed(STOPPED)) if job.cancelled() else job.result()
            for call, job in zip(calls, jobs, strict=True)
        ]

    def take(self, call: ToolCall) -> CallOutcome | AdmittedCall | None:
        """Return the judged call, or the outcome of a call that will not be made; None if it was not judged.

        Each judgement is returned only once.
        """
        return self._judged.pop(call.id, None)

    def is_settled(self, call: ToolCall) -> bool:
        """Return whether the judgement has settled that a call will not be made."""
        return isinstance(self._judged.get(call.id), CallOutcome)

    async def carry_out(self, call: ToolCall, admitted: AdmittedCall, make: Make) -> CallOutcome:
        """Make a call unless a hook refuses it, and return its outcome after the hooks have judged it.

        Arguments that were not judged yet belong to an approved call, so hooks may refuse but not change them.
        """
        hooks = self._hooks
        if hooks is None:
            return await make(None)
        if not is_shown(call.name):
            return await self._observe_handoff(hooks, await make(None))
        if not admitted.is_judged and hooks.has(HookPoint.BEFORE_TOOL):
            arguments = await _judge_arguments(hooks, call, admitted)
            if isinstance(arguments, CallOutcome):
                return arguments
            if arguments != admitted.arguments:
                return CallOutcome.refused(NOT_CHANGED.format(_APPROVED))
        if not hooks.has(HookPoint.AFTER_TOOL):
            return await make(None)
        judge = partial(_judge_result, hooks, call, admitted)
        outcome = await make(judge)
        is_judged = outcome.waits or admitted.offer.agent is not None
        return outcome if is_judged else await judge(outcome)

    async def _observe_handoff(self, hooks: Hooks, outcome: CallOutcome) -> CallOutcome:
        """Return the outcome of a built-in tool, or a refusal if the hooks refuse the handoff that it begins."""
        if outcome.transfer is None or outcome.transfer.refusal is not None:
            return outcome
        try:
            await hooks.observe_handoff(outcome.transfer)
        except HookRefusal as refusal:
            if self._undo_transfer is not None:
                self._undo_transfer()
            return CallOutcome.refused(f"Error: {refusal.sentence}")
        return outcome

    async def _judge_one(self, call: ToolCall, hooks: Hooks) -> ToolCall:
        """Judge a call, keep the judgement for ``take``, and return the call with the arguments that hooks allow."""
        if not is_shown(call.name):
            return call
        try:
            admitted = await self._admit(call)
            if isinstance(admitted, AdmittedCall):
                arguments = await _judge_arguments(hooks, call, admitted)
                if isinstance(arguments, CallOutcome):
                    return self._settle(call, arguments)
                self._judged[call.id] = AdmittedCall(admitted.offer, arguments, is_judged=True)
                return call if arguments == admitted.arguments else _replace_arguments(call, arguments)
        except (LeaseLost, StoreUnavailable, Unauthorized) as error:
            self.fatal = error
            return self._settle(call, CallOutcome.failed(STOPPED))
        except Exception:
            logger.exception("call not judged", tool=call.name, thread_id=self._context.thread_id)
            count(Metric.INTERNAL_FAULTS)
            return self._settle(call, CallOutcome.failed(FAULT))
        call_record = self._context.journal.get(call.id)
        return self._settle(call, admitted, call_record.input if call_record is not None else None)

    def _settle(self, call: ToolCall, outcome: CallOutcome, arguments: Any = None) -> ToolCall:
        """Keep the outcome of a call that will not be made, and return the call with ``arguments`` or none."""
        self._judged[call.id] = outcome
        return _replace_arguments(call, arguments if isinstance(arguments, Mapping) else {})


async def _judge_result(hooks: Hooks, call: ToolCall, admitted: AdmittedCall, outcome: CallOutcome) -> CallOutcome:
    """Return the outcome that remains after the hooks after tools have allowed, replaced or refused the result."""
    if outcome.is_refused:
        return outcome
    fields = {"name": call.name, "arguments": admitted.arguments, "result": outcome.output}
    try:
        result = await hooks.judge(HookPoint.AFTER_TOOL, fields, "result")
    except HookRefusal as refusal:
        # The call was made, so its data, files and costs are kept.
        text, is_withheld = refusal.sentence, outcome.error is None
        return replace(outcome, output=f"Error: {text}", error=text, sources=outcome.files, is_withheld=is_withheld)
    if result == outcome.output:
        return outcome
    error = result.removeprefix("Error: ") if outcome.error is not None else None
    return replace(outcome, output=result, error=error)


async def _judge_arguments(hooks: Hooks, call: ToolCall, admitted: AdmittedCall) -> Mapping[str, Any] | CallOutcome:
    """Return the arguments that hooks allow; a refusal if hooks refuse the call or make its arguments invalid."""
    fields = {"name": call.name, "arguments": admitted.arguments}
    try:
        judged_arguments: Mapping[str, Any] = await hooks.judge(HookPoint.BEFORE_TOOL, fields, "arguments")
        if judged_arguments == admitted.arguments:
            return admitted.arguments
        return admitted.offer.parse_arguments(_replace_arguments(call, judged_arguments))
    except HookRefusal as refusal:
        return CallOutcome.refused(f"Error: {refusal.sentence}")
    except BadCall as bad:
        return CallOutcome.refused(NOT_CHANGED.format(f"do not fit now: {bad}"))


def _replace_arguments(call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    return replace(call, arguments=replace_surrogates(json.dumps(arguments, ensure_ascii=False)))
