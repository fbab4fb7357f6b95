"""Answers to the interrupts of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to an interrupt: to a call that waits for a person, or for a client tool's result."""

    interrupt_id: str
    status: Literal["resolved", "cancelled"] = "resolved"
    payload: Any = None

    @classmethod
    def approval(cls, interrupt_id: str, approved: bool, *, comment: str | None = None) -> Answer:
        """Agree to a call, or refuse it; the model reads the ``comment``."""
        payload = {"approved": approved} | ({"comment": comment} if comment else {})
        return cls(interrupt_id, "resolved", payload)
