"""Upload the project's libraries of documents to a deployed stage, once for all tenants."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from baton.knowledge.documents import MAX_IN_LIBRARY
from baton_client import BatonError
from baton_client.agent_folders import list_owned_files
from baton_deployment.account import Account, problems_explained
from baton_deployment.errors import DeploymentError
from baton_deployment.functions import invoke
from baton_local.project.document_folder import Round
from baton_local.project.followed_files import make_library_folder
from baton_local.project.library_documents import LibraryDocuments, Upload, put_file

POLL_SECONDS = 2.0
COMMAND_SECONDS = 120
"""The time limit of a command."""
PATIENCE_SECONDS = 1_800.0
"""The time without progress after which a deployment no longer waits for the ingestion."""
Write = Callable[[str], None]


@dataclass(frozen=True)
class ProjectDocuments:
    """The folders of a project's documents, and what its deployment does with them."""

    libraries: Path
    """The folder of libraries. It need not exist."""
    permissions: Mapping[str, str] = field(default_factory=dict)
    """The permissions that users need for the documents of libraries, by the libraries' names."""
    documents: Path | None = None
    """The folder of agents' documents, which each tenant gets by ``baton apply``. It need not exist."""

    def describe(self) -> list[str]:
        """Return a line for each library and each agent's folder about its treatment in a deployment."""
        lines = [
            f"libraries/{name}: {_count_files(count)}, one copy for all tenants"
            for name, count in _count_by_owner(self.libraries).items()
        ]
        for agent_id, count in _count_by_owner(self.documents).items() if self.documents is not None else ():
            lines.append(
                f"documents/{agent_id}: {_count_files(count)}, not deployed: `baton apply` uploads them for one tenant"
            )
        return lines

    def check_sizes(self) -> None:
        """Raise ``DeploymentError`` for a library with too many files."""
        for name, count in _count_by_owner(self.libraries).items():
            if count > MAX_IN_LIBRARY:
                raise DeploymentError(
                    f"libraries/{name} has {count:,} files; a library has at most {MAX_IN_LIBRARY:,}. Divide it: an "
                    "agent may list several."
                )


def bring_libraries(account: Account, function: str, project: ProjectDocuments, write: Write) -> list[str]:
    """Make the stage's libraries equal to the project's, and wait until agents find them. Return the problems.

    The earlier version of a document is found until the new one is ready. A repetition after a failure continues.
    Raises ``DeploymentError``.
    """
    client = account.client("lambda", wait_seconds=COMMAND_SECONDS)

    def invoke_function(event: dict[str, Any]) -> dict[str, Any]:
        with problems_explained(f"{function} cannot be invoked"):
            return invoke(client, function, event)

    return bring(invoke_function, project, write)


def bring(
    invoke_function: Callable[[dict[str, Any]], dict[str, Any]],
    project: ProjectDocuments,
    write: Write,
    *,
    upload: Upload = put_file,
    sleep: Callable[[float], object] = time.sleep,
) -> list[str]:
    """Do the same as ``bring_libraries``, with the function ``ingestion`` behind ``invoke_function``."""
    project.check_sizes()
    documents = _Deployed(invoke_function, project.permissions, write, upload=upload, sleep=sleep)
    engine = documents.find_engine()
    counts = _count_by_owner(project.libraries)
    for line in project.describe():
        write(line)
    total = sum(counts.values()) + sum(_count_by_owner(project.documents).values() if project.documents else ())
    write(f"Search: {engine}" if engine else f"Search is off: {_count_files(total, 'document')} will not be found.")
    try:
        done = make_library_folder(project.libraries, documents, lambda _: None).take_over()
    except (BatonError, OSError) as problem:
        raise DeploymentError(f"The libraries were not uploaded completely: {problem} Deploy again.") from problem
    write(_summarise(done, documents.unchanged))
    for line in done.problems:
        write(f"  {line}")
    return done.problems


class _Deployed(LibraryDocuments):
    """The libraries of a stage. A wait prints progress, and ends after ``PATIENCE_SECONDS`` without progress."""

    def __init__(
        self,
        invoke_function: Callable[[dict[str, Any]], dict[str, Any]],
        permissions: Mapping[str, str],
        write: Write,
        *,
        upload: Upload,
        sleep: Callable[[float], object],
    ) -> None:
        super().__init__(invoke_function, permissions, upload=upload)
        self._write, self._sleep = write, sleep
        self._seen: dict[str, tuple[object, float]] = {}
        """The progress of each library, and the monotonic time of its last change."""

    def read_state(self, library: str, document_id: str) -> tuple[bool, str | None]:
        """Return the state as ``LibraryDocuments`` does. Wait and print progress if the document is unfinished."""
        is_done, problem = super().read_state(library, document_id)
        if is_done:
            return is_done, problem
        current, now = self.list_progress(library), time.monotonic()
        last, since = self._seen.get(library, (None, now))
        if current != last:
            self._seen[library] = current, now
            done = sum(status not in {"waiting", "processing"} for _, status, _ in current)
            self._write(f"libraries/{library}: {done} of {_count_files(len(current), 'document')} done")
        elif now - since > PATIENCE_SECONDS:
            minutes = int(PATIENCE_SECONDS // 60)
            return True, f"it makes no progress for {minutes} minutes; a repeated deployment goes on waiting."
        self._sleep(POLL_SECONDS)
        return False, None


def _summarise(done: Round, unchanged: int) -> str:
    new = len(done.ready) - unchanged
    return f"Libraries: {new} uploaded, {unchanged} unchanged, {len(done.removed)} removed, {len(done.problems)} failed"


def _count_by_owner(folder: Path) -> dict[str, int]:
    """Return the numbers of files in the folders of ``folder``, by the folders' names."""
    counts: dict[str, int] = {}
    for file in list_owned_files(folder):
        counts[file.agent_id] = counts.get(file.agent_id, 0) + 1
    return counts


def _count_files(count: int, noun: str = "file") -> str:
    return f"{count:,} {noun}{'s' if count != 1 else ''}"
