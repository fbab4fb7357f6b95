"""The alarms of the template."""

from __future__ import annotations

from typing import Any


def metrics_of(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that an alarm looks at, directly or in a formula."""
    if "MetricName" in alarm:
        return [alarm]
    return [each["MetricStat"]["Metric"] for each in alarm["Metrics"] if "MetricStat" in each]
