"""Commands of an operator for the project's libraries: list, announce, follow and delete their documents.

They are sent by an invocation of the function ``ingestion``, which only credentials of the AWS account allow. Requests
of tenants cannot send them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from baton.domain.definition import AGENT_ID
from baton.domain.documents.document import Document
from baton.domain.errors import BatonError, UnknownDocument
from baton.domain.tenants.identity import ProjectScope
from baton.knowledge.document_rules import check_request
from baton.knowledge.documents import Documents
from baton.ports.documents.documents import DocumentFiles

PAGE = 200
"""The number of documents in a page. With their errors, they stay far below the 6 MB of a Lambda response."""


@dataclass(frozen=True, slots=True)
class LibraryCommands:
    """The handler of commands, which are named by the ``command`` of an event. Each may be repeated."""

    documents: Documents
    files: DocumentFiles
    engine: Callable[[], str | None]
    """Returns the name of the search engine; None if search is off."""

    async def run(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a command. Raises ``ValueError`` for an unknown command or an invalid name of a library."""
        command = event["command"]
        if command == "list_libraries":
            return {"libraries": list(await self.files.list_owners(ProjectScope())), "search": self.engine()}
        library = str(event.get("library"))
        if not re.fullmatch(AGENT_ID, library):
            raise ValueError(f"{library!r} is no name of a library: small letters, digits, - and _, at most 41.")
        match command:
            case "list_documents":
                return await self._list(library, event.get("cursor"))
            case "announce_document":
                return await self._announce(library, event["document"])
            case "delete_documents":
                return await self._delete(library, event["documentIds"])
        raise ValueError(
            f"There is no command {command!r}: list_libraries, list_documents, announce_document, delete_documents."
        )

    async def _list(self, library: str, cursor: str | None) -> dict[str, Any]:
        documents, following = await self.documents.of_agent(ProjectScope(), library, limit=PAGE, cursor=cursor)
        return {"documents": [_describe_document(document) for document in documents], "cursor": following}

    async def _announce(self, library: str, announced: Mapping[str, Any]) -> dict[str, Any]:
        """Return the document and the request that uploads its file, or the ``error`` of a refusal.

        The upload is None if the file need not be uploaded.
        """
        try:
            request = check_request(
                name=announced["name"],
                content_type=announced["contentType"],
                size=announced["size"],
                sha256=announced["sha256"],
                document_id=announced["documentId"],
                details={"required_permission": announced.get("requiredPermission")},
            )
            prepared = await self.documents.prepare(ProjectScope(), library, request)
        except BatonError as refusal:
            if refusal.status >= 500:
                raise
            return {"error": {"code": refusal.code, "message": refusal.detail}}
        upload = prepared.upload
        target = {name: value for name, value in asdict(upload).items() if name in _TARGET} if upload else None
        return {"document": _describe_document(prepared.document), "upload": target}

    async def _delete(self, library: str, document_ids: Sequence[str]) -> dict[str, Any]:
        deleted = 0
        for document_id in document_ids:
            try:
                await self.documents.delete(ProjectScope(), library, document_id)
                deleted += 1
            except UnknownDocument:  # another deployment has deleted it already
                continue
        return {"deleted": deleted}


_TARGET = ("url", "method", "headers")


def _describe_document(document: Document) -> dict[str, Any]:
    latest = document.latest
    return {
        "id": document.id,
        "name": latest.name,
        "status": latest.status.value,
        "progress": latest.progress,
        "sha256": latest.sha256,
        "requiredPermission": document.required_permission,
        "error": latest.error,
    }
