"""The real turns under schedules in which workers die, freeze, come twice and lose answers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults import counts
from tests.faults.schedules.schedule_run import Arrival, ArrivalKind, Plan, ScheduleRun
from tests.faults.schedules.simulation import Fault

FEWEST_REQUESTS = 5
"""A turn makes more requests than these, and each may go wrong."""
faults = st.tuples(st.integers(0, 1), st.one_of(st.integers(0, 6), st.integers(0, 35)), st.sampled_from(list(Fault)))


def arrivals(*kinds: ArrivalKind, **fields: Any) -> st.SearchStrategy[Arrival]:
    """An arrival within six seconds, or after the lease of a dead worker has expired."""
    return st.builds(
        Arrival,
        kind=st.sampled_from(kinds),
        at=st.one_of(st.integers(0, 60).map(lambda tenths: tenths / 10), st.sampled_from([31.0, 33.0, 52.0])),
        faults=st.lists(faults, max_size=2).map(tuple),
        **fields,
    )


contents = st.sampled_from(["Hello", "Hello", "Hello", "Something else"])
messages = arrivals(
    ArrivalKind.BY_SOCKET, ArrivalKind.BY_HTTP, message_id=st.sampled_from(["m1", "m2"]), content=contents
)
others = arrivals(ArrivalKind.CLOSE, ArrivalKind.RESUME, ArrivalKind.CANCEL)
plans = st.builds(
    Plan,
    arrivals=st.lists(messages, min_size=1, max_size=3).flatmap(
        lambda some: st.lists(others, max_size=1).map(lambda more: (*some, *more))
    ),
    delays=st.lists(st.integers(0, 9), min_size=1, max_size=5).map(tuple),
    model_seconds=st.sampled_from([0.0, 0.3, 0.9, 4.0]),
    failing=st.frozensets(st.integers(1, 3), max_size=1),
)


ONCE_BROKEN = {
    "a dead closer's piece, then a release, then a run that logs nothing": Plan(
        (
            Arrival(ArrivalKind.BY_SOCKET),
            Arrival(ArrivalKind.CLOSE, at=5.0, faults=((0, 2, Fault.DIES_AFTER),)),
            Arrival(ArrivalKind.BY_HTTP, at=40.0),
            Arrival(ArrivalKind.BY_HTTP, "m2", at=42.0),
        ),
        model_seconds=0.0,
    ),
    "a dead run, a conflicting repeat of its message, then a resume": Plan(
        (
            Arrival(ArrivalKind.BY_SOCKET, faults=((0, 9, Fault.DIES_BEFORE),)),
            Arrival(ArrivalKind.BY_HTTP, content="Something else", at=33.0),
            Arrival(ArrivalKind.RESUME, at=35.0),
        )
    ),
    "an orphan's question that a dead conflicting repeat has written": Plan(
        (
            Arrival(ArrivalKind.BY_SOCKET, faults=((0, 2, Fault.DIES_BEFORE), (1, 0, Fault.DIES_BEFORE))),
            Arrival(ArrivalKind.RESUME, at=32.0),
            Arrival(ArrivalKind.BY_HTTP, content="Something else", at=33.0, faults=((0, 5, Fault.DIES_BEFORE),)),
            Arrival(ArrivalKind.RESUME, at=70.0),
        )
    ),
    "a follower that reads what the next attempt has committed since it looked": Plan(
        (
            Arrival(ArrivalKind.BY_SOCKET, "m2", at=31.0, faults=((0, 1, Fault.FAILS), (1, 16, Fault.DIES_AFTER))),
            Arrival(ArrivalKind.BY_HTTP, "m2", faults=((0, 0, Fault.DIES_BEFORE), (1, 5, Fault.FREEZES_AFTER))),
        ),
        model_seconds=0.9,
    ),
    "a message that asked without a pause for the lease of a dead closer": Plan(
        (
            Arrival(ArrivalKind.BY_SOCKET),
            Arrival(ArrivalKind.CLOSE, at=5.0, faults=((0, 1, Fault.DIES_AFTER),)),
            Arrival(ArrivalKind.BY_HTTP, "m2", at=6.0),
        ),
        delays=(0,),
    ),
}


@pytest.mark.parametrize("name", ONCE_BROKEN)
def test_what_was_once_broken_stays_mended(name: str) -> None:
    ScheduleRun(ONCE_BROKEN[name]).run()


@settings(max_examples=counts.GENERATED, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
@given(plan=plans)
def test_store_screens_and_callers_agree_after_every_schedule(plan: Plan) -> None:
    ScheduleRun(plan).run()


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("kind", [ArrivalKind.BY_SOCKET, pytest.param(ArrivalKind.BY_HTTP, marks=pytest.mark.nightly)])
def test_every_request_of_a_turn_may_go_wrong(kind: ArrivalKind, fault: Fault) -> None:
    for step in itertools.count():
        first = Arrival(kind, faults=((0, step, fault),))
        schedule = ScheduleRun(Plan((first, Arrival(ArrivalKind.BY_SOCKET, "m2", at=0.2)), model_seconds=0.6))
        schedule.run()
        if schedule.first_requests <= step:  # nothing went wrong: the turn makes no more requests
            break
    assert step > FEWEST_REQUESTS
