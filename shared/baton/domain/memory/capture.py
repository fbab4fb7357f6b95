"""Captures: completed tasks of a conversation that may become procedures, and the outcome of each."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from baton.domain.agents.agent_settings import LearningSettings
from baton.domain.handoffs.workflow import Workflow, WorkflowStatus
from baton.domain.memory.procedure import ProcedureDraft, ProcedureScope
from baton.domain.runs.tool_call import CallEnd, is_shown
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.run_end import OutcomeType

MAX_MESSAGES = 200
"""The most messages of a capture: the last ones of a longer session."""


@dataclass(frozen=True, slots=True)
class CaptureRef:
    """The messages of one task: those of a run, of the runs that it continues, or of a session."""

    thread_id: str
    agent_id: str
    """The main agent of the thread, which gets the captured procedure."""
    first_ordinal: int
    end_ordinal: int
    """One beyond the last message."""
    thread_created_at: datetime | None = None
    """The time at which the thread was created. It distinguishes a forgotten thread from a new one with the same id."""

    @property
    def id(self) -> str:
        """The name of the capture within the thread. The same messages always have the same name."""
        return f"{self.first_ordinal:012d}-{self.end_ordinal:012d}"


class CaptureStatus(StrEnum):
    """The state of a capture. All but ``WORKING`` and ``STORED`` are final, but a failed one may be started again."""

    WORKING = "working"
    NO_TASK = "no_task"
    """The light model saw no task that could be repeated, or the day's limit was reached."""
    REFUSED = "refused"
    """The draft was not a usable procedure."""
    KNOWN = "known"
    """The same procedure exists already, or a similar one waits for approval or was rejected."""
    STORED = "stored"
    """The procedure is stored and waits for approval. Its announcement may be missing."""
    ANNOUNCED = "announced"
    FAILED = "failed"
    """The pipeline failed permanently."""


class CaptureStep(StrEnum):
    """The steps of the pipeline, in their order. The state machine names them."""

    DETECT = "detect"
    """Ask the light model whether the messages complete a task that could be repeated."""
    DRAFT = "draft"
    """Write the procedure of the task, without specifics."""
    COMPARE = "compare"
    """Look for a similar procedure."""
    STORE = "store"
    """Store the draft as a procedure that waits for approval."""
    ANNOUNCE = "announce"


@dataclass(frozen=True, slots=True)
class Capture:
    """The state of the pipeline for one task. It contains no personal data, because a draft is generalised."""

    ref: CaptureRef
    status: CaptureStatus = CaptureStatus.WORKING
    done: CaptureStep | None = None
    """The last step that was carried out; None before the first."""
    reason: str | None = None
    """The reason why no procedure was made."""
    name: str | None = None
    """The name that the light model gave the task."""
    draft: ProcedureDraft | None = None
    procedure_id: str | None = None
    """The existing procedure that the draft repeats or becomes a version of, or the new procedure's id."""
    procedure_scope: ProcedureScope = ProcedureScope.AGENT
    version: int | None = None
    """The stored version."""
    updated_at: datetime | None = None

    @property
    def is_settled(self) -> bool:
        """True if nothing is left to do."""
        return self.status not in (CaptureStatus.WORKING, CaptureStatus.STORED)

    def resume(self) -> Capture:
        """Return the capture as it continues with the step that failed; unchanged if no step failed."""
        if self.status is not CaptureStatus.FAILED:
            return self
        is_stored = self.done is CaptureStep.STORE
        return replace(self, status=CaptureStatus.STORED if is_stored else CaptureStatus.WORKING)

    def has_done(self, step: CaptureStep) -> bool:
        """Return whether the step was carried out, or is not needed any more."""
        order = list(CaptureStep)
        return self.is_settled or (self.done is not None and order.index(self.done) >= order.index(step))


def is_candidate(
    messages: Sequence[StoredMessage], agent_id: str, settings: LearningSettings, *, has_workflow: bool
) -> bool:
    """Return whether the messages of finished runs may complete a task, by rules that need no model.

    Learning must be enabled. The last run must have ended and succeeded, and none may have failed, been cancelled, or
    followed a procedure, because the task is then known already. The agent must have made at least ``min_calls``
    successful calls of at least ``min_tools`` tools, unless the messages complete a guided workflow that may become a
    procedure (``has_workflow``).
    """
    if not settings.enabled or not messages or messages[-1].end is None:
        return False
    ends = [message.end for message in messages if message.end is not None]
    if ends[-1].outcome is not OutcomeType.SUCCESS:
        return False
    if any(end.outcome in (OutcomeType.ERROR, OutcomeType.CANCELLED) or end.followed for end in ends):
        return False
    tools = list_successful_calls(messages, agent_id)
    if len(tools) >= settings.min_calls and len(set(tools)) >= settings.min_tools:
        return True
    return has_workflow


def list_successful_calls(messages: Iterable[StoredMessage], agent_id: str) -> list[str]:
    """Return the names of the tools that the agent called with success, one for each call."""
    return [
        message.tool_name
        for message in messages
        if message.role is Role.TOOL
        and message.agent_id == agent_id
        and message.call_end is CallEnd.SUCCEEDED
        and message.tool_name is not None
        and is_shown(message.tool_name)
    ]


def list_completed_workflows(messages: Iterable[StoredMessage]) -> list[Workflow]:
    """Return the guided workflows that the runs have completed."""
    changes = (message.end.change for message in messages if message.end is not None)
    workflows = (workflow for change in changes if change is not None for workflow in change.workflows)
    return [workflow for workflow in workflows if workflow.status is WorkflowStatus.COMPLETED]


def is_sampled(ref: CaptureRef, rate: float) -> bool:
    """Return whether the task is in a sample of the share ``rate``, from 0 to 1. Every worker decides alike."""
    return zlib.crc32(f"{ref.thread_id}#{ref.id}".encode()) < rate * 2**32
