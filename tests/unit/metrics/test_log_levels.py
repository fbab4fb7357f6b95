"""No level of the log keeps metrics from CloudWatch, which reads them from lines of the log."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from baton.composition.metrics import write_metrics
from baton.domain.metrics import Metric
from baton_local.intrinsics import Intrinsics
from tests.infrastructure.stack import Stack, read_template

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")
LOG_LEVELS = read_template()["Parameters"]["LogLevel"]["AllowedValues"]


def passes(line: str, level: str) -> bool:
    """Whether Lambda sends a line of standard output to CloudWatch from a function with this level.

    A line without a known level or a valid time has INFO
    (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html).
    """
    value = json.loads(line)
    named = str(value.get("level", "")).upper()
    try:
        has_time = datetime.fromisoformat(value["timestamp"]).tzinfo is not None
    except (KeyError, ValueError):
        has_time = False
    return LEVELS.index(named if named in LEVELS and has_time else "INFO") >= LEVELS.index(level)


@pytest.fixture(autouse=True)
def stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_STACK", "baton-test")
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)


@pytest.mark.parametrize("at", [None, datetime.now(UTC)], ids=["now", "at a time"])
@pytest.mark.parametrize("level", LOG_LEVELS)
def test_metrics_pass_every_level_of_the_log(
    level: str, at: datetime | None, capsys: pytest.CaptureFixture[str]
) -> None:
    write_metrics({Metric.INTERNAL_FAULTS: 1}, at)
    assert passes(capsys.readouterr().out, applied(level))


def applied(level: str) -> str:
    """The level by which Lambda filters, of a stack with this parameter."""
    template = read_template()
    resolver = Intrinsics(template, {"LogLevel": level}, lambda logical_id, attribute: logical_id)
    resolved: str = resolver.resolve(Stack(template).template["Globals"]["Function"]["LoggingConfig"])[
        "ApplicationLogLevel"
    ]
    return resolved


def test_a_line_without_a_level_does_not_pass() -> None:
    line = '{"_aws": {}, "timestamp": "2026-01-02T03:04:05Z"}'
    assert passes(line, "INFO")
    assert not passes(line, applied("WARN"))
    assert not passes('{"level": "FATAL"}', "WARN"), "no time"
