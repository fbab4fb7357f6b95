"""The version that a project is compared with: another folder, a revision of Git, or another model."""

from __future__ import annotations

import multiprocessing
import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

from baton_testing.errors import CannotRun
from baton_testing.evals.results import EvaluationRecord
from baton_testing.evals.targets.project_run import Plan, evaluate_project

DIR, REV, MODEL = "dir:", "rev:", "model:"
MAX_ARCHIVE = 512 * 1024 * 1024
"""The most bytes of a revision's archive."""
PIECE_BYTES = 1024 * 1024
"""The bytes that are read from Git at once."""
GIT_SECONDS = 120
"""The longest wait for an answer of Git."""


@dataclass(frozen=True, slots=True)
class Other:
    """The other version. Exactly one of its fields is set."""

    folder: Path | None = None
    revision: str | None = None
    """The full hash of a commit."""
    model: str | None = None

    @property
    def label(self) -> str:
        """The name of the version in results."""
        if self.folder is not None:
            return str(self.folder)
        return self.revision[:12] if self.revision is not None else str(self.model)


def find_other(text: str, project: Path) -> Other:
    """Return the version that ``--against`` names. A text that is neither a folder nor a revision names a model.

    The prefixes ``dir:``, ``rev:`` and ``model:`` say which it is. Raises ``CannotRun`` if there is no such folder or
    revision, or Git does not answer. Without Git, a text without a prefix names a model.
    """
    if text.startswith(MODEL):
        return Other(model=text.removeprefix(MODEL))
    if text.startswith(DIR) or (not text.startswith(REV) and Path(text).is_dir()):
        folder = Path(text.removeprefix(DIR))
        if not folder.is_dir():
            raise CannotRun(f"--against: there is no folder {folder}")
        return Other(folder=folder)
    try:
        commit = _find_commit(text.removeprefix(REV), project)
    except OSError as problem:
        if text.startswith(REV):
            raise CannotRun(f"--against: Git cannot be run: {problem}") from None
        commit = None
    if commit is not None:
        return Other(revision=commit)
    if text.startswith(REV):
        raise CannotRun(f"--against: {text.removeprefix(REV)} is no revision of the repository of {project}")
    return Other(model=text)


def _find_commit(name: str, project: Path) -> str | None:
    """Return a commit's full hash, or None. Raises ``OSError`` without Git, and ``CannotRun`` after a time-out."""
    command = ["git", "-C", str(project), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise CannotRun(f"--against: Git did not answer within {GIT_SECONDS} seconds whether {name} exists") from None
    except ValueError:
        return None  # a name with a null character
    return completed.stdout.strip() if completed.returncode == 0 else None


@contextmanager
def check_out(commit: str, project: Path) -> Iterator[Path]:
    """Extract the project of a commit into a folder that is removed afterwards. Raises ``CannotRun``."""
    with tempfile.TemporaryDirectory(prefix="baton-eval-") as folder, tempfile.TemporaryFile() as file:
        _write_archive(commit, project, file)
        file.seek(0)
        try:
            with tarfile.open(fileobj=file) as archive:
                archive.extractall(folder, filter="data")
        except (tarfile.TarError, OSError) as problem:  # such as a link to a place outside
            raise CannotRun(f"--against: {commit[:12]} cannot be unpacked: {problem}") from None
        yield Path(folder)


def _write_archive(commit: str, project: Path, file: IO[bytes]) -> None:
    """Write the archive of a commit into a file. Raises ``CannotRun`` if it cannot be read, or is too large."""
    command = ["git", "-C", str(project), "archive", "--format=tar", commit, "."]
    try:
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as git,  # noqa: S603
        ):
            watchdog = threading.Timer(GIT_SECONDS, git.kill)
            watchdog.start()
            try:
                assert git.stdout is not None  # noqa: S101 - it is a pipe
                while piece := git.stdout.read(PIECE_BYTES):
                    if file.tell() + len(piece) > MAX_ARCHIVE:
                        raise CannotRun(f"--against: {commit[:12]} has more than {MAX_ARCHIVE} bytes")
                    file.write(piece)
                code, is_late = git.wait(), watchdog.finished.is_set()
            finally:
                watchdog.cancel()
                git.kill()  # if it is still running
            if is_late:
                raise CannotRun(f"--against: Git did not read {commit[:12]} within {GIT_SECONDS} seconds")
            if code != 0:
                errors.seek(0)
                words = errors.read().decode("utf-8", "replace").strip()
                raise CannotRun(f"--against: {commit[:12]} cannot be read: {words}")
    except OSError as problem:
        raise CannotRun(f"--against: {commit[:12]} cannot be read: {problem}") from None


def evaluate_apart(plan: Plan) -> EvaluationRecord:
    """Evaluate in another process, so that the two versions do not share modules. Raises ``CannotRun``."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_evaluate, args=(plan, sender), daemon=True)
    process.start()
    sender.close()
    try:
        message = receiver.recv()
    except EOFError:
        raise CannotRun("--against: the other version was not evaluated: its process ended") from None
    finally:
        if process.is_alive():
            process.join(1)
            process.terminate()
        process.join()
        receiver.close()
    if isinstance(message, str):
        raise CannotRun(f"--against: {message}")
    return EvaluationRecord.model_validate(message)


def _evaluate(plan: Plan, sender: Connection) -> None:
    try:
        sender.send(evaluate_project(plan, lambda evaluation: None).model_dump())
    except CannotRun as problem:
        sender.send(str(problem))
    except Exception as problem:  # noqa: BLE001 - the other process reports it
        sender.send(repr(problem))
    finally:
        sender.close()
