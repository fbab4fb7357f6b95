"""The first message of a run, and the records of earlier attempts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.task import RemoteTask
from baton.domain.runs.tool_call import CallEnd, ToolCallRecord
from baton.domain.threads.interrupt import PendingInterrupts, is_client_call
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Run, Thread
from baton.domain.threads.turn_requests import ActionRequest, MessageRequest, TurnRequest
from baton.memory.prompt.message_prompts import NOT_CARRIED_OUT
from baton.memory.prompt.token_estimates import message_tokens
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.run_records import RunRecords
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.turns.turn_services import TurnServices


def opening_message(
    request: TurnRequest,
    thread: Thread,
    run: Run,
    services: TurnServices,
    answered: PendingInterrupts | None,
    *,
    time_zone: str | None,
) -> StoredMessage:
    """Return the first message of a run: the user's message, sent in ``time_zone``, or a placeholder.

    The placeholder lets another worker find the run if its worker dies. In a run that continues answered interrupts,
    the first tool result replaces it. In a run that carries out an action, the first answer replaces it.
    """
    opening = StoredMessage(
        id=request.message_id,
        role=Role.USER,
        content=request.content,
        ordinal=thread.next_ordinal,
        run_id=run.run_id,
        timestamp=services.agents.clock.now(),
        tokens=message_tokens(request.content, services.agents.counter),
        attempt=run.attempt,
    )
    if isinstance(request, ActionRequest):
        return replace(opening, role=Role.ASSISTANT, agent_id=thread.active_agent_id, source=request.source)
    if answered is None:
        task = request.a2a_task if isinstance(request, MessageRequest) else None
        return replace(opening, a2a_task=task, time_zone=time_zone)
    first = answered.interrupts[0]
    return replace(
        opening,
        role=Role.TOOL,
        content=NOT_CARRIED_OUT,
        tokens=message_tokens(NOT_CARRIED_OUT, services.agents.counter),
        agent_id=answered.agent_id,
        is_tool_result=True,
        tool_name=first.tool_name,
        tool_call_id=first.tool_call_id,
        call_end=CallEnd.REFUSED,
    )


def with_client_results(
    request: TurnRequest, pending: PendingInterrupts | None, agent: AgentDefinition, now: datetime
) -> PendingInterrupts | None:
    """Return the interrupts of ``agent`` with the client's results that came with a message; None if none came."""
    if not isinstance(request, MessageRequest) or request.client is None or not request.client.results:
        return None
    if pending is None or pending.agent_id != agent.id or agent.remote is not None:
        return None
    results = tuple(answer for answer in request.client.results if is_client_call(answer.interrupt_id))
    answered = pending.fill_in(results, now)
    return answered if answered != pending else None


async def keep_timestamp(
    store: ThreadStore, lease: Lease, record: TurnRecord, question: StoredMessage
) -> StoredMessage:
    """Return the question with the earlier attempt's timestamp, because clients may have seen its RUN_STARTED."""
    if record.first_ordinal != question.ordinal:
        return question
    stored = await store.run_messages(lease.scope, lease.thread_id, first_ordinal=record.first_ordinal, below=None)
    if not stored or stored[0].id != question.id:
        return question
    return replace(question, timestamp=stored[0].timestamp)


async def read_earlier_calls(records: RunRecords, lease: Lease, run: Run) -> Mapping[str, ToolCallRecord]:
    """Return the successful tool calls of earlier attempts by call id, so that no call is made twice."""
    if run.attempt == 1:
        return {}
    calls = await records.calls_of_run(
        lease.scope, lease.thread_id, run.run_id, first_ordinal=lease.thread.next_ordinal
    )
    return {call.id: call for call in calls if call.succeeded}


async def read_earlier_steps(
    records: RunRecords, lease: Lease, run: Run, agents: RegisteredAgents, message_id: str, first_ordinal: int
) -> Mapping[str, RunStep]:
    """Return the steps of the exchange by id: those of earlier attempts, and of the run that this one continues.

    Nothing is read if no agent takes steps.
    """
    is_first = run.attempt == 1 and first_ordinal == lease.thread.next_ordinal
    if is_first or all(agent.code.run is None for agent in agents.all()):
        return {}
    steps = await records.steps(lease.scope, lease.thread_id, message_id, first_ordinal=first_ordinal)
    return {step.id: step for step in steps}


async def read_earlier_remote_tasks(records: RunRecords, lease: Lease, run: Run) -> Mapping[str, RemoteTask]:
    """Return the tasks of remote agents that earlier attempts have begun, by Baton's id of their message."""
    if run.attempt == 1:
        return {}
    tasks = await records.remote_tasks(lease.scope, lease.thread_id, first_ordinal=lease.thread.next_ordinal)
    return {task.id: task for task in tasks}
