"""A pytest plugin and a program that skip tests and commands whose inputs have not changed since they last passed.

Under ``pytest -n``, tests are skipped whose closure (``tests.closures``) is unchanged, unless their file is named. The
files that tests open while they run are compared with the closure. Tests that read another file of the project, or
start a process, are run each time. The mark ``follows_processes`` says that a test's processes only run what the test's
modules import or name. Commands are skipped by ``python -m tests.unchanged FILE... -- COMMAND...``.
Passed tests and commands are noted in ``.baton/unchanged``. ``BATON_CHECK_UNCHANGED=1`` runs everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from pathlib import Path, PurePosixPath
from types import FrameType
from typing import Any

import pytest

from baton_local.root import ROOT
from tests.closures import NO_INPUTS, Project, conftests
from tests.nightly import find_named_files

MARK = "follows_processes"
REASON = "unchanged, skipped"
NOTES = ".baton/unchanged"
KEPT_SECONDS = 30 * 24 * 3600
RUNS_ALL = bool(os.environ.get("BATON_CHECK_UNCHANGED"))
MACHINERY = ("tests/closures.py", "tests/unchanged.py")
PER_RUN = frozenset({"BATON_LOCAL_RECORDINGS", "BATON_TEST_COLLECTED", "BATON_TEST_DYNAMODB"})
"""Variables that differ between runs."""
STARTS = frozenset({"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})
"""Audit events of starts of processes."""


class Notes:
    """The ids of passed tests, by the keys of their inputs."""

    def __init__(self, root: Path) -> None:
        self._folder = root / NOTES

    def read(self) -> dict[str, list[str]]:
        """Return all notes, and delete those that no run has used for ``KEPT_SECONDS``."""
        notes = {}
        for file in self._folder.glob("*.json") if self._folder.is_dir() else ():
            with contextlib.suppress(FileNotFoundError, ValueError):  # deleted, or cut off, by another run
                if file.stat().st_mtime < time.time() - KEPT_SECONDS:
                    file.unlink()
                else:
                    notes[file.stem] = json.loads(file.read_text())
        return notes

    def add(self, key: str, passed: Iterable[str]) -> None:
        """Note that tests have passed with the inputs of a key."""
        self._folder.mkdir(parents=True, exist_ok=True)
        file = self._folder / f"{key}.json"
        with contextlib.suppress(FileNotFoundError, ValueError):
            passed = {*passed, *json.loads(file.read_text())}
        with tempfile.NamedTemporaryFile("w", dir=self._folder, suffix=".new", delete=False) as written:
            json.dump(sorted(passed), written)
        Path(written.name).replace(file)

    def touch(self, key: str) -> None:
        """Note that a run has used the notes of a key."""
        with contextlib.suppress(FileNotFoundError):
            (self._folder / f"{key}.json").touch()


class Coordinator:
    """The part in the process that distributes tests: it computes closures, and notes which tests have passed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._notes = Notes(root)
        self._project = Project(root)
        self._facts_file = tempfile.NamedTemporaryFile("w", suffix=".json")  # noqa: SIM115 - deleted with this object
        machinery = self._project.digest(self._project.below(MACHINERY))
        json.dump({"notes": self._notes.read(), "digests": self._digests(), "machinery": machinery}, self._facts_file)
        self._facts_file.flush()
        self._skipped: Counter[str] = Counter()
        self._always: set[str] = set()

    def _digests(self) -> dict[str, tuple[str | None, str]]:
        """Return the digests of the closures of modules with tests or fixtures, without and with their processes.

        The first digest is None if the closure without processes cannot be computed.
        """
        digests = {}
        names = (name for name in self._project.digests if name.startswith("tests/") and name.endswith("conftest.py"))
        for file in {*names, *self._project.texts_with("def test_"), *self._project.texts_with("pytest")}:
            everything = self._project.closure([file], follows_processes=True)
            assert everything is not None
            digest = self._project.digest(everything)
            digests[file] = (None if self._project.closure([file]) is None else digest, digest)
        return digests

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the closures and notes to a process that runs tests."""
        node.workerinput["unchanged"] = self._facts_file.name

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Note the passed and skipped tests of a process."""
        output = getattr(node, "workeroutput", {}).get("unchanged")
        if output is None:
            return
        if not self._skipped:  # all processes have skipped the same tests
            self._skipped.update(PurePosixPath(name.partition("::")[0]).parent.as_posix() for name in output["skipped"])
            for key in output["keys"]:
                self._notes.touch(key)
        now = Project(self._root).digests
        edited = {name for name, _ in self._project.digests.items() ^ now.items()}
        for run in output["runs"]:
            follows = run["follows"]
            closure = self._project.closure(run["files"], follows_processes=follows)
            if closure is None or closure & edited:  # a file was edited while the tests ran
                continue
            if (run["started"] and not follows) or not closure.issuperset(run["read"]):
                self._always.add(run["file"])
                continue
            for key, passed in run["passed"].items():
                self._notes.add(key, passed)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the number of skipped tests by folder."""
        if self._skipped:
            terminalreporter.section(f"{self._skipped.total()} tests were {REASON} (BATON_CHECK_UNCHANGED=1 runs them)")
        for folder, count in sorted(self._skipped.items()):
            terminalreporter.write_line(f"{count:6}  {folder}")
        if self._always:
            terminalreporter.write_line(
                f"Run each time, because they start processes or read what they do not name: {len(self._always)} files."
            )


class Worker:
    """The part in a process that runs tests: it leaves out unchanged tests, and watches the files that others read."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self._passed_before: dict[str, set[str]] = {key: set(ids) for key, ids in facts["notes"].items()}
        self._digests: dict[str, tuple[str | None, str | None]] = facts["digests"]
        variables = sorted(name for name in os.environ if name.startswith("BATON_") and name not in PER_RUN)
        common = (sys.version, platform.machine(), facts["machinery"])
        self._common = "\n".join((*common, *(f"{name}={os.environ[name]}" for name in variables)))
        self._keys: dict[tuple[Any, ...], str | None] = {}
        self._files_of: dict[tuple[Any, ...], set[str]] = {}
        self._skipped: list[str] = []
        self._collected_keys: set[str] = set()
        self._runs: list[dict[str, Any]] = []
        self._failed: set[str] = set()
        self._run: dict[str, Any] | None = None
        self._root = f"{ROOT}{os.sep}"
        sys.addaudithook(self._watch)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out the tests that have passed with the present inputs."""
        named = find_named_files(config)
        unchanged = []
        for item in items:
            key = self._key(item)
            if key is not None and item.path not in named and item.nodeid in self._passed_before.get(key, ()):
                unchanged.append(item)
                self._collected_keys.add(key)
        if unchanged:
            self._skipped = [item.nodeid for item in unchanged]
            config.hook.pytest_deselected(items=unchanged)
            remaining = set(unchanged)
            items[:] = [item for item in items if item not in remaining]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Record the files and processes of the tests of a file."""
        file = _name(item.path)
        if self._run is None:
            self._run = {"file": file, "files": set(), "follows": True, "read": set(), "started": False}
            self._run["passed"] = defaultdict(list)
        self._run["files"].update(self._files(item))
        self._run["follows"] &= _follows(item)
        result = yield
        key = self._key(item)
        if key is not None and item.nodeid not in self._failed:
            self._run["passed"][key].append(item.nodeid)
        if nextitem is None or nextitem.path != item.path:
            self._runs.append({**self._run, "files": sorted(self._run["files"]), "read": sorted(self._run["read"])})
            self._runs[-1]["passed"] = dict(self._run["passed"])
            self._run = None
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that has failed, or was skipped for another reason."""
        if not report.passed:
            self._failed.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send the passed and skipped tests to the coordinator."""
        output: dict[str, Any] = session.config.workeroutput  # type: ignore[attr-defined]
        output["unchanged"] = {"skipped": self._skipped, "keys": sorted(self._collected_keys), "runs": self._runs}

    def _key(self, item: pytest.Item) -> str | None:
        """Return the key of a test's inputs; None if the inputs are not known."""
        names = tuple(getattr(item, "fixturenames", ()))
        request = (item.path, names, _follows(item))
        if request not in self._keys:
            digests = [self._digests.get(file, (None, None))[_follows(item)] for file in sorted(self._files(item))]
            state = "\n".join((self._common, *(digest or "" for digest in digests)))
            self._keys[request] = hashlib.sha256(state.encode()).hexdigest()[:32] if all(digests) else None
        return self._keys[request]

    def _files(self, item: pytest.Item) -> set[str]:
        """Return the file of a test, each ``conftest`` file above it, and the files of its fixtures."""
        names = (item.path, tuple(getattr(item, "fixturenames", ())))
        if names not in self._files_of:
            self._files_of[names] = {_name(item.path), *conftests(_name(item.path)), *_fixture_files(item)}
        return self._files_of[names]

    def _watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note opened files of the project and started processes. This is an audit hook."""
        if self._run is None:
            return
        if event in STARTS:
            self._run["started"] = True
        elif event == "open" and isinstance(arguments[0], str):
            path = arguments[0] if arguments[0].startswith("/") else f"{os.getcwd()}/{arguments[0]}"  # noqa: PTH109
            if path.startswith(self._root) and not _is_hypothesis():
                name = _source(path.removeprefix(self._root))
                if not any(part in NO_INPUTS or part.startswith((".", "<")) for part in name.split("/")):
                    self._run["read"].add(name)


def pytest_configure(config: pytest.Config) -> None:
    """Register the plugin, except in a run in one process, whose user wants to see the tests."""
    handed: str | None = getattr(config, "workerinput", {}).get("unchanged")
    if handed is not None:
        config.pluginmanager.register(Worker(json.loads(Path(handed).read_text())))
    elif config.getoption("numprocesses", None) and not RUNS_ALL and not config.option.collectonly:
        config.pluginmanager.register(Coordinator(config.rootpath))


def _follows(item: pytest.Item) -> bool:
    return item.get_closest_marker(MARK) is not None


def _fixture_files(item: pytest.Item) -> Generator[str, None, None]:
    information = getattr(item, "_fixtureinfo", None)
    for definitions in information.name2fixturedefs.values() if information else ():
        for definition in definitions:
            code = getattr(_unwrap(definition.func), "__code__", None)
            if code is not None and code.co_filename.startswith(f"{ROOT}/tests/"):
                yield _name(Path(code.co_filename))


def _unwrap(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "__func__", function)


def _is_hypothesis() -> bool:
    """Return whether hypothesis opens the file, because it reads constants for examples from all loaded modules."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.endswith("constants_ast.py"):
            return True
        frame = frame.f_back
    return False


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _source(name: str) -> str:
    """Return the source file of a compiled file, and any other name unchanged."""
    folder, is_compiled, file = name.partition("__pycache__/")
    return f"{folder}{file.partition('.')[0]}.py" if is_compiled else name


def main(arguments: list[str]) -> int:
    """Run a command unless it has passed with the same inputs, and return its exit code."""
    inputs, command = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    name = " ".join([Path(command[0]).name, *command[1:]])
    project, notes = Project(ROOT), Notes(ROOT)
    digest = project.digest(project.below((*MACHINERY, "uv.lock", *inputs)))
    state = "\n".join((name, sys.version, platform.machine(), digest))
    key = hashlib.sha256(state.encode()).hexdigest()[:32]
    if key in notes.read() and not RUNS_ALL:
        print(f"{REASON}: {name}", flush=True)
        notes.touch(key)
        return 0
    code = subprocess.run(command, check=False).returncode
    if code == 0:
        notes.add(key, [name])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
