"""Estimates with 95% intervals. All are deterministic, because random samples are drawn from a fixed seed.

Runs of one case are correlated, so they count for less than runs of as many cases. See ``estimate_rate``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist, fmean, stdev

CONFIDENCE = 0.95
SEED = 20_261_126
"""Any fixed number, so that estimates can be repeated."""
RESAMPLES = 2_000
"""The number of bootstrap samples."""
MANY = 200
"""The number of values from which the mean is taken as normally distributed, instead of resampling."""
_Z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and the ends of its interval, which are None if there are too few values."""

    mean: float
    low: float | None
    high: float | None


def compute_wilson_interval(passes: float, runs: float) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion (Wilson 1927; without continuity correction).

    Raises ``ValueError`` without runs.
    """
    if runs <= 0:
        raise ValueError("an interval needs runs")
    share, square = passes / runs, _Z * _Z
    centre = (share + square / (2 * runs)) / (1 + square / runs)
    half = _Z * sqrt(share * (1 - share) / runs + square / (4 * runs * runs)) / (1 + square / runs)
    # Rounding must not put the share outside of the interval.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def estimate_rate(groups: Sequence[Sequence[bool]]) -> Estimate | None:
    """Return the share of True over the runs of several cases, with Wilson's interval; None without runs.

    With several runs of a case, their number is divided by the design effect: the variance of the share with cases as
    clusters, over that of independent runs (Kish 1965; for evaluations Miller 2024, arXiv:2411.00640, section 2.2).
    """
    filled = [group for group in groups if group]
    runs = sum(len(group) for group in filled)
    if not runs:
        return None
    passes = sum(sum(group) for group in filled)
    share = passes / runs
    low, high = compute_wilson_interval(share * (effective := _count_effective_runs(filled, runs, share)), effective)
    return Estimate(share, min(low, share), max(high, share))


def _count_effective_runs(groups: Sequence[Sequence[bool]], runs: int, share: float) -> float:
    cases = len(groups)
    if cases == runs:
        return float(runs)
    if cases == 1:
        return float(runs)  # the estimate is about this case alone
    if share in (0.0, 1.0):
        return float(cases)
    clustered_variance = sum((sum(group) - len(group) * share) ** 2 for group in groups) * cases / (cases - 1) / runs**2
    independent_variance = share * (1 - share) / runs
    effective: float = runs * independent_variance / clustered_variance if clustered_variance else runs
    return min(float(runs), max(float(cases), effective))


def estimate_mean(values: Sequence[float]) -> Estimate | None:
    """Return the mean with a percentile bootstrap interval (Efron 1979); None without values.

    With ``MANY`` values or more, the interval is that of the normal distribution.
    """
    if not values:
        return None
    mean = fmean(values)
    if len(values) == 1:
        return Estimate(mean, None, None)
    low, high = _compute_interval(values, mean)
    return Estimate(mean, min(low, mean), max(high, mean))


def _compute_interval(values: Sequence[float], mean: float) -> tuple[float, float]:
    if len(values) >= MANY:
        half = _Z * stdev(values) / sqrt(len(values))
        return mean - half, mean + half
    draw = random.Random(SEED)  # noqa: S311 - a statistic, not a secret
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1 - CONFIDENCE) / 2)
    return means[tail], means[-1 - tail]


def compute_mcnemar_p(better: int, worse: int) -> float:
    """Return the two-sided p-value of McNemar's exact test, whose hypothesis is equal numbers in both directions."""
    changed = better + worse
    if not changed:
        return 1.0
    tail = sum(comb(changed, k) for k in range(min(better, worse) + 1))
    return min(1.0, float(tail / 2 ** (changed - 1)))
