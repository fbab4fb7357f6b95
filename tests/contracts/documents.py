"""Documents: what every store of their records and of their files does."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from baton.domain.documents.document import Document, DocumentRef, DocumentVersion, IngestionStep, VersionStatus
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import ProjectScope, Scope
from baton.ports.documents.documents import ORIGINAL, DocumentFiles, DocumentStore
from baton.ports.documents.files import Upload
from baton_documents.results import PageError
from baton_testing.fakes.clock import NOON

SECOND = timedelta(seconds=1)


@dataclass
class DocumentRooms:
    """Stores of documents, with separate tenants."""

    documents: DocumentStore
    files: DocumentFiles
    upload: Callable[[Upload, bytes], Awaitable[bool]]
    """Sends bytes as a client would; False if they are refused."""
    tenant: str = field(default_factory=lambda: f"t{uuid.uuid4().hex}")

    def __post_init__(self) -> None:
        self.ada = Scope(self.tenant, "ada")
        self.stranger = Scope(f"{self.tenant}-2", "ada")


def new_document(*, agent_id: str = "knowledge", at: datetime = NOON) -> Document:
    """A document whose first version waits for its content."""
    return Document(
        id=f"doc_{uuid.uuid4().hex}",
        agent_id=agent_id,
        title="Handbuch, größer 😀",
        created_at=at,
        updated_at=at,
        next=waiting(1, at=at),
        check_at=at + 60 * SECOND,
    )


def waiting(number: int, *, at: datetime = NOON) -> DocumentVersion:
    return DocumentVersion(number, VersionStatus.WAITING, "handbook.pdf", "application/pdf", 7, "ada", at)


def processing(number: int) -> DocumentVersion:
    return replace(waiting(number), status=VersionStatus.PROCESSING)


def ref_of(rooms: DocumentRooms, document: Document) -> DocumentRef:
    return DocumentRef(rooms.tenant, document.agent_id, document.id, 1)


class DocumentStoreContract:
    """Records of documents."""

    async def test_a_document_comes_back_whole(self, rooms: DocumentRooms) -> None:
        errors = (PageError(3, "The page cannot be read."),)
        version = replace(processing(2), page_errors=errors, page_error_count=1, sha256="ab" * 32, pages=12)
        document = replace(
            new_document(), active=replace(waiting(1), status=VersionStatus.READY, chunks=40), next=version, stale=(3,)
        )
        created = await rooms.documents.create(rooms.ada, document)
        assert created == replace(document, revision=1)
        assert await rooms.documents.get(rooms.ada, "knowledge", document.id) == created

    async def test_an_id_is_taken_once(self, rooms: DocumentRooms) -> None:
        first = await rooms.documents.create(rooms.ada, new_document())
        again = await rooms.documents.create(rooms.ada, replace(first, title="Another", revision=0))
        assert again == first

    async def test_what_was_saved_since_it_was_read_is_not_overwritten(self, rooms: DocumentRooms) -> None:
        read = await rooms.documents.create(rooms.ada, new_document())
        saved = await rooms.documents.save(rooms.ada, replace(read, title="Better"))
        assert saved == replace(read, title="Better", revision=2)
        assert await rooms.documents.save(rooms.ada, replace(read, title="Late")) is None
        assert await rooms.documents.get(rooms.ada, "knowledge", read.id) == saved

    async def test_one_of_many_saves_at_once_is_stored(self, rooms: DocumentRooms) -> None:
        read = await rooms.documents.create(rooms.ada, new_document())
        saves = [rooms.documents.save(rooms.ada, replace(read, title=f"Title {number}")) for number in range(5)]
        stored = [result for result in await asyncio.gather(*saves) if result is not None]
        assert stored == [await rooms.documents.get(rooms.ada, "knowledge", read.id)]

    async def test_nothing_is_saved_without_a_record(self, rooms: DocumentRooms) -> None:
        document = await rooms.documents.create(rooms.ada, new_document())
        assert await rooms.documents.remove(rooms.ada, document)
        assert await rooms.documents.save(rooms.ada, document) is None
        assert await rooms.documents.get(rooms.ada, "knowledge", document.id) is None

    async def test_a_record_that_was_changed_is_not_removed(self, rooms: DocumentRooms) -> None:
        read = await rooms.documents.create(rooms.ada, new_document())
        await rooms.documents.save(rooms.ada, replace(read, title="Better"))
        assert not await rooms.documents.remove(rooms.ada, read)
        assert await rooms.documents.get(rooms.ada, "knowledge", read.id) is not None

    async def test_removing_twice_is_no_error(self, rooms: DocumentRooms) -> None:
        read = await rooms.documents.create(rooms.ada, new_document())
        assert await rooms.documents.remove(rooms.ada, read)
        assert await rooms.documents.remove(rooms.ada, read)

    async def test_progress_only_grows(self, rooms: DocumentRooms) -> None:
        document = await rooms.documents.create(rooms.ada, replace(new_document(), next=processing(1)))
        for percent in (10, 40, 20):
            at = NOON + percent * SECOND
            await rooms.documents.note_progress(rooms.ada, ref_of(rooms, document), IngestionStep.EXTRACT, percent, at)
        result = await rooms.documents.get(rooms.ada, "knowledge", document.id)
        assert result is not None
        assert (result.latest.progress, result.latest.step) == (40, IngestionStep.EXTRACT)
        assert result.updated_at == NOON + 40 * SECOND

    async def test_progress_is_no_reason_to_refuse_a_save(self, rooms: DocumentRooms) -> None:
        read = await rooms.documents.create(rooms.ada, replace(new_document(), next=processing(1)))
        await rooms.documents.note_progress(rooms.ada, ref_of(rooms, read), IngestionStep.INDEX, 50, NOON)
        assert await rooms.documents.save(rooms.ada, replace(read, title="Better")) is not None

    @pytest.mark.parametrize("state", ["waiting", "failed", "ready", "deleted", "newer", "removed"])
    async def test_progress_of_what_is_not_in_progress_is_ignored(self, rooms: DocumentRooms, state: str) -> None:
        version = replace(processing(1), progress=5)
        document = replace(new_document(), next=version)
        match state:
            case "waiting" | "failed":
                document = replace(document, next=replace(version, status=VersionStatus(state)))
            case "ready":
                document = replace(document, next=None, active=replace(version, status=VersionStatus.READY))
            case "deleted":
                document = document.mark_deleted(NOON)
            case "newer":
                document = replace(document, next=replace(version, number=2))
        stored = await rooms.documents.create(rooms.ada, document)
        if state == "removed":
            await rooms.documents.remove(rooms.ada, stored)
        await rooms.documents.note_progress(rooms.ada, ref_of(rooms, document), IngestionStep.INDEX, 50, NOON)
        result = await rooms.documents.get(rooms.ada, "knowledge", document.id)
        assert result == (None if state == "removed" else stored)

    async def test_many_are_read_at_once(self, rooms: DocumentRooms) -> None:
        documents = [await rooms.documents.create(rooms.ada, new_document()) for _ in range(3)]
        ids = [document.id for document in documents]
        many = await rooms.documents.get_many(rooms.ada, "knowledge", [*ids, *ids, f"doc_{'0' * 32}"])
        assert many == {document.id: document for document in documents}
        assert await rooms.documents.get_many(rooms.ada, "knowledge", []) == {}

    async def test_documents_are_listed_by_pages_newest_first_without_deleted_ones(self, rooms: DocumentRooms) -> None:
        documents = [
            await rooms.documents.create(rooms.ada, new_document(at=NOON + number * SECOND)) for number in range(5)
        ]
        await rooms.documents.save(rooms.ada, documents[2].mark_deleted(NOON))
        pages, cursor = [], None
        while True:
            page, cursor = await rooms.documents.of_agent(rooms.ada, "knowledge", limit=2, cursor=cursor)
            pages.append([document.id for document in page])
            if cursor is None:
                break
        ids = [document.id for document in documents]
        assert pages == [[ids[4], ids[3]], [ids[1], ids[0]]]
        with pytest.raises(InvalidRequest):
            await rooms.documents.of_agent(rooms.ada, "knowledge", limit=2, cursor="made up")

    async def test_documents_are_counted_up_to_a_number(self, rooms: DocumentRooms) -> None:
        for number in range(3):
            await rooms.documents.create(rooms.ada, new_document(at=NOON + number * SECOND))
        assert [await rooms.documents.count(rooms.ada, "knowledge", up_to=most) for most in (10, 2, 0)] == [3, 2, 0]
        for scope, agent_id in ((rooms.stranger, "knowledge"), (rooms.ada, "know")):
            assert await rooms.documents.count(scope, agent_id, up_to=10) == 0

    async def test_every_agent_and_tenant_has_documents_of_its_own(self, rooms: DocumentRooms) -> None:
        document = await rooms.documents.create(rooms.ada, new_document())
        for scope, agent_id in ((rooms.stranger, "knowledge"), (rooms.ada, "knowledge-2"), (rooms.ada, "know")):
            assert await rooms.documents.get(scope, agent_id, document.id) is None
            assert await rooms.documents.get_many(scope, agent_id, [document.id]) == {}
            assert await rooms.documents.of_agent(scope, agent_id, limit=5, cursor=None) == ([], None)
            other = replace(document, agent_id=agent_id, title="Not theirs")
            assert await rooms.documents.save(scope, other) is None
            await rooms.documents.note_progress(
                scope, replace(ref_of(rooms, document), agent_id=agent_id), IngestionStep.INDEX, 50, NOON
            )
            assert await rooms.documents.remove(scope, other)
        assert await rooms.documents.get(rooms.ada, "knowledge", document.id) == document

    async def test_what_is_to_be_checked_is_found_in_all_tenants(self, rooms: DocumentRooms) -> None:
        mine = await rooms.documents.create(rooms.ada, new_document())
        theirs = await rooms.documents.create(rooms.stranger, replace(new_document(), next=waiting(4)))
        settled = await rooms.documents.create(rooms.ada, replace(new_document(), check_at=None))
        later = await rooms.documents.create(rooms.ada, replace(new_document(), check_at=NOON + 90 * SECOND))
        due = [ref async for ref in rooms.documents.due(NOON + 61 * SECOND)]
        ours = {ref.document_id: ref for ref in due}
        assert ours[mine.id] == ref_of(rooms, mine)
        assert ours[theirs.id] == DocumentRef(rooms.stranger.tenant_id, "knowledge", theirs.id, 4)
        assert not {settled.id, later.id} & set(ours)
        await rooms.documents.save(rooms.ada, replace(mine, check_at=None))
        assert mine.id not in {ref.document_id async for ref in rooms.documents.due(NOON + 61 * SECOND)}


class DocumentFilesContract:
    """The content of documents, and the files of the pipeline."""

    async def test_what_was_uploaded_is_read(self, rooms: DocumentRooms) -> None:
        document, body = new_document(), bytes(range(256)) * 30
        digest = hashlib.sha256(body).hexdigest()
        for version, sha256 in ((1, None), (2, digest)):
            upload = await rooms.files.presign_upload(
                rooms.ada, document, version, "application/pdf", len(body), sha256
            )
            assert await rooms.upload(upload, body)
            assert await rooms.files.read(rooms.ada, document, version, ORIGINAL) == body
        assert await rooms.files.read(rooms.ada, document, 3, ORIGINAL) is None

    async def test_a_version_is_uploaded_once(self, rooms: DocumentRooms) -> None:
        document = new_document()
        upload = await rooms.files.presign_upload(rooms.ada, document, 1, "text/plain", 5, None)
        assert await rooms.upload(upload, b"first")
        assert not await rooms.upload(upload, b"other")
        assert await rooms.files.read(rooms.ada, document, 1, ORIGINAL) == b"first"

    async def test_a_file_of_the_pipeline_is_replaced_by_a_later_one(self, rooms: DocumentRooms) -> None:
        document = new_document()
        for body in (b"one", b"two"):
            await rooms.files.write(rooms.ada, document, 1, "parts/0001", body)
        assert await rooms.files.read(rooms.ada, document, 1, "parts/0001") == b"two"
        assert await rooms.files.read(rooms.ada, document, 1, "parts/0002") is None

    async def test_a_version_is_removed_with_or_without_its_content(self, rooms: DocumentRooms) -> None:
        document = new_document()
        for version in (1, 10):
            for name in (ORIGINAL, "parts/0001", "chunks/0001"):
                await rooms.files.write(rooms.ada, document, version, name, b"x")
        assert await rooms.files.remove(rooms.ada, document, 1, with_original=False) == 2
        assert await rooms.files.read(rooms.ada, document, 1, ORIGINAL) == b"x"
        assert await rooms.files.remove(rooms.ada, document, 1, with_original=True) == 1
        assert await rooms.files.remove(rooms.ada, document, 1, with_original=True) == 0
        assert await rooms.files.read(rooms.ada, document, 1, ORIGINAL) is None
        assert await rooms.files.read(rooms.ada, document, 10, "chunks/0001") == b"x"

    async def test_files_are_their_tenants_agents_and_documents_own(self, rooms: DocumentRooms) -> None:
        document = new_document()
        await rooms.files.write(rooms.ada, document, 1, ORIGINAL, b"mine")
        for scope, other in (
            (rooms.stranger, document),
            (rooms.ada, replace(document, agent_id="knowledge-2")),
            (rooms.ada, new_document()),
        ):
            assert await rooms.files.read(scope, other, 1, ORIGINAL) is None
            assert await rooms.files.remove(scope, other, 1, with_original=True) == 0
        assert await rooms.files.read(rooms.ada, document, 1, ORIGINAL) == b"mine"

    async def test_the_agents_with_files_are_the_tenants_and_the_libraries_are_the_projects(
        self, rooms: DocumentRooms
    ) -> None:
        document = new_document()
        places = [(rooms.ada, "pumps"), (rooms.ada, "valves"), (rooms.ada, "valves"), (ProjectScope(), "manual")]
        for number, (scope, agent_id) in enumerate(places, start=1):
            await rooms.files.write(scope, replace(document, agent_id=agent_id), number, "original", b"a")
        assert list(await rooms.files.list_owners(rooms.ada)) == ["pumps", "valves"]
        assert "manual" in await rooms.files.list_owners(ProjectScope())
        for number, (scope, agent_id) in enumerate(places, start=1):
            await rooms.files.remove(scope, replace(document, agent_id=agent_id), number, with_original=True)
        assert list(await rooms.files.list_owners(rooms.ada)) == []
