"""Checks that are expensive and depend on few files: skipped while these are as they were when the check last passed.

A test names its files and folders by the mark ``skipped_if_unchanged``; for a command there is
``python -m tests.unchanged FILE... -- COMMAND...``. What has passed is noted in the user's cache folder, so a fresh
clone on the same machine profits. ``BATON_CHECK_UNCHANGED=1`` runs all of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Generator, Iterable
from functools import cache
from pathlib import Path

import pytest

from baton_local.root import ROOT
from baton_local.settings import default_cache_dir

MARK = "skipped_if_unchanged"
REASON = "unchanged, skipped"
ALWAYS = ("uv.lock", "tests/unchanged.py")
"""The lock file has the versions of tools."""
NOT_INPUTS = {"__pycache__", "node_modules", "dist"}
KEPT_SECONDS = 30 * 24 * 3600
RUNS_ALL = bool(os.environ.get("BATON_CHECK_UNCHANGED"))

skipped: list[str] = []
"""Ids of tests that this process has skipped."""


class Passed:
    """A check, true if it has passed with the present contents of ``inputs``, files and folders of the project."""

    def __init__(self, name: str, inputs: Iterable[str]) -> None:
        state = f"{name}\n{sys.version}\n{platform.machine()}\n{_hash_of(tuple(inputs))}"
        self._note = default_cache_dir() / "unchanged" / hashlib.sha256(state.encode()).hexdigest()[:32]

    def __bool__(self) -> bool:
        if RUNS_ALL or not self._note.is_file():
            return False
        self._note.touch()
        return True

    def note(self) -> None:
        """Note that the check has passed."""
        self._note.parent.mkdir(parents=True, exist_ok=True)
        self._note.touch()
        _forget_old(self._note.parent)


@cache
def _forget_old(folder: Path) -> None:
    """Delete the notes that nobody has asked for in weeks, once in a process."""
    for note in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process has deleted it
            if note.stat().st_mtime < time.time() - KEPT_SECONDS:
                note.unlink()


@cache
def _hash_of(inputs: tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for name in (*ALWAYS, *inputs):
        for path in [ROOT / name] if (ROOT / name).is_file() else sorted((ROOT / name).rglob("*")):
            if path.is_file() and not NOT_INPUTS & set(path.parts) and not path.name.startswith("."):
                content = path.read_bytes()
                digest.update(f"{path.relative_to(ROOT)}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()


def _passed(item: pytest.Item) -> Passed | None:
    """Return the check that a test is, if it has the mark. Its own file and its folder's fixtures are inputs too."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        return None
    own = (path for path in (item.path, item.path.parent / "conftest.py") if path.is_file())
    return Passed(item.nodeid, (*mark.args, *(path.relative_to(ROOT).as_posix() for path in own)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that would find the same as the last time, before its fixtures are made."""
    if _passed(item):
        skipped.append(item.nodeid)
        pytest.skip(REASON)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Note a test that passes."""
    yield
    passed = _passed(item)
    if passed is not None:
        passed.note()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the names of what was skipped to the process that sums up."""
    output: dict[str, list[str]] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["unchanged"] = skipped


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Add what another process has skipped."""
    skipped.extend(getattr(node, "workeroutput", {}).get("unchanged", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the files whose tests were skipped."""
    files = [name.partition("::")[0] for name in skipped]
    for file in sorted(set(files)):
        terminalreporter.write_line(
            f"{REASON}: {files.count(file)} tests of {file} (BATON_CHECK_UNCHANGED=1 runs them)"
        )


def main(arguments: list[str]) -> int:
    """Run a command unless it has passed with the same inputs, and return its exit code."""
    inputs, command = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    name = " ".join([Path(command[0]).name, *command[1:]])
    passed = Passed(name, inputs)
    if passed:
        print(f"{REASON}: {name}", flush=True)
        return 0
    code = subprocess.run(command, check=False).returncode
    if code == 0:
        passed.note()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
