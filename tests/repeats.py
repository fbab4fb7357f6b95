"""A pytest plugin and a program (``python -m tests.repeats``) that repeat tests which failed, without load.

In a run of four processes on two cores, a test that waits for other processes fails rarely. Such a test must be mended,
but its failure says nothing about the commit. ``make test`` repeats up to ``LIMIT`` failed tests, and lists those that
then pass. ``make all`` repeats none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RECORD = ".baton/failed-tests.json"
"""The file with the failed tests of the last run with several processes, below the project's folder."""
LIMIT = 3
"""The most failed tests for which load is a likely cause."""

_failed: set[str] = set()
"""The ids of failed tests. The process that distributes the tests receives all reports."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a failure."""
    if report.failed:
        _failed.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the ids of the failed tests; none if the run was interrupted or could not begin."""
    if not getattr(session.config.option, "numprocesses", None):
        return
    record = session.config.rootpath / RECORD
    record.parent.mkdir(exist_ok=True)
    names = sorted(_failed) if exitstatus == pytest.ExitCode.TESTS_FAILED else []
    record.write_text(json.dumps(names))


def main() -> int:
    """Repeat the recorded tests in one process. Return 0 if all pass, otherwise another exit code."""
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
