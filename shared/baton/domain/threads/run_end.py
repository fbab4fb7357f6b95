"""The end of a run: its outcome, usage, last events and changes of the conversation state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from baton.domain.errors import BatonError, make_error_from_code
from baton.domain.runs.interrupt import Interrupt
from baton.domain.runs.usage import ModelUsage, Usage
from baton.domain.threads.thread import ConversationChange


class OutcomeType(StrEnum):
    """The outcome of a run."""

    SUCCESS = "success"
    CANCELLED = "cancelled"
    ERROR = "error"
    INTERRUPT = "interrupt"
    """The run waits for an answer to an interrupt. A run with this one as its parent continues it."""
    DELIVERED = "delivered"
    """The user's message was delivered to a desk. No agent answers it."""


@dataclass(frozen=True, slots=True)
class FollowedProcedure:
    """A version of a procedure that an agent was given for its answer."""

    agent_id: str
    """The agent to which the procedure belongs."""
    procedure_id: str
    version: int


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run. It is stored with the last message, so that a repeated message gets the same answer."""

    outcome: OutcomeType
    usage: Usage
    model: str | None = None
    error_code: str | None = None
    error_detail: str | None = None
    tail: tuple[dict[str, Any], ...] = ()
    """The run's last events, after the last piece of the stream log (``outbox.event_log``)."""
    tail_seq: int = 0
    """The sequence number of the first event of ``tail``."""
    first_seq: int = 0
    """The sequence number of RUN_STARTED of the run's last attempt."""
    interrupts: tuple[Interrupt, ...] = ()
    """The interrupts for whose answers the run waits."""
    parent_run_id: str | None = None
    """The run whose interrupts this run answers."""
    change: ConversationChange | None = None
    """The run's changes of the conversation state; None if there are none. The worker that commits applies them."""
    followed: tuple[FollowedProcedure, ...] = ()
    """The procedures that were in the prompt of an agent of the run."""
    first_token_ms: int | None = None
    """Milliseconds from the message to the first word of the answer; None if there is none."""
    spent: tuple[ModelUsage, ...] = ()
    """The usage of each model; empty if all of it was used by ``model``."""
    trace_id: str | None = None
    """The id of the run's trace; None if there is none."""
    awaits_input: bool = False
    """Whether a step of a guided workflow, or the task of a remote specialist, waits for the user's next message."""
    is_question_refused: bool = False
    """True if a guardrail has refused the user's message. Prompts, summaries and memories leave it out."""
    judged_by: tuple[str, ...] = ()
    """The agents whose input guardrails have allowed the user's message or replaced its words."""
    error_resets_at: datetime | None = None
    """The time of the reset of the spending limit that ended the run; None for other ends."""
    error_can_continue: bool = False
    """True if the user may continue beyond that limit, by a new message."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """The versions of the tenant's agents that took part, by the agent's id."""

    @property
    def error(self) -> BatonError:
        """The error with which it ended; ``InternalError`` for a code that is not known."""
        error = make_error_from_code(self.error_code or "", self.error_detail)
        error.resets_at = self.error_resets_at
        error.can_continue = self.error_can_continue
        return error

    @property
    def by_model(self) -> tuple[ModelUsage, ...]:
        """The usage of each model whose name is known."""
        return self.spent or (() if self.model is None else (ModelUsage(self.model, self.usage),))

    @property
    def leaves_at_desk(self) -> bool | None:
        """Whether the conversation is at a desk after the run; None if the run has not changed its state."""
        return self.change.conversation.desk is not None if self.change is not None else None

    @property
    def last_seq(self) -> int:
        """The sequence number of the run's last event."""
        return self.tail_seq + len(self.tail) - 1
