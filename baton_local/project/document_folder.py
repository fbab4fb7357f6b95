"""A folder ``documents/AGENT/...`` as documents of these agents, by the API that every document comes in by."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from baton_client import APIStatusError, BatonError
from baton_client.agent_folders import OwnedFile, no_such_agent, owned_files
from baton_local.project.folder_documents import NotTaken

POLL_SECONDS = 0.25


class StoredDocuments(Protocol):
    """The documents that the folder's become: ``FolderDocuments``, or ``LibraryDocuments``."""

    def sign_in(self, permissions: Collection[str], /) -> None:
        """Begin a reading of the folder, for owners that require ``permissions``."""

    def put(self, file: OwnedFile, body: bytes) -> str:
        """Store a file, unless it is there, and return the document's id. Raises ``NotTaken``."""

    def state(self, owner: str, document_id: str, /) -> tuple[bool, str | None]:
        """Return whether the newest version is done with, and why it failed if it did."""

    def keep_only(self, owner: str, kept: Collection[str], /) -> dict[str, str]:
        """Delete the owner's other documents, and return their names by their ids."""


@dataclass
class Round:
    """The result of one reading of the folder."""

    ready: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class DocumentFolder:
    """A folder of documents: on a separate thread, the agents' documents are kept equal to its files.

    A file that has not changed costs one request a start. Documents that users have uploaded are left alone.
    """

    def __init__(
        self,
        folder: Path,
        documents: StoredDocuments,
        progress: Callable[[str], None],
        agents: Callable[[], Mapping[str, Collection[str]]],
        unknown: Callable[[str, Sequence[str]], str] = no_such_agent,
    ) -> None:
        """``agents`` returns the ids of those that may have documents, with the permissions that each requires.

        ``unknown`` returns what is wrong with the folder of another one.
        """
        self.folder = folder
        self._documents = documents
        self._progress = progress
        self._agents = agents
        self._unknown = unknown
        self._known: dict[str, tuple[str, str]] = {}
        """Document id and checksum of what is ready or cannot be read, by the file's name."""
        self._problems: list[str] = []
        self._stopped = threading.Event()
        self._wanted = threading.Event()
        self._thread = threading.Thread(target=self._work, name="documents", daemon=True)

    def start(self) -> None:
        """Begin with what is there now."""
        if self.folder.is_dir():
            self.refresh()
        self._thread.start()

    def refresh(self) -> None:
        """Have the folder read again, soon."""
        self._wanted.set()

    def stop(self) -> None:
        """Give up what is not done yet: the next start does it. A repetition is not an error."""
        self._stopped.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join()

    def take_over(self) -> Round:
        """Read the folder once, and report and return what has changed. Raises ``BatonError`` and ``OSError``.

        An agent whose documents the server refuses is reported, and keeps none back from the others.
        """
        required = self._agents()
        done, agents = Round(), sorted(required)
        self._documents.sign_in({permission for permissions in required.values() for permission in permissions})
        files: dict[str, list[OwnedFile]] = {}
        for owned_file in owned_files(self.folder):
            files.setdefault(owned_file.agent_id, []).append(owned_file)
        for unknown in sorted(set(files) - set(agents)):
            done.problems.append(f"{self.folder.name}/{unknown}: {self._unknown(unknown, agents)}")
        reading = {agent_id: files[agent_id] for agent_id in agents if agent_id in files}
        if reading and not self._known:
            count = sum(map(len, reading.values()))
            what, it = (f"{count} documents", "them") if count > 1 else ("1 document", "it")
            folders = ", ".join(f"{self.folder.name}/{agent_id}" for agent_id in reading)
            self._progress(f"Reading {what} of {folders}: agents answer from {it} in a moment ...")
        for agent_id in agents:
            try:
                self._of_agent(agent_id, files.get(agent_id, []), done)
            except APIStatusError as problem:
                reason = (problem.detail or problem.code).rstrip(".")
                done.problems.append(f"{self.folder.name}/{agent_id}: {reason}. The next edit tries again.")
        self._report(done)
        return done

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._wanted.wait()
            self._wanted.clear()
            try:
                if not self._stopped.is_set():
                    self.take_over()
            except (BatonError, OSError) as problem:
                reason = str(problem).rstrip(".")
                self._progress(f"{self.folder.name}/ was not read completely: {reason}. The next edit tries again.")

    def _of_agent(self, agent_id: str, files: list[OwnedFile], done: Round) -> None:
        newer = []
        there = {self._name(file): file for file in files}
        for name, file in there.items():
            body = file.file.read_bytes()
            checksum = hashlib.sha256(body).hexdigest()
            if self._known.get(name, ("", ""))[1] == checksum:
                continue
            try:
                newer.append((name, checksum, self._documents.put(file, body)))
            except NotTaken as problem:
                done.problems.append(f"{name}: {problem}")
        document_ids = {self._known[name][0] for name in there if name in self._known} | {key for _, _, key in newer}
        names = {key: name for name, (key, _) in self._known.items()}
        removed = self._documents.keep_only(agent_id, document_ids)
        done.removed += [names.get(key, name) for key, name in removed.items()]
        self._known = {name: entry for name, entry in self._known.items() if entry[0] not in removed}
        for name, checksum, key in newer:
            failure = self._wait_until_ready(agent_id, key)
            if self._stopped.is_set():
                return
            self._known[name] = (key, checksum)
            if failure is None:
                done.ready.append(name)
            else:
                done.problems.append(f"{name}: {failure}")

    def _name(self, file: OwnedFile) -> str:
        """Return the file as the developer names it."""
        return f"{self.folder.name}/{file.agent_id}/{file.relative}"

    def _wait_until_ready(self, agent_id: str, document_id: str) -> str | None:
        """Wait until a document is ready. Return why it failed if it does."""
        while not self._stopped.is_set():
            is_done, problem = self._documents.state(agent_id, document_id)
            if is_done:
                return problem
            self._stopped.wait(POLL_SECONDS)
        return None

    def _report(self, done: Round) -> None:
        if done.ready:
            self._progress(f"Documents that agents know now: {', '.join(done.ready)}")
        if done.removed:
            self._progress(f"Documents that agents do not know any more: {', '.join(done.removed)}")
        for problem in done.problems:
            if problem not in self._problems:
                self._progress(f"Not known to agents: {problem}")
        self._problems = done.problems
