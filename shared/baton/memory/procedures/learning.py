"""Learning from committed runs: counts uses of procedures, and starts captures of completed tasks.

Learning begins after the answer was delivered. A failure is counted and does not affect the answer. The end of the
session repeats what failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from aws_lambda_powertools import Logger

from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import ThreadUnavailable
from baton.domain.memory.capture import (
    MAX_MESSAGES,
    CaptureRef,
    CaptureStatus,
    is_candidate,
    is_sampled,
    list_completed_workflows,
    list_successful_calls,
)
from baton.domain.memory.episode import EpisodeRef
from baton.domain.metrics import Metric, count
from baton.domain.runs.tool_call import CallEnd
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.thread import Thread
from baton.memory.procedures.skill_administration import is_private_id
from baton.memory.prompt.history_reading import read_messages_between
from baton.ports.memory.episodes import Episodes
from baton.ports.memory.procedures import Captures, CaptureStore, ProcedureStore
from baton.ports.threads.threads import ThreadStore
from baton.tenants.registry.agent_registry import AgentRegistry

logger = Logger(child=True)

SKILL: Final = "skill"
"""The product of a workflow that makes procedures."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Learning from committed runs."""

    agents: AgentRegistry
    procedures: ProcedureStore
    captures: Callable[[], Captures]
    """Returns the pipeline of captures, which only runs that may have completed a task need."""
    is_on: bool = True
    """True if the deployment captures procedures. Uses are counted in any case."""

    async def learn_from_run(self, scope: Scope, thread: Thread, messages: Sequence[StoredMessage]) -> None:
        """Count the procedures that the run followed, and start a capture if it may have completed a task.

        ``messages`` are the messages of the run, after those of the runs that it continues. Nothing else is read for a
        run that called no tool and completed no workflow. Raises nothing.
        """
        try:
            await self.count_uses(scope, messages)
        except Exception:  # the answer is committed and was delivered: no fault here may make the run fail
            count(Metric.USES_NOT_COUNTED)
            logger.exception("use of a procedure not counted", thread_id=thread.id)
        try:
            ref = await self.find_candidate(scope, thread, messages, session_from=thread.episode_first_ordinal)
            if ref is not None:
                await self.captures().start(scope, ref, attempt=1)
        except Exception:  # as above
            count(Metric.CAPTURES_NOT_STARTED)
            logger.exception("capture not started", thread_id=thread.id)

    async def count_uses(self, scope: Scope, messages: Sequence[StoredMessage]) -> None:
        """Count the procedures that the last run followed, and whether the run went well. A run counts once.

        A run went well if it succeeded, all calls of tools succeeded, and no guardrail has refused its question. Raises
        ``StoreUnavailable``.
        """
        end = messages[-1].end if messages else None
        if end is None or not end.followed or end.outcome is OutcomeType.INTERRUPT:
            return  # an interrupted run is counted by the run that continues it
        run_id = messages[-1].run_id
        results = [message for message in messages if message.run_id == run_id and message.role is Role.TOOL]
        is_sound = all(result.call_end is CallEnd.SUCCEEDED for result in results)
        went_well = end.outcome is OutcomeType.SUCCESS and is_sound and not end.is_question_refused
        for used in end.followed:
            if is_private_id(used.procedure_id):
                continue
            await self.procedures.record_use(
                scope, used.agent_id, used.procedure_id, used.version, run_id=run_id, went_well=went_well
            )

    async def find_candidate(
        self, scope: Scope, thread: Thread, messages: Sequence[StoredMessage], *, session_from: int
    ) -> CaptureRef | None:
        """Return the capture of the messages; None if they complete no task by the rules.

        ``session_from`` is the first ordinal of their session, from which data of a guided workflow may come. Raises
        ``StoreUnavailable`` if the tenant's agents cannot be read; they are read only if a tool was called or a
        workflow was completed.
        """
        workflows = list_completed_workflows(messages)
        if not self.is_on or thread.parent_thread_id is not None:
            return None
        if not workflows and not list_successful_calls(messages, thread.agent_id):
            return None
        agents = await self.agents.in_session(scope, thread)
        agent = agents.get_main(thread)
        has_workflow = any(_may_become_procedure(agents.describe(workflow.agent_id)) for workflow in workflows)
        if agent.code.run is not None and not has_workflow:
            return None  # the agent's code decides which tools are called, so no procedure can be followed
        if not is_candidate(messages, agent.id, agent.learning, has_workflow=has_workflow):
            return None
        first = session_from if has_workflow else messages[0].ordinal
        end = messages[-1].ordinal + 1
        ref = CaptureRef(thread.id, agent.id, max(first, end - MAX_MESSAGES), end, thread.created_at)
        return ref if is_sampled(ref, agent.learning.sample_rate) else None


@dataclass(frozen=True, slots=True)
class SessionLearning:
    """Learning from an ended session of everything that was not learned during it."""

    store: ThreadStore
    episodes: Episodes
    records: CaptureStore
    learning: Learning

    async def catch_up(self, scope: Scope, thread_id: str, number: int) -> int:
        """Count the session's uses of procedures, and start captures that were not started or have failed.

        If no single exchange of the session completes a task, the session as a whole may. Returns the number of
        started captures; 0 for a deleted thread. Raises ``StoreUnavailable``.
        """
        try:
            thread = await self.store.get_thread(scope, thread_id)
        except ThreadUnavailable:
            return 0
        ref = await self.episodes.get_ref(scope, thread_id, number)
        return await self.catch_up_with(scope, thread, ref) if ref is not None else 0

    async def catch_up_with(
        self, scope: Scope, thread: Thread, episode_ref: EpisodeRef, held: Sequence[StoredMessage] | None = None
    ) -> int:
        """Do the same as ``catch_up`` for a session that is read already. ``held`` has all its messages, if known."""
        first = max(episode_ref.first_ordinal, episode_ref.end_ordinal - MAX_MESSAGES)
        messages = (
            await read_messages_between(
                self.store, scope, episode_ref.select_branch(thread), first, episode_ref.end_ordinal
            )
            if held is None
            else [message for message in held if message.ordinal >= first]
        )
        exchanges = _group_exchanges(messages)
        for exchange in exchanges:
            await self.learning.count_uses(scope, exchange)
        start = episode_ref.first_ordinal
        capture_refs = [
            await self.learning.find_candidate(scope, thread, exchange, session_from=start) for exchange in exchanges
        ]
        if not any(capture_refs):
            capture_refs = [await self.learning.find_candidate(scope, thread, messages, session_from=start)]
        started = 0
        for ref in filter(None, capture_refs):
            capture = await self.records.get(scope, ref)
            if capture is None or capture.status is CaptureStatus.FAILED:
                # The name of the run is the same as that of a capture in progress, which is then not started again.
                await self.learning.captures().start(scope, ref, attempt=1 if capture is None else 2)
                started += 1
        return started


def _may_become_procedure(agent: AgentDefinition | None) -> bool:
    """Return whether a task by an agent's workflow may become a procedure; False for a workflow that makes skills."""
    return agent is not None and agent.workflow is not None and agent.workflow.produces != SKILL


def _group_exchanges(messages: Sequence[StoredMessage]) -> list[list[StoredMessage]]:
    """Return the messages by exchange: those of a run, after those of the interrupted runs that it continues."""
    exchanges: list[list[StoredMessage]] = []
    continues = False
    for _, group in groupby(messages, key=lambda message: message.run_id):
        run = list(group)
        if continues and exchanges and run[0].role is not Role.USER:
            exchanges[-1] += run
        else:
            exchanges.append(run)
        end = run[-1].end
        continues = end is not None and end.outcome is OutcomeType.INTERRUPT
    return exchanges
