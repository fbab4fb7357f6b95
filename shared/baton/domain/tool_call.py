"""The record of a tool call: for the audit, and for the turns that follow (T6)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from baton.domain.times import iso


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """One call of one tool, with what came of it."""

    id: str
    """Unique within the thread, and the same for every attempt at the run: see ``tool_call_id``."""
    run_id: str
    agent_id: str
    """The agent that called."""
    tool_name: str
    input: Mapping[str, Any] | str
    """The arguments; as text where the model wrote something that is no JSON object."""
    output: str | None
    """Whole, however much of it the model was shown; None if the call was stopped or refused."""
    succeeded: bool
    error_message: str | None
    called_at: datetime
    duration: timedelta
    task_id: str | None = None
    """The sub-task the call was made in, or the one that it made (``ask_...``); None: by the run's own agent."""

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "runId": self.run_id,
            "taskId": self.task_id,
            "agentId": self.agent_id,
            "toolName": self.tool_name,
            "input": self.input if isinstance(self.input, str) else dict(self.input),
            "output": self.output,
            "succeeded": self.succeeded,
            "errorMessage": self.error_message,
            "calledAt": iso(self.called_at),
            "durationMs": self.duration // timedelta(milliseconds=1),
        }


def tool_call_id(thread_id: str, message_id: str, caller: str, tool: str, arguments: str, occurrence: int) -> str:
    """The id of a call, derived from what is called.

    A worker that takes a run over asks the model again; where the model wants the same again, the call has the same
    id, so that its recorded result is used and nothing is done twice. ``caller`` is the agent's id or, within a
    sub-task, the task's; ``occurrence`` tells equal calls of one run apart, from 0.
    """
    try:
        arguments = json.dumps(json.loads(arguments), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        pass  # what is no JSON is compared as it stands
    name = "\0".join(("call", message_id, caller, tool, arguments, str(occurrence)))
    return "call_" + uuid.uuid5(uuid.UUID(thread_id), name).hex
