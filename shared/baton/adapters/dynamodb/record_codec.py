"""Records of tool calls and sub-tasks as compact bytes: everything that no key or condition needs."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from baton.adapters.dynamodb.codec import pack, unpack
from baton.domain.task import Task, TaskMessage, TaskStatus
from baton.domain.times import from_millis, to_millis
from baton.domain.tool_call import ToolCallRecord
from baton.domain.usage import Usage

_MILLISECOND = timedelta(milliseconds=1)


def pack_call(call: ToolCallRecord) -> bytes:
    """Return a tool call without its id, run and time, which its item tells. Fields at their defaults are left out."""
    body: dict[str, Any] = {
        "a": call.agent_id,
        "n": call.tool_name,
        "i": call.input if isinstance(call.input, str) else _standard(dict(call.input)),
        "o": call.output,
        "s": call.succeeded or None,
        "e": call.error_message,
        "d": call.duration // _MILLISECOND,
        "t": call.task_id,
    }
    return pack({key: value for key, value in body.items() if value is not None})


def unpack_call(packed: bytes, *, call_id: str, run_id: str, called_at: datetime) -> ToolCallRecord:
    """Return the call whose keyed attributes are given and whose rest was packed."""
    body = unpack(packed)
    return ToolCallRecord(
        id=call_id,
        run_id=run_id,
        agent_id=body["a"],
        tool_name=body["n"],
        input=body["i"],
        output=body.get("o"),
        succeeded=body.get("s", False),
        error_message=body.get("e"),
        called_at=called_at,
        duration=body["d"] * _MILLISECOND,
        task_id=body.get("t"),
    )


def pack_task(task: Task) -> bytes:
    """Return a sub-task without its id, run, start and messages."""
    body: dict[str, Any] = {
        "c": task.tool_call_id,
        "a": task.agent_id,
        "m": task.message,
        "s": task.status.value,
        "r": task.result,
        "e": task.error,
        "t": to_millis(task.ended_at) if task.ended_at is not None else None,
        "u": [task.usage.input_tokens, task.usage.output_tokens],
    }
    return pack({key: value for key, value in body.items() if value is not None})


def unpack_task(
    packed: bytes, *, task_id: str, run_id: str, started_at: datetime, messages: tuple[TaskMessage, ...] = ()
) -> Task:
    """Return the sub-task whose keyed attributes are given and whose rest was packed."""
    body = unpack(packed)
    return Task(
        id=task_id,
        run_id=run_id,
        tool_call_id=body["c"],
        agent_id=body["a"],
        message=body["m"],
        started_at=started_at,
        status=TaskStatus(body["s"]),
        result=body.get("r"),
        error=body.get("e"),
        ended_at=from_millis(body["t"]) if "t" in body else None,
        usage=Usage(*body["u"]),
        messages=messages,
    )


def pack_task_messages(messages: tuple[TaskMessage, ...]) -> bytes:
    """What was said in a sub-task."""
    return pack([[m.role, m.content, to_millis(m.timestamp), m.tool_name] for m in messages])


def unpack_task_messages(packed: bytes) -> tuple[TaskMessage, ...]:
    """What ``pack_task_messages`` packed."""
    return tuple(TaskMessage(role, content, from_millis(at), tool) for role, content, at, tool in unpack(packed))


def _standard(arguments: dict[str, Any]) -> dict[str, Any] | str:
    """Return the arguments; as text where they hold NaN or an infinity, which Python reads and JSON does not know."""
    try:
        json.dumps(arguments, allow_nan=False)
    except ValueError:
        return json.dumps(arguments, ensure_ascii=False)
    return arguments
