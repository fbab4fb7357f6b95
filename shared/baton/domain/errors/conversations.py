"""Requests that the state of a conversation does not allow."""

from __future__ import annotations

from baton.domain.errors.base import BatonError


class ThreadUnavailable(BatonError):
    """The thread is another tenant's, another user's or, for reads, unknown. The caller cannot find out which."""

    code, status, retryable = "thread_unavailable", 404, False
    title = "Conversation not available"
    detail = "This conversation is not available to you. Please start a new one."

    def __init__(self, detail: str | None = None, *, is_unused: bool = False) -> None:
        """``is_unused``: no tenant has such a thread. It is for the audit; the caller never learns it."""
        super().__init__(detail)
        self.is_unused = is_unused

    @property
    def audited_as(self) -> str:
        """The outcome in the audit. A request for an unused id is not an attempt at another user's thread."""
        return "not_found" if self.is_unused else "denied"


class MessageIdConflict(BatonError):
    """The message id was used before with other content."""

    code, status, retryable = "message_id_conflict", 409, False
    title = "The message id is taken"
    detail = "This messageId was used before with other content. Give every message its own id."


class AgentMismatch(BatonError):
    """A later message names another main agent than the thread's."""

    code, status, retryable = "agent_mismatch", 409, False
    title = "The conversation belongs to another agent"
    detail = "Leave agentId out, or start a new conversation with the other agent."


class InterruptUnavailable(BatonError):
    """An answer to an interrupt that is not open: unknown, cancelled by a message, or already answered."""

    code, status, retryable = "interrupt_unavailable", 409, False
    title = "Nothing waits for this answer"
    detail = "There is no open interrupt with this id. The conversation may have gone on without it."


class ToolNameTaken(BatonError):
    """A client's tool with the name of one of the agent's own tools."""

    code, status, retryable = "tool_name_taken", 409, False
    title = "The agent has a tool of this name"
    detail = "A tool that the client offers has the name of one of the agent's own. Offer it under another name."


class NotInHandoff(BatonError):
    """An exit while the main agent is active."""

    code, status, retryable = "not_in_handoff", 409, False
    title = "No specialist to leave"
    detail = "This conversation is with its main agent already; there is nothing to leave."


class HandoffInProgress(BatonError):
    """A request to continue a workflow while a specialist is active."""

    code, status, retryable = "handoff_in_progress", 409, False
    title = "Another session is in progress"
    detail = "The conversation is with a specialist. Finish that first, or leave it with exit."


class ImportConflict(BatonError):
    """An import under the id of a conversation that exists, and was not imported with the same messages."""

    code, status, retryable = "import_conflict", 409, False
    title = "The conversation exists already"
    detail = "A conversation with this sessionId exists, with other messages. Import under another sessionId."


class ThreadLed(BatonError):
    """A message to a fork that a handoff has created."""

    code, status, retryable = "thread_led_by_parent", 409, False
    title = "This conversation is led by another one"
    detail = "It goes on by what is said in its parent (parentThreadId). Write there; this one can be read."


class NotAFork(BatonError):
    """A conversation to merge that was not branched from another one."""

    code, status, retryable = "not_a_fork", 409, False
    title = "Not a fork"
    detail = "This conversation was not branched from another one, so there is none to merge it into."


class NothingToMerge(BatonError):
    """A fork to merge in which no agent has said anything."""

    code, status, retryable = "nothing_to_merge", 409, False
    title = "Nothing to merge"
    detail = "Nothing has been answered in this fork yet. Send it a message first."


class ApprovalsWaiting(BatonError):
    """A merge into a conversation that waits for answers to its interrupts."""

    code, status, retryable = "approvals_waiting", 409, False
    title = "Approvals are waiting"
    detail = "The parent conversation waits for answers to its interrupts. Answer them first, then merge again."


class BranchUnavailable(BatonError):
    """A branch that is to begin at a message that the thread does not have, or to be selected and does not exist."""

    code, status, retryable = "branch_unavailable", 404, False
    title = "No such branch"
    detail = "This conversation has no such branch or user message. GET /v1/threads/{id}/branches lists its branches."


class TooManyBranches(BatonError):
    """A thread with as many branches as its item holds."""

    code, status, retryable = "too_many_branches", 409, False
    title = "Too many branches"
    detail = "This conversation has as many branches as one can have. It can go on; fork it to try more alternatives."


class BranchCrossesHandoff(BatonError):
    """A branch from a point at which a specialist was active whose work there cannot be taken up again."""

    code, status, retryable = "branch_crosses_handoff", 409, False
    title = "A handoff is in between"
    detail = (
        "A specialist was active at this point of the conversation, and its work has gone on since. Begin at a message"
        " from before the handoff."
    )


class RunInProgress(BatonError):
    """A branch that is to be selected while the thread is answering."""

    code, status, retryable = "run_in_progress", 409, False
    title = "An answer is in progress"
    detail = "This conversation is answering a message. Wait for the answer, or cancel it, then select the branch."


class RerunUnavailable(BatonError):
    """A turn that a dry run cannot answer again. ``detail`` says why."""

    code, status, retryable = "rerun_unavailable", 409, False
    title = "This turn cannot be run again"
    detail = "A dry run answers turns that began with a message and have ended."


class ModelNotOffered(BatonError):
    """A dry run asks for a model that the deployment does not use."""

    code, status, retryable = "model_not_offered", 422, False
    title = "This model is not offered"
    detail = "Name a model of the settings or of an agent's definition."


class WorkflowUnavailable(BatonError):
    """A request to continue a workflow that does not exist, is finished or has expired."""

    code, status, retryable = "workflow_unavailable", 409, False
    title = "The workflow cannot be continued"
    detail = "There is no unfinished workflow with this id. GET /v1/workflows lists those you can continue."


class ThreadBusy(BatonError):
    """Another turn of the thread was running until this one stopped waiting."""

    code, status, retryable = "thread_busy", 503, True
    title = "The conversation is busy"
    detail = "Another message is still being answered. Send this one again, with the same messageId."


class Interrupted(BatonError):
    """A run was ended after its workers failed repeatedly."""

    code, status, retryable = "interrupted", 502, True
    title = "The answer was interrupted"
    detail = "The answer could not be completed. Please send the message again under a new messageId."


class TurnTimeout(BatonError):
    """The turn exceeded its time limit. The answer so far is kept."""

    code, status, retryable = "turn_timeout", 504, True
    title = "The answer took too long"
    detail = "The answer took too long and was stopped. Please ask again, perhaps for less at once."


class RunChanged(BatonError):
    """The code of an agent's ``run`` takes other steps than those that were recorded when the turn began."""

    code, status, retryable = "run_changed", 409, False
    title = "The agent's code has changed"
    detail = "The agent's code has changed since this turn began, so that it cannot go on. Please ask again."


class RunLimitReached(BatonError):
    """The ``run`` of an agent takes more steps, or larger ones, than one answer may take."""

    code, status, retryable = "run_limit_reached", 422, False
    title = "The agent has done as much as it may"
    detail = "The agent has reached a limit of its work on one answer. Please ask for less at once."


class LeaseLost(BatonError):
    """Another worker has taken the thread over. This one must stop and send nothing more."""

    code, status, retryable = "lease_lost", 503, True
    title = "The conversation was taken over"
    detail = "Another worker continues this run. Resume the conversation to follow it."
