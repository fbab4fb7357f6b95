"""Reads of a run's thread before the run can answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from baton.agents.run_facts import RunFacts
from baton.concurrency.tasks import gather_all
from baton.domain.memory.procedure_set import ProcedureSet
from baton.domain.runs.run_step import RunStep
from baton.domain.runs.task import RemoteTask
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.threads.history_window import session_of, window_of
from baton.domain.threads.message import Role
from baton.domain.threads.running_conversation import RunningConversation
from baton.memory.early_recall import EarlyRecall
from baton.memory.prompt.context import history_budget, reading_budget
from baton.memory.prompt.history_reading import ReadHistory, read_history
from baton.memory.recalled import MemorySearch
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
    ``departed`` is the conversation that has left a handoff, of a run that begins a branch from before it. Raises
    ``StoreUnavailable``.
    """
    history, conversation, search = await gather_all(
        history_before(services, facts),
        services.conversations.load(facts.thread, facts.scope),
        recall_for(services, facts, recalls=recalls, early=early),
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


async def history_before(services: TurnServices, facts: RunFacts) -> ReadHistory:
    """Return the messages before the question that the agent's prompt may hold. Raises ``StoreUnavailable``."""
    thread, agent, unfinished = facts.thread, facts.agent, facts.unfinished
    if thread.next_ordinal == 0:
        return ReadHistory()
    tokens = facts.question.tokens + sum(message.tokens for message in unfinished)
    budget = history_budget if agent.remote is not None else reading_budget
    return await read_history(
        services.store,
        facts.scope,
        thread,
        window_of(thread.windows, agent.id, session_of(thread.conversation.handoff)),
        token_budget=budget(agent, tokens, services.agents.counter),
        before=unfinished[0].ordinal if unfinished else None,
    )


async def recall_for(
    services: TurnServices, facts: RunFacts, *, recalls: bool = True, early: EarlyRecall | None = None
) -> MemorySearch:
    """Search memory for the user's message; an action has none."""
    message = facts.user_message if recalls else None
    text = message.text if message is not None else ""
    search = MemorySearch(facts.scope, text, partial(_procedures, services, facts), early=early)
    return await services.agents.memory.search(facts.agent, search)


async def _procedures(services: TurnServices, facts: RunFacts) -> ProcedureSet:
    thread = facts.thread
    if facts.question.role is Role.ASSISTANT:  # an action: there is no question
        return ProcedureSet()
    taught_at = thread.conversation.taught_at
    since = taught_at + CLOCK_SKEW if taught_at is not None else None
    if thread.is_new_session:
        since = services.agents.clock.now()
    return await services.approved_procedures.of(facts.scope, thread.agent_id, since=since)
