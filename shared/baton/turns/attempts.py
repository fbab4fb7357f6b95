"""The reads of a run's thread before the run can answer, and the attempt that begins with their results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from baton.agents.attempt_context import MAX_RESERVE_SECONDS, RESERVED_SHARE, AgentServices, Attempt, EmitEvent
from baton.agents.incoming import Incoming, NoIncoming
from baton.agents.run_facts import RunFacts
from baton.agents.step_journal import StepJournal
from baton.agents.transcript import Transcript
from baton.authoring.run_time import use_time
from baton.concurrency.tasks import gather_all
from baton.domain.memory.procedure_set import ProcedureSet
from baton.domain.runs.conversation_data import ConversationData
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.task import RemoteTask
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.threads.history_window import find_window, name_session
from baton.domain.threads.message import Role
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.running_conversation import RunningConversation
from baton.domain.times import Today
from baton.memory.early_recall import EarlyRecall
from baton.memory.inspection.inspection import Inspection
from baton.memory.prompt.context import compute_history_budget, compute_reading_budget
from baton.memory.prompt.history_reading import ReadHistory, read_history
from baton.memory.recalled import MemorySearch
from baton.ports.threads.leases import Lease
from baton.threads.handoffs.conversation_states import ConversationTracker
from baton.turns.turn_services import TurnServices

CLOCK_SKEW = timedelta(seconds=1)
"""The largest difference between two workers' clocks."""


@dataclass(frozen=True, slots=True)
class ThreadSnapshot:
    """The state of a thread that a run reads before it answers."""

    history: ReadHistory
    """The messages before the question that the active agent's prompt may hold."""
    conversation: RunningConversation
    search: MemorySearch
    """The search of memory for the message, and for the main agent's procedures that it matches."""
    journal: Mapping[str, ToolCallRecord] = field(default_factory=dict)
    """The calls that earlier attempts have executed, by id."""
    remote_tasks: Mapping[str, RemoteTask] = field(default_factory=dict)
    """The tasks that earlier attempts gave to remote agents, by Baton's id of the message that each works on."""
    steps: Mapping[str, RunStep] = field(default_factory=dict)
    """The steps of agents with ``run`` that earlier attempts and runs of the exchange have recorded, by id."""


async def read_thread(
    services: TurnServices,
    facts: RunFacts,
    *,
    recalls: bool = True,
    early: EarlyRecall | None = None,
    departed: RunningConversation | None = None,
) -> ThreadSnapshot:
    """Read history and conversation, and search memory for the message, concurrently.

    ``recalls`` is False for a run that asks no model. ``early`` is the part of the search that has begun already.
    ``departed`` is the conversation after it has left a handoff; a run has it that begins a branch from before the
    handoff. Raises ``StoreUnavailable``.
    """
    history, conversation, search = await gather_all(
        read_history_before(services, facts),
        services.conversations.load(facts.thread, facts.scope),
        search_memory(services, facts, recalls=recalls, early=early),
    )
    if departed is not None:
        conversation = replace(
            conversation,
            resumable=departed.resumable,
            changed_handoffs=departed.changed_handoffs,
            changed_workflows=departed.changed_workflows,
            changed_data=departed.changed_data,
        )
    return ThreadSnapshot(history, conversation, search)


async def read_history_before(services: TurnServices, facts: RunFacts) -> ReadHistory:
    """Return the messages before the question that the agent's prompt may hold. Raises ``StoreUnavailable``."""
    thread, agent, unfinished = facts.thread, facts.agent, facts.unfinished
    if thread.next_ordinal == 0:
        return ReadHistory()
    tokens = facts.question.tokens + sum(message.tokens for message in unfinished)
    budget = compute_history_budget if agent.remote is not None else compute_reading_budget
    return await read_history(
        services.store,
        facts.scope,
        thread,
        find_window(thread.windows, agent.id, name_session(thread.conversation.handoff)),
        token_budget=budget(agent, tokens, services.agents.counter),
        before=unfinished[0].ordinal if unfinished else None,
    )


async def search_memory(
    services: TurnServices, facts: RunFacts, *, recalls: bool = True, early: EarlyRecall | None = None
) -> MemorySearch:
    """Search memory for the user's message. The search of an action, or without ``recalls``, has an empty text."""
    message = facts.user_message if recalls else None
    text = message.text if message is not None else ""
    search = MemorySearch(facts.scope, text, partial(_read_procedures, services, facts), early=early)
    return await services.agents.memory.search(facts.agent, search)


async def _read_procedures(services: TurnServices, facts: RunFacts) -> ProcedureSet:
    """Return the approved procedures of the main agent; none for an action."""
    thread = facts.thread
    if facts.question.role is Role.ASSISTANT:  # an action: there is no question
        return ProcedureSet()
    taught_at = thread.conversation.taught_at
    since = taught_at + CLOCK_SKEW if taught_at is not None else None
    if thread.is_new_session:  # all procedures that were approved before it began count
        since = services.agents.clock.now()
    return await services.approved_procedures.of(facts.scope, thread.agent_id, since=since)


def begin_attempt(
    facts: RunFacts,
    services: AgentServices,
    snapshot: ThreadSnapshot,
    *,
    lease: Callable[[], Lease],
    ensure_lease: Callable[[], Awaitable[None]],
    emit: EmitEvent,
    today: Today,
    incoming: Incoming | None = None,
    ends_at_once_as: OutcomeType | None = None,
) -> Attempt:
    """Return a new attempt at the run, which ends at the earlier of the deadlines of the caller and the agent.

    The parameters are fields of ``Attempt``.
    """
    use_time(services.clock.now, today.known_zone)
    now = asyncio.get_running_loop().time()
    deadline = min(facts.call.deadline, now + facts.agent.timeouts.turn_seconds)
    question, began_with, inspection = facts.question, facts.began_with, Inspection()
    is_from_user = question.role is Role.USER
    return Attempt(
        facts,
        services,
        lease=lease,
        ensure_lease=ensure_lease,
        deadline=deadline,
        reserve_seconds=min(MAX_RESERVE_SECONDS, RESERVED_SHARE * (deadline - now)),
        emit=emit,
        today=today,
        history=snapshot.history,
        search=snapshot.search,
        tracker=ConversationTracker(snapshot.conversation),
        transcript=Transcript(
            facts.thread.id,
            facts.run,
            first_ordinal=question.ordinal + (1 if is_from_user else 0),
            clock=services.clock,
            counter=services.counter,
            first_id=None if is_from_user else facts.request.message_id,
        ),
        journal=snapshot.journal,
        remote_tasks=dict(snapshot.remote_tasks),
        steps=StepJournal(began_with.id, facts.first_of_exchange, began_with.timestamp, snapshot.steps),
        inspection=inspection,
        data=inspection.begin_data(ConversationData(snapshot.conversation.data)),
        incoming=incoming or NoIncoming(),
        ends_at_once_as=ends_at_once_as,
    )
