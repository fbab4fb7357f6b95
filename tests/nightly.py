"""Leaves to ``make all`` what a commit rarely breaks and what takes long: a pytest plugin.

``@pytest.mark.nightly`` marks such a test. ``BATON_TESTS=all`` (``make all``) runs all, and who names a file or a test
gets all of it, unless ``BATON_TESTS=usual``. A run ends with the number of tests that it has left out.
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
"""The number of tests left out, by file."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the marked tests, those of named files aside."""
    if RUNS_ALL:
        return
    named = named_files(config)
    leave_out(
        config,
        items,
        [item for item in items if item.get_closest_marker(MARK) and (CHOICE == "usual" or item.path not in named)],
    )


def named_files(config: pytest.Config) -> set[Path]:
    """Return the files and folders that the command line names."""
    return {(config.invocation_params.dir / argument.partition("::")[0]).resolve() for argument in config.args}


def leave_out(config: pytest.Config, items: list[pytest.Item], unwanted: Iterable[pytest.Item]) -> None:
    """Take tests out of those that were collected, and count them."""
    removed = set(unwanted)
    if not removed:
        return
    _counts(config).update(item.path.relative_to(config.rootpath).as_posix() for item in removed)
    config.hook.pytest_deselected(items=[item for item in items if item in removed])
    items[:] = [item for item in items if item not in removed]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the numbers to the process that prints. All processes collect the same."""
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
