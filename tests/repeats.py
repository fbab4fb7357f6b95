"""Runs tests that failed under load once more, alone: a pytest plugin, and ``python -m tests.repeats``.

A run of four processes on two cores rarely makes a test fail that waits for other processes. Such a test must be
mended, but says nothing about the commit: ``make test`` repeats up to ``LIMIT`` failed tests and lists those that pass
then. ``make all`` repeats none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RECORD = ".baton/failed-tests.json"
"""The tests that failed in the last run of several processes, in the folder of the project."""
LIMIT = 3
"""The number of failed tests up to which load is a likely cause."""

_failed: set[str] = set()
"""The names of failed tests. The process that prints has the reports of all."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a failure."""
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the names. A run that was interrupted or could not begin leaves none to repeat."""
    if not getattr(session.config.option, "numprocesses", None):
        return
    record = session.config.rootpath / RECORD
    record.parent.mkdir(exist_ok=True)
    names = sorted(_failed) if exitstatus == pytest.ExitCode.TESTS_FAILED else []
    record.write_text(json.dumps(names))


def main() -> int:
    """Repeat the tests of the record in one process, and return 0 if all pass."""
    names: list[str] = json.loads(Path(RECORD).read_text()) if Path(RECORD).is_file() else []
    if not 0 < len(names) <= LIMIT:
        return 1
    print(f"\n== {len(names)} failed, which may be load: once more, alone", flush=True)
    code = subprocess.run([sys.executable, "-m", "pytest", *names], check=False).returncode
    if not code:
        print("== passed only when repeated; mend what makes them depend on load:", *names, sep="\n   ", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
