"""The export of a tenant over the API: what its lines say, who gets them, and how it goes on."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from baton.api.tenants import tenant_export
from baton.domain.errors import StoreUnavailable, TenantRemoved
from baton.domain.tenants.activity import CounterKind
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.export import StoredObject, StoredRecord
from baton.tenants.privacy import tenant_export as exports
from tests.fakes.tenant_export import FakeTenantFiles, FakeTenantRecords
from tests.harness.harness import Harness
from tests.harness.removals import remove_tenant
from tests.unit.api.served import Served

ADDRESS, EXPORT = "/tenant-export", "tenant:export"
AT = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture
def served() -> Served:
    """Ada's tenant with three records, a file and the body of a record, and another tenant with a record."""
    records = [StoredRecord("messages", "acme#t", f"MSG#{number}", {"body": {"text": "Hi"}}) for number in range(3)]
    objects = [
        StoredObject("t/bodies/abc", 9, AT, body={"text": "long"}),
        StoredObject("t/files/f", 3, AT, url="http://f"),
    ]
    other = [StoredRecord("messages", "globex#t", "MSG#1", {"body": {"text": "secret"}})]
    stored = FakeTenantRecords({"acme": records, "globex": other}, {"logPieces": 1})
    return Served(Harness(tenant_records=stored, tenant_files=FakeTenantFiles({"acme": objects})))


def lines(answer: httpx.Response) -> list[dict[str, Any]]:
    """The lines of a page."""
    return [json.loads(line) for line in answer.raise_for_status().text.splitlines() if line]


async def pages(served: Served, *, cursor: str | None = None) -> list[list[dict[str, Any]]]:
    """All pages, from the first or from a cursor."""
    read: list[list[dict[str, Any]]] = []
    while not read or cursor is not None:
        params = {"cursor": cursor} if cursor is not None else {}
        read.append(lines(await served.get(ADDRESS, EXPORT, **params)))
        cursor = read[-1][-1]["nextCursor"]
    return read


async def test_an_export_has_records_bodies_and_files_and_counts_what_it_leaves_out(served: Served) -> None:
    [page] = await pages(served)
    begin, *stored, end = page
    assert (begin["type"], begin["format"], begin["tenantId"]) == ("begin", 1, "acme")
    assert [line["type"] for line in stored] == ["record", "record", "record", "body", "file"]
    assert stored[0] == {
        "type": "record",
        "kind": "messages",
        "partition": "acme#t",
        "key": "MSG#0",
        "values": {"body": {"text": "Hi"}},
    }
    assert stored[3] == {"type": "body", "threadId": "t", "sha256": "abc", "value": {"text": "long"}}
    assert (stored[4]["name"], stored[4]["bytes"], stored[4]["url"]) == ("t/files/f", 3, "http://f")
    assert end == {
        "type": "end",
        "counts": {"bodies": 1, "files": 1, "messages": 3},
        "leftOut": {"logPieces": 3},
        "nextCursor": None,
    }


async def test_pages_have_everything_once_in_the_same_order(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    [whole] = await pages(served)
    monkeypatch.setattr(tenant_export, "PAGE_SECONDS", 0.0)
    monkeypatch.setattr(exports, "MAX_OBJECTS", 1)
    parts = await pages(served)
    assert len(parts) > 4
    assert [line for part in parts for line in part[1:-1]] == whole[1:-1]
    assert {part[0]["beganAt"] for part in parts} == {whole[0]["beganAt"]}
    assert "acme#t" not in parts[0][-1]["nextCursor"]


async def test_an_export_needs_its_own_permission_and_is_audited_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = await served.get(ADDRESS, "tenant:remove", "tenant:manage", "user:manage")
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    monkeypatch.setattr(tenant_export, "PAGE_SECONDS", 0.0)
    await pages(served)
    actions = [(record.action, record.outcome) for record in served.harness.audit.records]
    assert actions == [("tenant.export", "denied"), ("tenant.export", "allowed")]


async def test_cursors_of_another_tenant_of_nobody_and_of_an_old_export_are_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_export, "PAGE_SECONDS", 0.0)
    cursor = lines(await served.get(ADDRESS, EXPORT))[-1]["nextCursor"]
    other = await served.harness.cursor_seal.seal(Scope("globex", "ada"), {"stage": "table"})
    for wrong in (cursor[:-2], other, "x"):
        assert (await served.get(ADDRESS, EXPORT, cursor=wrong)).status_code == 422
    served.harness.clock.advance(8 * 86_400)
    old = await served.get(ADDRESS, EXPORT, cursor=cursor)
    assert (old.status_code, "Begin a new one" in old.json()["detail"]) == (422, True)


async def test_a_tenant_has_one_export_at_once(served: Served) -> None:
    ada, bob = Scope("acme", "ada"), Scope("acme", "bob")
    async with served.harness.app.limits.places.hold(bob, CounterKind.EXPORTS, "other", seconds=20):
        refused = await served.get(ADDRESS, EXPORT)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert "only one is allowed" in refused.json()["detail"]
    await pages(served)
    await served.harness.app.limits.places.take(ada, CounterKind.EXPORTS, "interrupted", seconds=20)
    served.harness.clock.advance(21)
    await pages(served)
    await pages(served)


async def test_a_page_is_complete_if_the_tenant_is_removed_meanwhile(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    activity = served.harness.activity
    changes = iter([activity.change])

    async def change(*arguments: Any, **options: Any) -> bool:
        allowed = next(changes, None)
        if allowed is None:
            raise TenantRemoved
        return await allowed(*arguments, **options)

    monkeypatch.setattr(activity, "change", change)
    for _ in range(2):  # the second page begins after the removal
        [page] = await pages(served)
        assert page[-1]["type"] == "end"


async def test_an_error_after_the_first_line_is_a_line(served: Served) -> None:
    assert isinstance(served.harness.tenant_files, FakeTenantFiles)
    served.harness.tenant_files.failure = StoreUnavailable()
    last = lines(await served.get(ADDRESS, EXPORT))[-1]
    assert (last["type"], last["code"]) == ("error", "store_unavailable")


async def test_the_kept_records_of_a_removed_tenant_can_be_read(served: Served) -> None:
    await remove_tenant(served.harness)
    [page] = await pages(served)
    assert page[-1]["counts"]["messages"] == 3
