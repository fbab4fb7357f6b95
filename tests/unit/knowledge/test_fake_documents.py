"""The stores of documents in memory keep the contract of the real ones."""

from __future__ import annotations

import pytest

from baton.ports.documents.files import Upload
from baton_testing.fakes.documents.documents import FakeDocuments
from tests.contracts.documents import DocumentFilesContract, DocumentRooms, DocumentStoreContract
from tests.fakes.documents import FakeDocumentFiles


@pytest.fixture
def rooms() -> DocumentRooms:
    files = FakeDocumentFiles()

    async def upload(to: Upload, body: bytes) -> bool:
        try:
            await files.put(to, body)
        except ValueError:
            return False
        return True

    return DocumentRooms(FakeDocuments(), files, upload)


class TestDocuments(DocumentStoreContract):
    pass


class TestDocumentFiles(DocumentFilesContract):
    pass
