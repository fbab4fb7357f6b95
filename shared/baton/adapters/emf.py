"""Counts as CloudWatch metrics: one line of the log in Embedded Metric Format, by Powertools."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import ParamSpec, TypeVar

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from baton.domain.metrics import Metric, counting
from baton.settings import MetricSettings

NAMESPACE = "Baton"
SERVICE = "baton"

P = ParamSpec("P")
T = TypeVar("T")


def tell(counts: Mapping[Metric, int], at: datetime | None = None) -> None:
    """Write the counts down as of now or of ``at``, with the stack as their dimension."""
    # Not Powertools' Metrics, all of whose instances share one set of values: invocations may share a process.
    metrics = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE)
    metrics.add_dimension(name="stack", value=MetricSettings().stack)
    if at is not None:
        metrics.set_timestamp(at)
    for metric, number in counts.items():
        metrics.add_metric(name=metric.value, unit=MetricUnit.Count, value=number)
    metrics.flush_metrics()


def counted(handler: Callable[P, T]) -> Callable[P, T]:
    """A Lambda handler whose invocations write down what was counted in them, each for itself."""

    @functools.wraps(handler)
    def with_counts(*args: P.args, **kwargs: P.kwargs) -> T:
        # As of its beginning, like Lambda's own metrics of it: an alarm subtracts one from the other.
        with counting(functools.partial(tell, at=datetime.now(UTC))):
            return handler(*args, **kwargs)

    return with_counts
