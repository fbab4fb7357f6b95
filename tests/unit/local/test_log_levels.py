"""Log lines are kept or dropped as by Lambda."""

from __future__ import annotations

import ast
import re

import pytest
from aws_lambda_powertools import Logger

from baton.composition.metrics import write_metrics
from baton.domain.metrics import Metric
from baton_local.lambda_runtime.log_levels import LEVELS, is_kept, read_level, read_metrics
from baton_local.log_lines import warnings_for_people
from baton_local.root import ROOT

AT = '"timestamp": "2024-11-02T16:51:31.587199Z"'


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('{"level": "debug", "msg": "my debug log", ' + AT + "}", "DEBUG"),  # the example of AWS's documentation
        ('{"level": "WARNING", "message": "of Python", ' + AT + "}", "WARN"),
        ('{"level": "CRITICAL", ' + AT + "}", "FATAL"),
        ('{"level": "ERROR", "timestamp": "2026-11-26T15:28:35.169+00:00"}', "ERROR"),
        ('{"level": "ERROR", "timestamp": "2026-11-26 15:28:35,169+0000"}', "INFO"),  # Powertools' default
        ('{"level": "ERROR"}', "INFO"),
        ('{"level": "loud", ' + AT + "}", "INFO"),
        ('{"level": 30, ' + AT + "}", "INFO"),
        ('{"message": "without", ' + AT + "}", "INFO"),
        ("Traceback (most recent call last):", "INFO"),
        ('["level", "ERROR"]', "INFO"),
        ("[" * 100_000, "INFO"),
        ("", "INFO"),
    ],
)
def test_a_line_has_the_level_that_it_names_or_info(line: str, level: str) -> None:
    assert read_level(line) == level


@pytest.mark.parametrize("lowest", LEVELS)
def test_lines_below_the_functions_level_are_dropped(lowest: str) -> None:
    stored = [level for level in LEVELS if is_kept(f'{{"level": "{level}", {AT}}}', lowest)]
    assert stored == list(LEVELS[LEVELS.index(lowest) :])


def test_metrics_are_read_from_the_line_that_the_functions_write(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("POWERTOOLS_METRICS_DISABLED", raising=False)
    write_metrics({Metric.CONNECTIONS_REFUSED: 2})
    assert read_metrics(capsys.readouterr().out.strip()) == {"ConnectionsRefused": 2.0}


@pytest.mark.parametrize("line", ["", "no JSON", "[]", '{"level": "INFO"}'])
def test_other_lines_have_no_metrics(line: str) -> None:
    assert read_metrics(line) == {}


def test_warnings_of_functions_are_kept_by_a_function_that_logs_warnings(capfd: pytest.CaptureFixture[str]) -> None:
    """Each module that makes a logger may be the first, whose form all lines have."""
    records = [
        call
        for folder in ("shared/baton", "functions")
        for path in (ROOT / folder).rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Logger"
    ]
    own = [call for call in records if "child" not in {keyword.arg for keyword in call.keywords}]
    assert own
    assert {ast.unparse(call) for call in own} == {"Logger(use_rfc3339=True)"}
    Logger(service="levels", use_rfc3339=True).warning("Kept")
    assert is_kept(capfd.readouterr().out.strip(), "WARN")


def test_commands_write_warnings_for_people_beside_their_results(capsys: pytest.CaptureFixture[str]) -> None:
    logger = Logger(child=True)
    Logger(use_rfc3339=True).structure_logs()  # without keys of earlier tests in this process
    with warnings_for_people():
        logger.info("Nothing happened")
        logger.warning("Something is slow", extra={"seconds": 0.7})
    written = capsys.readouterr()
    assert written.out == ""
    assert re.fullmatch(r"\d\d:\d\d:\d\d WARNING Something is slow  \[seconds=0.7\]\n", written.err)
