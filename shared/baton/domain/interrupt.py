"""Interrupts: a run that has to wait for a person, and what the person said (AG-UI: interrupts and resume)."""

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
"""The only reason so far: a tool that must not be called before somebody agrees."""

APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "comment": {"type": "string"}},
}
"""What an answer's payload may say. Without ``approved``, the status ``resolved`` means yes."""


class AnswerStatus(StrEnum):
    """What became of an interrupt, in AG-UI's words."""

    RESOLVED = "resolved"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class InterruptAnswer:
    """A person's answer to one interrupt."""

    interrupt_id: str
    status: AnswerStatus
    payload: Any = None
    answered_by: str | None = None
    """The user who answered; None: nobody did in time."""

    @property
    def approves(self) -> bool:
        """Whether the call may be made."""
        if self.status is not AnswerStatus.RESOLVED or self.answered_by is None:
            return False
        return self.payload is None or (isinstance(self.payload, dict) and self.payload.get("approved", True) is True)

    @property
    def comment(self) -> str | None:
        """What the person had to say about it, for the model."""
        if not isinstance(self.payload, dict):
            return None
        # AG-UI's interfaces for approvals send ``reason``, whatever the schema says.
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
    """The question, as the person reads it."""
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
    """What a thread waits for: the open interrupts of its last run."""

    run_id: str
    """The run that was interrupted: the parent of the one that goes on."""
    message_id: str
    """The id under which the answers are taken, once and for all: see ``answer_message_id``."""
    agent_id: str
    permissions: tuple[str, ...]
    """Those of the user whose message began it all: whoever answers, the calls are made in that user's name."""
    first_ordinal: int
    """Of the user's message that began the exchange: all of it goes into the prompt when it goes on."""
    interrupts: tuple[Interrupt, ...]

    def get(self, interrupt_id: str) -> Interrupt | None:
        return next((interrupt for interrupt in self.interrupts if interrupt.id == interrupt_id), None)

    def answered(self, answers: tuple[InterruptAnswer, ...], now: datetime) -> PendingInterrupts:
        """With the answers filled in where there were none: the first answer counts, and one that is late for none."""
        given = {answer.interrupt_id: answer for answer in answers}
        return replace(self, interrupts=tuple(_answered(each, given.get(each.id), now) for each in self.interrupts))

    @property
    def open(self) -> tuple[Interrupt, ...]:
        """Those nobody has answered yet."""
        return tuple(interrupt for interrupt in self.interrupts if interrupt.answer is None)


def _answered(interrupt: Interrupt, answer: InterruptAnswer | None, now: datetime) -> Interrupt:
    if interrupt.answer is not None or answer is None:
        return interrupt
    if now >= interrupt.expires_at:
        answer = InterruptAnswer(interrupt.id, AnswerStatus.CANCELLED)
    return replace(interrupt, answer=answer)


def interrupt_id(thread_id: str, message_id: str, number: int) -> str:
    """The id of the ``number``-th interrupt of the run that answers ``message_id``."""
    return f"{_run_part(thread_id, message_id)}.{number}"


def answer_message_id(interrupt: str) -> str:
    """The message id that stands for the answers to all interrupts of one run; any one of their ids tells it."""
    return f"answer.{interrupt.partition('.')[0]}"


def _run_part(thread_id: str, message_id: str) -> str:
    return uuid.uuid5(uuid.UUID(thread_id), f"interrupt\0{message_id}").hex
