"""The ports of a dry run: recorded results in place of tools and agents. Only guardrails' endpoints are called."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from baton.agents.agent_work import AgentQuestion
from baton.agents.answer_sources import select_recorded_sources
from baton.agents.attempt_context import AgentServices, EmitEvent
from baton.agents.call_outcome import CallOutcome
from baton.domain.agents.agent import AgentDefinition
from baton.domain.memory.found_item import FoundItem
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.tenants.identity import Scope
from baton.memory.agent_memory import AgentMemory
from baton.memory.episodes.episode_index import SUMMARY
from baton.memory.recalled import NOTHING_FOUND, Findings, MemorySearch
from baton.ports.agents.agent_client import AgentChunk, AgentDone, AgentTask
from baton.ports.agents.chat_model import TextDelta
from baton.ports.agents.tools import CallContext, OfferedTools, ToolFailed, ToolResult, Tools
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.leases import Lease
from baton.ports.threads.run_records import RunRecords

NOT_EXECUTED = (
    "Not executed: this is a dry run, and the turn that it repeats made no such call. Go on without the result, and "
    "say what you would have done with it."
)
NOT_ASKED = "(Not asked: this is a dry run, and {name} works in another system.)"


class RecordedCalls:
    """The calls of a run, by tool and arguments. Equal calls are answered in the order in which they were made."""

    def __init__(self, calls: Iterable[ToolCallRecord]) -> None:
        self._remaining: dict[tuple[str, str], deque[ToolCallRecord]] = defaultdict(deque)
        for call in calls:
            self._remaining[call.tool_name, _normalise(call.input)].append(call)
        self._answered: set[str] = set()

    def take(self, call_id: str, tool_name: str, arguments: Mapping[str, Any] | str) -> ToolCallRecord | None:
        """Return the record that answers the call ``call_id``; None if there is none.

        The last record of equal calls answers all further ones.
        """
        call_records = self._remaining.get((tool_name, _normalise(arguments)))
        if call_records is None:
            return None
        self._answered.add(call_id)
        return call_records.popleft() if len(call_records) > 1 else call_records[0]

    def has_answered(self, call_id: str) -> bool:
        """Return whether a record answered this call."""
        return call_id in self._answered


class RecordedTools:
    """``ports.agents.tools.Tools`` whose calls are answered from the records of a run. Only guardrails are executed."""

    def __init__(self, tools: Tools, recorded: RecordedCalls) -> None:
        self._tools = tools
        self._recorded = recorded

    async def offered(self, agent: AgentDefinition, scope: Scope) -> OfferedTools:
        return await self._tools.offered(agent, scope)

    async def call(
        self, agent: AgentDefinition, name: str, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        if any(guardrail.name == name for guardrail in agent.guardrails):
            return await self._tools.call(agent, name, arguments, context)  # it judges the new answer
        call_record = self._recorded.take(context.call_id, name, arguments)
        if call_record is None:
            return ToolResult(NOT_EXECUTED)
        if not call_record.succeeded:
            raise ToolFailed(call_record.error_message or "It failed.")
        return ToolResult(call_record.output or "")

    async def read_task(
        self, agent: AgentDefinition, name: str, location: str, context: CallContext, *, deletes: bool = False
    ) -> ToolResult:
        return ToolResult(NOT_EXECUTED)


@dataclass(frozen=True, slots=True)
class RecordedConsultations:
    """Recorded answers in place of agents that are consulted."""

    recorded: RecordedCalls

    async def ask(self, question: AgentQuestion, emit: EmitEvent) -> CallOutcome:
        """Return the agent's recorded answer to the same question."""
        call = question.call
        call_record = self.recorded.take(call.id, call.name, call.parse_arguments() or call.arguments)
        if call_record is None:
            return CallOutcome(NOT_EXECUTED)
        if not call_record.succeeded:
            return CallOutcome.failed(f"Error: {call_record.error_message or 'it failed.'}")
        status = TaskStatus.COMPLETED.value if call_record.task_id else None
        sources = select_recorded_sources(question.agent, call_record)
        return CallOutcome(call_record.output or "", task_id=call_record.task_id, task_status=status, sources=sources)


class UnaskedAgents:
    """``ports.agents.agent_client.AgentClient`` that asks no agent, and answers that it has not."""

    async def stream(
        self, agent: AgentDefinition, task: AgentTask, *, is_passed_on: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[AgentChunk, None]:
        yield TextDelta(NOT_ASKED.format(name=agent.name))
        yield AgentDone()

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        """Do nothing, because no task was begun."""


class Unwritten:
    """A port that a dry run only writes to: its methods do nothing, and return nothing."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[None]]:
        return _write_nothing


class UnstoredRecords(Unwritten):
    """``RunRecords`` that keeps the calls of a dry run for its answer."""

    def __init__(self) -> None:
        self.calls: list[ToolCallRecord] = []

    async def put_call(self, lease: Lease, call: ToolCallRecord) -> None:
        self.calls.append(call)


async def _write_nothing(*arguments: object, **options: object) -> None:
    """Do nothing, in place of a write."""


@dataclass(frozen=True, slots=True)
class PastMemory(AgentMemory):
    """Current memory without the items in ``without``, and without episodes from ``asked_at`` or later."""

    without: frozenset[str]
    thread_id: str
    asked_at: datetime

    async def find(
        self, agent: AgentDefinition, search: MemorySearch, *, earlier: Findings = NOTHING_FOUND
    ) -> Findings:
        found_items = await AgentMemory.find(self, agent, search, earlier=earlier)
        matches = tuple(match for match in found_items.procedure.items if match.procedure.id not in self.without)
        knowledge = tuple(found_item for found_item in found_items.knowledge.items if found_item.id not in self.without)
        episodes = tuple(found_item for found_item in found_items.episodes.items if self._was_known(found_item))
        return replace(
            found_items,
            procedure=replace(found_items.procedure, items=matches),
            knowledge=replace(found_items.knowledge, items=knowledge),
            episodes=replace(found_items.episodes, items=episodes),
        )

    def _was_known(self, item: FoundItem) -> bool:
        """Return whether the episode was known at ``asked_at``.

        A summary has the time at which its session began but covers all of it, so summaries of the same thread are left
        out.
        """
        if item.id in self.without or item.at >= self.asked_at:
            return False
        return item.kind != SUMMARY or item.source.thread_id != self.thread_id


def make_read_only(
    services: AgentServices, memory: PastMemory, recorded: RecordedCalls, records: UnstoredRecords
) -> AgentServices:
    """Return services that read as ``services`` do, store nothing, and call no tools but guardrails.

    ``recorded`` answers the calls of the dry run, and ``records`` keeps them. They are not audited, because the dry run
    is audited as a whole.
    """
    return replace(
        services,
        memory=memory,
        tools=RecordedTools(services.tools, recorded),
        agent_client=UnaskedAgents(),
        records=cast("RunRecords", records),
        audit=cast("AuditLog", Unwritten()),
        background=None,
    )


def _normalise(arguments: Mapping[str, Any] | str) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, sort_keys=True, separators=(",", ":"))
