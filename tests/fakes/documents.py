"""Records of documents, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from baton.domain.document import Document
from baton.domain.identity import Scope


class FakeDocuments:
    """What a search needs of ``ports.documents.DocumentStore``."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str, str], Document] = {}

    async def create(self, scope: Scope, document: Document) -> Document:
        return self.records.setdefault((scope.tenant_id, document.agent_id, document.id), document)

    async def get_many(self, scope: Scope, agent_id: str, document_ids: Collection[str]) -> Mapping[str, Document]:
        found = {id_: self.records.get((scope.tenant_id, agent_id, id_)) for id_ in document_ids}
        return {id_: document for id_, document in found.items() if document is not None}
