"""Stores the files of a folder ``documents/AGENT/...`` as documents of these agents."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from baton_client import APIStatusError
from baton_client.agent_folders import OwnedFile, describe_unknown_agent, list_owned_files
from baton_local.project.folder_documents import NotTaken

POLL_SECONDS = 0.25
"""The pause between two questions for the state of a document."""


class StoredDocuments(Protocol):
    """A store of the documents of a folder: ``FolderDocuments`` or ``LibraryDocuments``."""

    def sign_in(self, permissions: Collection[str], /) -> None:
        """Begin to read the folder, with the ``permissions`` that its owners require."""

    def put(self, file: OwnedFile, body: bytes) -> str:
        """Store a file, unless it is stored already, and return the document's id. Raises ``NotTaken``."""

    def read_state(self, owner: str, document_id: str, /) -> tuple[bool, str | None]:
        """Return whether the newest version is ready or failed, and the reason of a failure."""

    def keep_only(self, owner: str, document_ids: Collection[str], /) -> dict[str, str]:
        """Delete the owner's other documents, and return their names by their ids."""


@dataclass
class Round:
    """The result of one reading of the folder."""

    ready: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class DocumentFolder:
    """A folder of documents. A separate thread keeps the agents' documents equal to its files.

    An unchanged file costs one request at a start. Documents that users have uploaded stay as they are.
    """

    def __init__(
        self,
        folder: Path,
        documents: StoredDocuments,
        progress: Callable[[str], None],
        agents: Callable[[], Mapping[str, Collection[str]]],
        unknown: Callable[[str, Sequence[str]], str] = describe_unknown_agent,
    ) -> None:
        """``agents`` returns the ids of agents that may have documents, with the permissions that each requires.

        ``unknown`` returns the problem of a folder of any other name; its second argument are the agents' ids.
        """
        self.folder = folder
        self._documents = documents
        self._progress = progress
        self._agents = agents
        self._unknown = unknown
        self._entries: dict[str, tuple[str, str]] = {}
        """The document id and checksum of each file that is ready or has failed, by the file's name."""
        self._problems: list[str] = []
        self._stopped = threading.Event()
        self._must_read = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="documents", daemon=True)

    def start(self) -> None:
        """Start the thread, which begins with the present files."""
        if self.folder.is_dir():
            self.refresh()
        self._thread.start()

    def refresh(self) -> None:
        """Make the thread read the folder again."""
        self._must_read.set()

    def stop(self) -> None:
        """Stop the thread. The next start does the unfinished work. A repetition is not an error."""
        self._stopped.set()
        self._must_read.set()
        if self._thread.is_alive():
            self._thread.join()

    def take_over(self) -> Round:
        """Read the folder once, and report and return the changes. Raises ``OSError`` and the errors of the store.

        If the server refuses the documents of an agent, or a file cannot be read, that is reported. The other agents
        get their documents.
        """
        required = self._agents()
        result, agents = Round(), sorted(required)
        self._documents.sign_in({permission for permissions in required.values() for permission in permissions})
        files: dict[str, list[OwnedFile]] = {}
        for owned_file in list_owned_files(self.folder):
            files.setdefault(owned_file.agent_id, []).append(owned_file)
        for unknown in sorted(set(files) - set(agents)):
            result.problems.append(f"{self.folder.name}/{unknown}: {self._unknown(unknown, agents)}")
        reading = {agent_id: files[agent_id] for agent_id in agents if agent_id in files}
        if reading and not self._entries:
            count = sum(map(len, reading.values()))
            what, it = (f"{count} documents", "them") if count > 1 else ("1 document", "it")
            folders = ", ".join(f"{self.folder.name}/{agent_id}" for agent_id in reading)
            self._progress(f"Reading {what} of {folders}: agents answer from {it} in a moment ...")
        for agent_id in agents:
            try:
                self._store_files(agent_id, files.get(agent_id, []), result)
            except (APIStatusError, OSError) as problem:
                reason = problem.detail or problem.code if isinstance(problem, APIStatusError) else str(problem)
                reason = reason.rstrip(".")
                result.problems.append(f"{self.folder.name}/{agent_id}: {reason}. The next edit tries again.")
        self._report(result)
        return result

    def _follow(self) -> None:
        """Read the folder each time that ``refresh`` is called, until ``stop``."""
        while not self._stopped.is_set():
            self._must_read.wait()
            self._must_read.clear()
            try:
                if not self._stopped.is_set():
                    self.take_over()
            except Exception as problem:  # noqa: BLE001  the thread goes on after any error of the store
                reason = str(problem).rstrip(".")
                self._progress(f"{self.folder.name}/ was not read completely: {reason}. The next edit tries again.")

    def _store_files(self, agent_id: str, files: list[OwnedFile], result: Round) -> None:
        """Store an agent's new and changed files, delete its other documents, and add the outcome to ``result``."""
        newer = []
        files_by_name = {self._name(file): file for file in files}
        for name, file in files_by_name.items():
            body = file.file.read_bytes()
            checksum = hashlib.sha256(body).hexdigest()
            if self._entries.get(name, ("", ""))[1] == checksum:
                continue
            try:
                newer.append((name, checksum, self._documents.put(file, body)))
            except NotTaken as problem:
                result.problems.append(f"{name}: {problem}")
        document_ids = {self._entries[name][0] for name in files_by_name if name in self._entries} | {
            key for _, _, key in newer
        }
        names = {key: name for name, (key, _) in self._entries.items()}
        removed = self._documents.keep_only(agent_id, document_ids)
        result.removed += [names.get(key, name) for key, name in removed.items()]
        self._entries = {name: entry for name, entry in self._entries.items() if entry[0] not in removed}
        for name, checksum, key in newer:
            failure = self._wait_until_ready(agent_id, key)
            if self._stopped.is_set():
                return
            self._entries[name] = (key, checksum)
            if failure is None:
                result.ready.append(name)
            else:
                result.problems.append(f"{name}: {failure}")

    def _name(self, file: OwnedFile) -> str:
        """Return the file's path as the developer knows it."""
        return f"{self.folder.name}/{file.agent_id}/{file.relative}"

    def _wait_until_ready(self, agent_id: str, document_id: str) -> str | None:
        """Wait until a document is ready or has failed. Return the reason of a failure, or None."""
        while not self._stopped.is_set():
            is_done, problem = self._documents.read_state(agent_id, document_id)
            if is_done:
                return problem
            self._stopped.wait(POLL_SECONDS)
        return None

    def _report(self, result: Round) -> None:
        """Report a result. A problem that the last reading had too is not repeated."""
        if result.ready:
            self._progress(f"Documents that agents know now: {', '.join(result.ready)}")
        if result.removed:
            self._progress(f"Documents that agents do not know any more: {', '.join(result.removed)}")
        for problem in result.problems:
            if problem not in self._problems:
                self._progress(f"Not known to agents: {problem}")
        self._problems = result.problems
