"""The conversation state during a run: the active agent, its workflow, and the changes so far."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, auto
from typing import Any

from ag_ui.core import BaseEvent

from baton.domain.agent import AgentDefinition
from baton.domain.conversation_state import ConversationChange, ConversationState
from baton.domain.handoff import HandoffOutcome, HandoffPlace, HandoffRequest
from baton.domain.message import StoredMessage
from baton.domain.state_events import state_changes, step_finished, step_started
from baton.domain.thread import Describe, Thread, ThreadStatus, conversation_state
from baton.domain.workflow import Workflow, WorkflowStatus
from baton.domain.workflow_definition import WorkflowDefinition
from baton.domain.workflow_moves import DefinitionChanged, abandon, begin, save

MAX_RESUMABLE = 3
"""Workflows that a thread offers to continue. The number is small because every turn reads and writes them."""


class SpecialistProblem(Enum):
    """Why the active specialist cannot continue."""

    LOST = auto()
    """Its workflow has ended or continues in another thread. The user is not told."""
    FORBIDDEN = auto()
    """The user may no longer talk to it."""
    UNAVAILABLE = auto()
    """It is no longer deployed."""


@dataclass(slots=True)
class RunningConversation:
    """The conversation state during a run. It is written when the run is complete."""

    thread: Thread
    main: AgentDefinition
    agent: AgentDefinition
    """The active agent."""
    describe: Describe
    handoff: HandoffRequest | None = None
    """The handoff that made the agent active; None for the main agent."""
    workflow: Workflow | None = None
    """The specialist's workflow with its data. A completed one stays until its specialist has returned."""
    resumable: tuple[Workflow, ...] = ()
    offer: Workflow | None = None
    """The workflow that Baton should offer to continue."""
    trouble: SpecialistProblem | None = None
    elsewhere: Workflow | None = None
    """The thread's former workflow, if it continues in another thread."""
    redefined: DefinitionChanged | None = None
    """How the workflow's definition has changed since the last run."""
    moved_from: Workflow | None = None
    """The workflow as it was read in its former thread, if it is continued here."""
    _handoffs: dict[HandoffPlace, HandoffRequest] = field(default_factory=dict)
    _workflows: dict[str, Workflow] = field(default_factory=dict)
    begun_ids: set[str] = field(default_factory=set)
    """Workflows that the run has begun."""
    _step: str | None = None
    _offered_id: str | None = None

    @property
    def definition(self) -> WorkflowDefinition | None:
        """The definition of the current workflow."""
        return self.agent.workflow if self.workflow is not None else None

    @property
    def is_workflow_complete(self) -> bool:
        return self.workflow is not None and self.workflow.status is WorkflowStatus.COMPLETED

    @property
    def conversation(self) -> ConversationState:
        """The state to store with the thread."""
        return ConversationState(
            self.agent.id,
            self.handoff.place if self.handoff is not None else None,
            self.workflow.without_data() if self.workflow is not None else None,
            tuple(workflow.without_data() for workflow in self.resumable[:MAX_RESUMABLE]),
            self._taught_at,
        )

    @property
    def _taught_at(self) -> datetime | None:
        done = (each for each in self._workflows.values() if each.status is WorkflowStatus.COMPLETED)
        return max((each.updated_at for each in done), default=self.thread.conversation.taught_at)

    @property
    def state(self) -> dict[str, Any]:
        """The state as clients see it. A closed thread counts as active, because the run reopens it."""
        shown = conversation_state(self.describe, self.conversation, self.main.id)
        return {**shown, "status": ThreadStatus.ACTIVE.value}

    @property
    def change(self) -> ConversationChange | None:
        """The changes by the run; None if there are none."""
        conversation = self.conversation
        if (
            conversation == self.thread.conversation
            and not self._handoffs
            and not self._workflows
            and self._offered_id is None
        ):
            return None
        handoffs, workflows = tuple(self._handoffs.values()), tuple(self._workflows.values())
        return ConversationChange(conversation, handoffs, workflows, self.moved_from, self._offered_id)

    def was_handed_over_by(self, opening: StoredMessage) -> bool:
        """Return whether the specialist became active in the run that begins with ``opening``."""
        return self.handoff is not None and self.handoff.ordinal == opening.ordinal

    @property
    def handoffs_so_far(self) -> int:
        """Handoffs that the run has begun, ended or refused."""
        return len(self._handoffs)

    def new_workflow(self, target: AgentDefinition, ordinal: int, now: datetime) -> Workflow | None:
        """Return a new workflow of ``target``, in its first state. Its id is the same in every attempt at the run."""
        if target.workflow is None:
            return None
        name = f"workflow\0{ordinal}\0{len(self._workflows)}"
        workflow_id = str(uuid.uuid5(uuid.UUID(self.thread.id), name))
        self.begun_ids.add(workflow_id)
        return begin(target.workflow, id=workflow_id, agent_id=target.id, thread_id=self.thread.id, now=now)

    def hand_over(self, request: HandoffRequest, target: AgentDefinition, workflow: Workflow | None) -> None:
        """Make ``target`` active, with its workflow."""
        self.agent, self.handoff = target, request
        self._handoffs[request.place] = request
        if workflow is not None:
            self.put_workflow(workflow)
            self.resumable = tuple(each for each in self.resumable if each.id != workflow.id)

    def describe_handoff(self, **changes: Any) -> None:
        """Update fields of the current handoff."""
        if self.handoff is not None:
            self.handoff = replace(self.handoff, **changes)
            self._handoffs[self.handoff.place] = self.handoff

    def refuse(self, request: HandoffRequest, now: datetime) -> None:
        """Record a refused request."""
        self._handoffs[request.place] = request.ended(HandoffOutcome.REFUSED, now)

    def put_workflow(self, workflow: Workflow) -> None:
        """Set the current workflow."""
        self.workflow = self._workflows[workflow.id] = workflow

    def give_back(self, outcome: HandoffOutcome, now: datetime, *, keeps: bool = True) -> Workflow | None:
        """Return to the main agent. Returns the workflow if it can be continued later (never without ``keeps``)."""
        specialist, workflow = self.agent, self.workflow
        if self.handoff is not None:
            place = self.handoff.place
            self._handoffs[place] = self.handoff.ended(outcome, now)
        self.agent, self.handoff, self.workflow = self.main, None, None
        if workflow is not None and workflow.status is WorkflowStatus.SAVED:
            return self._add_resumable(workflow)  # an attempt saved it and died before its commit
        if workflow is None or workflow.status is not WorkflowStatus.ACTIVE:
            return None
        if not keeps:
            self._workflows[workflow.id] = abandon(workflow, now)
            return None
        if specialist.workflow is not None:
            left = save(specialist.workflow, workflow, now)
        else:  # its agent is not deployed at the moment
            left = replace(workflow, status=WorkflowStatus.SAVED, updated_at=now)
        self._workflows[workflow.id] = left
        return self._add_resumable(left) if left.status is WorkflowStatus.SAVED else None

    def _add_resumable(self, left: Workflow) -> Workflow:
        self.resumable = (left, *(each for each in self.resumable if each.id != left.id))
        return left

    def let_go(self, outcome: HandoffOutcome, now: datetime) -> None:
        """Return to the main agent without saving the workflow, which belongs to another thread now."""
        if self.workflow is not None and self.workflow.status is not WorkflowStatus.SAVED:
            self.workflow = None
        self.give_back(outcome, now)

    def take_offer(self) -> Workflow | None:
        """Return the workflow to offer and mark it as offered."""
        offer, self.offer = self.offer, None
        if offer is not None:
            self._offered_id = offer.id
        return offer

    def step_begins(self) -> Iterator[BaseEvent]:
        """Yield the event that shows the workflow's state."""
        if self.workflow is not None and self._step is None:
            self._step = self.workflow.state
            yield step_started(self._step)

    def step_ends(self) -> Iterator[BaseEvent]:
        """Yield the event that ends the shown state, if there is one."""
        if self._step is not None:
            step, self._step = self._step, None
            yield step_finished(step)

    def news_since(self, before: Mapping[str, Any]) -> Iterator[BaseEvent]:
        """Yield the events that show what has changed since the state was ``before``."""
        yield from state_changes(before, self.state)
