"""Records of documents in DynamoDB, their content in S3."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from baton.adapters.aws.s3_documents import S3Documents
from baton.adapters.aws.s3_files import create_s3_client
from baton.adapters.dynamodb.documents import DynamoDocuments
from baton.ports.documents.files import Upload
from baton_testing.fakes.clock import FakeClock
from tests.contracts.documents import DocumentFilesContract, DocumentRooms, DocumentStoreContract, new_document
from tests.integration.store.conftest import BUCKET, Engine


@pytest.fixture
def rooms(on_dynamodb_local: Engine, documents_in_s3: S3Documents) -> DocumentRooms:
    async def upload(to: Upload, body: bytes) -> bool:
        async with httpx.AsyncClient(trust_env=False) as http:
            answer = await http.request(to.method, to.url, headers=to.headers, content=body)
        assert answer.status_code in (200, 400, 403, 412)
        return answer.status_code == 200

    return DocumentRooms(DynamoDocuments(on_dynamodb_local.table), documents_in_s3, upload)


@pytest.fixture
def documents_in_s3(moto_server: str, s3: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Documents]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = create_s3_client(moto_server)
    yield S3Documents(client, BUCKET, FakeClock())
    client.close()


class TestDocuments(DocumentStoreContract):
    pass


class TestDocumentFiles(DocumentFilesContract):
    async def test_what_an_upload_must_send_is_signed(self, rooms: DocumentRooms) -> None:
        """S3 accepts no other bytes: size, type, checksum and that nothing is there are part of the signature."""
        upload = await rooms.files.presign_upload(rooms.ada, new_document(), 1, "text/plain", 5, "ab" * 32)
        signed = httpx.URL(upload.url).params
        headers = set(signed["X-Amz-SignedHeaders"].split(";"))
        assert {"content-length", "content-type", "if-none-match"} <= headers
        assert "x-amz-checksum-sha256" in {*headers, *(name.lower() for name in signed)}
        assert signed["X-Amz-Expires"] == "900"
