"""A pytest plugin that leaves out tests which take long and rarely fail, except in ``make all``.

``@pytest.mark.nightly`` marks such a test. ``BATON_TESTS=all`` (``make all``) runs all tests. If the command line names
a file or a test, its marked tests are run too, unless ``BATON_TESTS=usual``. The number of omitted tests is printed at
the end of a run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

MARK = "nightly"
CHOICE = os.environ.get("BATON_TESTS", "")
RUNS_ALL = CHOICE == "all"

_LEFT_OUT = pytest.StashKey[Counter[str]]()
"""The number of omitted tests by file."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the marked tests, except those of named files."""
    if RUNS_ALL:
        return
    named = find_named_files(config)
    leave_out(
        config,
        items,
        [item for item in items if item.get_closest_marker(MARK) and (CHOICE == "usual" or item.path not in named)],
    )


def find_named_files(config: pytest.Config) -> set[Path]:
    """Return the files and folders that the command line names."""
    return {(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args}


def leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: Iterable[pytest.Item]) -> None:
    """Remove tests from the collected ones, and count them."""
    removed = set(unwanted)
    if not removed:
        return
    _counts(config).update(item.path.relative_to(config.rootpath).as_posix() for item in removed)
    config.hook.pytest_deselected(items=[item for item in items if item in removed])
    items[:] = [item for item in items if item not in removed]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the numbers to the process that prints them. All processes collect the same tests."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[MARK] = dict(_counts(session.config))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the numbers of another process."""
    counts = getattr(node, "workeroutput", {}).get(MARK)
    if counts:
        node.config.stash[_LEFT_OUT] = Counter(counts)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the numbers by folder."""
    files = _counts(terminalreporter.config)
    if not files:
        return
    folders: Counter[str] = Counter()
    for name, count in files.items():
        folders[str(PurePosixPath(name).parent)] += count
    terminalreporter.section(f"{files.total()} tests were left out: `make all` runs them")
    for folder, count in sorted(folders.items()):
        terminalreporter.write_line(f"{count:6}  {folder}")


def _counts(config: pytest.Config) -> Counter[str]:
    if _LEFT_OUT not in config.stash:
        config.stash[_LEFT_OUT] = Counter()
    return config.stash[_LEFT_OUT]
