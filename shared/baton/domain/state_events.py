"""Events that show the active agent and the state of its workflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ag_ui.core import ActivitySnapshotEvent, StateDeltaEvent, StepFinishedEvent, StepStartedEvent

from baton.domain.agent import AgentDefinition
from baton.domain.tool_events import activity

HANDOFF = "handoff"
RETURN = "return"


def handed_over(
    activity_id: str, kind: str, source: AgentDefinition, target: AgentDefinition, label: str, reason: str
) -> ActivitySnapshotEvent:
    """Return the notice that ``target`` is active; ``kind`` says whether by a handoff or a return."""
    content = {"from": source.id, "to": target.id, "label": label, "reason": reason}
    return activity(activity_id, kind, content)


def state_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[StateDeltaEvent]:
    """Yield an event for each changed part of a thread's state."""
    for name, value in after.items():
        if name not in before or before[name] != value:
            yield StateDeltaEvent(delta=[{"op": "replace", "path": f"/{name}", "value": value}])


def step_started(state: str) -> StepStartedEvent:
    """Return STEP_STARTED for the workflow's ``state``."""
    return StepStartedEvent(step_name=state)


def step_finished(state: str) -> StepFinishedEvent:
    """Return STEP_FINISHED for the workflow's ``state``, when it leaves it or the run ends."""
    return StepFinishedEvent(step_name=state)
