"""Beginning an attempt at a run, with what the run has read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from baton.agents.attempt_context import (
    MAX_RESERVE_SECONDS,
    RESERVED_SHARE,
    AgentServices,
    Attempt,
    EmitEvent,
    RemoteTasks,
)
from baton.agents.run_facts import RunFacts
from baton.agents.step_journal import StepJournal
from baton.agents.transcript import Transcript
from baton.domain.runs.conversation_data import ConversationData
from baton.domain.threads.message import OutcomeType, Role
from baton.domain.times import Today
from baton.memory.inspection.inspection import Inspection
from baton.ports.threads.leases import Lease
from baton.threads.handoffs.conversation_states import ConversationTracker
from baton.turns.thread_snapshot import ThreadSnapshot


def begin_attempt(
    facts: RunFacts,
    services: AgentServices,
    snapshot: ThreadSnapshot,
    *,
    lease: Callable[[], Lease],
    ensure_lease: Callable[[], Awaitable[None]],
    emit: EmitEvent,
    today: Today,
    ends_at_once_as: OutcomeType | None = None,
) -> Attempt:
    """Return a new attempt at the run; see the fields of ``Attempt``. The agent may allow less time than the caller."""
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
        remote_tasks=RemoteTasks(snapshot.remote_tasks),
        steps=StepJournal(began_with.id, facts.first_of_exchange, began_with.timestamp, snapshot.steps),
        inspection=inspection,
        data=inspection.begin_data(ConversationData(snapshot.conversation.data)),
        ends_at_once_as=ends_at_once_as,
    )
