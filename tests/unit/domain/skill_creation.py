"""A small workflow to try the rules on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from baton.domain.handoffs.workflow import Workflow
from baton.domain.handoffs.workflow_definition import WorkflowDefinition
from baton.domain.handoffs.workflow_moves import begin

NOW = datetime(2026, 3, 14, 9, 26, tzinfo=UTC)
TEXT = {"type": "string", "minLength": 1}


def collects(*required: str, **properties: Any) -> dict[str, Any]:
    """The schema of an object of these properties and no others."""
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


STATES: list[dict[str, Any]] = [
    {"name": "gather", "label": "Gathering", "collects": collects("name", "purpose", name=TEXT, purpose=TEXT)},
    {"name": "BUILD", "label": "Building"},
    {
        "name": "TEST",
        "label": "Testing",
        "collects": collects("approved", approved={"type": "boolean"}, score={"type": "number"}),
        "transitions": [{"to": "done", "when": {"field": "approved", "equals": True}}, "BUILD"],
        "can_exit": False,
    },
    {"name": "DONE", "label": "Done", "final": True},
]
FIELDS: dict[str, Any] = {"name": "skill creation", "title": "your {name} skill", "states": STATES}


def definition(*states: dict[str, Any], **changes: Any) -> WorkflowDefinition:
    """The workflow of ``STATES``, or of other states."""
    return WorkflowDefinition.model_validate({**FIELDS, "states": states or STATES, **changes})


def begin_workflow(of: WorkflowDefinition | None = None) -> Workflow:
    """A workflow that has just begun."""
    return begin(of or definition(), id="w1", agent_id="maker", thread_id="t1", now=NOW)
