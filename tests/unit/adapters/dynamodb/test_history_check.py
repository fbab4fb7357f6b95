"""Histories that are read without consistency: only the committed one passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from baton.adapters.dynamodb.threads.history_check import BEFORE, ends_plainly, is_current
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.thread import Thread
from baton.domain.times import from_millis
from tests.contracts.fake_stores import in_memory
from tests.contracts.stores import new_thread_id


@pytest.fixture
async def thread() -> Thread:
    """A thread of three runs. The second one was taken over, so its messages bear the fence 3."""
    stores = in_memory()
    lease = await stores.acquire(new_thread_id())
    return replace(lease.thread, next_ordinal=6, messages_fence=4)


def make_items(*fences: int, before: dict[int, int]) -> list[dict[str, Any]]:
    """Return items of the messages from 0 on, with their fences and the fences before some of them."""
    return [
        {"SK": f"MSG#{ordinal:012d}", "fence": fence, **({BEFORE: before[ordinal]} if ordinal in before else {})}
        for ordinal, fence in enumerate(fences)
    ]


COMMITTED = make_items(1, 1, 3, 3, 4, 4, before={2: 1, 4: 3})


def test_the_committed_history_passes_whole_and_in_part(thread: Thread) -> None:
    assert all(is_current(COMMITTED[first:], thread) for first in range(6))


@pytest.mark.parametrize("missing", range(1, 6))
def test_a_history_with_a_gap_does_not_pass(thread: Thread, missing: int) -> None:
    assert not is_current([*COMMITTED[:missing], *COMMITTED[missing + 1 :]], thread)


def test_no_messages_do_not_pass(thread: Thread) -> None:
    assert not is_current([], thread)


@pytest.mark.parametrize(
    "fences",
    [
        pytest.param((1, 1, 3, 3, 2, 4), id="a question that was written again"),
        pytest.param((1, 1, 3, 3, 4, 2), id="an answer that was written again"),
        pytest.param((1, 1, 2, 3, 4, 4), id="an earlier question that was written again"),
        pytest.param((1, 1, 2, 2, 4, 4), id="a whole earlier run that was written again"),
        pytest.param((0, 1, 3, 3, 4, 4), id="the first message"),
    ],
)
def test_what_a_dead_worker_wrote_does_not_pass(thread: Thread, fences: tuple[int, ...]) -> None:
    assert not is_current(make_items(*fences, before={2: 1, 4: 3}), thread)


def test_messages_of_an_earlier_version_do_not_pass(thread: Thread) -> None:
    assert not is_current(make_items(1, 1, 3, 3, 4, 4, before={}), thread)


@pytest.mark.parametrize(
    ("roles", "passes"),
    [
        pytest.param((Role.USER, Role.ASSISTANT), True, id="question and answer"),
        pytest.param((Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT), True, id="with a tool's result"),
        pytest.param((Role.USER,), False, id="a question without an answer"),
        pytest.param((Role.TOOL, Role.ASSISTANT), False, id="an approved call"),
        pytest.param((Role.ASSISTANT,), False, id="an action"),
    ],
)
def test_only_a_question_with_its_answer_ends_plainly(roles: tuple[Role, ...], passes: bool) -> None:
    messages = [
        StoredMessage(f"m{ordinal}", role, "Hi", ordinal + 2, "r", from_millis(0), 1)
        for ordinal, role in enumerate(roles)
    ]
    items = make_items(1, 1, *(2 for _ in roles), before={2: 1})
    assert ends_plainly(messages, items[2:]) is passes


def test_a_run_whose_beginning_was_not_read_does_not_end_plainly() -> None:
    last = StoredMessage("m1", Role.ASSISTANT, "Hi", 5, "r", from_millis(0), 1)
    assert not ends_plainly([last], COMMITTED[5:])
