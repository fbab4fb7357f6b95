"""Documents of the project's libraries, stored by commands of the function ``ingestion``."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from baton.domain.definition import AGENT_ID
from baton_client import BatonError
from baton_client.agent_folders import OwnedFile
from baton_documents.formats import MEDIA_TYPES
from baton_documents.media_types import type_by_name
from baton_local.project.folder_documents import ENDINGS, MAX_IDS, NotTaken

Invoke = Callable[[dict[str, Any]], dict[str, Any]]
"""Invokes the function with an event and returns its answer."""
Upload = Callable[[Mapping[str, Any], bytes], None]
"""Puts a file at the upload target in the function's answer."""
UPLOAD_SECONDS = 300.0
UPLOADS = 3
"""The most attempts at an upload."""
FRESH_SECONDS = 1.0
"""The age up to which a library's list is used when the states of its documents are asked."""
LISTED_SECONDS = 60.0
"""The time after which the list certainly has a new document, since an index of the table is updated later."""
DELETED_AT_ONCE = 100
"""The most documents that one command deletes."""
IS_STORED = 412
"""The status of S3's answer to an upload of an object that it has already."""


class LibraryUnavailable(BatonError):
    """A library cannot be stored at present; the message gives the reason."""


class LibraryDocuments:
    """The stored documents of libraries: the interface of ``FolderDocuments``, with commands instead of the API.

    Methods raise ``LibraryUnavailable``, and what ``invoke`` raises.
    """

    def __init__(self, invoke: Invoke, permissions: Mapping[str, str], *, upload: Upload | None = None) -> None:
        """``permissions`` has the permission that the documents of a library need, by the library's name."""
        self._invoke = invoke
        self._upload = upload or put_file
        self._permissions = permissions
        self._stored: dict[str, tuple[float, dict[str, dict[str, Any]]]] = {}
        """The documents of each library by id, with the time at which they were listed."""
        self._announced: dict[str, float] = {}
        """The monotonic times at which documents were announced, by their ids."""
        self.unchanged = 0
        """The number of files since ``sign_in`` that were stored already and have not changed."""

    def sign_in(self, _: Collection[str]) -> None:
        """Clear the cached lists. No token is needed, because the caller may invoke the function."""
        self._stored, self.unchanged = {}, 0

    def close(self) -> None:
        """Do nothing, because no connection stays open."""

    def list_names(self) -> list[str]:
        """Return the names of the libraries that have stored documents."""
        return list(self._invoke({"command": "list_libraries"})["libraries"])

    def find_engine(self) -> str | None:
        """Return the search engine of the deployment; None if search is off."""
        engine: str | None = self._invoke({"command": "list_libraries"})["search"]
        return engine

    def put(self, file: OwnedFile, body: bytes) -> str:
        """Store a file, unless it is stored already, and return the document's id. Raises ``NotTaken``."""
        name, sha256 = file.file.name, hashlib.sha256(body).hexdigest()
        content_type = type_by_name(name)
        if content_type not in MEDIA_TYPES:
            raise NotTaken(ENDINGS)
        permission = self._permissions.get(file.agent_id)
        described = {"name": name, "sha256": sha256, "requiredPermission": permission}
        for times in range(MAX_IDS):
            document_id = file.derive_later_id(times)
            stored = self._list(file.agent_id).get(document_id, {"status": None})
            is_here = stored["status"] in ("ready", "processing")
            if is_here and described == {field: stored[field] for field in described}:
                self.unchanged += stored["status"] == "ready"
                return document_id
            announced = {**described, "contentType": content_type, "size": len(body), "documentId": document_id}
            answer = self._send_command("announce_document", file.agent_id, document=announced)
            if answer.get("error", {}).get("code") == "document_busy":  # it was deleted, and is being cleaned up
                continue
            if "error" in answer:
                raise NotTaken(answer["error"]["message"])
            if answer["upload"] is not None:
                self._upload(answer["upload"], body)
            self._stored.pop(file.agent_id, None)
            self._announced[document_id] = time.monotonic()
            return document_id
        raise NotTaken("it was removed too often in a short time. Wait some minutes, and try again.")

    def read_state(self, library: str, document_id: str) -> tuple[bool, str | None]:
        """Return whether the newest version is ready or failed, and the reason of a failure.

        A document that the list lacks counts as not ready until ``LISTED_SECONDS`` after its upload, then as deleted.
        """
        document = self._list(library, seconds=FRESH_SECONDS).get(document_id)
        if document is None:
            is_late = time.monotonic() - self._announced.get(document_id, 0.0) < LISTED_SECONDS
            return (False, None) if is_late else (True, "it was deleted meanwhile, by another deployment.")
        return document["status"] in {"ready", "failed"}, document["error"]

    def list_progress(self, library: str) -> list[tuple[str, str, int]]:
        """Return the id, status and percentage of each document of the library, as they were listed last."""
        return [(document["id"], document["status"], document["progress"]) for document in self._list(library).values()]

    def keep_only(self, library: str, document_ids: Collection[str]) -> dict[str, str]:
        """Delete the library's other documents, and return their names by their ids."""
        removed = {key: document["name"] for key, document in self._list(library).items() if key not in document_ids}
        ids = list(removed)
        for start in range(0, len(ids), DELETED_AT_ONCE):
            self._send_command("delete_documents", library, documentIds=ids[start : start + DELETED_AT_ONCE])
        if ids:
            self._stored.pop(library, None)
        return removed

    def _list(self, library: str, *, seconds: float = float("inf")) -> Mapping[str, dict[str, Any]]:
        """Return the library's documents by id, as they were at most ``seconds`` ago."""
        listed_at, documents = self._stored.get(library, (0.0, {}))
        if library not in self._stored or time.monotonic() - listed_at > seconds:
            documents = {document["id"]: document for document in self._list_pages(library)}
            self._stored[library] = time.monotonic(), documents
        return documents

    def _list_pages(self, library: str) -> Iterator[dict[str, Any]]:
        """Yield the documents of all pages of the library's list."""
        cursor = None
        while True:
            page = self._send_command("list_documents", library, cursor=cursor)
            yield from page["documents"]
            cursor = page["cursor"]
            if cursor is None:
                return

    def _send_command(self, command: str, library: str, **fields: Any) -> dict[str, Any]:
        return self._invoke({"command": command, "library": library, **fields})


def put_file(target: Mapping[str, Any], body: bytes) -> None:
    """Put a file at an upload target, with retries after faults of S3. Raises ``LibraryUnavailable``."""
    reason = ""
    for _ in range(UPLOADS):
        try:
            answer = httpx.request(
                target["method"], target["url"], headers=target["headers"], content=body, timeout=UPLOAD_SECONDS
            )
        except httpx.HTTPError as problem:
            reason = f"S3 cannot be reached: {problem}"
            continue
        if answer.is_success or answer.status_code == IS_STORED:
            return
        reason = f"S3 does not take a file: {answer.status_code} {answer.text[:200]}"
        if answer.status_code < 500:
            break
    raise LibraryUnavailable(reason)


def find_libraries(folder: Path) -> list[str]:
    """Return the names of the folders in ``folder``, which may not be valid names of libraries."""
    return sorted(path.name for path in folder.glob("[!.]*") if path.is_dir() and not path.is_symlink())


def is_library_name(name: str) -> bool:
    """Return whether a folder's name can be a library's."""
    return re.fullmatch(AGENT_ID, name) is not None


def describe_wrong_library_name(name: str) -> str:
    """Return what is wrong with a folder's name."""
    return f"{name!r} is no name of a library: small letters, digits, - and _, a letter first, at most 41 characters"
