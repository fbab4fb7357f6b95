"""The note on its workflow that a specialist's model gets."""

from __future__ import annotations

import json

from baton.domain.workflow import Workflow, progress
from baton.domain.workflow_definition import WorkflowDefinition
from baton.domain.workflow_moves import missing, open_ways

MAX_TOLD = 8_000
"""Characters of collected data in the note. All data is stored."""


def workflow_note(definition: WorkflowDefinition, workflow: Workflow) -> str:
    """Return the note: the current state, its instructions, collected and missing data, possible moves."""
    state, at = definition.state(workflow.state), progress(definition, workflow)
    if state is None or at is None:
        return f"Workflow: {definition.name}. It is in no state it knows."
    collected = workflow.data.get(state.name, {})
    before = _json({name: fields for name, fields in workflow.data.items() if name != state.name and fields})
    lines = [
        f"Workflow: {definition.name}. The user is shown: {at}: {at.label}.",
        f"State: {state.name}",
        f"What to do here: {' '.join(state.instructions.split())}" if state.instructions else "",
        f"Data of this state, as JSON Schema: {_json(state.collects)}" if state.collects else "",
        f"Collected in this state: {_cut(_json(collected))}" if state.collects else "",
        f"Collected in other states: {_cut(before)}" if before != "{}" else "",
        f"Still missing: {', '.join(missing(definition, workflow))}" if missing(definition, workflow) else "",
        "" if state.final else f"Possible next states: {', '.join(open_ways(definition, workflow)) or 'none yet'}",
    ]
    return "\n".join(line for line in lines if line)


def _cut(told: str) -> str:
    return told if len(told) <= MAX_TOLD else f"{told[:MAX_TOLD]}... (cut)"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
