"""Intervals and tests of differences: known values, and rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_testing.evals.intervals import compute_mcnemar_p, compute_wilson_interval, estimate_mean, estimate_rate

shares = st.floats(0, 1)


@pytest.mark.parametrize(
    ("passes", "runs", "low", "high"),
    [(5, 10, 0.2366, 0.7634), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilsons_interval_has_its_known_values(passes: int, runs: int, low: float, high: float) -> None:
    assert compute_wilson_interval(passes, runs) == pytest.approx(
        (low, high), abs=1e-4
    )  # Newcombe 1998, table I, method 3


@given(st.integers(1, 500).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs))))
def test_wilsons_interval_holds_the_share_and_stays_between_0_and_1(counts: tuple[int, int]) -> None:
    passes, runs = counts
    low, high = compute_wilson_interval(passes, runs)
    assert 0 <= low <= passes / runs <= high <= 1


@given(st.integers(1, 200).flatmap(lambda runs: st.tuples(st.integers(0, runs - 1), st.just(runs))))
def test_one_more_pass_raises_both_ends(counts: tuple[int, int]) -> None:
    passes, runs = counts
    (low, high), (next_low, next_high) = (
        compute_wilson_interval(passes, runs),
        compute_wilson_interval(passes + 1, runs),
    )
    assert low < next_low
    assert high <= next_high


@given(st.integers(1, 50), st.integers(2, 8))
def test_more_runs_of_the_same_share_narrow_the_interval(runs: int, times: int) -> None:
    low, high = compute_wilson_interval(runs / 2, runs)
    narrow_low, narrow_high = compute_wilson_interval(runs * times / 2, runs * times)
    assert narrow_high - narrow_low < high - low


def test_an_interval_needs_runs() -> None:
    with pytest.raises(ValueError, match="needs runs"):
        compute_wilson_interval(0, 0)


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=12))
def test_a_rate_lies_in_its_interval(groups: list[list[bool]]) -> None:
    result = estimate_rate(groups)
    assert result is not None
    assert result.low is not None
    assert result.high is not None
    assert 0 <= result.low <= result.mean <= result.high <= 1


@given(st.lists(st.booleans(), min_size=2, max_size=12), st.integers(2, 10))
def test_repetitions_that_never_differ_count_as_one_run(cases: list[bool], repeat: int) -> None:
    once = estimate_rate([[passed] for passed in cases])
    often = estimate_rate([[passed] * repeat for passed in cases])
    assert once is not None
    assert often is not None
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_nothing_has_no_rate_and_no_mean() -> None:
    assert estimate_rate([[], []]) is None
    assert estimate_mean([]) is None


@given(st.lists(shares, min_size=2, max_size=30))
def test_a_mean_lies_in_its_interval_which_is_the_same_every_time(values: list[float]) -> None:
    result = estimate_mean(values)
    assert result == estimate_mean(values)
    assert result is not None
    assert result.low is not None
    assert result.high is not None
    assert min(values) - 1e-9 <= result.low <= result.mean <= result.high <= max(values) + 1e-9


def test_a_single_value_has_no_interval() -> None:
    result = estimate_mean([0.5])
    assert result is not None
    assert (result.mean, result.low, result.high) == (0.5, None, None)


def test_the_bootstrap_is_near_the_interval_of_the_normal_distribution() -> None:
    values = [number / 99 for number in range(100)]
    few, many = estimate_mean(values), estimate_mean(values * 2)
    assert few is not None
    assert many is not None
    assert few.low == pytest.approx(0.5 - 1.96 * 0.293 / 10, abs=0.01)
    assert many.low == pytest.approx(0.5 - 1.96 * 0.2924 / 200**0.5, abs=0.001)


@pytest.mark.parametrize(
    ("better", "worse", "p_value"), [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (10, 2, 0.0386)]
)
def test_mcnemars_test_has_its_known_values(better: int, worse: int, p_value: float) -> None:
    assert compute_mcnemar_p(better, worse) == pytest.approx(p_value, abs=1e-4)
    assert compute_mcnemar_p(worse, better) == compute_mcnemar_p(better, worse)


@given(st.integers(0, 200), st.integers(0, 200))
def test_a_p_value_is_a_probability(better: int, worse: int) -> None:
    assert 0 <= compute_mcnemar_p(better, worse) <= 1
