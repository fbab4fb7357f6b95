"""Calls of tools, agents and handoffs with the hooks of the agent that makes them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from baton.agents.call_outcome import CallOutcome
from baton.agents.hooks import Hooks, Refused
from baton.agents.tool_set import BadCall, Offer
from baton.domain.agent_code import HookPoint
from baton.domain.tool_call import ToolCall, is_shown

NOT_CHANGED = "Error: the call was not made: a hook has changed its arguments, which {}."
_AGREED_TO = "somebody has to agree to as they are"

Make = Callable[[Mapping[str, Any]], Awaitable[CallOutcome]]
"""Makes the call with valid arguments."""


@dataclass(frozen=True, slots=True)
class HookedCall:
    """One call."""

    hooks: Hooks
    call: ToolCall
    offer: Offer
    is_waiting: bool
    """True if a person or the user's application gets the model's arguments."""

    async def carry_out(self, arguments: Mapping[str, Any], make: Make) -> CallOutcome:
        """Make the call unless a hook refuses it, and return its outcome as the hooks leave it."""
        if not is_shown(self.call.name):
            return await self._hand_over(await make(arguments))
        try:
            given = await self._judge_arguments(arguments)
        except Refused as refusal:
            return CallOutcome.refused(f"Error: {refusal.sentence}")
        except BadCall as bad:
            return CallOutcome.refused(NOT_CHANGED.format(f"do not fit now: {bad}"))
        is_changed = given != arguments
        if is_changed and (self.is_waiting or self._needs_approval):
            return CallOutcome.refused(NOT_CHANGED.format(_AGREED_TO))
        outcome = await make(given)
        if outcome.waits:
            return outcome
        outcome = await self._judge_result(outcome, given)
        return replace(outcome, arguments=given) if is_changed else outcome

    @property
    def _needs_approval(self) -> bool:
        return self.offer.tool is not None and self.offer.tool.requires_approval

    async def _judge_arguments(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self.hooks.has(HookPoint.BEFORE_TOOL):
            return arguments
        known = {"name": self.call.name, "arguments": json.loads(json.dumps(arguments))}
        given = await self.hooks.judge(HookPoint.BEFORE_TOOL, known, "arguments")
        if given == arguments or given is known["arguments"]:
            return arguments  # only a verdict changes them
        return self.offer.arguments(replace(self.call, arguments=json.dumps(given)))

    async def _judge_result(self, outcome: CallOutcome, arguments: Mapping[str, Any]) -> CallOutcome:
        if outcome.is_refused or not self.hooks.has(HookPoint.AFTER_TOOL):
            return outcome
        known = {"name": self.call.name, "arguments": dict(arguments), "result": outcome.output}
        try:
            result = await self.hooks.judge(HookPoint.AFTER_TOOL, known, "result")
        except Refused as refusal:
            # The call was made: what it has noted and attached, and what it has cost, stay.
            text = refusal.sentence
            return replace(outcome, output=f"Error: {text}", error=text, sources=outcome.files)
        if result == outcome.output:
            return outcome
        error = result.removeprefix("Error: ") if outcome.error is not None else None
        return replace(outcome, output=result, error=error)

    async def _hand_over(self, outcome: CallOutcome) -> CallOutcome:
        wanted = outcome.transfer
        if wanted is None or wanted.refusal is not None:
            return outcome
        try:
            await self.hooks.observe_handoff(wanted)
        except Refused as refusal:
            return CallOutcome.refused(f"Error: {refusal.sentence}")
        return outcome
