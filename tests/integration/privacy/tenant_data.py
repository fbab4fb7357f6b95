"""Data of whole tenants in every store, for tests of exports and removals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.domain.documents.pipelines import Pipeline, PipelineRun
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.removal import WORK_ID, TenantRemoval
from tests.contracts.stores import new_thread_id
from tests.integration.privacy.conftest import World
from tests.integration.privacy.stored_data import SECRET, index
from tests.table_keys import every_key

OPERATOR = Scope("acme", "operator", frozenset({Permission.TENANT_REMOVE}))
ADA = Scope("acme", "ada")
SIMILAR = ("acme2", "acme-2", "acme_", "a", "cme")
"""Tenants whose names begin like the removed one, end like it, or are a part of it."""
SHARED = {"running_runs", "removal"}
"""Keys of items that several tenants share, or that stay."""
OF_TENANT = {"owner", "waiting_run", "waiting_subject"}
"""Keys of items outside of the tenant's partitions that name it as ``tenant_id``."""
IN_KEY = {"connection", "retention_due"}
"""Keys outside of the tenant's partitions that name it."""


async def fill(world: World, scope: Scope) -> None:
    """Put an item of every kind into the table, and what the other stores may have."""
    thread_id = new_thread_id()
    for name, key in every_key(scope, thread_id):
        if name in SHARED:
            continue
        if key["PK"].startswith("~"):
            assert name in OF_TENANT | IN_KEY, f"Does a removal of a tenant find the items of `{name}`?"
        own = {"tenant_id": scope.tenant_id} if name in OF_TENANT else {}
        await world.table.put({**key, **own, "user_id": scope.user_id, "detail": "{}", "text": SECRET})
    for pipeline in Pipeline:
        queue = DynamoPipelineQueue(world.table)
        running = await queue.read_running(pipeline)
        run = PipelineRun(pipeline, scope.tenant_id, f"{scope.tenant_id}-{thread_id}", "run", {})
        assert await queue.save_running(pipeline, running.begin(run, world.clock.now()))
        assert await queue.add(replace(run, subject=f"waiting-{run.subject}"), world.clock.now())
    await index(world, scope, thread_id)
    for _ in range(2):
        world.s3.put_object(Bucket=world.bucket, Key=f"{scope.tenant_id}/{thread_id}/files/f", Body=b"x")
    world.s3.delete_object(Bucket=world.bucket, Key=f"{scope.tenant_id}/{thread_id}/files/f")


async def plan(world: World) -> TenantRemoval:
    """Plan the removal."""
    await world.app.privacy.removal_calls.plan(OPERATOR)
    await carry_out(world)
    return await world.app.privacy.removal_calls.get(OPERATOR)


async def carry_out(world: World, *, seconds: float = 60.0, most: int = 400) -> None:
    """Carry a removal out as the state machine does, without its waits."""
    work = world.app.privacy.removal
    for _ in range(most):
        result = await work.sweep(Scope("acme", "baton"), WORK_ID, seconds=seconds)
        if result.next.value == "wait":
            world.clock.advance(work.wait_seconds)
        elif result.next.value not in ("sweep", "verify"):
            return
    raise AssertionError("no end")


async def remove(world: World, *, keeps_audit: bool = False, seconds: float = 60.0) -> TenantRemoval:
    removal = await plan(world)
    calls = world.app.privacy.removal_calls
    await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=keeps_audit)
    await carry_out(world, seconds=seconds)
    return await calls.get(OPERATOR)


def items_of(world: World, tenant_id: str) -> list[dict[str, Any]]:
    """The items that name the tenant in their keys, or as their tenant, without the record of its removal."""

    def names(item: dict[str, Any]) -> bool:
        parts = f"{item['PK']}#{item['SK']}".split("#")
        is_own = tenant_id in (parts if item["PK"].startswith("~") else parts[:1])
        return is_own or item.get("tenant_id") == tenant_id or f'"{tenant_id}"' in item.get("places", "")

    return [item for item in world.items() if names(item) and item["SK"] != "REMOVAL"]


def everything_of(world: World, tenant_id: str) -> Any:
    items = [item for item in items_of(world, tenant_id) if "places" not in item]
    objects = [key for key in world.versions() if key.startswith(f"{tenant_id}/")]
    indexed = {owner: list(documents) for owner, documents in world.search.documents.items() if owner[1] == tenant_id}
    return sorted(items, key=repr), sorted(objects), indexed
