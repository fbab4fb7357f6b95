"""The metrics of an evaluation, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from baton_testing.evals.intervals import Estimate, estimate_mean, estimate_rate
from baton_testing.evals.results import CaseRecord, EvaluationRecord, Result

PASSED = "passed"
"""The metric of whole runs."""
MEASURES = "similarity."
"""The prefix of metrics that are never shares of runs, even if every value is 0 or 1."""


class Metric(Result):
    """The mean of a metric over all cases."""

    name: str
    mean: float | None
    """From 0 to 1; None if nothing was judged."""
    low: float | None
    """The lower end of the 95% interval; None with a single value."""
    high: float | None
    runs: int
    """The number of runs with a value."""
    not_judged: int = 0
    is_rate: bool = True
    """Whether every value is 0 or 1, so that the mean is a share of runs."""


class Summary(Result):
    """The result of an evaluation in numbers."""

    metrics: tuple[Metric, ...]
    """``passed`` first, then in the order of checks."""
    cases: int
    runs: int
    not_run: int
    flaky: tuple[str, ...]
    tokens: int
    usd: float | None
    """None if the cost of a run is unknown."""
    mean_seconds: float | None
    slowest_seconds: float | None
    """The time of the slowest run. Times are reported only, and decide nothing."""

    @property
    def passed(self) -> Metric:
        """The metric of whole runs."""
        return self.metrics[0]


def summarise(record: EvaluationRecord) -> Summary:
    """Return the metrics of an evaluation."""
    runs = [run for case in record.cases for run in case.runs]
    seconds = [run.seconds for run in runs]
    costs = [run.usd for run in runs]
    return Summary(
        metrics=(
            _summarise_passes(record.cases),
            *(_summarise_metric(record.cases, name) for name in _list_metrics(record.cases)),
        ),
        cases=len(record.cases),
        runs=len(runs),
        not_run=record.not_run,
        flaky=tuple(case.name for case in record.cases if case.is_flaky),
        tokens=sum(run.tokens for run in runs),
        usd=None if None in costs else sum(cost for cost in costs if cost is not None),
        mean_seconds=fmean(seconds) if seconds else None,
        slowest_seconds=max(seconds, default=None),
    )


def _list_metrics(cases: Sequence[CaseRecord]) -> list[str]:
    return list(dict.fromkeys(score.metric for case in cases for run in case.runs for score in run.scores))


def _summarise_passes(cases: Sequence[CaseRecord]) -> Metric:
    groups = [case.judged for case in cases]
    runs, judged = sum(len(case.runs) for case in cases), sum(map(len, groups))
    return _make_metric(PASSED, estimate_rate(groups), judged, runs - judged, is_rate=True)


def _summarise_metric(cases: Sequence[CaseRecord], name: str) -> Metric:
    results = [[score for run in case.runs for score in run.scores if score.metric == name] for case in cases]
    values = [[score.value for score in group if score.value is not None] for group in results]
    judged = sum(map(len, values))
    left_out = sum(map(len, results)) - judged
    if all(value in (0.0, 1.0) for group in values for value in group):
        estimate = estimate_rate([[value == 1.0 for value in group] for group in values])
        return _make_metric(name, estimate, judged, left_out, is_rate=not name.startswith(MEASURES))
    estimate = estimate_mean([fmean(group) for group in values if group])
    return _make_metric(name, estimate, judged, left_out, is_rate=False)


def _make_metric(name: str, estimate: Estimate | None, runs: int, not_judged: int, *, is_rate: bool) -> Metric:
    mean, low, high = (estimate.mean, estimate.low, estimate.high) if estimate is not None else (None, None, None)
    return Metric(name=name, mean=mean, low=low, high=high, runs=runs, not_judged=not_judged, is_rate=is_rate)
