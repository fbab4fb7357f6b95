"""No level of the log keeps metrics from CloudWatch, which reads them from lines of the log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from baton.composition.metrics import write_metrics
from baton.domain.metrics import Metric
from baton_local.lambda_runtime.log_levels import is_kept
from baton_local.stack.intrinsics import Intrinsics
from tests.infrastructure.stack import Stack, read_template

LOG_LEVELS = read_template()["Parameters"]["LogLevel"]["AllowedValues"]


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
    assert is_kept(capsys.readouterr().out, read_applied_level(level))


def read_applied_level(level: str) -> str:
    """The level by which Lambda filters, of a stack with this parameter."""
    template = read_template()
    resolver = Intrinsics(template, {"LogLevel": level}, lambda logical_id, attribute: logical_id)
    resolved: str = resolver.resolve(Stack(template).template["Globals"]["Function"]["LoggingConfig"])[
        "ApplicationLogLevel"
    ]
    return resolved


def test_a_line_without_a_level_does_not_pass() -> None:
    line = '{"_aws": {}, "timestamp": "2026-01-02T03:04:05Z"}'
    assert is_kept(line, "INFO")
    assert not is_kept(line, read_applied_level("WARN"))
    assert not is_kept('{"level": "FATAL"}', "WARN"), "no time"
