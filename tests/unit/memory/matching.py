"""Procedures to match messages with."""

from __future__ import annotations

from baton.domain.memory.procedure import Procedure, ProcedureDraft, ProcedureStatus, ProcedureStep
from baton_testing.fakes.clock import NOON


def procedure(name: str) -> Procedure:
    draft = ProcedureDraft(name, f"About {name}.", (), (ProcedureStep("Do it."),))
    return Procedure(draft, "acme", "assistant", "bob", NOON, version=1, status=ProcedureStatus.APPROVED)
