"""The export of a tenant has everything that its removal removes, and nothing of another tenant."""

from __future__ import annotations

import json
import logging
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from baton.adapters.aws.s3_tenant_files import S3TenantFiles
from baton.adapters.dynamodb.bodies import unpack
from baton.adapters.dynamodb.item_kinds import Handling, find_kind
from baton.adapters.dynamodb.tenants import audit
from baton.adapters.dynamodb.threads.activity import DynamoActivityCounts
from baton.api.tenants import tenant_export
from baton.domain.tenants.identity import Scope
from baton.tenants.removed_tenants import RemovedTenants
from baton_testing.fakes.clock import FakeClock
from tests.contracts.schedules import new_schedule
from tests.harness.harness import Harness
from tests.integration.privacy.conftest import World
from tests.integration.privacy.stored_data import LONG, SECRET, conversation
from tests.integration.privacy.tenant_data import ADA, SIMILAR, fill, items_of, plan, remove
from tests.unit.api.served import Served

ADDRESS, EXPORT = "/tenant-export", "tenant:export"
OUTSIDE = "secret-of-another-tenant"


@pytest.fixture
def served(world: World) -> Served:
    world.harness.tenant_files = S3TenantFiles(world.s3, world.bucket, unpack, page=2)  # type: ignore[assignment]
    world.harness.ada = ADA
    others = Harness()  # the table may have limits and counts without content
    world.harness.tenant_limits, world.harness.activity = others.tenant_limits, others.activity  # type: ignore[assignment]
    return Served(world.harness)


async def export(served: Served) -> list[dict[str, Any]]:
    """The lines of all pages."""
    read: list[dict[str, Any]] = []
    cursor: str | None = None
    while not read or cursor is not None:
        params = {"cursor": cursor} if cursor is not None else {}
        answer = (await served.get(ADDRESS, EXPORT, **params)).raise_for_status()
        read += [json.loads(line) for line in answer.text.splitlines()]
        cursor = read[-1]["nextCursor"]
    return read


def count_lines(lines: list[dict[str, Any]], *names: str) -> Counter[str]:
    """The counts of all pages."""
    return sum((Counter(line[name]) for line in lines if line["type"] == "end" for name in names), Counter())


async def test_every_item_is_exported_unless_its_kind_is_of_the_moment(world: World, served: Served) -> None:
    await fill(world, ADA)
    for tenant_id in SIMILAR:
        await fill(world, Scope(tenant_id, "ada"))
    lines = await export(served)
    stored = {(item["PK"], item["SK"]): find_kind(item) for item in items_of(world, "acme") if "places" not in item}
    exported = {(line["partition"], line["key"]) for line in lines if line["type"] == "record"}
    left_out = {kind.name for key, kind in stored.items() if key not in exported and kind is not None}
    assert exported - stored.keys() == set()
    assert left_out == {kind.name for kind in stored.values() if kind is not None and kind.handling is Handling.MOMENT}
    assert not any(tenant_id in partition.split("#") for tenant_id in SIMILAR for partition, _ in exported)


async def test_an_export_has_what_was_said_stored_and_made_and_no_secrets(
    world: World, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_export, "PAGE_SECONDS", 0.0)
    thread_id = await conversation(world, ADA)
    await conversation(world, Scope("acme2", "ada"), text=OUTSIDE)
    world.s3.put_object(Bucket=world.bucket, Key=f"acme/{thread_id}/files/file_2", Body=b"bytes")
    reminder = new_schedule(world.clock.now(), "reminder", text="Water them.")
    await world.stores.schedules.add(Scope("acme", "zoe"), reminder)  # who has no conversation
    lines = await export(served)
    messages = [line["values"] for line in lines if line.get("kind") == "messages"]
    assert any(SECRET in json.dumps(message.get("body")) for message in messages)
    assert any(LONG in json.dumps(line["value"]) for line in lines if line["type"] == "body")
    assert f"{thread_id}/files/file_2" in [line["name"] for line in lines if line["type"] == "file"]
    [schedule] = [line for line in lines if line.get("kind") == "schedules"]
    assert (schedule["partition"], schedule["values"]["body"]["text"]) == ("acme#~USER#zoe", "Water them.")
    [receiver] = [line for line in lines if line.get("kind") == "pushConfigurations"]
    assert "sealed" not in receiver["values"]
    assert OUTSIDE not in json.dumps(lines)
    assert count_lines(lines, "counts")["messages"] == len(messages)


async def test_an_export_counts_what_the_plan_of_the_removal_counts(world: World, served: Served) -> None:
    await conversation(world, ADA)
    await fill(world, ADA)
    counts = count_lines(await export(served), "counts", "leftOut")
    planned = Counter((await plan(world)).plan)
    # The plan also counts versions of objects, documents of indices, slots of pipelines and the audit of the export.
    for name in ("bodies", "files", "backgroundRuns", "objectVersions", "searchDocuments"):
        del counts[name], planned[name]
    planned["auditRecordsOfTenants"] -= 1
    assert counts == planned


async def test_a_damaged_body_is_exported_as_a_file_and_the_rest_follows(world: World, served: Served) -> None:
    bodies = {"t/bodies/a": b"\x04damaged", "t/bodies/b": b"\x09of a later release", "t/files/c": b"bytes"}
    for name, content in bodies.items():
        world.s3.put_object(Bucket=world.bucket, Key=f"acme/{name}", Body=content)
    lines = await export(served)
    files = {line["name"]: line for line in lines if line["type"] == "file"}
    assert list(files) == list(bodies)
    assert all(line["url"].startswith("http") for line in files.values())
    assert lines[-1]["counts"]["files"] == 3


async def test_an_export_reads_the_shared_table_at_half_the_price(world: World, served: Served) -> None:
    scans: list[bool] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        scans.append(params.get("ConsistentRead", False))

    world.dynamodb.meta.events.register("provide-client-params.dynamodb.Scan", note)
    try:
        await export(served)
    finally:
        world.dynamodb.meta.events.unregister("provide-client-params.dynamodb.Scan", note)
    assert scans
    assert not any(scans)


async def test_the_export_of_a_removed_tenant_is_logged_and_writes_nothing(
    world: World, served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    await conversation(world, ADA)
    await remove(world, keeps_audit=True)
    gate = RemovedTenants(world.ports.removals, FakeClock())
    fenced = replace(world.table, check_partition=gate.check_partition)
    served.harness.audit = type(world.stores.audit)(fenced, world.clock)  # type: ignore[assignment]
    served.harness.activity = DynamoActivityCounts(fenced, world.clock)  # type: ignore[assignment]
    before = items_of(world, "acme")
    with caplog.at_level(logging.INFO, logger=audit.logger.name):
        assert set(count_lines(await export(Served(served.harness)), "counts")) == {
            "auditRecords",
            "auditRecordsOfTenants",
        }
    [line] = [record for record in caplog.records if record.getMessage() == "action of a removed tenant"]
    assert (getattr(line, "action", None), getattr(line, "user_id", None)) == ("tenant.export", "ada")
    assert items_of(world, "acme") == before


async def test_the_kept_audit_of_a_removed_tenant_is_exported(world: World, served: Served) -> None:
    await conversation(world, ADA)
    await remove(world, keeps_audit=True)
    kinds = count_lines(await export(served), "counts")
    assert set(kinds) == {"auditRecords", "auditRecordsOfTenants"}


async def test_the_refusal_of_a_removed_tenant_is_not_counted_as_a_lost_record(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await remove(world)
    gate = RemovedTenants(world.ports.removals, FakeClock())
    fenced = replace(world.table, check_partition=gate.check_partition)
    audit = type(world.stores.audit)(fenced, world.clock)
    await audit.record(ADA, "tenant.remove", thread_id=None, outcome="denied", detail={})
    assert items_of(world, "acme") == []
    assert "audit record lost" not in caplog.text
