"""Log lines are kept or dropped as by Lambda."""

from __future__ import annotations

import json

import pytest

from baton.composition.metrics import write_metrics
from baton.domain.metrics import Metric
from baton_local.lambda_runtime.log_levels import LEVELS, is_kept, level_of, metrics_of


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('{"level": "debug", "msg": "my debug log"}', "DEBUG"),  # the example of AWS's documentation
        ('{"level": "WARNING", "message": "of Python"}', "WARN"),
        ('{"level": "CRITICAL"}', "FATAL"),
        ('{"level": "loud"}', "INFO"),
        ('{"level": 30}', "INFO"),
        ('{"message": "without"}', "INFO"),
        ("Traceback (most recent call last):", "INFO"),
        ('["level", "ERROR"]', "INFO"),
        ("", "INFO"),
    ],
)
def test_a_line_has_the_level_that_it_names_or_info(line: str, level: str) -> None:
    assert level_of(line) == level


@pytest.mark.parametrize("lowest", LEVELS)
def test_lines_below_the_functions_level_are_dropped(lowest: str) -> None:
    kept = [level for level in LEVELS if is_kept(json.dumps({"level": level}), lowest)]
    assert kept == list(LEVELS[LEVELS.index(lowest) :])


def test_metrics_are_read_from_the_line_that_the_functions_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    write_metrics({Metric.CONNECTIONS_REFUSED: 2})
    assert metrics_of(capsys.readouterr().out.strip()) == {"ConnectionsRefused": 2.0}


@pytest.mark.parametrize("line", ["", "no JSON", "[]", '{"level": "INFO"}'])
def test_other_lines_have_no_metrics(line: str) -> None:
    assert metrics_of(line) == {}
