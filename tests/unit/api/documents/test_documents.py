"""Documents over HTTP: who may, what is accepted, and that a repeated request changes nothing."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import httpx
import pytest

from baton.domain.documents.document import Document, DocumentRef, VersionStatus
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton_documents.results import PageError
from baton_testing.fakes.documents.documents import FakeDocuments
from tests.fakes.documents import FakeIngestions
from tests.unit.api.served import Served

WRITE = "document:write"
BODY = b"%PDF-1.7 ..."
SHA256 = hashlib.sha256(BODY).hexdigest()
ID = f"doc_{'0' * 31}1"
PDF = {"name": "handbook.pdf", "contentType": "application/pdf", "size": len(BODY)}


@pytest.fixture
def served() -> Served:
    return Served()


def records(served: Served) -> FakeDocuments:
    store = served.harness.documents
    assert isinstance(store, FakeDocuments)
    return store


async def add(served: Served, *, user: str = "ada", agent: str = "assistant", **fields: Any) -> httpx.Response:
    return await served.post(f"/agents/{agent}/documents", PDF | fields, WRITE, user=user)


async def add_document(served: Served, **fields: Any) -> dict[str, Any]:
    answer = await add(served, **fields)
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def finish(served: Served, document_id: str, status: VersionStatus, **changes: Any) -> Document:
    """Play the pipeline: end the newest version's ingestion."""
    store = records(served)
    key = (served.harness.ada.tenant_id, "assistant", document_id)
    document = store.records[key]
    version = replace(document.latest, status=status, progress=100, **changes)
    now = served.harness.clock.now()
    ready = status is VersionStatus.READY
    document = document.activate(version, now) if ready else document.fail(version, now)
    store.records[key] = replace(document, revision=document.revision + 1)
    return store.records[key]


async def test_a_document_is_announced_and_gets_an_address_for_exactly_its_bytes(served: Served) -> None:
    new_document = await add_document(served, sha256=SHA256, title="Staff handbook", url="https://example.com/h")
    document, upload = new_document["document"], new_document["upload"]
    assert (document["status"], document["version"], document["activeVersion"]) == ("waiting", 1, None)
    assert (document["title"], document["name"], document["url"]) == (
        "Staff handbook",
        "handbook.pdf",
        "https://example.com/h",
    )
    assert (document["agentId"], document["createdBy"], document["progress"]) == ("assistant", "ada", 0)
    assert upload["method"] == "PUT"
    assert upload["headers"]["Content-Length"] == str(len(BODY))
    assert (await served.get(f"/agents/assistant/documents/{document['id']}", WRITE)).json() == document
    items, _ = await served.items("/agents/assistant/documents", WRITE)
    assert items == [document]


async def test_the_status_shows_how_far_it_is_and_which_pages_failed(served: Served) -> None:
    document_id = (await add_document(served, documentId=ID))["document"]["id"]
    errors = (PageError(3, "The page holds no text."),)
    finish(
        served, document_id, VersionStatus.READY, pages=12, chunks=40, page_errors=errors, page_error_count=1, step=None
    )
    visible = (await served.get(f"/agents/assistant/documents/{ID}", WRITE)).json()
    assert (visible["status"], visible["activeVersion"], visible["pages"], visible["chunks"]) == ("ready", 1, 12, 40)
    assert (visible["pageErrors"], visible["pageErrorCount"]) == (
        [{"page": 3, "message": "The page holds no text."}],
        1,
    )

    await add_document(served, documentId=ID, size=7)
    finish(served, ID, VersionStatus.FAILED, error_code="document_encrypted", error="Remove the password.")
    visible = (await served.get(f"/agents/assistant/documents/{ID}", WRITE)).json()
    assert (visible["status"], visible["version"], visible["activeVersion"]) == ("failed", 2, 1)
    assert visible["error"] == {"code": "document_encrypted", "message": "Remove the password."}


async def test_a_replaced_document_keeps_its_active_version_and_what_was_left_out(served: Served) -> None:
    await add_document(served, documentId=ID, title="Handbook", requiredPermission="hr:read")
    finish(served, ID, VersionStatus.READY)
    new_document = await add_document(served, documentId=ID, size=99, name="handbook-2.pdf")
    document = new_document["document"]
    assert (document["version"], document["activeVersion"], document["name"]) == (2, 1, "handbook-2.pdf")
    assert (document["title"], document["requiredPermission"]) == ("Handbook", "hr:read")
    assert new_document["upload"] is not None
    document = (await add_document(served, documentId=ID, size=99, requiredPermission=None, title=None))["document"]
    assert (document["title"], document["requiredPermission"]) == ("handbook.pdf", None)


async def test_a_repeated_request_makes_no_second_document(served: Served) -> None:
    first = await add_document(served, sha256=SHA256)
    second_answer = await add_document(served, sha256=SHA256)
    assert second_answer["document"] == first["document"]
    assert second_answer["upload"]["url"] == first["upload"]["url"]
    finish(served, first["document"]["id"], VersionStatus.READY)
    third = await add_document(served, sha256=SHA256)
    assert (third["document"]["version"], third["document"]["status"], third["upload"]) == (1, "ready", None)
    assert len(records(served).records) == 1
    assert [record.action for record in served.harness.audit.records] == ["document.create"]


async def test_a_repetition_with_a_chosen_id_gets_the_version_that_waits(served: Served) -> None:
    first = await add_document(served, documentId=ID)
    assert (await add_document(served, documentId=ID))["document"] == first["document"]
    finish(served, ID, VersionStatus.READY)
    # Nothing says that these would be the same bytes.
    assert (await add_document(served, documentId=ID))["document"]["version"] == 2


@pytest.mark.parametrize(
    "change", [{"sha256": "ab" * 32}, {"title": "Another"}, {"requiredPermission": "hr:read"}, {"size": 13}]
)
async def test_a_request_that_differs_is_a_new_version(served: Served, change: dict[str, Any]) -> None:
    await add_document(served, documentId=ID, sha256=SHA256)
    assert (await add_document(served, **({"documentId": ID, "sha256": SHA256} | change)))["document"]["version"] == 2


async def test_what_has_failed_may_be_tried_again(served: Served) -> None:
    await add_document(served, documentId=ID, sha256=SHA256)
    finish(served, ID, VersionStatus.FAILED, error_code="document_empty", error="It is empty.")
    document = await add_document(served, documentId=ID, sha256=SHA256)
    assert (document["document"]["version"], document["document"]["status"]) == (2, "waiting")
    assert document["upload"] is not None


async def test_without_a_checksum_every_request_is_a_document(served: Served) -> None:
    first, second = await add_document(served), await add_document(served)
    assert first["document"]["id"] != second["document"]["id"]


async def test_a_deleted_document_is_gone_at_once_and_the_pipeline_removes_the_rest(served: Served) -> None:
    await add_document(served, documentId=ID)
    finish(served, ID, VersionStatus.READY)
    path = f"/agents/assistant/documents/{ID}"
    answer = await served.request("DELETE", path, WRITE)
    assert (answer.status_code, answer.json()["id"]) == (202, ID)
    assert code(await served.get(path, WRITE)) == (404, "unknown_document")
    assert await served.items("/agents/assistant/documents", WRITE) == ([], None)
    ingestions = served.harness.ingestions
    assert isinstance(ingestions, FakeIngestions)
    assert [ref for ref, _ in ingestions.started] == [DocumentRef("acme", "assistant", ID, 1)]
    # Repeated, it answers the same and starts nothing twice.
    assert (await served.request("DELETE", path, WRITE)).json() == answer.json()
    assert len(ingestions.started) == 1
    assert code(await add(served, documentId=ID)) == (409, "document_busy")
    assert [record.action for record in served.harness.audit.records] == ["document.create", "document.delete"]


async def test_a_deletion_whose_pipeline_did_not_start_is_repeated(served: Served) -> None:
    await add_document(served, documentId=ID)
    ingestions = served.harness.ingestions
    assert isinstance(ingestions, FakeIngestions)
    ingestions.failure = StoreUnavailable()
    path = f"/agents/assistant/documents/{ID}"
    assert code(await served.request("DELETE", path, WRITE)) == (503, "store_unavailable")
    assert code(await served.get(path, WRITE)) == (404, "unknown_document")
    ingestions.failure = None
    assert (await served.request("DELETE", path, WRITE)).status_code == 202
    assert len(ingestions.started) == 1


@pytest.mark.parametrize(
    ("fields", "status", "name", "expected"),
    [
        ({"name": ""}, 422, "invalid_request", "name must be"),
        ({"name": "a\nb.pdf"}, 422, "invalid_request", "name must be"),
        ({"name": "é" * 128}, 422, "invalid_request", "name must be"),
        ({"name": "\ud800.pdf"}, 422, "invalid_request", "name must be"),
        ({"contentType": "image/png"}, 422, "unsupported_document", "contentType must be one of"),
        ({"contentType": "pdf"}, 422, "unsupported_document", "contentType must be one of"),
        ({"contentType": "", "name": "a.png"}, 422, "unsupported_document", "contentType must be one of"),
        ({"size": 0}, 422, "invalid_request", "size must be"),
        ({"size": -1}, 422, "invalid_request", "size must be"),
        ({"size": True}, 422, "invalid_request", "size: "),
        ({"size": 50 * 1024 * 1024 + 1}, 413, "document_too_large", "A document may have"),
        ({"sha256": "AB" * 32}, 422, "invalid_request", "sha256 must be"),
        ({"sha256": "ab"}, 422, "invalid_request", "sha256 must be"),
        ({"documentId": "handbook"}, 422, "invalid_request", "documentId must be"),
        ({"documentId": f"{ID}\n"}, 422, "invalid_request", "documentId must be"),
        ({"title": "x" * 301}, 422, "invalid_request", "title must be"),
        ({"title": "  "}, 422, "invalid_request", "title must be"),
        ({"url": "ftp://example.com/a"}, 422, "invalid_request", "url must be"),
        ({"url": "javascript:alert(1)"}, 422, "invalid_request", "url must be"),
        ({"requiredPermission": "HR read"}, 422, "invalid_request", "requiredPermission must be"),
        ({"requiredPermission": "hr:read\n"}, 422, "invalid_request", "requiredPermission must be"),
        ({"requiredPermision": "hr:read"}, 422, "invalid_request", "requiredPermision: "),
        ({"tenantId": "other"}, 422, "invalid_request", "tenantId: "),
    ],
)
async def test_what_is_not_acceptable_is_refused_by_the_name_of_its_field(
    served: Served, fields: dict[str, Any], status: int, name: str, expected: str
) -> None:
    answer = await served.raw("/agents/assistant/documents", PDF | fields, WRITE)
    assert code(answer) == (status, name)
    assert answer.json()["detail"].startswith(expected)
    assert records(served).records == {}


ROUTES = [
    ("POST", "/agents/assistant/documents", "document.create"),
    ("GET", "/agents/assistant/documents", "document.list"),
    ("GET", f"/agents/assistant/documents/{ID}", "document.read"),
    ("DELETE", f"/agents/assistant/documents/{ID}", "document.delete"),
]


@pytest.mark.parametrize(("method", "path", "action"), ROUTES)
async def test_a_user_who_lacks_the_permission_is_refused_and_written_down(
    served: Served, method: str, path: str, action: str
) -> None:
    await add_document(served, documentId=ID)
    served.harness.audit.records.clear()
    answer = await (served.post(path, PDF) if method == "POST" else served.request(method, path))
    assert code(answer) == (403, "forbidden")
    [record] = served.harness.audit.records
    assert (record.action, record.outcome, record.detail) == (action, "denied", {"permission": WRITE})


@pytest.mark.parametrize("agent", ["nobody", "librarian", "%23", "assistant%23"])
async def test_an_agent_that_the_caller_cannot_see_is_unknown(served: Served, agent: str) -> None:
    for method, path, _ in ROUTES:
        address = path.replace("assistant", agent)
        answer = await (
            served.post(address, PDF, WRITE) if method == "POST" else served.request(method, address, WRITE)
        )
        assert code(answer) == (404, "unknown_agent")
    denied = [record.action for record in served.harness.audit.records if record.outcome == "denied"]
    assert denied == ([action for _, _, action in ROUTES] if agent == "librarian" else [])


async def test_a_document_of_another_agent_is_unknown(served: Served) -> None:
    await served.post("/agents/librarian/documents", PDF | {"documentId": ID}, WRITE, "archive:read")
    assert code(await served.get(f"/agents/assistant/documents/{ID}", WRITE)) == (404, "unknown_document")
    assert code(await served.request("DELETE", f"/agents/assistant/documents/{ID}", WRITE)) == (404, "unknown_document")
    answer = await served.get(f"/agents/librarian/documents/{ID}", WRITE, "archive:read")
    assert answer.status_code == 200


async def test_the_same_id_in_another_tenant_is_another_document(served: Served) -> None:
    await add_document(served, documentId=ID)
    stranger = Scope("globex", "ada")
    served.harness.ada = stranger
    assert code(await served.get(f"/agents/assistant/documents/{ID}", WRITE)) == (404, "unknown_document")
    assert (await add_document(served, documentId=ID, size=5))["document"]["version"] == 1
    assert len(records(served).records) == 2


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_lists_are_followed_to_their_end(served: Served, limit: int) -> None:
    calls = []
    for number in range(5):
        calls.append((await add_document(served, name=f"{number}.pdf"))["document"]["id"])
        served.harness.clock.advance(1)
    results: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        items, cursor = await served.items(
            "/agents/assistant/documents", WRITE, limit=limit, **({"cursor": cursor} if cursor else {})
        )
        results += [item["id"] for item in items]
    assert results == calls[::-1]


async def test_a_cursor_of_another_list_is_refused(served: Served) -> None:
    answer = await served.get("/agents/assistant/documents", WRITE, cursor="nonsense")
    assert code(answer) == (422, "invalid_request")
