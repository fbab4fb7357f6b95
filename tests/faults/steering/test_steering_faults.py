"""Messages to a run in progress: each enters once, has one turn or is withdrawn, whatever dies, repeats or stops."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from baton_testing.virtual_time import VirtualTimeLoop
from tests.faults import counts
from tests.faults.steering.journey import Act, Journey

CASES = max(20, counts.scale(18))
LONGEST = 80
"""Calls of ports after which a process is not killed any more."""

sending = st.builds(
    Act,
    st.integers(0, 12).map(lambda tenths: tenths / 4),
    st.just("send"),
    st.integers(1, 3),
    st.sampled_from([None, "queue", "steer", "interrupt"]),
    st.sampled_from(["socket", "http"]),
)
other = st.builds(
    Act,
    st.integers(0, 8).map(lambda tenths: tenths / 4),
    st.sampled_from(["withdraw", "withdraw", "cancel"]),
    st.integers(1, 3),
    st.none(),
    st.just("http"),
)
journeys = st.lists(st.one_of(sending, sending, other), min_size=1, max_size=7)
kills = st.dictionaries(st.integers(1, 9), st.tuples(st.integers(1, LONGEST), st.booleans()), max_size=3)

INTERRUPTED_SUCCESSOR = [
    Act(0.0, "send", 1, None, "socket"),
    Act(0.0, "withdraw", 1, None, "http"),
    Act(0.0, "send", 1, None, "socket"),
    Act(0.0, "send", 1, "interrupt", "socket"),
    Act(0.0, "send", 2, None, "socket"),
    Act(0.0, "send", 1, None, "socket"),
    Act(0.0, "send", 1, None, "socket"),
]
"""The second message enters a run whose worker dies; the next worker is interrupted before it comes to that place."""


WITHDRAWN_SUCCESSOR = [Act(0.25, "send", 2, None, "http"), Act(0.25, "withdraw", 2, None, "http")]
"""The first worker dies before it has stored anything. The second message takes its place, and was withdrawn."""


def travel(acts: list[Act], rounds: int, killed: dict[int, tuple[int, bool]]) -> Journey:
    async def run() -> Journey:
        journey = Journey(acts, rounds=rounds, kills=killed)
        await journey.travel()
        await journey.check()
        return journey

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(run())


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(journeys, st.integers(0, 3), kills)
@example(INTERRUPTED_SUCCESSOR, 1, {2: (11, False)})
@example(WITHDRAWN_SUCCESSOR, 0, {2: (2, False)})
def test_each_message_enters_once_has_one_turn_or_is_withdrawn(
    acts: list[Act], rounds: int, killed: dict[int, tuple[int, bool]]
) -> None:
    counts.cases["messages to runs"] += 1
    counts.faults.update(travel(acts, rounds, killed).happened)


@pytest.mark.parametrize(
    ("process", "after"),
    [
        (2, True),
        (3, False),
        pytest.param(2, False, marks=pytest.mark.nightly),
        pytest.param(3, True, marks=pytest.mark.nightly),
    ],
)
def test_a_process_that_is_killed_at_any_call_changes_no_outcome(process: int, after: bool) -> None:
    """Process 2 is the worker of the run, 3 the one that takes the message that enters it."""
    entries = 0
    for at in range(1, LONGEST):
        journey = travel([Act(0.5, "send", 1, "steer", "socket")], 2, {process: (at, after)})
        entries += journey.happened["entered"]
    assert entries > LONGEST / 2  # a message that comes before the run has begun does not enter it
