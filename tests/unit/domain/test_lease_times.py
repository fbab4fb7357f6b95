"""Shorter leases, as tests have them, are those of a deployment at another scale."""

from __future__ import annotations

from dataclasses import astuple

import pytest

from baton.domain.lease_times import DEFAULT_LEASE_SECONDS, USUAL_TIMES, LeaseTimes


def test_the_times_of_the_usual_lease_are_the_usual_ones() -> None:
    assert LeaseTimes.of(DEFAULT_LEASE_SECONDS) == USUAL_TIMES


def test_all_times_keep_their_proportion_to_the_lease() -> None:
    shares = [short / usual for short, usual in zip(astuple(LeaseTimes.of(6)), astuple(USUAL_TIMES), strict=True)]
    assert shares == pytest.approx([0.2] * len(shares))


def test_a_worker_notices_that_it_loses_its_record_before_the_record_comes_again() -> None:
    assert USUAL_TIMES.losing < USUAL_TIMES.hidden - 2 * USUAL_TIMES.extend
    assert USUAL_TIMES.refresh < USUAL_TIMES.answer < USUAL_TIMES.renew < USUAL_TIMES.lease
