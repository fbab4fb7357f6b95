"""Guided workflows in progress: their state and collected data. ``workflow_moves`` has the transitions."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from baton.domain.handoffs.workflow_definition import Data, WorkflowDefinition
from baton.domain.text import PLACEHOLDER

MAX_FILLED = 80
"""Characters of a collected value in a title."""


class WorkflowStatus(StrEnum):
    """The status of a workflow."""

    ACTIVE = "active"
    SAVED = "saved"
    """Left before its end. It can be continued."""
    COMPLETED = "completed"
    EXPIRED = "expired"
    ABANDONED = "abandoned"


UNFINISHED = frozenset({WorkflowStatus.ACTIVE, WorkflowStatus.SAVED})


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow in its current state."""

    id: str
    agent_id: str
    name: str
    """The name for the user: the title once its data are collected, otherwise ``untitled`` or the definition's name."""
    state: str
    data: Data
    """The valid collected data, by state. States that a changed definition no longer has are included."""
    thread_id: str
    version: str
    """The version of its definition."""
    updated_at: datetime
    expires_at: datetime
    status: WorkflowStatus = WorkflowStatus.ACTIVE
    result: str | None = None
    """The answer of the tool that has completed it; None without one."""
    proposals: Data = field(default_factory=dict)
    """Data, by state, that became invalid when the workflow went back. It counts only when it is collected again."""

    @property
    def own_copy(self) -> Workflow:
        """A deep copy for the code of an agent, which may change it."""
        return replace(self, data=deepcopy(self.data), proposals=deepcopy(self.proposals))

    def without_data(self) -> Workflow:
        """Return the workflow without the collected data, for its thread and for display."""
        return replace(self, data={}, proposals={}, result=None)

    def is_unfinished(self, now: datetime) -> bool:
        """Return whether it is active or can be continued."""
        return self.status in UNFINISHED and now < self.expires_at


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a workflow."""

    step: int
    """The number of the step, from 1. A completed workflow is in its last step."""
    steps: int
    """The number of states that are not final."""
    label: str
    """The label of the state."""

    def __str__(self) -> str:
        return f"Step {self.step} of {self.steps}"


def measure_progress(definition: WorkflowDefinition, workflow: Workflow) -> Progress | None:
    """Return the workflow's progress; None in a state that the definition does not have."""
    state = definition.find_state(workflow.state)
    if state is None:
        return None
    steps = [state for state in definition.states if not state.final]
    return Progress(len(steps) if state.final else steps.index(state) + 1, len(steps), state.label)


def fill_title(definition: WorkflowDefinition, data: Data) -> str | None:
    """Return the definition's title, filled in; None if it has none or a value is missing."""
    text = definition.title
    values = {path: _find_value(definition, data, path) for path in PLACEHOLDER.findall(text or "")}
    if text is None or None in values.values():
        return None
    return PLACEHOLDER.sub(lambda match: values[match[1]] or "", text)


def _find_value(definition: WorkflowDefinition, data: Data, path: str) -> str | None:
    """Return the collected text or number at ``path`` for a sentence, short and on one line; None if there is none."""
    for state in definition.states:
        value: Any = data.get(state.name, {})
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            line = "".join(character if character.isprintable() else " " for character in str(value))
            return " ".join(line.split())[:MAX_FILLED] or None
    return None
