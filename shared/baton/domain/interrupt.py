"""Interrupts: calls that wait for a person, and the person's answers (AG-UI: interrupts and resume)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from ag_ui.core import Interrupt as ShownInterrupt
from ag_ui.core import ResumeEntry

from baton.domain.times import iso

APPROVAL = "tool_approval"
"""The only reason so far: a tool that needs approval."""

APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "comment": {"type": "string"}},
}
"""The schema of an answer's payload. Without ``approved``, the status ``resolved`` means yes."""


class AnswerStatus(StrEnum):
    """The status of an answer, by AG-UI's values."""

    RESOLVED = "resolved"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class InterruptAnswer:
    """A person's answer to one interrupt."""

    interrupt_id: str
    status: AnswerStatus
    payload: Any = None
    answered_by: str | None = None
    """The user who answered; None if nobody did in time."""

    @property
    def approves(self) -> bool:
        """Whether the call may be made."""
        if self.status is not AnswerStatus.RESOLVED or self.answered_by is None:
            return False
        return self.payload is None or (isinstance(self.payload, dict) and self.payload.get("approved", True) is True)

    @property
    def comment(self) -> str | None:
        """The person's comment, for the model."""
        if not isinstance(self.payload, dict):
            return None
        # AG-UI's approval interfaces send ``reason`` and ignore the schema.
        given = (self.payload.get(name) for name in ("comment", "reason"))
        return next((said for said in given if isinstance(said, str) and said), None)

    def as_ag_ui(self) -> ResumeEntry:
        return ResumeEntry(interrupt_id=self.interrupt_id, status=self.status.value, payload=self.payload)


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A call that waits for a person's approval."""

    id: str
    tool_call_id: str
    tool_name: str
    message: str
    """The question for the person."""
    expires_at: datetime
    answer: InterruptAnswer | None = None

    def as_ag_ui(self) -> ShownInterrupt:
        return ShownInterrupt(
            id=self.id,
            reason=APPROVAL,
            message=self.message,
            tool_call_id=self.tool_call_id,
            response_schema=APPROVAL_SCHEMA,
            expires_at=iso(self.expires_at),
            metadata={"toolName": self.tool_name},
        )


@dataclass(frozen=True, slots=True)
class PendingInterrupts:
    """The interrupts of a thread's last run."""

    run_id: str
    """The interrupted run: the parent of the run that continues."""
    message_id: str
    """The message id of the answers: see ``answer_message_id``."""
    agent_id: str
    permissions: tuple[str, ...]
    """The permissions of the message that began the exchange. The calls use them, whoever answers."""
    first_ordinal: int
    """The ordinal of the message that began the exchange. The whole exchange goes into the prompt when it continues."""
    interrupts: tuple[Interrupt, ...]

    def get(self, interrupt_id: str) -> Interrupt | None:
        return next((interrupt for interrupt in self.interrupts if interrupt.id == interrupt_id), None)

    def answered(self, answers: tuple[InterruptAnswer, ...], now: datetime) -> PendingInterrupts:
        """Return a copy with the answers filled in. Earlier answers stay, and late ones are ignored."""
        given = {answer.interrupt_id: answer for answer in answers}
        return replace(self, interrupts=tuple(_answered(each, given.get(each.id), now) for each in self.interrupts))

    @property
    def open(self) -> tuple[Interrupt, ...]:
        """The interrupts without an answer."""
        return tuple(interrupt for interrupt in self.interrupts if interrupt.answer is None)


def _answered(interrupt: Interrupt, answer: InterruptAnswer | None, now: datetime) -> Interrupt:
    if interrupt.answer is not None or answer is None:
        return interrupt
    if now >= interrupt.expires_at:
        answer = InterruptAnswer(interrupt.id, AnswerStatus.CANCELLED)
    return replace(interrupt, answer=answer)


def interrupt_id(thread_id: str, message_id: str, number: int) -> str:
    """Return the id of the ``number``-th interrupt of the run that answers ``message_id``."""
    return f"{_run_part(thread_id, message_id)}.{number}"


def answer_message_id(interrupt: str) -> str:
    """Return the message id of all answers to one run's interrupts, derived from the id of any of them."""
    return f"answer.{interrupt.partition('.')[0]}"


def _run_part(thread_id: str, message_id: str) -> str:
    return uuid.uuid5(uuid.UUID(thread_id), f"interrupt\0{message_id}").hex
