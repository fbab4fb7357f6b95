"""The record of a tool call: for the audit, and for the turns that follow."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from baton.domain.json_values import count_values
from baton.domain.times import iso

ASK = "ask_"
TRANSFER = "transfer_to_"
RETURN = "return_to_main"
ADVANCE = "advance_workflow"
END = "end_conversation"
OWN_TOOLS = (RETURN, ADVANCE, END)
MAX_VALUES = 10_000
"""Values that a call's arguments may hold. They are parsed and checked again and again."""


def is_own(name: str) -> bool:
    """Whether a tool's name is one that only Baton itself may give."""
    return name in OWN_TOOLS or name.startswith((ASK, TRANSFER))


def is_shown(name: str) -> bool:
    """Whether clients see calls of the tool as such; the others show as events of their own (protocol: events)."""
    return name not in OWN_TOOLS and not name.startswith(TRANSFER)


def tool_name(prefix: str, agent_id: str) -> str:
    """The name of the tool that asks, or transfers to, an agent."""
    return prefix + agent_id.replace("-", "_")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for.

    Nothing of it has been checked: the tool may not exist, the arguments may not fit it.
    """

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it, which may be malformed; ``{}`` where it wrote nothing."""

    def parsed(self) -> dict[str, Any] | None:
        """The arguments as an object; None where they are none, or hold more values than anybody would look at."""
        return _parsed(self.arguments)


class CallEnd(StrEnum):
    """How a call ended, as it is labelled wherever it is shown."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """It was made, or begun, and came to nothing."""
    REFUSED = "refused"
    """It was never made: a person, a rule or a limit was against it, or it was no sensible call."""


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
    parsed = _parsed(arguments)
    if parsed is not None:  # what is no object is compared as it stands
        arguments = json.dumps(parsed, sort_keys=True, separators=(",", ":"))
    name = "\0".join(("call", message_id, caller, tool, arguments, str(occurrence)))
    return "call_" + uuid.uuid5(uuid.UUID(thread_id), name).hex


def _parsed(arguments: str) -> dict[str, Any] | None:
    try:
        parsed = json.loads(arguments) if count_values(arguments) <= MAX_VALUES else None
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None
