"""Comparison of two evaluations, case by case."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from statistics import fmean

from baton_testing.evals.intervals import compute_mcnemar_p, estimate_mean
from baton_testing.evals.results import CaseRecord, EvaluationRecord, Result
from baton_testing.evals.summary import PASSED

SIGNIFICANT = 0.05
"""The p-value below which a difference counts."""


class Verdict(StrEnum):
    """The result of a comparison, of the new version against the old one."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    """No difference that chance may not explain."""


class Difference(Result):
    """The difference of a metric over the cases of both evaluations."""

    name: str
    cases: int
    before: float
    after: float
    mean: float
    """The mean of the differences of cases, after minus before."""
    low: float | None
    """The lower end of the 95% interval, by paired bootstrap over cases; None with a single case."""
    high: float | None
    better: int
    """The number of cases whose value has risen."""
    worse: int
    p_value: float
    """The p-value of McNemar's exact test, whose hypothesis is that as many cases rise as fall."""
    verdict: Verdict


class Comparison(Result):
    """The comparison of two evaluations."""

    before: str
    """The label of the old version."""
    after: str
    differences: tuple[Difference, ...]
    """``passed`` first."""
    improved: tuple[str, ...]
    """Cases that passed more often than before."""
    worsened: tuple[str, ...]
    unpaired: int
    """The number of cases that were judged in only one of the two evaluations, or in none."""

    @property
    def verdict(self) -> Verdict:
        """The verdict by the share of runs that passed."""
        passed = next((difference for difference in self.differences if difference.name == PASSED), None)
        return passed.verdict if passed is not None else Verdict.NO_DIFFERENCE


def compare(before: EvaluationRecord, after: EvaluationRecord) -> Comparison:
    """Return the differences of all metrics of both evaluations. Cases are paired by their names."""
    old = {case.name: case for case in before.cases}
    pairs = [(old[case.name], case) for case in after.cases if case.name in old]
    shares = [(old_case.name, old_case.share, new_case.share) for old_case, new_case in pairs]
    judged = [(name, former, latter) for name, former, latter in shares if former is not None and latter is not None]
    names = list(dict.fromkeys(score.metric for _, case in pairs for run in case.runs for score in run.scores))
    differences = [_compare_metric(PASSED, [(former, latter) for _, former, latter in judged])]
    differences += [_compare_metric(name, _pair_means(pairs, name)) for name in names]
    return Comparison(
        before=before.label,
        after=after.label,
        differences=tuple(difference for difference in differences if difference is not None),
        improved=tuple(name for name, former, latter in judged if latter > former),
        worsened=tuple(name for name, former, latter in judged if latter < former),
        unpaired=len({*old, *(case.name for case in after.cases)}) - len(judged),
    )


def _pair_means(pairs: Sequence[tuple[CaseRecord, CaseRecord]], name: str) -> list[tuple[float, float]]:
    pairs_of_scores = []
    for old_case, new_case in pairs:
        former, latter = _compute_mean(old_case, name), _compute_mean(new_case, name)
        if former is not None and latter is not None:
            pairs_of_scores.append((former, latter))
    return pairs_of_scores


def _compute_mean(case: CaseRecord, name: str) -> float | None:
    values = [
        score.value for run in case.runs for score in run.scores if score.metric == name and score.value is not None
    ]
    return fmean(values) if values else None


def _compare_metric(name: str, values: Sequence[tuple[float, float]]) -> Difference | None:
    if not values:
        return None
    changes = [latter - former for former, latter in values]
    estimate = estimate_mean(changes)
    assert estimate is not None  # noqa: S101 - there are values
    better, worse = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    p_value = compute_mcnemar_p(better, worse)
    verdict = Verdict.NO_DIFFERENCE
    # Both must agree: the bootstrap of a few equal changes has an interval without width, and McNemar's test ignores
    # the sizes of changes.
    if p_value < SIGNIFICANT and estimate.low is not None and estimate.high is not None:
        verdict = Verdict.BETTER if estimate.low > 0 else Verdict.WORSE if estimate.high < 0 else verdict
    return Difference(
        name=name,
        cases=len(values),
        before=fmean(former for former, _ in values),
        after=fmean(latter for _, latter in values),
        mean=estimate.mean,
        low=estimate.low,
        high=estimate.high,
        better=better,
        worse=worse,
        p_value=p_value,
        verdict=verdict,
    )
