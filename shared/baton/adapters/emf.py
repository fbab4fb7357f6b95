"""Write counts as CloudWatch metrics: one log line in Embedded Metric Format, by Powertools."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from baton.domain.metrics import Metric

NAMESPACE = "Baton"
SERVICE = "baton"


def write(counts: Mapping[Metric, int], *, stack: str, at: datetime | None = None) -> None:
    """Write the counts as of now or of ``at``, with the stack as their dimension."""
    # Not Powertools' Metrics class: its instances share their values, but several invocations may share a process.
    metrics = EphemeralMetrics(namespace=NAMESPACE, service=SERVICE)
    metrics.add_dimension(name="stack", value=stack)
    if at is not None:
        metrics.set_timestamp(at)
    for metric, number in counts.items():
        metrics.add_metric(name=metric.value, unit=MetricUnit.Count, value=number)
    metrics.flush_metrics()
