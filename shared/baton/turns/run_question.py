"""The question of a run, which is its first message: making it, storing it, and reading what earlier attempts left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from datetime import datetime

from baton.agents.run_facts import RunFacts
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.runs.interrupt import PendingInterrupts, is_client_call
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.task import RemoteTask
from baton.domain.runs.tool_call import CallEnd, ToolCallRecord
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.queued import Subscriber
from baton.domain.threads.thread import Run, Thread
from baton.domain.threads.turn_requests import ActionRequest, MessageRequest, TurnRequest
from baton.memory.prompt.history_reading import ReadHistory, read_messages_between
from baton.memory.prompt.message_prompts import NOT_CARRIED_OUT, count_message_tokens, quote_cause
from baton.ports.threads.leases import Lease
from baton.ports.threads.messages import TurnRecord
from baton.ports.threads.run_records import RunRecords
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.registered_agents import RegisteredAgents
from baton.threads.outbox.delivery import Delivery
from baton.turns.repeats import find_adoptable
from baton.turns.turn_services import TurnServices


def make_opening_message(
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
        tokens=count_message_tokens(request.content, services.agents.counter),
        attempt=run.attempt,
    )
    if isinstance(request, ActionRequest):
        return replace(
            opening, role=Role.ASSISTANT, agent_id=thread.active_agent_id, source=request.source, author=request.author
        )
    if answered is None:
        if not isinstance(request, MessageRequest):
            return replace(opening, time_zone=time_zone)
        opening = replace(opening, a2a_task=request.a2a_task, time_zone=time_zone, begun_by=request.begun_by)
        if request.begun_by is None:
            return opening
        tokens = count_message_tokens(quote_cause(request.begun_by, opening.text), services.agents.counter)
        return replace(opening, tokens=tokens)
    first = answered.interrupts[0].model_call
    return replace(
        opening,
        role=Role.TOOL,
        content=NOT_CARRIED_OUT,
        tokens=count_message_tokens(NOT_CARRIED_OUT, services.agents.counter),
        agent_id=answered.agent_id,
        is_tool_result=True,
        tool_name=first.name,
        tool_call_id=first.id,
        call_end=CallEnd.REFUSED,
    )


def fill_in_client_results(
    request: TurnRequest, pending: PendingInterrupts | None, agent: AgentDefinition, now: datetime
) -> PendingInterrupts | None:
    """Return the interrupts of ``agent`` with the client's results that came with a message; None if none came."""
    if not isinstance(request, MessageRequest) or request.client is None or not request.client.results:
        return None
    if pending is None or pending.agent_id != agent.id or agent.remote is not None:
        return None
    results = tuple(answer for answer in request.client.results if is_client_call(answer.interrupt_id))
    answered_interrupts = pending.fill_in(results, now)
    return answered_interrupts if answered_interrupts != pending else None


async def keep_timestamp(
    store: ThreadStore, lease: Lease, record: TurnRecord, question: StoredMessage
) -> StoredMessage:
    """Return the question with the earlier attempt's timestamp, because clients may have seen its RUN_STARTED.

    Return the question unchanged if that attempt has not stored it at the same ordinal.
    """
    if record.first_ordinal != question.ordinal:
        return question
    stored_messages = await store.run_messages(
        lease.scope, lease.thread_id, first_ordinal=record.first_ordinal, below=None
    )
    if not stored_messages or stored_messages[0].id != question.id:
        return question
    return replace(question, timestamp=stored_messages[0].timestamp)


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
    """Return the steps of the exchange by id: those of earlier attempts, and of the runs that this run continues.

    Nothing is read if no agent takes steps.
    """
    is_first = run.attempt == 1 and first_ordinal == lease.thread.next_ordinal
    if is_first or all(agent.code.run is None for agent in agents.all()):
        return {}
    steps = await records.list_steps(lease.scope, lease.thread_id, message_id, first_ordinal=first_ordinal)
    return {step.id: step for step in steps}


async def read_earlier_remote_tasks(records: RunRecords, lease: Lease, run: Run) -> Mapping[str, RemoteTask]:
    """Return the tasks of remote agents that earlier attempts have begun, by Baton's id of their message."""
    if run.attempt == 1:
        return {}
    tasks = await records.read_remote_tasks(lease.scope, lease.thread_id, first_ordinal=lease.thread.next_ordinal)
    return {task.id: task for task in tasks}


async def find_earlier_attempt(
    store: ThreadStore, facts: RunFacts, lease: Lease
) -> tuple[TurnRecord | None, tuple[StoredMessage, ...] | None, RunFacts]:
    """Return the record of an earlier attempt, its complete answer if only its commit is missing, and the facts.

    Without an earlier record, the record of this attempt is stored, unless it is the first attempt, and both are None.
    Call this before the question is stored: an earlier attempt's question may be stored at the same ordinal, and
    another text must not replace it. The question of the returned facts has the earlier question's timestamp.
    """
    if facts.run.attempt == 1:
        return None, None, facts
    turn = await store.open_turn(lease, make_turn_record(facts, lease))
    if turn is None or turn.digest != facts.request.digest:
        return turn, None, facts
    messages = await find_adoptable(store, lease, turn)
    if messages is None:
        facts = replace(facts, question=await keep_timestamp(store, lease, turn, facts.question))
    return turn, messages, facts


def may_answer_early(facts: RunFacts, history: ReadHistory) -> bool:
    """Return whether to call the model before the question is stored, so that the user waits for the reads alone.

    No event is sent and no tool is called before the question is stored. A message that has probably been answered
    already is excluded, because a model call costs money. So is a message that begins a branch: the history before it
    does not show whether it has been answered.
    """
    is_first = facts.run.attempt == 1 and isinstance(facts.request, MessageRequest)
    begins_branch = facts.question.branch is not None
    return (
        is_first and not begins_branch and all(message.id != facts.request.message_id for message in history.messages)
    )


async def store_question(
    services: TurnServices, facts: RunFacts, lease: Lease, record: TurnRecord | None, attaching: Awaitable[None]
) -> TurnRecord | None:
    """Store the question while the caller is attached; return the record of an earlier attempt, or None.

    If the run does not begin, the stored question stays beyond the thread's pointer. It is never read there, and the
    next turn overwrites it.
    """
    store = services.store
    opened_record, _, _, _ = await gather_all(
        _do_nothing() if facts.run.attempt > 1 else store.open_turn(lease, make_turn_record(facts, lease)),
        store.put_message(lease, facts.question),
        attaching,
        _announce_begin(services, facts, lease) if lease.thread.notifies else _do_nothing(),
    )
    earlier_record: TurnRecord | None = record or opened_record
    return earlier_record


async def attach_caller(delivery: Delivery, subscriber: Subscriber | None, watchers: asyncio.Future[None]) -> None:
    """Attach the connection that the message came by, unless it is among the ``watchers``."""
    await asyncio.shield(watchers)
    if subscriber is not None:
        await delivery.join(subscriber.connection_id, subscriber.token_expires_at)


async def read_unfinished(store: ThreadStore, facts: RunFacts, lease: Lease) -> RunFacts:
    """Return the facts with the interrupted exchange that the run continues, and with what its client offered."""
    answered_interrupts = facts.answered
    if answered_interrupts is None:
        return facts
    first, end = answered_interrupts.first_ordinal, lease.thread.next_ordinal
    facts = replace(facts, unfinished=await read_messages_between(store, lease.scope, lease.thread, first, end))
    if facts.client is None and answered_interrupts.offered_by is not None:
        offer_record = await store.get_turn(lease.scope, lease.thread_id, answered_interrupts.offered_by)
        facts = replace(facts, client=offer_record.client if offer_record is not None else None)
    return facts


def make_turn_record(facts: RunFacts, lease: Lease) -> TurnRecord:
    """Return the record of the question, which identifies repetitions of its message."""
    return TurnRecord(
        message_id=facts.request.message_id,
        run_id=facts.run.run_id,
        digest=facts.request.digest,
        first_ordinal=facts.question.ordinal,
        fence=lease.fence,
        permissions=tuple(sorted(facts.scope.permissions)),
        client=facts.request.client,
    )


async def _announce_begin(services: TurnServices, facts: RunFacts, lease: Lease) -> None:
    """Queue a notification of the run's begin, if the run belongs to an A2A task."""
    root = facts.question.a2a_task
    if root is not None or facts.answered is not None:
        await services.change_notifications.note_run_began(lease, facts.run.run_id, root)


async def _do_nothing() -> None:
    """Do nothing, in place of a step that is not needed."""
