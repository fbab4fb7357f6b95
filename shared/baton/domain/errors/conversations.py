"""Errors of requests that the state of a conversation does not allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton.domain.errors.base import BatonError


class ThreadUnavailable(BatonError, code="thread_unavailable", status=404, title="Conversation not available"):
    """The thread is another tenant's, another user's or, for reads, unknown. The caller cannot find out which."""

    detail = "This conversation is not available to you. Please start a new one."

    def __init__(self, detail: str | None = None, *, is_unused: bool = False) -> None:
        """``is_unused``: no tenant has such a thread. The fact is for the audit only, and never sent to the caller."""
        super().__init__(detail)
        self.is_unused = is_unused

    @property
    def audited_as(self) -> str:
        """The outcome in the audit. A request for an unused id is not an attempt at another user's thread."""
        return "not_found" if self.is_unused else "denied"


class MessageIdConflict(BatonError, code="message_id_conflict", status=409, title="The message id is taken"):
    """The message id was used before with other content."""

    detail = "This messageId was used before with other content. Give every message its own id."


class AgentMismatch(BatonError, code="agent_mismatch", status=409, title="The conversation belongs to another agent"):
    """A later message names a main agent that differs from the thread's."""

    detail = "Leave agentId out, or start a new conversation with the other agent."


class InterruptUnavailable(BatonError, code="interrupt_unavailable", status=409, title="Nothing waits for this answer"):
    """An answer to an interrupt that is not open: unknown, cancelled by a message, or already answered."""

    detail = "There is no open interrupt with this id. The conversation may have gone on without it."


class ToolNameTaken(BatonError, code="tool_name_taken", status=409, title="The agent has a tool of this name"):
    """A client's tool with the name of one of the agent's own tools."""

    detail = "A tool that the client offers has the name of one of the agent's own. Offer it under another name."


class NotInHandoff(BatonError, code="not_in_handoff", status=409, title="No specialist to leave"):
    """An exit while the main agent is active."""

    detail = "This conversation is with its main agent already; there is nothing to leave."


class NotAtDesk(BatonError, code="not_at_desk", status=409, title="Not at a desk"):
    """An action of a desk's people on a conversation that is at no desk, or has left it since."""

    detail = "This conversation is at no desk now: it was handed back, closed, or has returned to its agent."


class DeskTaken(BatonError, code="desk_taken", status=409, title="Taken by somebody else"):
    """An attempt to take a conversation that another person has taken."""

    detail = "Somebody else has taken this conversation."

    def __init__(self, detail: str | None = None, *, person: Mapping[str, Any] | None = None) -> None:
        """``person`` has taken the conversation, and is given in the wire form."""
        super().__init__(detail)
        self.person = person


class DeskNotTaken(BatonError, code="desk_not_taken", status=409, title="Take the conversation first"):
    """An action of a person who has not taken the conversation."""

    detail = "Only the person who has taken this conversation can do this. Take it first."


class DeskClosed(BatonError, code="desk_closed", status=409, title="Closed at the moment"):
    """A transfer to a closed desk at which conversations do not wait until it opens."""

    detail = "This desk is closed. Hand the conversation to another desk, or return it to its agent."


class HandoffInProgress(BatonError, code="handoff_in_progress", status=409, title="Another session is in progress"):
    """A request to continue a workflow or to ask for a desk during a handoff, or to merge while people answer."""

    detail = "The conversation is with a specialist. Finish that first, or leave it with exit."


class ImportConflict(BatonError, code="import_conflict", status=409, title="The conversation exists already"):
    """An import under the id of a conversation that exists, and was not imported with the same messages."""

    detail = "A conversation with this sessionId exists, with other messages. Import under another sessionId."


class ThreadLed(BatonError, code="thread_led_by_parent", status=409, title="This conversation is led by another one"):
    """A message to a fork that a handoff has created."""

    detail = "This conversation goes on in its parent (parentThreadId). Write there; this one can only be read."


class NotAFork(BatonError, code="not_a_fork", status=409, title="Not a fork"):
    """A merge of a conversation that is not a fork."""

    detail = "This conversation was not branched from another one, so there is none to merge it into."


class NothingToMerge(BatonError, code="nothing_to_merge", status=409, title="Nothing to merge"):
    """A merge of a fork in which no agent has said anything."""

    detail = "No agent has answered in this fork yet. Send it a message first."


class ApprovalsWaiting(BatonError, code="approvals_waiting", status=409, title="Approvals are waiting"):
    """A merge into a conversation that waits for answers to its interrupts."""

    detail = "The parent conversation waits for answers to its interrupts. Answer them first, then merge again."


class WaitsForPeople(BatonError, code="waits_for_people", status=409, title="The conversation waits for people"):
    """A run that begins by itself, in a conversation that waits for an approval, is at a desk, or is closed."""

    detail = "The conversation waits for people to answer. The run begins after that."


class EventNotTaken(BatonError, code="event_not_taken", status=422, title="The agent takes no such events"):
    """An event of a type that the conversation's main agent does not take."""

    detail = "The agent of this conversation takes no events of this type. Its definition lists those it takes."


class TaskExpired(BatonError, code="task_expired", status=410, title="The task has expired"):
    """A tool's report on a task whose time is over."""

    detail = "The time of this task is over. Its conversation goes on without the result."


class NothingRunning(BatonError, code="nothing_running", status=409, title="Nothing is running"):
    """A message that is to steer or interrupt a run while none is in progress."""

    detail = "No run is in progress that the message could enter or stop. Send it without whileBusy."


class WaitsForApproval(BatonError, code="waits_for_approval", status=409, title="The run waits for an answer"):
    """A message that is to steer or interrupt a run that waits for answers to its interrupts."""

    detail = "The last run waits for answers to its interrupts. Answer them, or send the message without whileBusy."


class QueueFull(BatonError, code="queue_full", status=429, title="Too many messages wait", retryable=True):
    """A message to a conversation in which the allowed number of messages waits already."""

    detail = "Too many messages wait in this conversation. Send it again when one of them is answered, or withdraw one."


class AlreadyRunning(BatonError, code="already_running", status=409, title="The message is being answered"):
    """The withdrawal of a message that has entered a run or is being answered."""

    detail = "The message no longer waits: it has entered a run, or is being answered. Cancel the run."


class MessageWithdrawn(BatonError, code="message_withdrawn", status=409, title="The message was withdrawn"):
    """A message that its user has withdrawn while it waited."""

    detail = "The message was withdrawn while it waited. Send it under another messageId to have it answered."


class BranchUnavailable(BatonError, code="branch_unavailable", status=404, title="No such branch"):
    """A branch from a message that the thread does not have, or the selection of a branch that does not exist."""

    detail = "This conversation has no such branch or user message. GET /v1/threads/{id}/branches lists its branches."


class TooManyBranches(BatonError, code="too_many_branches", status=409, title="Too many branches"):
    """Another branch of a thread that has reached the limit of branches."""

    detail = (
        "This conversation has reached the limit of branches. You can continue it, or fork it to try more alternatives."
    )


class BranchCrossesHandoff(BatonError, code="branch_crosses_handoff", status=409, title="A handoff is in between"):
    """A branch from a point at which a specialist was active and whose state cannot be restored."""

    detail = (
        "A specialist was active at this point of the conversation, and its work has gone on since. Begin at a message"
        " from before the handoff."
    )


class NotRegenerable(BatonError, code="not_regenerable", status=409, title="People have answered here"):
    """A branch that would repeat or replace what people of a desk have said, or what the user has said to them."""

    detail = (
        "People of a desk are in the conversation from this message on. Nothing repeats or replaces what was said to "
        "them or by them. Send a new message, or fork the conversation."
    )


class RunInProgress(BatonError, code="run_in_progress", status=409, title="An answer is in progress"):
    """The selection of a branch while the thread is answering."""

    detail = "This conversation is answering a message. Wait for the answer, or cancel it, then select the branch."


class RerunUnavailable(BatonError, code="rerun_unavailable", status=409, title="This turn cannot be run again"):
    """A turn that a dry run cannot answer again. ``detail`` says why."""

    detail = "A dry run answers turns that began with a message and have ended."


class ModelNotOffered(BatonError, code="model_not_offered", status=422, title="This model is not offered"):
    """A dry run asks for a model that the deployment does not use."""

    detail = "Name a model of the settings or of an agent's definition."


class WorkflowUnavailable(
    BatonError, code="workflow_unavailable", status=409, title="The workflow cannot be continued"
):
    """A request to continue a workflow that does not exist, is finished or has expired."""

    detail = "There is no unfinished workflow with this id. GET /v1/workflows lists those you can continue."


class ThreadBusy(BatonError, code="thread_busy", status=503, title="The conversation is busy"):
    """Another turn of the thread was running until this one stopped waiting."""

    detail = "Another message is still being answered. Send this one again, with the same messageId."


class Interrupted(BatonError, code="interrupted", status=502, title="The answer was interrupted"):
    """A run was ended after its workers failed repeatedly."""

    detail = "The answer could not be completed. Please send the message again under a new messageId."


class TurnTimeout(BatonError, code="turn_timeout", status=504, title="The answer took too long"):
    """The turn exceeded its time limit. The answer so far is kept."""

    detail = "The answer took too long and was stopped. Please ask again, perhaps for less at once."


class RunChanged(BatonError, code="run_changed", status=409, title="The agent's code has changed"):
    """The code of an agent's ``run`` takes other steps than those that were recorded when the turn began."""

    detail = "The agent's code has changed since this turn began, so that it cannot go on. Please ask again."


class RunLimitReached(BatonError, code="run_limit_reached", status=422, title="The agent has done as much as it may"):
    """The ``run`` of an agent takes more steps, or larger ones, than one answer may take."""

    detail = "The agent has reached a limit of its work on one answer. Please ask for less at once."


class LeaseLost(BatonError, code="lease_lost", status=503, title="The conversation was taken over"):
    """Another worker has taken the thread over. This one must stop and send nothing more."""

    detail = "Another worker continues this run. Resume the conversation to follow it."
