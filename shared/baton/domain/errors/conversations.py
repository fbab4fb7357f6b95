"""Requests that the state of a conversation does not allow."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class ThreadUnavailable(BatonError, code="thread_unavailable", status=404, title="Conversation not available"):
    """The thread is another tenant's, another user's or, for reads, unknown. The caller cannot find out which."""

    detail = "This conversation is not available to you. Please start a new one."

    def __init__(self, detail: str | None = None, *, is_unused: bool = False) -> None:
        """``is_unused``: no tenant has such a thread. It is for the audit; the caller never learns it."""
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
    """A later message names another main agent than the thread's."""

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


class HandoffInProgress(BatonError, code="handoff_in_progress", status=409, title="Another session is in progress"):
    """A request to continue a workflow while a specialist is active."""

    detail = "The conversation is with a specialist. Finish that first, or leave it with exit."


class ImportConflict(BatonError, code="import_conflict", status=409, title="The conversation exists already"):
    """An import under the id of a conversation that exists, and was not imported with the same messages."""

    detail = "A conversation with this sessionId exists, with other messages. Import under another sessionId."


class ThreadLed(BatonError, code="thread_led_by_parent", status=409, title="This conversation is led by another one"):
    """A message to a fork that a handoff has created."""

    detail = "It goes on by what is said in its parent (parentThreadId). Write there; this one can be read."


class NotAFork(BatonError, code="not_a_fork", status=409, title="Not a fork"):
    """A conversation to merge that was not branched from another one."""

    detail = "This conversation was not branched from another one, so there is none to merge it into."


class NothingToMerge(BatonError, code="nothing_to_merge", status=409, title="Nothing to merge"):
    """A fork to merge in which no agent has said anything."""

    detail = "Nothing has been answered in this fork yet. Send it a message first."


class ApprovalsWaiting(BatonError, code="approvals_waiting", status=409, title="Approvals are waiting"):
    """A merge into a conversation that waits for answers to its interrupts."""

    detail = "The parent conversation waits for answers to its interrupts. Answer them first, then merge again."


class BranchUnavailable(BatonError, code="branch_unavailable", status=404, title="No such branch"):
    """A branch that is to begin at a message that the thread does not have, or to be selected and does not exist."""

    detail = "This conversation has no such branch or user message. GET /v1/threads/{id}/branches lists its branches."


class TooManyBranches(BatonError, code="too_many_branches", status=409, title="Too many branches"):
    """A thread with as many branches as its item holds."""

    detail = "This conversation has as many branches as one can have. It can go on; fork it to try more alternatives."


class BranchCrossesHandoff(BatonError, code="branch_crosses_handoff", status=409, title="A handoff is in between"):
    """A branch from a point at which a specialist was active whose work there cannot be taken up again."""

    detail = (
        "A specialist was active at this point of the conversation, and its work has gone on since. Begin at a message"
        " from before the handoff."
    )


class RunInProgress(BatonError, code="run_in_progress", status=409, title="An answer is in progress"):
    """A branch that is to be selected while the thread is answering."""

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
