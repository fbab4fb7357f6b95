"""Interrupts: calls that wait for a person or for the user's application, and the decisions on them (AG-UI: resume)."""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from ag_ui.core import Interrupt as ShownInterrupt
from ag_ui.core import ResumeEntry

from baton.domain.runs.call_card import CardField, write_plain
from baton.domain.runs.tool_call import ToolCall, make_model_call
from baton.domain.times import to_iso

APPROVAL = "tool_approval"
"""The reason of an interrupt for a call that needs approval."""
CLIENT_TOOL = "client_tool"
"""The reason of an interrupt for a call that the user's application carries out. The payload is the result."""
_CLIENT_CALL = re.compile(r"[0-9a-f]{32}_[a-z2-7]{7}")

APPROVED = "approved"
REMARKS = ("comment", "reason")
"""The payload's members with the person's comment. AG-UI's approval components send ``reason``, whatever the schema."""
APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {APPROVED: {"type": "boolean"}, **{name: {"type": "string"} for name in REMARKS}},
    "required": [APPROVED],
}
"""The payload's schema. AG-UI shows no buttons for a schema with keywords unknown to it (``additionalProperties``)."""


MAX_ARGUMENTS = 2_000
"""Characters of a call's arguments that its question shows."""


class DecisionStatus(StrEnum):
    """The status of a decision, by AG-UI's values."""

    RESOLVED = "resolved"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class InterruptDecision:
    """A person's decision on one interrupt, or the result of a call that the user's application has carried out."""

    interrupt_id: str
    status: DecisionStatus
    payload: Any = None
    answered_by: str | None = None
    """The user who decided; None if nobody did in time."""
    is_error: bool = False
    """Whether the payload is the reason why the user's application could not carry out the call."""

    @property
    def result(self) -> str:
        """The result of a call that the user's application has carried out, as text."""
        if self.payload is None:
            return ""
        return self.payload if isinstance(self.payload, str) else json.dumps(self.payload, ensure_ascii=False)

    @property
    def approves(self) -> bool:
        """True if the decision explicitly permits the call."""
        if self.status is not DecisionStatus.RESOLVED or self.answered_by is None:
            return False
        return isinstance(self.payload, dict) and self.payload.get(APPROVED) is True

    @property
    def comment(self) -> str | None:
        """The person's comment, for the model."""
        if not isinstance(self.payload, dict):
            return None
        remarks = (self.payload.get(name) for name in REMARKS)
        return next((remark for remark in remarks if isinstance(remark, str) and remark), None)

    def as_ag_ui(self) -> ResumeEntry:
        """Return the decision as an entry of a run input's ``resume``."""
        return ResumeEntry(interrupt_id=self.interrupt_id, status=self.status.value, payload=self.payload)


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A call that waits for a person's approval, or for the user's application to carry it out."""

    id: str
    """The id. For a call of the user's application, it equals the id of the call."""
    tool_call_id: str
    tool_name: str
    message: str
    """The question for the person, or a sentence about the call of the application."""
    expires_at: datetime
    answer: InterruptDecision | None = None
    arguments: str = ""
    """The call's arguments as JSON, for the person who decides; cut after ``MAX_ARGUMENTS``.

    Empty for calls of the user's application, which reads them in its events.
    """
    label: str = ""
    """The tool's name for people; empty for calls of the user's application."""
    fields: tuple[CardField, ...] = ()
    """The call's arguments in words."""

    @property
    def is_client_call(self) -> bool:
        """Whether the user's application carries the call out."""
        return is_client_call(self.id)

    @property
    def model_call(self) -> ToolCall:
        """The model's call that has led to it, without arguments."""
        return make_model_call(self.tool_call_id, self.tool_name)

    def as_ag_ui(self) -> ShownInterrupt:
        """Return the interrupt as clients see it."""
        return ShownInterrupt(
            id=self.id,
            reason=CLIENT_TOOL if self.is_client_call else APPROVAL,
            message=self.message,
            tool_call_id=self.tool_call_id,
            response_schema=None if self.is_client_call else APPROVAL_SCHEMA,
            expires_at=to_iso(self.expires_at),
            metadata=self._make_metadata(),
        )

    def _make_metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"toolName": self.tool_name}
        if self.arguments:
            metadata["arguments"] = self.arguments
        if self.label:
            metadata |= {"label": self.label, "fields": [field.to_response() for field in self.fields]}
        return metadata

    @property
    def plain_text(self) -> str:
        """The question with the arguments that it does not show, for channels that show text only."""
        if self.arguments and not self.label:
            return f"{self.message}\n{self.tool_name} {self.arguments}"  # stored by a release without ``fields``
        return write_plain(self.message, self.fields)


@dataclass(frozen=True, slots=True)
class PendingInterrupts:
    """The interrupts of a thread's last run."""

    run_id: str
    """The interrupted run: the parent of the run that continues."""
    message_id: str
    """The message id of the decisions: see ``derive_decision_message_id``."""
    agent_id: str
    permissions: tuple[str, ...]
    """The permissions of the message that began the exchange. The calls use them, no matter who answers."""
    first_ordinal: int
    """The ordinal of the message that began the exchange. The continued run has the whole exchange in its prompts."""
    interrupts: tuple[Interrupt, ...]
    offered_by: str | None = None
    """The message id of the turn whose client offer is in force until a request has another; None without an offer."""

    def get(self, interrupt_id: str) -> Interrupt | None:
        """Return the interrupt with this id; None if there is none."""
        return next((interrupt for interrupt in self.interrupts if interrupt.id == interrupt_id), None)

    def fill_in(self, decisions: tuple[InterruptDecision, ...], now: datetime) -> PendingInterrupts:
        """Return a copy with the decisions. An earlier decision stays, and a late decision becomes a cancellation."""
        by_id = {decision.interrupt_id: decision for decision in decisions}
        return replace(
            self,
            interrupts=tuple(_with_decision(interrupt, by_id.get(interrupt.id), now) for interrupt in self.interrupts),
        )

    @property
    def open(self) -> tuple[Interrupt, ...]:
        """The interrupts without a decision."""
        return tuple(interrupt for interrupt in self.interrupts if interrupt.answer is None)


def _with_decision(interrupt: Interrupt, decision: InterruptDecision | None, now: datetime) -> Interrupt:
    """Return the interrupt with its first decision. A decision after its expiry counts as a cancellation."""
    if interrupt.answer is not None or decision is None:
        return interrupt
    if now >= interrupt.expires_at:
        decision = InterruptDecision(interrupt.id, DecisionStatus.CANCELLED)
    return replace(interrupt, answer=decision)


def shorten_arguments(arguments: str) -> str:
    """Return a call's arguments for its question, cut after ``MAX_ARGUMENTS`` with an ellipsis at the end."""
    return arguments if len(arguments) <= MAX_ARGUMENTS else f"{arguments[: MAX_ARGUMENTS - 1]}\u2026"


def to_client_interrupts(interrupts: Iterable[Interrupt]) -> list[dict[str, Any]]:
    """Return interrupts as clients see them."""
    return [interrupt.as_ag_ui().model_dump(by_alias=True, mode="json", exclude_none=True) for interrupt in interrupts]


def derive_interrupt_id(thread_id: str, message_id: str, number: int) -> str:
    """Return the id of the ``number``-th interrupt of the run that answers ``message_id``."""
    return f"{_derive_run_part(thread_id, message_id)}.{number}"


def derive_decision_message_id(interrupt: str) -> str:
    """Return the message id of all decisions on one run's interrupts, derived from the id of any of them."""
    return f"answer.{re.split('[._]', interrupt, maxsplit=1)[0]}"


def derive_client_call_id(thread_id: str, message_id: str, call_id: str) -> str:
    """Return the id of a call that the user's application carries out. ``call_id`` is derived from tool and arguments.

    The result is also the id of the interrupt, so it begins like those of the run that answers ``message_id``.
    Endpoints accept at most 40 letters, digits, ``_`` and ``-`` as the id of a call.
    """
    digest = uuid.uuid5(uuid.UUID(thread_id), f"client call\0{call_id}").bytes
    return f"{_derive_run_part(thread_id, message_id)}_{base64.b32encode(digest)[:7].decode().lower()}"


def is_client_call(call_id: str) -> bool:
    """Return whether the id belongs to a call that the user's application carries out."""
    return _CLIENT_CALL.fullmatch(call_id) is not None


def _derive_run_part(thread_id: str, message_id: str) -> str:
    return uuid.uuid5(uuid.UUID(thread_id), f"interrupt\0{message_id}").hex
