"""Records of calls. A worker that takes over a run uses them instead of repeating the calls."""

from __future__ import annotations

from datetime import datetime

from baton.agents.agent_work import AgentWork
from baton.agents.answer_sources import limit_sources, select_recorded_sources
from baton.agents.call_outcome import CallOutcome
from baton.agents.tools.tool_set import ToolOffer
from baton.domain.documents.numbered_passages import AGENT_SOURCE
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.tool_call import ToolCall, ToolCallRecord


class CallRecords:
    """The records of one agent's calls in one attempt at a run."""

    def __init__(self, work: AgentWork) -> None:
        self._work = work

    async def put(self, call: ToolCall, outcome: CallOutcome, began_at: datetime) -> None:
        """Record a call with its outcome. Raises ``LeaseLost`` and ``StoreUnavailable``."""
        services, arguments = self._work.context.services, call.parse_arguments()
        own_sources = [source for source in outcome.sources if source.get("kind") != AGENT_SOURCE]
        record = ToolCallRecord(
            id=call.id,
            run_id=self._work.context.run.run_id,
            agent_id=self._work.agent.id,
            tool_name=call.name,
            label=call.label,
            input=arguments if arguments is not None else call.arguments,
            output=outcome.output if outcome.error is None else None,
            succeeded=outcome.error is None,
            error_message=outcome.error,
            called_at=began_at,
            duration=services.clock.now() - began_at,
            task_id=outcome.task_id or self._work.task_id,
            data=outcome.data,
            files=outcome.files,
            sources=limit_sources([source for source in own_sources if source not in outcome.files]),
            refused_to=outcome.refused_to or None,
        )
        await services.records.put_call(self._work.context.lease(), record)

    def reuse(self, record: ToolCallRecord, offer: ToolOffer) -> CallOutcome:
        """Return the outcome that an earlier attempt recorded, and apply its change of the conversation's data."""
        if record.data is not None:
            self._work.context.data.apply(record.data)
        return CallOutcome(
            record.output or "",
            task_id=record.task_id,
            task_status=TaskStatus.COMPLETED.value if record.task_id else None,
            sources=select_recorded_sources(offer.agent, record),
            files=record.files,
        )
