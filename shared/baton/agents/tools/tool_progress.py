"""The progress of a tool's call, as an activity of the conversation."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable

from ag_ui.core import ActivitySnapshotEvent, BaseEvent

from baton.agents.attempt_context import EmitEvent
from baton.domain.runs.tool_call import CallEnd, ToolCall
from baton.domain.threads.run_events import activity, activity_change

KIND = "progress"
MAX_LABEL = 200
"""Characters of a label."""
MAX_LABELS = 20
"""Labels of one call that are shown at once. Later ones are shown at most every ``PAUSE_SECONDS``."""
PAUSE_SECONDS = 2.0


class ToolProgress:
    """The progress that a call reports, as users see it. Nothing is shown of a call that reports nothing."""

    def __init__(self, call: ToolCall, activity_id: str, emit: EmitEvent) -> None:
        """``activity_id`` is the id for all calls of one answer; each call has a separate activity."""
        self._call = call
        self._id = str(uuid.uuid5(uuid.UUID(activity_id), call.id))
        self._emit = emit
        self._labels = 0
        self._has_ended = False
        self._last = self._waiting = ""
        self._shown_at = 0.0

    def report(self, label: str) -> None:
        """Show a label in place of the previous one."""
        label = " ".join(str(label).split())[:MAX_LABEL]
        if not label or label == self._last or self._has_ended:  # what a call has begun may outlast it
            return
        now = asyncio.get_running_loop().time()
        if self._labels >= MAX_LABELS and now - self._shown_at < PAUSE_SECONDS:
            self._waiting = label
            return
        # Whole, and not as a change: bridges to A2A and MCP pass on what they need not patch.
        content = {"toolCallId": self._call.id, "tool": self._call.name, "label": label, "status": "working"}
        self._emit(activity(self._id, KIND, content))
        self._labels, self._last, self._waiting, self._shown_at = self._labels + 1, label, "", now

    def end(self, end: CallEnd) -> None:
        """Show how the call has ended, with the label that still waits. Later reports are not shown."""
        self._has_ended = True
        if self._labels:
            changes = {"/label": self._waiting} if self._waiting else {}
            self._emit(activity_change(self._id, KIND, {**changes, "/status": end.value}))


def progress_reporter(report: Callable[[str], None]) -> EmitEvent:
    """Return a receiver of a consulted agent's events: ``report`` gets the labels of tools, the rest is dropped."""

    def emit(event: BaseEvent) -> None:
        if isinstance(event, ActivitySnapshotEvent) and event.activity_type == KIND:
            report(event.content["label"])

    return emit
