"""The developer's project in one local cloud: agents, tools and documents, and their edits."""

import logging
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from baton_local.errors import LocalCloudError
from baton_local.execution import AGENTS_LAYER
from baton_local.settings import LocalSettings
from baton_local.stack.declarations import FunctionDefinition
from baton_local.tokens import EmbedKey

if TYPE_CHECKING:
    from baton_local.project.watching import Snapshot

logger = logging.getLogger("baton_local")


class CloudProject:
    """The agents, tools and documents of the folders that the settings name."""

    def __init__(self, settings: LocalSettings, progress: Callable[[str], None]) -> None:
        self._settings = settings
        self._progress = progress
        self._running = ExitStack()
        self._code: Snapshot = {}
        """The files of agents and tools as they were before they were read."""

    def read_agents(self, functions: Iterable[FunctionDefinition]) -> None:
        """Read the agents' files for those ``functions`` that use them, before anything that needs them.

        Raises ``LocalCloudError`` if a file is wrong.
        """
        from baton.adapters.agents.agent_files import AgentFileError
        from baton_local.project import shared_agents
        from baton_local.project.followed_files import find_code_folders
        from baton_local.project.watching import take_snapshot

        self._code = take_snapshot(find_code_folders(self._settings))  # the next turn uses later edits
        try:
            shared_agents.share_agents(function.name for function in functions if AGENTS_LAYER in function.layers)
        except AgentFileError as problem:
            raise LocalCloudError(str(problem)) from problem

    def report_unusable(self, *, with_embedder: bool) -> None:
        """Log the tools, remote agents and token issuers that cannot be used. Turns run without them.

        ``with_embedder`` tries the embedding model too.
        """
        from baton.composition.startup import event_loop
        from baton_local.project import checks

        for problem in event_loop.run(checks.find_problems(with_embedder=with_embedder)):
            logger.warning("%s", problem)

    def follow_files(
        self, url: str, key: EmbedKey, invoke: Callable[[Any], Any], tenants: Collection[str]
    ) -> dict[str, Any]:
        """Import the project's documents, and follow edits of agents, tools and documents, for the next turn.

        ``url`` is the address of the API, ``key`` signs tokens for it, and ``invoke`` calls the function that ingests
        libraries. ``tenants`` are those with a key. Returns the state of the reloads, which later reloads change.
        """
        from baton_local.project.folder_documents import FolderDocuments, advise_other_tenants
        from baton_local.project.followed_files import FollowedFiles
        from baton_local.project.library_documents import LibraryDocuments

        documents = FolderDocuments(url, key)
        self._running.callback(documents.close)
        libraries = LibraryDocuments(invoke, self._settings.library_permissions)
        followed = FollowedFiles.of(self._settings, documents, libraries, self._progress, self._code)
        self._running.callback(followed.stop)
        followed.start()
        if note := advise_other_tenants(self._settings.documents_dir, tenants):
            self._progress(note)
        return followed.reloader.state

    def stop(self) -> None:
        """Stop following files. A repetition is not an error."""
        self._running.close()
