"""The conversation state of threads: loaded when a run begins, and stored before the run is committed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from ag_ui.core import BaseEvent
from aws_lambda_powertools import Logger

from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.handoff_rules import list_needed_permissions
from baton.domain.desks.desk_session import DeskSession, DeskStatus, check_desk
from baton.domain.errors import StoreUnavailable, WorkflowUnavailable
from baton.domain.handoffs.handoff import HandoffOutcome, HandoffPlace, HandoffRequest
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.handoffs.workflow_moves import abandon, resume
from baton.domain.memory.procedure import InvalidProcedure
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope, derive_record_id
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.run_events import list_state_changes, make_step_finished, make_step_started
from baton.domain.threads.running_conversation import MAX_RESUMABLE, RunningConversation, SpecialistProblem
from baton.domain.threads.thread import ConversationChange, ConversationState, Thread
from baton.domain.threads.thread_state import describe_conversation_state
from baton.domain.times import to_millis
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog, Once
from baton.ports.threads.desks import DeskPlace, DeskPlaces
from baton.ports.threads.handoffs import HandoffStore, WorkflowElsewhere, WorkflowStore
from baton.ports.threads.leases import Lease
from baton.tenants.registry.agent_registry import AgentRegistry
from baton.tenants.registry.registered_agents import list_missing_permissions, make_placeholder_agent
from baton.threads.handoffs.skill_making import SkillMaking

logger = Logger(child=True)

RETURN_AFTER = timedelta(minutes=10)
"""The time after a workflow's last change from which its user is asked whether to continue it."""
MAX_WAITING_SHOWN = 50
"""The largest number of waiting conversations that is shown."""
MAX_COUNTED = 200
"""Conversations of a desk that are read to count the waiting ones."""


@dataclass(frozen=True, slots=True)
class ConversationStates:
    """The conversation states of threads, with their handoffs and workflows."""

    handoffs: HandoffStore
    workflows: WorkflowStore
    desks: DeskPlaces
    skills: SkillMaking
    agents: AgentRegistry
    audit: AuditLog
    clock: Clock

    async def load(self, thread: Thread, scope: Scope) -> RunningConversation:
        """Load the conversation state of a thread for a run of the scope's user. Raises ``StoreUnavailable``."""
        conversation = await self._read(thread, scope)
        if thread.is_handed_over:
            return self._check_specialist(conversation, scope)
        if not thread.is_new_session or thread.parent_thread_id is not None:
            return conversation
        workflows, agents = await gather_all(
            self.workflows.list_unfinished(scope), self.agents.in_session(scope, thread)
        )
        unfinished_workflows = [
            item for item in workflows if _may_continue(scope, agents.describe(item.workflow.agent_id))
        ]
        candidates = (item.workflow for item in unfinished_workflows if not item.is_offered)
        offer = next((workflow for workflow in candidates if self._is_returned_to(workflow, thread)), None)
        if offer is not None and thread.next_ordinal and offer.thread_id != thread.id:
            offer = None  # a conversation about something else goes on
        other_workflows = [item.workflow for item in unfinished_workflows if item.workflow is not offer]
        resumable = [*([offer] if offer is not None else []), *other_workflows][:MAX_RESUMABLE]
        return replace(conversation, offer=offer, resumable=tuple(resumable))

    async def read_handoff(
        self, thread: Thread, scope: Scope, change: ConversationChange | None
    ) -> HandoffRequest | None:
        """Return the handoff in which a run with this ``change`` takes place, before its commit; None without one."""
        for request in change.handoffs if change is not None else ():
            if request.outcome is None or request.child_thread_id is not None:
                return request
        handoff_place = thread.conversation.handoff
        return await self.handoffs.get(scope, thread.id, handoff_place) if handoff_place is not None else None

    async def find_unfinished(self, scope: Scope, workflow_id: str) -> Workflow:
        """Return the caller's own workflow, from any thread, if it can be continued.

        Raises ``WorkflowUnavailable`` if it cannot.
        """
        workflow = await self.workflows.find(scope, workflow_id)
        if workflow is None or not workflow.is_unfinished(self.clock.now()):
            raise WorkflowUnavailable
        return workflow

    async def is_in_session(self, thread: Thread, scope: Scope) -> bool:
        """Return whether a specialist is active whose workflow has neither ended nor moved to another thread."""
        if not thread.is_handed_over:
            return False
        return (await self.load(thread, scope)).trouble is not SpecialistProblem.LOST

    async def undo(self, lease: Lease, opening: StoredMessage, change: ConversationChange | None) -> None:
        """Roll back handoffs of an attempt that died before its commit, unless ``change`` repeats them.

        ``opening`` is the run's first message, ``change`` the outcome of the current attempt. Raises ``LeaseLost`` and
        ``StoreUnavailable``.
        """
        scope, thread_id, now = lease.scope, lease.thread_id, self.clock.now()
        places_of_change = {request.place for request in change.handoffs} if change is not None else set()
        handoff_place = HandoffPlace(opening.ordinal, 0, to_millis(opening.timestamp))
        handoff_request = (
            await self.handoffs.get(scope, thread_id, handoff_place) if handoff_place not in places_of_change else None
        )
        if handoff_request is None or handoff_request.outcome is not None:
            return
        await self.handoffs.put(lease, handoff_request.end(HandoffOutcome.FAILED, now))
        workflow = (
            await self.workflows.find(scope, handoff_request.workflow_id)
            if handoff_request.workflow_id is not None
            else None
        )
        if workflow is not None and workflow.thread_id == thread_id and workflow.status is WorkflowStatus.ACTIVE:
            is_new = not any(workflow.data.values())
            released_workflow = (
                abandon(workflow, now) if is_new else replace(workflow, status=WorkflowStatus.SAVED, updated_at=now)
            )
            await self.workflows.put(lease, released_workflow)

    async def keep(self, lease: Lease, change: ConversationChange) -> ConversationState:
        """Apply a run's change: write its handoffs, workflows and skills. A repetition changes nothing.

        Return the conversation state to commit, without a workflow that was continued in another thread meanwhile.
        Raises ``LeaseLost`` and ``StoreUnavailable``.
        """
        conversation = change.conversation
        for workflow in change.workflows:
            try:
                await self.workflows.put(lease, workflow, moved_from=change.moved_from)
            except WorkflowElsewhere:
                if conversation.workflow is not None and conversation.workflow.id == workflow.id:
                    conversation = ConversationState(
                        lease.thread.agent_id, resumable=conversation.resumable, data=conversation.data
                    )
            else:
                await self._publish_skill(lease, workflow)
        requests = [self._end_if_moved(request, conversation) for request in change.handoffs]
        await gather_all(
            *(self.handoffs.put(lease, request) for request in requests),
            *(self._record_end(lease.scope, request) for request in requests),
        )
        if change.offered_id is not None:
            await self.workflows.mark_offered(lease.scope, change.offered_id)
        desk_place = DeskPlace.of(lease.thread_id, conversation)
        if desk_place is not None and desk_place != DeskPlace.of(lease.thread_id, lease.thread.conversation):
            await self.desks.add(lease.scope, desk_place)
        return conversation

    async def leave_desk(self, scope: Scope, before: Thread, after: ConversationState) -> None:
        """Remove the thread from the list of a desk that it has left with a commit.

        A failure is not raised, because readers of the list remove such entries.
        """
        former_place = DeskPlace.of(before.id, before.conversation)
        if former_place is not None and former_place != DeskPlace.of(before.id, after):
            with contextlib.suppress(StoreUnavailable):
                await self.desks.remove(scope, former_place)

    async def count_waiting(self, scope: Scope, desk_id: str) -> int | None:
        """Return the number of conversations that wait at a desk, ``MAX_WAITING_SHOWN`` at most.

        Return None if the desk has too many conversations to count them. Raises ``StoreUnavailable``.
        """
        threads = await self.desks.threads(scope, desk_id, limit=MAX_COUNTED)
        sessions = (thread.conversation.desk for thread in threads)
        waiting_count = sum(session is not None and session.status is DeskStatus.WAITING for session in sessions)
        if waiting_count < MAX_WAITING_SHOWN and len(threads) == MAX_COUNTED:
            return None
        return min(waiting_count, MAX_WAITING_SHOWN)

    async def find_desk_check_time(self, scope: Scope, thread: Thread, after: ConversationState) -> datetime | None:
        """Return the time at which the sweeper checks a thread whose state at a desk changes to ``after``.

        Return None if the state does not change, or the thread is at no desk.
        """
        before = thread.conversation
        if after.desk is None or (
            before.desk is not None and _select_checked(before.desk) == _select_checked(after.desk)
        ):
            return None
        agent = (await self.agents.in_session(scope, thread)).describe(after.agent_id)
        now = self.clock.now()
        return check_desk(agent.desk if agent is not None else None, after.desk, now).at or now

    def leave(self, conversation: RunningConversation, outcome: HandoffOutcome) -> RunningConversation:
        """Return the conversation with the main agent active, and its workflow saved if that can be continued."""
        is_with_main = conversation.agent.id == conversation.main.id
        if conversation.handoff is None and conversation.workflow is None and is_with_main:
            return conversation
        keeps = conversation.handoff is None or conversation.handoff.preserve_state
        return conversation.return_to_main(outcome, self.clock.now(), keeps=keeps)[0]

    async def close(self, lease: Lease) -> tuple[Workflow, ...]:
        """Save the workflow of a thread that is being closed, and end its handoff.

        Return the workflows that can be continued in the thread afterwards.
        """
        resumable = lease.thread.conversation.resumable
        conversation = replace(await self._read(lease.thread, lease.scope), resumable=resumable)
        change = self.leave(conversation, HandoffOutcome.CLOSED).change
        return resumable if change is None else (await self.keep(lease, change)).resumable

    async def list_events_of_change(
        self, scope: Scope, thread: Thread, after: ConversationState
    ) -> Iterable[BaseEvent]:
        """Return the events that show clients a change of the conversation state outside a run."""
        before = thread.conversation
        agents = await self.agents.in_session(scope, thread)
        state = describe_conversation_state(agents.describe, after, thread.agent_id, thread.status).wire()
        # Compare stored states, because clients have the state that former definitions produced.
        changes = {
            "activeAgent": before.agent_id != after.agent_id,
            "workflow": before.workflow != after.workflow,
            "resumable": before.resumable != after.resumable,
            "desk": before.desk != after.desk,
        }
        return list_state_changes({}, {name: state[name] for name, is_changed in changes.items() if is_changed})

    async def _read(self, thread: Thread, scope: Scope) -> RunningConversation:
        """Read the stored state of a thread. A specialist that no longer exists is noted, others are not checked."""
        agents = await self.agents.in_session(scope, thread)
        main, state = agents.get_main(thread), thread.conversation
        agent = agents.describe(thread.active_agent_id)
        trouble = None
        if agent is None and thread.is_handed_over:
            agent, trouble = make_placeholder_agent(thread.active_agent_id), SpecialistProblem.UNAVAILABLE
        conversation = RunningConversation(
            thread, main, agent or main, agents.describe, resumable=state.resumable, trouble=trouble, desk=state.desk
        )
        if state.handoff is None:
            return conversation
        handoff, *workflows = await gather_all(
            self.handoffs.get(scope, thread.id, state.handoff),
            *([self.workflows.find(scope, state.workflow.id)] if state.workflow is not None else []),
        )
        workflow: Workflow | None = workflows[0] if workflows else None
        if workflow is None or workflow.thread_id != thread.id:
            return replace(conversation, handoff=handoff, elsewhere=workflow)
        return replace(conversation, handoff=handoff, workflow=workflow)

    def _is_returned_to(self, workflow: Workflow, thread: Thread) -> bool:
        """Return whether the user, who begins a session in ``thread``, returns to a workflow that they left earlier.

        They do not if it changed less than ``RETURN_AFTER`` ago, or is active in another conversation.
        """
        is_open_elsewhere = workflow.status is WorkflowStatus.ACTIVE and workflow.thread_id != thread.id
        return not is_open_elsewhere and self.clock.now() - workflow.updated_at >= RETURN_AFTER

    def _check_specialist(self, conversation: RunningConversation, scope: Scope) -> RunningConversation:
        """Return the conversation with the reason for which its specialist cannot continue, if there is one.

        At a desk the thread's state decides, not the record of the handoff: an attempt that returned from the desk may
        have died before its commit. By the record, the main agent would answer the message with which the user left.
        """
        handoff = conversation.handoff
        if conversation.desk is not None and handoff is not None and handoff.outcome is not None:
            conversation = conversation.with_handoff_details(outcome=None, ended_at=None)
        permissions = list_needed_permissions(conversation.main, conversation.agent)
        trouble = conversation.trouble
        if (conversation.desk is None) != (conversation.agent.desk is None):
            trouble = SpecialistProblem.UNAVAILABLE  # it was a desk, or has become one since
        if trouble is None and not all(map(scope.has, permissions)):
            trouble = SpecialistProblem.FORBIDDEN
        workflow, definition = conversation.workflow, conversation.agent.workflow
        is_over = conversation.handoff is None or conversation.handoff.outcome is not None
        if is_over or (conversation.thread.conversation.workflow is not None and workflow is None):
            trouble = SpecialistProblem.LOST
        if trouble is not None or workflow is None or workflow.status is WorkflowStatus.COMPLETED:
            return replace(conversation, trouble=trouble)
        without_specialist = replace(conversation, trouble=SpecialistProblem.LOST)
        if definition is None or workflow.status is not WorkflowStatus.ACTIVE:
            return without_specialist
        try:
            resumed_workflow = resume(definition, workflow, thread_id=conversation.thread.id, now=self.clock.now())
        except WorkflowUnavailable:
            return without_specialist
        if resumed_workflow.changed is None:
            return conversation
        return replace(conversation.with_workflow(resumed_workflow.workflow), redefined=resumed_workflow.changed)

    async def _publish_skill(self, lease: Lease, workflow: Workflow) -> None:
        """Publish the skill of a completed workflow that makes one."""
        agents = await self.agents.in_session(lease.scope, lease.thread)
        agent = agents.describe(workflow.agent_id)
        makes_skills = agent is not None and agent.workflow is not None and agent.workflow.produces == "skill"
        if makes_skills and workflow.status is WorkflowStatus.COMPLETED:
            try:
                await self.skills.save(lease.scope, lease.thread.agent_id, workflow)
            except InvalidProcedure:  # rules have changed since the review; the error may quote the user's words
                logger.error("skill not published", thread_id=lease.thread_id, workflow_id=workflow.id)
                count(Metric.SKILLS_NOT_PUBLISHED)

    def _end_if_moved(self, request: HandoffRequest, conversation: ConversationState) -> HandoffRequest:
        """Return the request, closed if its workflow has moved to another thread meanwhile."""
        if request.outcome is None and conversation.handoff != request.place:
            return request.end(HandoffOutcome.CLOSED, self.clock.now())
        return request

    async def _record_end(self, scope: Scope, request: HandoffRequest) -> None:
        """Audit the end of a handoff, once. Beginnings and refusals have their record in the handoff."""
        if request.outcome is None or request.outcome is HandoffOutcome.REFUSED or request.ended_at is None:
            return  # the stored request is the audit record of a beginning and of a refusal
        outcome = request.outcome.value
        once = Once(derive_record_id(request.thread_id, f"handoff.{outcome}", request.id), request.ended_at)
        detail = request.audit_detail
        await self.audit.record(
            scope, "handoff", thread_id=request.thread_id, outcome=outcome, detail=detail, once=once
        )


def _select_checked(session: DeskSession) -> tuple[datetime, datetime, DeskStatus]:
    """Return the fields on which the time of the sweeper's check depends."""
    return session.arrived_at, session.since, session.status


def _may_continue(scope: Scope, agent: AgentDefinition | None) -> bool:
    return agent is not None and agent.workflow is not None and not list_missing_permissions(scope, agent)


class ConversationTracker:
    """The current conversation state of one run. Code that computes the next state stores it here."""

    def __init__(self, conversation: RunningConversation) -> None:
        self.current = conversation
        self._step: str | None = None
        """The workflow state that clients are shown."""

    def begin_step(self) -> Iterator[BaseEvent]:
        """Yield the event that shows the current state of the workflow, unless one is shown."""
        workflow = self.current.workflow
        if workflow is not None and self._step is None:
            self._step = workflow.state
            yield make_step_started(self._step)

    def end_step(self) -> Iterator[BaseEvent]:
        """Yield the event that ends the state that is shown, if one is."""
        if self._step is not None:
            step, self._step = self._step, None
            yield make_step_finished(step)

    def list_changes_since(self, before: Mapping[str, Any]) -> Iterator[BaseEvent]:
        """Yield the events that show what has changed since clients were shown ``before``."""
        yield from list_state_changes(before, self.current.shown)
