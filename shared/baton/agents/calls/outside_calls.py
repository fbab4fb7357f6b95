"""Calls of tools that Baton does not carry out itself: over HTTP, on MCP servers, and in Python code."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from aws_lambda_powertools import Logger

from baton.agents.agent_work import AgentWork
from baton.agents.attached_files import AttachedFiles
from baton.agents.call_outcome import CallOutcome
from baton.agents.calls.background_calls import LaterAnswer
from baton.agents.calls.progress import ToolProgress
from baton.concurrency.tasks import off_loop
from baton.domain.documents.numbered_passages import drop_citation
from baton.domain.metrics import Metric, count
from baton.domain.runs.conversation_data import DataChange
from baton.domain.runs.tool_call import CallEnd, ToolCall
from baton.domain.text import cut_to_bytes, replace_surrogates
from baton.ports.agents.tools import CallContext, Tool, ToolFailed

logger = Logger(child=True)

GRACE_SECONDS = 5.0
"""Seconds by which the limit here exceeds a tool's timeout, which its adapter enforces."""
MAX_RESULT = 1024 * 1024
"""Bytes of a tool's answer in UTF-8. Longer answers are cut, also in the record of the call."""
CUT = "\n[Cut: the tool has answered {} characters in all.]"


class OutsideCalls:
    """The calls of one agent's tools in one attempt at a run."""

    def __init__(self, work: AgentWork) -> None:
        self._work = work

    async def make(
        self, call: ToolCall, tool: Tool, arguments: Mapping[str, Any], *, idempotency_key: str, activity_id: str
    ) -> CallOutcome:
        """Make a call and return its outcome, even if it failed.

        The arguments must fit the tool's schema. ``activity_id`` is the id of the progress indicator of the answer.

        Raises ``LeaseLost``, ``StoreUnavailable`` and ``Unauthorized``.
        """
        context, agent = self._work.context, self._work.agent
        progress = ToolProgress(call, activity_id, context.emit)
        attached_files = AttachedFiles(context, agent.id)
        before, state = context.data.copy(), context.data.copy()
        later_answer = LaterAnswer(self._work, call, tool.background)
        refusal = await later_answer.begin()
        if refusal is not None:
            return refusal
        call_context = context.make_context(
            CallContext,
            agent,
            call_id=call.id,
            idempotency_key=idempotency_key,
            state=state,
            report=progress.report,
            keep=attached_files.keep,
            may_answer_later=later_answer.is_possible,
            callback=later_answer.callback,
        )
        end = CallEnd.FAILED
        try:
            # With the grace, the adapter fails first, and its error says more.
            async with asyncio.timeout(context.limit_seconds(tool.timeout_seconds + GRACE_SECONDS)):
                result = await context.services.tools.call(agent, call.name, arguments, call_context)
            change = self._take_data(call, before, state)
            end = CallEnd.SUCCEEDED
            outcome = await later_answer.take(result)
            if outcome is not None:
                return replace(outcome, data=change)
        except TimeoutError:
            return CallOutcome.failed(f"Error: {call.name} did not answer in time.", is_outage=True)
        except ToolFailed as failure:
            is_outage, is_refused = failure.is_outage, failure.is_refused
            refused_to = None if is_outage or failure.is_fault else failure.state or ""
            message = f"Error: {failure.message}"
            return CallOutcome.failed(message, is_outage=is_outage, is_refused=is_refused, refused_to=refused_to)
        finally:
            progress.end(end)
            await later_answer.end()
        text = await off_loop(len(result.text), _cut_text, result.text)
        files = tuple(attached_files.sources)
        tool_sources = map(drop_citation, result.sources)
        return CallOutcome(text, sources=(*tool_sources, *files), data=change, files=files)

    def _take_data(self, call: ToolCall, before: Mapping[str, Any], after: Mapping[str, Any]) -> DataChange | None:
        """Apply the change of the conversation's data that a call has made, and return it; None without a change.

        Raises ``ToolFailed`` for invalid data.
        """
        try:
            change = DataChange.between(before, after)
            if change is not None:
                self._work.context.data.apply(change)
        except ValueError as problem:
            count(Metric.TOOL_FAILURES)
            logger.error("state not kept", tool=call.name, thread_id=self._work.context.thread_id, reason=str(problem))
            raise ToolFailed(f"{call.name} was carried out, but what it has noted cannot be kept.") from problem
        return change


def _cut_text(text: str) -> str:
    """Return a tool's answer, cut to ``MAX_RESULT`` bytes and without invalid characters."""
    valid_text = replace_surrogates(text[:MAX_RESULT])
    beginning = cut_to_bytes(valid_text, MAX_RESULT)
    is_whole = len(text) <= MAX_RESULT and len(beginning) == len(valid_text)
    return beginning if is_whole else beginning + CUT.format(len(text))
