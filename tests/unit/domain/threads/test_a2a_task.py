"""The ids and states of A2A tasks."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.domain.runs.usage import Usage
from baton.domain.threads.a2a_task import MarkStatus, TaskId, TaskState, determine_state
from baton.domain.threads.run_end import OutcomeType, RunEnd


def make_end(outcome: OutcomeType, code: str | None = None) -> RunEnd:
    return RunEnd(outcome, Usage(), error_code=code)


SUCCESS = make_end(OutcomeType.SUCCESS)
STEP = replace(SUCCESS, awaits_input=True)
QUESTION = make_end(OutcomeType.INTERRUPT)
CANCELLED = make_end(OutcomeType.CANCELLED)
ERROR = make_end(OutcomeType.ERROR, "model_error")
NO_CREDENTIALS = make_end(OutcomeType.ERROR, "token_expired")
QUEUED, REFUSED, CANCELED = MarkStatus.QUEUED, MarkStatus.REFUSED, MarkStatus.CANCELED


@pytest.mark.parametrize(
    ("ends", "fields", "state"),
    [
        ([], {}, TaskState.SUBMITTED),
        ([], {"mark": QUEUED, "is_waiting": True}, TaskState.SUBMITTED),
        ([], {"is_running": True}, TaskState.WORKING),
        ([], {"mark": REFUSED}, TaskState.REJECTED),
        ([], {"mark": CANCELED}, TaskState.CANCELED),
        ([SUCCESS], {}, TaskState.COMPLETED),
        ([SUCCESS], {"is_running": True}, TaskState.WORKING),
        ([SUCCESS], {"mark": QUEUED, "is_waiting": True}, TaskState.WORKING),
        ([SUCCESS], {"mark": QUEUED}, TaskState.COMPLETED),
        ([SUCCESS], {"mark": REFUSED}, TaskState.COMPLETED),
        ([SUCCESS], {"mark": MarkStatus.ANSWERED}, TaskState.COMPLETED),
        ([SUCCESS, QUESTION], {}, TaskState.INPUT_REQUIRED),
        ([STEP], {}, TaskState.INPUT_REQUIRED),
        ([STEP], {"is_superseded": True}, TaskState.COMPLETED),
        ([STEP], {"session_ended": True}, TaskState.COMPLETED),
        ([STEP, SUCCESS], {}, TaskState.COMPLETED),
        ([QUESTION], {}, TaskState.INPUT_REQUIRED),
        ([QUESTION], {"is_superseded": True}, TaskState.CANCELED),
        ([QUESTION], {"is_superseded": True, "session_ended": True}, TaskState.COMPLETED),
        ([QUESTION, SUCCESS], {}, TaskState.COMPLETED),
        ([SUCCESS], {"session_ended": True}, TaskState.COMPLETED),
        ([SUCCESS], {"session_ended": True, "is_running": True}, TaskState.COMPLETED),
        ([], {"session_ended": True, "is_running": True}, TaskState.WORKING),
        ([SUCCESS], {"mark": CANCELED}, TaskState.CANCELED),
        ([SUCCESS], {"mark": CANCELED, "is_running": True}, TaskState.CANCELED),
        ([CANCELLED], {}, TaskState.CANCELED),
        ([CANCELLED], {"session_ended": True}, TaskState.CANCELED),
        ([CANCELLED, SUCCESS], {}, TaskState.CANCELED),
        ([ERROR], {}, TaskState.FAILED),
        ([ERROR, SUCCESS], {"is_running": True}, TaskState.FAILED),
        ([NO_CREDENTIALS], {}, TaskState.AUTH_REQUIRED),
        ([NO_CREDENTIALS, SUCCESS], {}, TaskState.COMPLETED),
    ],
)
def test_the_state_of_a_task(ends: list[RunEnd], fields: dict[str, object], state: TaskState) -> None:
    assert determine_state(ends, **fields) is state  # type: ignore[arg-type]


ENDS = st.lists(st.sampled_from([SUCCESS, QUESTION, CANCELLED, ERROR]), max_size=5)


@given(ENDS, ENDS)
def test_a_run_that_was_cancelled_or_failed_decides(before: list[RunEnd], later: list[RunEnd]) -> None:
    state = determine_state(before)
    if state in (TaskState.CANCELED, TaskState.FAILED):
        assert determine_state([*before, *later]) is state


PRINTABLE = st.text(min_size=1, max_size=128).filter(str.isprintable)


@given(st.uuids(), PRINTABLE)
def test_the_id_of_a_task_names_its_thread_and_its_first_message(thread: uuid.UUID, root: str) -> None:
    task_id = TaskId(str(thread), root)
    assert TaskId.parse(str(task_id)) == task_id


THREAD = "550e8400-e29b-41d4-a716-446655440000"


@pytest.mark.parametrize(
    "text",
    [
        "",
        THREAD,
        f"{THREAD}.",
        f"{THREAD}/m",
        f"{THREAD.upper()}.m",
        f"{THREAD}.m%",
        f"{THREAD}.m%2",
        f"{THREAD}.%6D",
        f"{THREAD}.a b",
        f"{THREAD}.%00",
        f"{THREAD}.%FF",
        f"{THREAD}.{'m' * 129}",
        f"{THREAD}.{'%20' * 4_000}",
        "550e8400e29b41d4a716446655440000aaaa.m",
    ],
)
def test_what_is_no_id_of_a_task(text: str) -> None:
    assert TaskId.parse(text) is None


@given(st.text(max_size=200))
def test_any_text_is_read_without_fault(text: str) -> None:
    parsed = TaskId.parse(text)
    assert parsed is None or str(parsed) == text
