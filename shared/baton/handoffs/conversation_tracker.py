"""The conversation state of a run as it changes, and the events that show its changes to clients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ag_ui.core import BaseEvent

from baton.domain.run_events import state_changes, step_finished, step_started
from baton.domain.running_conversation import RunningConversation


class ConversationTracker:
    """Holds the current conversation state of one run. Code that computes the next state stores it here."""

    def __init__(self, conversation: RunningConversation) -> None:
        self.current = conversation
        self._step: str | None = None
        """The workflow state that clients are shown."""

    def step_begins(self) -> Iterator[BaseEvent]:
        """Show the current state of the workflow."""
        workflow = self.current.workflow
        if workflow is not None and self._step is None:
            self._step = workflow.state
            yield step_started(self._step)

    def step_ends(self) -> Iterator[BaseEvent]:
        """End the state that is shown, if one is."""
        if self._step is not None:
            step, self._step = self._step, None
            yield step_finished(step)

    def changes_since(self, before: Mapping[str, Any]) -> Iterator[BaseEvent]:
        """Show what has changed since clients were shown ``before``."""
        yield from state_changes(before, self.current.shown)
