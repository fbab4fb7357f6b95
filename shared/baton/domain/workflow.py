"""Guided workflows under way: where one stands and what it has collected. How it moves: ``workflow_moves``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from baton.domain.times import iso
from baton.domain.workflow_definition import PLACEHOLDER, Data, WorkflowDefinition

MAX_FILLED = 80
"""Characters of a collected value in a title."""


class WorkflowStatus(StrEnum):
    """What has become of a workflow."""

    ACTIVE = "active"
    SAVED = "saved"
    """Left before its end; it can be taken up again."""
    COMPLETED = "completed"
    EXPIRED = "expired"
    ABANDONED = "abandoned"


UNFINISHED = frozenset({WorkflowStatus.ACTIVE, WorkflowStatus.SAVED})


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow as it stands."""

    id: str
    agent_id: str
    name: str
    """What the user knows it by: its title where enough is collected for one."""
    state: str
    data: Data
    """By state, of all states it has been in; also of states that a changed definition no longer has."""
    thread_id: str
    version: str
    """Of the definition it stands in."""
    updated_at: datetime
    expires_at: datetime
    status: WorkflowStatus = WorkflowStatus.ACTIVE

    def without_data(self) -> Workflow:
        """The workflow as its thread and others show it: what has been collected is left out."""
        return replace(self, data={})

    def is_unfinished(self, now: datetime) -> bool:
        """Whether it goes on or can be taken up again."""
        return self.status in UNFINISHED and now < self.expires_at

    def as_json(self, definition: WorkflowDefinition | None) -> dict[str, Any]:
        """The wire shape; without its definition, or in a state that this lacks, step and steps are null."""
        at = progress(definition, self) if definition is not None else None
        return {
            "id": self.id,
            "agentId": self.agent_id,
            "name": self.name,
            "state": self.state,
            "label": at.label if at else self.state.replace("_", " ").title(),
            "step": at.step if at else None,
            "steps": at.steps if at else None,
            "threadId": self.thread_id,
            "updatedAt": iso(self.updated_at),
            "expiresAt": iso(self.expires_at),
        }

    def as_state(self, definition: WorkflowDefinition) -> dict[str, Any]:
        """What the thread's state shows of the workflow it is in."""
        at, state = progress(definition, self), definition.state(self.state)
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "label": at.label if at else self.state.replace("_", " ").title(),
            "step": at.step if at else None,
            "steps": at.steps if at else None,
            "canExit": state.can_exit if state else True,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a workflow is."""

    step: int
    """From 1."""
    steps: int
    label: str

    def __str__(self) -> str:
        return f"Step {self.step} of {self.steps}"


def progress(definition: WorkflowDefinition, workflow: Workflow) -> Progress | None:
    """How far the workflow is; None in a state that the definition (no longer) has."""
    state = definition.state(workflow.state)
    if state is None:
        return None
    return Progress(definition.place(state.name) + 1, len(definition.states), state.label)


def title(definition: WorkflowDefinition, data: Data) -> str | None:
    """The definition's title, filled in; None if it has none, or a value is not there yet."""
    text = definition.title
    values = {name: _value(definition, data, name) for name in PLACEHOLDER.findall(text or "")}
    if text is None or None in values.values():
        return None
    return PLACEHOLDER.sub(lambda match: values[match[1]] or "", text)


def _value(definition: WorkflowDefinition, data: Data, name: str) -> str | None:
    """A collected value as it may stand in a sentence: one line, not long."""
    for state in definition.states:
        value = data.get(state.name, {}).get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            line = "".join(c if c.isprintable() else " " for c in str(value))
            return " ".join(line.split())[:MAX_FILLED] or None
    return None
