"""The alarms of the template: the metrics that they look at, and when they ring."""

from __future__ import annotations

import re
from typing import Any

from tests.infrastructure.stack import Stack

OPERATORS = {"GreaterThanOrEqualToThreshold": "≥", "LessThanOrEqualToThreshold": "≤", "LessThanThreshold": "<"}
RUNBOOK = re.compile(r"\. Runbook: docs/how-to/runbook\.md#([a-z]+)$")


def alarms_of(stack: Stack) -> dict[str, dict[str, Any]]:
    """Logical id -> properties."""
    return stack.of_type("AWS::CloudWatch::Alarm")


def metrics_of(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """The metrics that an alarm looks at, directly or in a formula."""
    if "MetricName" in alarm:
        return [alarm]
    return [metric["MetricStat"]["Metric"] for metric in alarm["Metrics"] if "MetricStat" in metric]


def dimensions_of(metric: dict[str, Any]) -> dict[str, Any]:
    """Name -> value; empty for a metric of the whole account."""
    return {dimension["Name"]: dimension["Value"] for dimension in metric.get("Dimensions", [])}


def anchor_of(alarm: dict[str, Any]) -> str:
    """The section of the runbook that the alarm's description names."""
    match = RUNBOOK.search(alarm["AlarmDescription"])
    assert match, alarm["AlarmDescription"]
    return match[1]


def condition_of(alarm: dict[str, Any]) -> str:
    """The condition at which the alarm rings, in words."""
    if "MetricName" in alarm:
        period = alarm["Period"]
        statistic = alarm.get("ExtendedStatistic") or alarm["Statistic"].lower()
        value = f"{statistic} of `{alarm['MetricName']}`"
    else:
        result, first, *_ = alarm["Metrics"]
        period = first["MetricStat"]["Period"]
        value = result["Label"][0].lower() + result["Label"][1:]
    periods = alarm["EvaluationPeriods"]
    breaching = alarm.get("DatapointsToAlarm", periods)
    minutes = f"{period // 60} minute{'s' if period > 60 else ''}"
    if periods > 1:
        minutes = f"{breaching} of {periods} times {minutes}"
    missing = ", or no data" if alarm["TreatMissingData"] == "breaching" else ""
    return f"{value} {OPERATORS[alarm['ComparisonOperator']]} {alarm['Threshold']} in {minutes}{missing}"
