"""The conversation state during a run: the active agent, its workflow, and the changes so far."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, auto
from typing import Any, Self

from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import DeskSession
from baton.domain.handoffs.handoff import HandoffOutcome, HandoffPlace, HandoffRequest
from baton.domain.handoffs.triggers import find_exit_locale
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.handoffs.workflow_moves import DefinitionChanged, abandon, begin, save
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.thread import ConversationChange, ConversationState, Thread, ThreadStatus
from baton.domain.threads.thread_state import Describe, describe_conversation_state

MAX_RESUMABLE = 3
"""Workflows that a thread offers to continue. The number is small because every turn reads and writes them."""


class SpecialistProblem(Enum):
    """The reason why the active specialist cannot continue."""

    LOST = auto()
    """The specialist's workflow has ended or continues in another thread. The user is notified only of the latter."""
    FORBIDDEN = auto()
    """The user may no longer talk to the specialist."""
    UNAVAILABLE = auto()
    """The specialist is no longer deployed."""


@dataclass(frozen=True, slots=True)
class RunningConversation:
    """The conversation state at one moment of a run. Every change returns a new value; nothing is written."""

    thread: Thread
    main: AgentDefinition
    agent: AgentDefinition
    """The active agent."""
    describe: Describe
    handoff: HandoffRequest | None = None
    """The handoff that made the agent active; None for the main agent."""
    workflow: Workflow | None = None
    """The specialist's workflow with its data. A completed workflow stays until its specialist has returned."""
    resumable: tuple[Workflow, ...] = ()
    offer: Workflow | None = None
    """The workflow that Baton should offer the user to continue."""
    trouble: SpecialistProblem | None = None
    elsewhere: Workflow | None = None
    """The thread's former workflow, if it continues in another thread."""
    redefined: DefinitionChanged | None = None
    """The change of the workflow's definition since the last run; None without one."""
    moved_from: Workflow | None = None
    """The workflow as it was in another thread, if it is continued here."""
    begun_ids: frozenset[str] = frozenset()
    """The ids of the workflows that the run has begun."""
    changed_handoffs: Mapping[HandoffPlace, HandoffRequest] = field(default_factory=dict)
    """The handoffs that the run has begun, ended or refused, by their keys."""
    changed_workflows: Mapping[str, Workflow] = field(default_factory=dict)
    offered_id: str | None = None
    """The id of the workflow that the run has offered."""
    changed_data: Mapping[str, Any] | None = None
    """The data that tools keep in the conversation, if it differs from the stored data; otherwise None."""
    desk: DeskSession | None = None
    """The state at the desk that is active; None if no desk is."""

    def is_delivered(self, text: str) -> bool:
        """Return whether the run only delivers the user's message to the people of a desk."""
        is_with_people = self.desk is not None and self.trouble is None and self.redefined is None
        return is_with_people and find_exit_locale(self.agent.exit_words, text) is None

    @property
    def data(self) -> Mapping[str, Any] | None:
        """The current data that tools keep in the conversation; None if none was ever stored."""
        return self.thread.conversation.data if self.changed_data is None else self.changed_data

    def with_data(self, data: Mapping[str, Any] | None) -> Self:
        """Return the conversation with ``data`` as the data that tools keep in it."""
        return self if data == self.data else replace(self, changed_data=data if data is not None else {})

    @property
    def definition(self) -> WorkflowDefinition | None:
        """The definition of the current workflow; None if there is no workflow, or its agent no longer has one."""
        return self.agent.workflow if self.workflow is not None else None

    @property
    def is_workflow_complete(self) -> bool:
        """Whether the current workflow has reached its end; False without a workflow."""
        return self.workflow is not None and self.workflow.status is WorkflowStatus.COMPLETED

    @property
    def awaits_input(self) -> bool:
        """Whether a step of the workflow, or the task of a remote specialist, waits for the user's next message."""
        is_in_step = self.workflow is not None and not self.is_workflow_complete
        return is_in_step or (self.handoff is not None and self.handoff.remote_task_id is not None)

    @property
    def to_store(self) -> ConversationState:
        """The part of the state that the thread stores."""
        completed_at = (
            workflow.updated_at
            for workflow in self.changed_workflows.values()
            if workflow.status is WorkflowStatus.COMPLETED
        )
        return ConversationState(
            self.agent.id,
            self.handoff.place if self.handoff is not None else None,
            self.workflow.without_data() if self.workflow is not None else None,
            tuple(workflow.without_data() for workflow in self.resumable[:MAX_RESUMABLE]),
            max(completed_at, default=self.thread.conversation.taught_at),
            self.data,
            self.desk,
        )

    @property
    def shown(self) -> dict[str, Any]:
        """The state for clients. The thread counts as active, because the run reopens a closed one."""
        return describe_conversation_state(self.describe, self.to_store, self.main.id, ThreadStatus.ACTIVE).wire()

    @property
    def change(self) -> ConversationChange | None:
        """The changes by the run so far; None if nothing has changed."""
        state, handoffs, workflows = self.to_store, self.changed_handoffs, self.changed_workflows
        is_same = state == self.thread.conversation and self.changed_data is None
        if is_same and not handoffs and not workflows and self.offered_id is None:
            return None
        return ConversationChange(
            state, tuple(handoffs.values()), tuple(workflows.values()), self.moved_from, self.offered_id
        )

    def was_handed_over_by(self, opening: StoredMessage) -> bool:
        """Return whether the specialist became active in the run that begins with ``opening``."""
        return self.handoff is not None and self.handoff.ordinal == opening.ordinal

    def make_workflow(self, target: AgentDefinition, ordinal: int, now: datetime) -> Workflow | None:
        """Return a new workflow of ``target``, in its first state; None if ``target`` has no workflow.

        Its id is the same in every attempt at the run.
        """
        if target.workflow is None:
            return None
        name = f"workflow\0{ordinal}\0{len(self.changed_workflows)}"
        workflow_id = str(uuid.uuid5(uuid.UUID(self.thread.id), name))
        return begin(target.workflow, id=workflow_id, agent_id=target.id, thread_id=self.thread.id, now=now)

    def hand_over(
        self, request: HandoffRequest, target: AgentDefinition, workflow: Workflow | None, *, is_new: bool
    ) -> Self:
        """Return the conversation with ``target`` active, in ``workflow``. ``is_new``: the workflow begins now."""
        now = request.started_at
        desk = DeskSession(now, now, unanswered_since=now) if target.desk is not None else None
        changed = replace(self._with_handoff(request), agent=target, handoff=request, desk=desk)
        if workflow is None:
            return changed
        return replace(
            changed.with_workflow(workflow),
            resumable=tuple(other for other in self.resumable if other.id != workflow.id),
            begun_ids=self.begun_ids | {workflow.id} if is_new else self.begun_ids,
        )

    def with_handoff_details(self, **changes: Any) -> Self:
        """Return the conversation with ``changes`` to fields of its active handoff; unchanged without a handoff."""
        if self.handoff is None:
            return self
        handoff = replace(self.handoff, **changes)
        return replace(self._with_handoff(handoff), handoff=handoff)

    def without_summaries(self, opening: StoredMessage) -> Self:
        """Return the conversation without the summaries of handoffs in the run that begins with ``opening``.

        The summaries quote a question that was refused.
        """

        def blank(request: HandoffRequest) -> HandoffRequest:
            return replace(request, context_summary="") if request.ordinal == opening.ordinal else request

        changed = {position: blank(request) for position, request in self.changed_handoffs.items()}
        return replace(
            self, changed_handoffs=changed, handoff=blank(self.handoff) if self.handoff is not None else None
        )

    def refuse(self, request: HandoffRequest, now: datetime) -> Self:
        """Return the conversation with ``request`` among its handoffs, as refused."""
        return self._with_handoff(request.end(HandoffOutcome.REFUSED, now))

    def with_workflow(self, workflow: Workflow) -> Self:
        """Return the conversation with ``workflow`` as its current, changed workflow."""
        return replace(self._with_changed_workflow(workflow), workflow=workflow)

    def mark_offered(self) -> Self:
        """Return the conversation with its ``offer`` marked as made, so that it is made only once."""
        return replace(self, offer=None, offered_id=self.offer.id) if self.offer is not None else self

    def return_to_main(
        self, outcome: HandoffOutcome, now: datetime, *, keeps: bool = True
    ) -> tuple[Self, Workflow | None]:
        """Return the conversation with the main agent active, and the specialist's workflow if it was saved for later.

        Without ``keeps``, an unfinished workflow is abandoned instead of saved.
        """
        specialist, workflow = self.agent, self.workflow
        conversation = self if self.handoff is None else self._with_handoff(self.handoff.end(outcome, now))
        returned = replace(conversation, agent=self.main, handoff=None, workflow=None, desk=None)
        if workflow is None or not workflow.is_unfinished(now):
            return returned, None
        if workflow.status is WorkflowStatus.SAVED:
            return returned._with_resumable(workflow), workflow  # saved by a worker that died before its commit
        if not keeps:
            return returned._with_changed_workflow(abandon(workflow, now)), None
        if specialist.workflow is not None:
            resumable = save(specialist.workflow, workflow, now)
        else:  # its agent is not deployed at the moment
            resumable = replace(workflow, status=WorkflowStatus.SAVED, updated_at=now)
        returned = returned._with_changed_workflow(resumable)
        if resumable.status is not WorkflowStatus.SAVED:
            return returned, None
        return returned._with_resumable(resumable), resumable

    def release(self, outcome: HandoffOutcome, now: datetime) -> Self:
        """Return the conversation with the main agent active, after another thread has taken over the workflow."""
        is_saved = self.workflow is not None and self.workflow.status is WorkflowStatus.SAVED
        return (self if is_saved else replace(self, workflow=None)).return_to_main(outcome, now)[0]

    def _with_handoff(self, request: HandoffRequest) -> Self:
        return replace(self, changed_handoffs={**self.changed_handoffs, request.place: request})

    def _with_changed_workflow(self, workflow: Workflow) -> Self:
        return replace(self, changed_workflows={**self.changed_workflows, workflow.id: workflow})

    def _with_resumable(self, former: Workflow) -> Self:
        return replace(self, resumable=(former, *(workflow for workflow in self.resumable if workflow.id != former.id)))
