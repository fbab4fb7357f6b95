"""Records of tool calls and sub-tasks survive packing, whatever models and tools have written."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.adapters.dynamodb.record_codec import (
    pack_call,
    pack_task,
    pack_task_messages,
    unpack_call,
    unpack_task,
    unpack_task_messages,
)
from baton.domain.task import Task, TaskMessage, TaskStatus
from baton.domain.times import from_millis
from baton.domain.tool_call import ToolCallRecord
from baton.domain.usage import Usage

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
times = st.integers(0, 10**13).map(from_millis)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
calls = st.builds(
    ToolCallRecord,
    id=text,
    run_id=text,
    agent_id=text,
    tool_name=text,
    input=st.dictionaries(text, json_values, max_size=4) | text,
    output=st.none() | text,
    succeeded=st.booleans(),
    error_message=st.none() | text,
    called_at=times,
    duration=st.integers(0, 10**7).map(lambda millis: timedelta(milliseconds=millis)),
    task_id=st.none() | text,
)
messages = st.builds(TaskMessage, st.sampled_from(["user", "assistant", "tool"]), text, times, st.none() | text)
tasks = st.builds(
    Task,
    id=text,
    run_id=text,
    tool_call_id=text,
    agent_id=text,
    message=text,
    started_at=times,
    status=st.sampled_from(TaskStatus),
    result=st.none() | text,
    error=st.none() | text,
    ended_at=st.none() | times,
    usage=st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6)),
    messages=st.lists(messages, max_size=3).map(tuple),
)


@given(calls)
def test_a_call_comes_back_as_it_was(call: ToolCallRecord) -> None:
    assert there_and_back(call) == call


@given(tasks)
def test_a_task_comes_back_as_it_was(task: Task) -> None:
    said = unpack_task_messages(pack_task_messages(task.messages))
    packed = pack_task(task)
    assert unpack_task(packed, task_id=task.id, run_id=task.run_id, started_at=task.started_at, messages=said) == task


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("half \ud83d", "half \ufffd"),
        ("\ud83d\ude00", "😀"),
        ({"\udc00": ["\ud800x"]}, {"\ufffd": ["\ufffdx"]}),
        ({"x": float("inf"), "y": "é"}, '{"x": Infinity, "y": "é"}'),
    ],
    ids=repr,
)
def test_what_cannot_be_sent_as_json_is_kept_as_what_can(written: Any, kept: Any) -> None:
    call = ToolCallRecord(
        id="c",
        run_id="r",
        agent_id="a",
        tool_name="t",
        input=written,
        output=None,
        succeeded=True,
        error_message=None,
        called_at=from_millis(0),
        duration=timedelta(),
    )
    assert there_and_back(call) == replace(call, input=kept)


def there_and_back(call: ToolCallRecord) -> ToolCallRecord:
    return unpack_call(pack_call(call), call_id=call.id, run_id=call.run_id, called_at=call.called_at)
