"""Indicators of work in progress for users: consulted agents, and reports of tools."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence

from ag_ui.core import ActivitySnapshotEvent, BaseEvent

from baton.agents.attempt_context import EmitEvent
from baton.concurrency.tasks import stop_all
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.sentences import write_sentence
from baton.domain.runs.task import TaskStatus
from baton.domain.runs.tool_call import CallEnd, ToolCall
from baton.domain.threads.run_events import make_activity, make_activity_change

RESEARCH = "research"
UPDATE_SECONDS = 8.0
"""The time between updates. The protocol promises clients one at least every ten seconds."""
LONG_SECONDS = 30.0
"""The time after which the user sees that the work takes longer than expected."""
MAX_LABELS = 20
"""Labels of one agent's work, or of one call, that are shown without a delay.

Later labels of an agent wait for the next update, and those of a call until ``PAUSE_SECONDS`` have passed.
"""
PROGRESS = "progress"
MAX_LABEL = 200
"""Characters of a tool's label."""
PAUSE_SECONDS = 2.0
"""The least time between the labels of one call after the first ``MAX_LABELS``."""


class ProgressIndicator:
    """An activity that shows the consulted agents, as an async context manager around the wait."""

    def __init__(
        self, message_id: str, asking: AgentDefinition, definitions: Sequence[AgentDefinition], emit: EmitEvent
    ) -> None:
        self._message_id = message_id
        self._asking = asking
        self._agents = [
            {"id": agent.id, "name": agent.name, "status": TaskStatus.WORKING.value} for agent in definitions
        ]
        self._emit = emit
        self._reporters: dict[str, int] = {}
        """The number of reporters by agent id: one for each question to the agent."""
        self._labels: dict[int, str] = {}
        """The labels that wait for the next update, by the position of their agent."""
        self._updates: asyncio.Future[None] | None = None

    async def __aenter__(self) -> ProgressIndicator:
        content = {"label": write_sentence(self._asking, "researching"), "agents": self._agents, "notice": None}
        self._emit(make_activity(self._message_id, RESEARCH, content))
        self._updates = asyncio.ensure_future(self._send_updates())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._updates is not None:
            await stop_all(self._updates)

    def show_end(self, agent_id: str, status: TaskStatus) -> None:
        """Show that an agent has ended one question. An agent that was asked twice ends twice."""
        for index, agent in enumerate(self._agents):
            if agent["id"] == agent_id and agent["status"] == TaskStatus.WORKING.value:
                agent["status"] = status.value
                self._emit(make_activity_change(self._message_id, RESEARCH, {f"/agents/{index}/status": status.value}))
                return

    def make_reporter(self, agent_id: str) -> Callable[[str], None]:
        """Return a function that shows an agent's reports on its work. Each question needs a new reporter."""
        positions = [index for index, agent in enumerate(self._agents) if agent["id"] == agent_id]
        number = self._reporters.get(agent_id, 0)
        self._reporters[agent_id] = number + 1
        position = positions[min(number, len(positions) - 1)]
        count, last = 0, ""

        def report(label: str) -> None:
            nonlocal count, last
            if not label or label == last:
                return
            count, last = count + 1, label
            if count <= MAX_LABELS:
                self._emit(make_activity_change(self._message_id, RESEARCH, {f"/agents/{position}/label": label}))
            else:
                self._labels[position] = label

        return report

    async def _send_updates(self) -> None:
        """Show the waited time, the waiting labels and, after ``LONG_SECONDS``, a notice, until cancelled."""
        waited_seconds = 0.0
        is_notice_shown = False
        while True:
            pause = UPDATE_SECONDS if is_notice_shown else min(UPDATE_SECONDS, LONG_SECONDS - waited_seconds)
            await asyncio.sleep(pause)
            waited_seconds += pause
            changes: dict[str, object] = {"/waitedSeconds": round(waited_seconds)}
            changes |= {f"/agents/{index}/label": label for index, label in self._labels.items()}
            self._labels.clear()
            if waited_seconds >= LONG_SECONDS and not is_notice_shown:
                is_notice_shown = True
                changes["/notice"] = write_sentence(self._asking, "still_waiting")
            self._emit(make_activity_change(self._message_id, RESEARCH, changes))


class ToolProgress:
    """The progress of a call, for users. Nothing is shown for a call that reports nothing."""

    def __init__(self, call: ToolCall, activity_id: str, emit: EmitEvent) -> None:
        """``activity_id`` belongs to all calls of one answer. The id of the call's activity is derived from it."""
        self._call = call
        self._id = str(uuid.uuid5(uuid.UUID(activity_id), call.id))
        self._emit = emit
        self._labels = 0
        self._has_ended = False
        self._last = self._waiting = ""
        self._shown_at = 0.0

    def report(self, label: str) -> None:
        """Show a label, cut to ``MAX_LABEL``, in place of the previous one.

        After ``MAX_LABELS`` labels, a label that comes within ``PAUSE_SECONDS`` of the shown one waits for ``end``, and
        is dropped if another one follows.
        """
        label = " ".join(str(label).split())[:MAX_LABEL]
        if not label or label == self._last or self._has_ended:  # a call's own asyncio tasks may outlast it
            return
        now = asyncio.get_running_loop().time()
        if self._labels >= MAX_LABELS and now - self._shown_at < PAUSE_SECONDS:
            self._waiting = label
            return
        # A whole activity, because the bridges to A2A and MCP apply no changes to activities.
        content = {"toolCallId": self._call.id, "tool": self._call.name, "label": label, "status": "working"}
        self._emit(make_activity(self._id, PROGRESS, content))
        self._labels, self._last, self._waiting, self._shown_at = self._labels + 1, label, "", now

    def end(self, end: CallEnd) -> None:
        """Show how the call ended, and its last label if that still waits. Later reports are not shown."""
        self._has_ended = True
        if self._labels:
            changes = {"/label": self._waiting} if self._waiting else {}
            self._emit(make_activity_change(self._id, PROGRESS, {**changes, "/status": end.value}))


def make_label_receiver(report: Callable[[str], None]) -> EmitEvent:
    """Return a receiver of a consulted agent's events: ``report`` gets the labels of tools that are shown at once.

    All other events are dropped.
    """

    def emit(event: BaseEvent) -> None:
        if isinstance(event, ActivitySnapshotEvent) and event.activity_type == PROGRESS:
            report(event.content["label"])

    return emit
