"""Whatever a lease's length, its times keep the order that the protocol needs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from baton.domain.threads.thread import USUAL_TIMES, LeaseTimes

LEASE_SECONDS = st.integers(6, 300)


@given(LEASE_SECONDS)
def test_a_living_worker_may_post_between_two_signs_of_life(seconds: int) -> None:
    times = LeaseTimes.of(seconds)
    assert times.refresh + times.margin < times.answer < times.lease
    assert times.renew + times.margin < times.lease


@given(LEASE_SECONDS)
def test_a_record_is_extended_before_it_is_being_lost(seconds: int) -> None:
    times = LeaseTimes.of(seconds)
    assert times.extend + times.extend_again + times.losing < times.hidden < times.hidden_again


@given(LEASE_SECONDS)
def test_nobody_waits_longer_for_a_cancellation_because_leases_are_longer(seconds: int) -> None:
    assert LeaseTimes.of(seconds).refresh <= USUAL_TIMES.refresh
