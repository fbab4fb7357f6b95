"""The state of a thread that clients show: the active agent, the workflow, workflows to continue, the status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from baton.domain.agents.agent import AgentDefinition
from baton.domain.desks.desk_session import DeskStatus
from baton.domain.handoffs.workflow import Workflow as WorkflowRecord
from baton.domain.handoffs.workflow import measure_progress
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.threads.message import MessageAuthor
from baton.domain.threads.thread import ConversationState, Thread, ThreadStatus
from baton.domain.wire_model import THREAD_ID, TIMESTAMP, WORKFLOW_ID, Timestamp, WireModel

Describe = Callable[[str], AgentDefinition | None]
"""Returns the definition of an agent by its id; None if it is not deployed."""


class ActiveAgent(WireModel):
    """The agent that answers the next message."""

    id: str = Field(examples=["assistant"])
    name: str = Field(examples=["Assistant"])
    description: str | None = Field(examples=["Answers questions."])
    avatar_url: str | None = Field(examples=[None])
    is_main: bool = Field(examples=[True])


class WorkflowInProgress(WireModel):
    """The guided workflow that a conversation is in."""

    id: str = Field(examples=[WORKFLOW_ID])
    name: str = Field(description="The name by which the user knows it.", examples=["your Slack Alert skill"])
    state: str = Field(examples=["DEFINING_TRIGGERS"])
    label: str = Field(description="The state, as the user sees it.", examples=["Defining Triggers"])
    step: int | None = Field(
        description="From 1; null if the workflow's definition no longer has the state.", examples=[2]
    )
    steps: int | None = Field(examples=[4])
    can_exit: bool = Field(description="Whether to offer to leave it in this state.", examples=[True])


class Workflow(WireModel):
    """A guided workflow that can be continued."""

    id: str = Field(examples=[WORKFLOW_ID])
    agent_id: str = Field(description="The specialist that leads through it.", examples=["skill-creation-agent"])
    name: str = Field(description="The name by which the user knows it.", examples=["your Slack Alert skill"])
    state: str = Field(examples=["DEFINING_TRIGGERS"])
    label: str = Field(description="The state, as the user sees it.", examples=["Defining Triggers"])
    step: int | None = Field(
        description="From 1; null if the definition no longer exists or lacks the state.", examples=[2]
    )
    steps: int | None = Field(examples=[4])
    thread_id: str = Field(description="The conversation it is in, or was left in.", examples=[THREAD_ID])
    updated_at: Timestamp = Field(examples=[TIMESTAMP])
    expires_at: Timestamp = Field(
        description="The time until which it can be continued.", examples=["2026-04-13T09:26:53.589Z"]
    )


class DeskState(WireModel):
    """A conversation at a desk."""

    agent_id: str = Field(description="The desk.", examples=["support"])
    status: DeskStatus
    since: Timestamp = Field(description="The time since which it has this status.", examples=[TIMESTAMP])
    person: MessageAuthor | None = Field(description="The person who has taken it; null while it waits.")
    ahead: int | None = Field(
        description="Conversations that waited already when it came; null once it is taken, and if it is unknown.",
        examples=[2],
    )


class State(WireModel):
    """The state that every screen of a thread shows."""

    active_agent: ActiveAgent
    desk: DeskState | None = Field(default=None, description="The active desk; null if there is none.")
    workflow: WorkflowInProgress | None
    resumable: list[Workflow] = Field(
        description="Unfinished workflows that can be continued here, the latest change first."
    )
    status: ThreadStatus


def describe_thread_state(describe: Describe, thread: Thread) -> State:
    """Return the state of a thread."""
    return describe_conversation_state(describe, thread.conversation, thread.agent_id, thread.status)


def describe_conversation_state(
    describe: Describe, conversation: ConversationState, main_id: str, status: ThreadStatus
) -> State:
    """Return the state of a thread with this conversation state; ``main_id`` is the main agent."""
    agent = describe(conversation.agent_id)
    definition = agent.workflow if agent is not None else None
    return State(
        active_agent=ActiveAgent(
            id=conversation.agent_id,
            name=agent.name if agent else conversation.agent_id,
            description=agent.description if agent else None,
            avatar_url=agent.avatar_url if agent else None,
            is_main=conversation.agent_id == main_id,
        ),
        desk=DeskState.of(conversation.desk, agent_id=conversation.agent_id) if conversation.desk is not None else None,
        workflow=describe_workflow_in_progress(definition, conversation.workflow)
        if conversation.workflow is not None and definition is not None
        else None,
        resumable=[describe_resumable_workflow(describe, workflow) for workflow in conversation.resumable],
        status=status,
    )


def describe_workflow_in_progress(definition: WorkflowDefinition, workflow: WorkflowRecord) -> WorkflowInProgress:
    """Return the workflow of the active agent, for clients."""
    state = definition.find_state(workflow.state)
    return WorkflowInProgress.of(
        workflow, **_describe_progress(definition, workflow), can_exit=state.can_exit if state else True
    )


def describe_resumable_workflow(describe: Describe, workflow: WorkflowRecord) -> Workflow:
    """Return a workflow that can be continued, for clients."""
    agent = describe(workflow.agent_id)
    return Workflow.of(workflow, **_describe_progress(agent.workflow if agent is not None else None, workflow))


def _describe_progress(definition: WorkflowDefinition | None, workflow: WorkflowRecord) -> dict[str, Any]:
    """Return the label, the step and the number of steps of a workflow.

    Without its definition, or in an unknown state, both numbers are None.
    """
    current = measure_progress(definition, workflow) if definition is not None else None
    return {
        "label": current.label if current else workflow.state.replace("_", " ").title(),
        "step": current.step if current else None,
        "steps": current.steps if current else None,
    }
