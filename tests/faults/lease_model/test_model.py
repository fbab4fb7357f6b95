"""The lease protocol holds whatever happens in whatever order, and would not if any of its rules were missing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import fields, replace

import pytest

from tests.faults.lease_model.exploration import Exploration, Violation
from tests.faults.lease_model.state import NOBODY, Kind, Pc, Rules, Worker

HELLO = Worker(Kind.MESSAGE, 0)
OTHER = Worker(Kind.MESSAGE, 1)
CONFLICT = Worker(Kind.MESSAGE, 0, digest=1)
"""The message id of HELLO with other content."""
DELIVERED = Worker(Kind.DELIVERY, 0, pc=Pc.READ)
ALSO_DELIVERED = Worker(Kind.DELIVERY, 1, pc=Pc.READ)
CLOSER = Worker(Kind.CLOSE, NOBODY)
SWEEPER = Worker(Kind.FINISH, NOBODY)

CASES = {
    "delivered twice": (HELLO, HELLO),
    "delivered three times": (HELLO, HELLO, HELLO),
    "two messages": (HELLO, OTHER),
    "two messages, one delivered twice": (HELLO, HELLO, OTHER),
    "a message and a close": (HELLO, CLOSER),
    "delivered twice, and a close": (HELLO, HELLO, CLOSER),
    "closed twice": (HELLO, CLOSER, CLOSER),
    "a conflicting repeat and a resume": (HELLO, CONFLICT, SWEEPER),
    "a delivery twice": (DELIVERED, DELIVERED),
    "two deliveries": (DELIVERED, ALSO_DELIVERED),
    "two deliveries, one of them twice": (DELIVERED, DELIVERED, ALSO_DELIVERED),
    "a delivery and a message": (DELIVERED, OTHER),
    "a delivery, a message and a close": (DELIVERED, OTHER, CLOSER),
}
NIGHTLY = ("two deliveries, one of them twice", "a delivery, a message and a close")
"""Cases with so many states that only ``make all`` explores them."""
NOTICED_BY = {
    "fenced_messages": (HELLO, HELLO),
    "fenced_turns": (HELLO, HELLO, OTHER),
    "fenced_commit": (HELLO, HELLO),
    "turn_opened_once": (HELLO, HELLO),
    "done_check": (HELLO, HELLO),
    "orphan_first": (HELLO, OTHER, SWEEPER),
    "takeover_counts": (HELLO, CONFLICT, SWEEPER),
    "numbers_reserved": (HELLO, HELLO),
    "jump_announced": (HELLO, HELLO),
    "release_returns_own_numbers": (HELLO, CLOSER, CLOSER),
    "adoption_needs_same_writer": (HELLO, HELLO),
    "adoption_needs_nobody_between": (HELLO, HELLO, CLOSER),
    "dead_pieces_ignored": (HELLO, CLOSER, CLOSER),
    "digest_before_writing": (HELLO, CONFLICT, SWEEPER),
    "delivery_writes_once": (DELIVERED, ALSO_DELIVERED),
    "delivery_commits_what_it_read": (DELIVERED, OTHER),
}
"""For each rule, workers that come to grief without it."""


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Hundreds of thousands of tuples, none of them in a cycle: looking for garbage takes most of the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.nightly) if case in NIGHTLY else case for case in CASES]
)
def test_nothing_is_lost_in_any_order_of_steps_and_deaths(case: str) -> None:
    exploration = Exploration(CASES[case])
    exploration.run()
    print(f"{case}: {exploration.states} states, {exploration.stored} contents of the store")  # noqa: T201
    assert exploration.states > 300


@pytest.mark.parametrize("rule", [field.name for field in fields(Rules)])
def test_every_rule_is_needed(rule: str) -> None:
    exploration = Exploration(NOTICED_BY[rule], replace(Rules(), **{rule: False}))
    with pytest.raises(Violation):
        exploration.run()
