"""Tool calls and their records."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from baton.domain.json_values import count_values, load_json
from baton.domain.runs.conversation_data import DataChange
from baton.domain.text import replace_surrogates

ASK = "ask_"
TRANSFER = "transfer_to_"
RETURN = "return_to_main"
ADVANCE = "advance_workflow"
END = "end_conversation"
SILENT = "stay_silent"
DESK_NOTE = "desk_note"
"""The name under which notes of a desk's people are stored. It is not a tool."""
BUILTIN_TOOLS = (RETURN, ADVANCE, END, SILENT, DESK_NOTE)
MAX_VALUES = 10_000
"""Values in a call's arguments. They are parsed and validated several times."""
_COMPLETING = "-done-"
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that may be half of a surrogate pair."""


def is_shown(name: str) -> bool:
    """Return whether clients see calls of the tool as tool calls. Other calls appear as events of other kinds."""
    return name not in BUILTIN_TOOLS and not name.startswith(TRANSFER)


def make_tool_name(prefix: str, agent_id: str) -> str:
    """Return the name of the tool that consults (``ASK``) or transfers to (``TRANSFER``) an agent."""
    return prefix + agent_id.replace("-", "_")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for. It is unchecked: the tool may not exist, and the arguments may not fit it."""

    id: str
    name: str
    arguments: str
    """JSON as the model wrote it, possibly malformed; ``{}`` if it wrote nothing."""
    label: str | None = field(default=None, compare=False)
    """The tool's name for people; None for its name."""

    def make_encodable(self) -> ToolCall:
        """Return the call with surrogates replaced in its name and arguments, so that UTF-8 can encode them."""
        name, arguments = replace_surrogates(self.name), replace_surrogates(self.arguments)
        if _ESCAPED_HALF.search(arguments) and (parsed := _parse(arguments)) is not None:
            arguments = replace_surrogates(json.dumps(parsed, ensure_ascii=False))
        return replace(self, name=name, arguments=arguments)

    @property
    def metadata(self) -> dict[str, Any] | None:
        """The call's metadata for clients; None without a label."""
        return {"label": self.label} if self.label is not None else None

    def parse_arguments(self) -> dict[str, Any] | None:
        """Return the arguments as an object; None if they are not an object or exceed ``MAX_VALUES``."""
        return _parse(self.arguments)


def as_object(arguments: str) -> str:
    """Return a model's arguments with two mistakes corrected: nothing becomes ``{}``, a quoted object the object."""
    if arguments in ("", "null"):
        return "{}"
    if arguments.startswith('"'):
        with suppress(ValueError):
            inner = json.loads(arguments)
            if inner.lstrip().startswith("{"):
                return str(inner)
    return arguments


class CallEnd(StrEnum):
    """The end of a call."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """It was executed, at least in part, and failed."""
    REFUSED = "refused"
    """It was not executed: a person, a rule or a limit prevented it, or it was invalid."""


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """One call of a tool and its outcome."""

    id: str
    """Unique within the thread, and the same in every attempt at the run: see ``derive_tool_call_id``."""
    run_id: str
    agent_id: str
    """The agent that called."""
    tool_name: str
    input: Mapping[str, Any] | str
    """The arguments; a text if the model did not write a JSON object."""
    output: str | None
    """The complete output, of which the model may have got a part; None if the call was stopped or refused."""
    succeeded: bool
    error_message: str | None
    called_at: datetime
    duration: timedelta
    task_id: str | None = None
    """The sub-task in which the call was made or which it started (``ask_...``); otherwise None."""
    data: DataChange | None = None
    """The call's change of the conversation's data. A worker that takes over the run applies it and does not call."""
    files: tuple[Mapping[str, Any], ...] = ()
    """The files that the call has attached, as sources of the answer."""
    sources: tuple[Mapping[str, Any], ...] = ()
    """Its other sources, without the agent that it has asked. Passages are numbered as in the asked agent's answer."""
    label: str | None = None
    """The tool's name for people; None for its name."""
    refused_to: str | None = None
    """The state to which a refusal by the tool that completes a workflow has sent it back; None without one."""


def derive_tool_call_id(
    thread_id: str, message_id: str, caller: str, tool: str, arguments: str, occurrence: int
) -> str:
    """Return the id of a call, derived from its tool and arguments.

    A worker that takes over a run asks the model again. If the model makes the same call, the call has the same id, so
    that its recorded result is used and it is not made twice. ``caller`` is the id of the agent or, within a sub-task,
    of the task. ``occurrence`` numbers equal calls of one run, from 0.
    """
    parsed = _parse(arguments)
    if parsed is not None:  # other arguments are compared as text
        arguments = json.dumps(parsed, sort_keys=True, separators=(",", ":"))
    name = "\0".join(("call", message_id, caller, tool, arguments, str(occurrence)))
    return "call_" + uuid.uuid5(uuid.UUID(thread_id), name).hex


def derive_completing_call_id(call_id: str, arguments: str) -> str:
    """Return the id of the call by which Baton completes a workflow that the model's call ``call_id`` moves to its end.

    An approval counts for these arguments only.
    """
    return f"{call_id}{_COMPLETING}{hashlib.sha256(arguments.encode()).hexdigest()[:8]}"


def make_model_call(call_id: str, name: str) -> ToolCall:
    """Return the model's own call without arguments: for a call that completes a workflow, the move that led to it."""
    first, mark, _ = call_id.partition(_COMPLETING)
    return ToolCall(first, ADVANCE if mark else name, "{}")


def _parse(arguments: str) -> dict[str, Any] | None:
    parsed = load_json(arguments) if count_values(arguments) <= MAX_VALUES else None
    return parsed if isinstance(parsed, dict) else None
