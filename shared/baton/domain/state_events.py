"""The events that show which agent is active, and how far a workflow is."""

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
    """The notice that ``target`` is active; ``kind`` tells a handoff from a return."""
    content = {"from": source.id, "to": target.id, "label": label, "reason": reason}
    return activity(activity_id, kind, content)


def state_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[StateDeltaEvent]:
    """What has changed in a thread's state, an event for each of its parts."""
    for name, value in after.items():
        if name not in before or before[name] != value:
            yield StateDeltaEvent(delta=[{"op": "replace", "path": f"/{name}", "value": value}])


def step_started(state: str) -> StepStartedEvent:
    """The workflow is in ``state``."""
    return StepStartedEvent(step_name=state)


def step_finished(state: str) -> StepFinishedEvent:
    """The workflow has left ``state``, or the run ends with it there."""
    return StepFinishedEvent(step_name=state)
