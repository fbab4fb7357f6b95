"""The real turns under schedules in which workers die, freeze, come twice and lose answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.lease_protocol.schedules import Arrival, Comes, Performance, Plan
from tests.unit.lease_protocol.theatre import Fault

faults = st.tuples(st.integers(0, 1), st.integers(0, 35), st.sampled_from(list(Fault)))


def arrivals(*comes: Comes, **fields: Any) -> st.SearchStrategy[Arrival]:
    """Somebody who comes within six seconds, or when a dead worker's lease has run out."""
    return st.builds(
        Arrival,
        comes=st.sampled_from(comes),
        at=st.one_of(st.integers(0, 60).map(lambda tenths: tenths / 10), st.sampled_from([31.0, 33.0, 52.0])),
        faults=st.lists(faults, max_size=2).map(tuple),
        **fields,
    )


contents = st.sampled_from(["Hello", "Hello", "Hello", "Something else"])
messages = arrivals(Comes.BY_SOCKET, Comes.BY_HTTP, message_id=st.sampled_from(["m1", "m2"]), content=contents)
others = arrivals(Comes.CLOSE, Comes.RESUME, Comes.CANCEL)
plans = st.builds(
    Plan,
    arrivals=st.lists(messages, min_size=1, max_size=3).flatmap(
        lambda some: st.lists(others, max_size=1).map(lambda more: (*some, *more))
    ),
    delays=st.lists(st.integers(0, 9), min_size=1, max_size=5).map(tuple),
    model_seconds=st.sampled_from([0.0, 0.3, 0.9, 4.0]),
    failing=st.frozensets(st.integers(1, 3), max_size=1),
)


@settings(max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)
@given(plan=plans)
def test_store_screens_and_callers_agree_after_every_schedule(plan: Plan) -> None:
    Performance(plan).run()


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("comes", [Comes.BY_SOCKET, Comes.BY_HTTP])
def test_every_request_of_a_turn_may_go_wrong(comes: Comes, fault: Fault) -> None:
    for step in range(45):
        first = Arrival(comes, faults=((0, step, fault),))
        Performance(Plan((first, Arrival(Comes.BY_SOCKET, "m2", at=0.2)), model_seconds=0.6)).run()
