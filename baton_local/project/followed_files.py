"""Follows a developer's edits while the local cloud runs: agents, tools and documents."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from baton.adapters.agents.agent_files import LIBRARIES, read_library_names
from baton_local.project import shared_agents
from baton_local.project.document_folder import DocumentFolder
from baton_local.project.folder_documents import FolderDocuments
from baton_local.project.library_documents import (
    LibraryDocuments,
    describe_wrong_library_name,
    find_libraries,
    is_library_name,
)
from baton_local.project.reloading import Reloader
from baton_local.project.watching import Snapshot, take_snapshot, watch_changes
from baton_local.settings import LocalSettings

logger = logging.getLogger("baton_local")


def find_code_folders(settings: LocalSettings) -> tuple[Path, Path]:
    """Return the folders of agents and tools, in this order."""
    return Path(os.environ["BATON_AGENTS_DIR"]), settings.tools_dir.absolute()


class FollowedFiles:
    """The folders of agents, tools, documents and libraries, whose changes a thread takes over."""

    def __init__(
        self,
        reloader: Reloader,
        documents: DocumentFolder,
        libraries: DocumentFolder,
        *,
        watches: bool,
        snapshot: Snapshot,
    ) -> None:
        """``watches`` says whether edits are taken over; without it only the documents present at the start are.

        ``snapshot`` are the files of agents and tools as they were before they were read.
        """
        self.reloader = reloader
        self._documents, self._libraries = documents, libraries
        self._watches = watches
        self._snapshot = snapshot
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="reload", daemon=True)

    @classmethod
    def of(
        cls,
        settings: LocalSettings,
        documents: FolderDocuments,
        libraries: LibraryDocuments,
        progress: Callable[[str], None],
        snapshot: Snapshot,
    ) -> Self:
        """Return the folders of a local cloud whose functions are loaded; see ``__init__`` for ``snapshot``."""
        folders = find_code_folders(settings)
        # Functions of other processes have read agents and tools themselves.
        watches = settings.reload and settings.workers > 0 and not settings.worker_processes
        folder = DocumentFolder(settings.documents_dir.absolute(), documents, progress, _list_agents)
        shelves = make_library_folder(folders[0].absolute().parent / LIBRARIES, libraries, progress)
        return cls(Reloader(*folders, progress), folder, shelves, watches=watches, snapshot=snapshot)

    def start(self) -> None:
        """Store the present documents in the background, and begin to take over edits if they are watched."""
        self._documents.start()
        self._libraries.start()
        if self._watches:
            self.reloader.begin()
            self._thread.start()

    def stop(self) -> None:
        """Stop watching. A repetition is not an error."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()
        self._documents.stop()
        self._libraries.stop()

    def _follow(self) -> None:
        """Take over edits until ``stop``. A failure is logged."""
        shelves = self._libraries.folder
        folders = (*self.reloader.folders, self._documents.folder, shelves)
        files = {**self._snapshot, **take_snapshot([self._documents.folder, shelves])}
        for changed in watch_changes(folders, self._stopped, files):
            try:
                names = read_library_names(self.reloader.folders[0])
                has_code = any(path.is_relative_to(folder) for path in changed for folder in self.reloader.folders)
                if has_code or names != shared_agents.get_shared_agents().libraries:
                    self.reloader.reload(changed)
                if any(path.is_relative_to(shelves) for path in changed):
                    self._libraries.refresh()
                self._documents.refresh()  # also for a new agent, whose documents may be older
            except Exception:
                logger.exception("The files were not taken over; the previous ones stay in use")


def make_library_folder(folder: Path, documents: LibraryDocuments, progress: Callable[[str], None]) -> DocumentFolder:
    """Return the folder of the project's libraries. Stored documents of removed libraries are deleted."""

    def list_owners() -> dict[str, tuple[str, ...]]:
        named = [name for name in find_libraries(folder) if is_library_name(name)]
        return dict.fromkeys([*documents.list_names(), *named], ())

    return DocumentFolder(folder, documents, progress, list_owners, lambda name, _: describe_wrong_library_name(name))


def _list_agents() -> dict[str, tuple[str, ...]]:
    return {agent.id: agent.required_permissions for agent in shared_agents.get_shared_agents().all()}
