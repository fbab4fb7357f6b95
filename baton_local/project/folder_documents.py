"""Documents of a folder, stored by the HTTP API."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from baton_client import APIStatusError, Baton, ConfigurationError
from baton_client.agent_folders import OwnedFile, list_owned_files
from baton_client.conditions import DocumentBusyError
from baton_documents.formats import MEDIA_TYPES
from baton_documents.media_types import type_by_name
from baton_local.tokens import EmbedKey, TokenRequest

TENANT, USER = "demo", "documents-folder"
PERMISSIONS = ["document:write"]
MAX_IDS = 20
"""The number of times that a file may be removed and added again before the first removal is cleaned up."""


ENDINGS = "its ending is of no kind of document: .pdf .docx .pptx .xlsx .html .md .txt .csv"


def advise_other_tenants(folder: Path, tenants: Collection[str]) -> str | None:
    """Return advice for those of ``tenants`` that do not get the folder's documents: all but ``TENANT``.

    Return None if there are no such tenants, or no documents.

    Without the note, a developer would think that search finds nothing.
    """
    others = sorted({*tenants} - {TENANT})
    if not others or not list_owned_files(folder):
        return None
    return (
        f"Only the tenant {TENANT} knows {folder.name}/, and BATON_EMBED_KEYS has keys of {', '.join(others)}: run "
        f"`baton login --local --tenant {others[0]} --permission document:write` and `baton apply .`, or use {TENANT}."
    )


class NotTaken(Exception):
    """A file cannot become a document; the message says why."""


class FolderDocuments:
    """The documents of the tenant ``demo`` whose newest versions ``USER`` has uploaded.

    ``sign_in`` must be called first. The other methods raise ``BatonError`` if the server does not answer, or refuses
    for a reason that is not the file.
    """

    def __init__(self, url: str, key: EmbedKey) -> None:
        """``key`` signs the tokens."""
        self._key = key
        self._client = Baton(url)
        self._documents = self._client.documents

    def sign_in(self, permissions: Collection[str]) -> None:
        """Act from now on with the agents' ``permissions``, in addition to the one for documents."""
        token_request = TokenRequest(tenant=TENANT, user=USER, permissions=sorted({*PERMISSIONS, *permissions}))
        self._documents = self._client.with_options(token=lambda: self._key.sign(token_request)).documents

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def put(self, file: OwnedFile, body: bytes) -> str:
        """Store a file, unless it is stored already, and return the document's id. Raises ``NotTaken``.

        The id is the same as that of ``baton apply``, so that changed content becomes a new version.
        """
        name = file.file.name
        content_type = type_by_name(name)
        if content_type not in MEDIA_TYPES:
            raise NotTaken(ENDINGS)
        for times in range(MAX_IDS):
            document_id = file.derive_later_id(times)
            try:
                self._documents.upload(
                    file.agent_id, body, name=name, content_type=content_type, document_id=document_id
                )
            except DocumentBusyError:
                continue
            except ConfigurationError as problem:
                raise NotTaken(str(problem)) from problem
            except APIStatusError as problem:
                if problem.retryable or (problem.status or 0) >= 500:  # the file is not the cause
                    raise
                raise NotTaken(problem.detail) from problem
            return document_id
        raise NotTaken("it was removed too often in a short time. Wait some minutes, and save it again.")

    def read_state(self, agent_id: str, document_id: str) -> tuple[bool, str | None]:
        """Return whether the newest version is ready or failed, and the reason of a failure."""
        document = self._documents.get(agent_id, document_id)
        return document.status in {"ready", "failed"}, document.error.message if document.error else None

    def keep_only(self, agent_id: str, document_ids: Collection[str]) -> dict[str, str]:
        """Delete the agent's other documents of a folder, and return their names by their ids."""
        removed = {}
        for document in list(self._documents.list(agent_id, limit=100)):
            if document.created_by == USER and document.id not in document_ids:
                self._documents.delete(agent_id, document.id)
                removed[document.id] = document.name
        return removed
