"""Metrics of an invocation, which are logged at its end as one line in CloudWatch's Embedded Metric Format.

A failure of the invocation is logged too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, partial
from typing import ParamSpec, TypeVar

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from baton.domain.metrics import PERCENTAGES, TIMES, Metric, collect_counts
from baton.failures.reports import report_failure
from baton.settings.base import MetricSettings

NAMESPACE = "Baton"
SERVICE = "baton"
LEVEL = "FATAL"
"""The level of the line, which is the highest because Lambda drops lines below the function's level.

Lambda treats a line without a level or a valid timestamp as INFO
(https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
"""

P = ParamSpec("P")
T = TypeVar("T")


def write_metrics(counts: Mapping[Metric, int | Sequence[int]], at: datetime | None = None) -> None:
    """Write the counts and times with the timestamp ``at``, by default now, and the stack's name as their dimension."""
    # Instances of Powertools' class Metrics would share their values between invocations in the same process.
    metrics = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE)
    metrics.add_dimension(name="stack", value=_read_stack_name())
    if at is not None:
        metrics.set_timestamp(at)
    for metric, number in counts.items():
        unit = MetricUnit.Milliseconds if metric in TIMES else MetricUnit.Count
        if metric in PERCENTAGES:
            unit = MetricUnit.Percent
        for value in [number] if isinstance(number, int) else number:
            metrics.add_metric(name=metric.value, unit=unit, value=value)
    metrics.add_metadata(key="level", value=LEVEL)
    metrics.add_metadata(key="timestamp", value=(at or datetime.now(UTC)).isoformat())
    metrics.flush_metrics()


@cache
def _read_stack_name() -> str:
    """Return the name of the deployment's stack. It is cached, because reading settings takes a millisecond."""
    return MetricSettings().stack


def observed(handler: Callable[P, T]) -> Callable[P, T]:
    """Return a Lambda handler that writes the metrics of each invocation at its end, and reports a failure."""
    return _observe_invocation()(handler)


@contextmanager
def _observe_invocation() -> Iterator[None]:
    # The timestamp is the invocation's start, as in Lambda's metrics, because an alarm subtracts one from the other.
    with collect_counts(partial(write_metrics, at=datetime.now(UTC))):
        try:
            yield
        except Exception as failure:
            report_failure(failure, "invocation failed")
            raise
