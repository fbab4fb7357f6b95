"""A removed tenant is gone from every store, for ever, and all other tenants stay as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.pipeline_queue import DynamoPipelineQueue
from baton.domain.documents.pipelines import Pipeline
from baton.domain.errors import Forbidden, InvalidRequest, RemovalNotPlanned, TenantRemoved
from baton.domain.memory.forgetting import NextStep
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.removal import WORK_ID, RemovalStatus
from baton.tenants.removed_tenants import RemovedTenants
from tests.contracts.stores import new_thread_id
from tests.integration.privacy.conftest import World
from tests.integration.privacy.stored_data import SECRET, conversation
from tests.integration.privacy.tenant_data import (
    ADA,
    OPERATOR,
    SIMILAR,
    carry_out,
    everything_of,
    fill,
    items_of,
    plan,
    remove,
)


class TestData:
    async def test_an_item_of_every_kind_is_removed_and_similar_tenants_stay(self, world: World) -> None:
        await fill(world, ADA)
        for tenant_id in SIMILAR:
            await fill(world, Scope(tenant_id, "ada"))
        await fill(world, Scope("globex", "acme"))  # a user of the tenant's name
        before = {tenant_id: everything_of(world, tenant_id) for tenant_id in (*SIMILAR, "globex")}
        done = await remove(world)
        assert done.status is RemovalStatus.COMPLETED
        assert everything_of(world, "acme") == ([], [], {})
        assert {tenant_id: everything_of(world, tenant_id) for tenant_id in before} == before
        running = [await DynamoPipelineQueue(world.table).read_running(pipeline) for pipeline in Pipeline]
        assert {slot.tenant_id for runs in running for slot in runs.slots.values()} == {*SIMILAR, "globex"}
        assert done.counts["objectVersions"] == 3
        assert done.counts["searchDocuments"] == 1
        assert not done.residue

    async def test_the_plan_counts_what_the_removal_removes(self, world: World) -> None:
        await conversation(world, ADA)
        await fill(world, ADA)
        before = world.items()
        planned = await plan(world)
        assert [item for item in world.items() if item["SK"] != "REMOVAL"] != []
        assert len(world.items()) == len(before) + 2, "only the plan and its audit record are new"
        done = await remove(world)
        # The second plan, and the audit of all plans and of the confirmation, have come since.
        assert {**done.counts, "auditRecordsOfTenants": 0} == {**planned.plan, "auditRecordsOfTenants": 0}
        assert "otherItems" not in planned.plan

    async def test_audit_records_stay_without_content_if_the_operator_says_so(self, world: World) -> None:
        await conversation(world, ADA)
        done = await remove(world, keeps_audit=True)
        assert done.status is RemovalStatus.COMPLETED
        remaining = items_of(world, "acme")
        assert {item["SK"].partition("#")[0] for item in remaining} == {"AUDIT"}
        assert {item["action"] for item in remaining} >= {"handoff", "tenant.remove"}
        assert SECRET not in repr(world.items())

    async def test_what_a_late_worker_writes_is_removed_too(self, world: World) -> None:
        await conversation(world, ADA)
        removal = await plan(world)
        calls, work = world.app.privacy.removal_calls, world.app.privacy.removal
        await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=False)
        first = await work.sweep(ADA, WORK_ID, seconds=60)
        assert (first.next.value, items_of(world, "acme")) == ("wait", [])
        await conversation(world, ADA)  # by a process that knows nothing of the removal yet
        await carry_out(world)
        assert (await calls.get(OPERATOR)).status is RemovalStatus.COMPLETED
        assert (items_of(world, "acme"), world.versions()) == ([], [])

    async def test_a_second_execution_does_not_shorten_the_wait(self, world: World) -> None:
        await conversation(world, ADA)
        removal = await plan(world)
        calls, work = world.app.privacy.removal_calls, world.app.privacy.removal
        await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=False)
        await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=False)
        executions = [name for name in world.forgettings.started if name.startswith("remove-")]
        assert len(executions) == 1, "a repetition starts no other execution of the same pass"
        assert (await work.sweep(ADA, WORK_ID, seconds=60)).next is NextStep.WAIT
        waiting = await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=False)
        world.clock.advance(work.wait_seconds - 1)
        assert (await work.sweep(ADA, WORK_ID, seconds=60)).next is NextStep.WAIT
        assert await calls.get(OPERATOR) == waiting
        await conversation(world, ADA)  # by a process that knows nothing of the removal yet
        world.clock.advance(1)
        assert (await work.sweep(ADA, WORK_ID, seconds=60)).next is NextStep.DONE
        assert items_of(world, "acme") == []

    async def test_a_step_without_time_makes_progress(self, world: World) -> None:
        await conversation(world, ADA)
        done = await remove(world, seconds=0.0)
        assert done.status is RemovalStatus.COMPLETED
        assert (items_of(world, "acme"), world.versions()) == ([], [])


class Mortal:
    """A store whose worker dies at one of its calls: before it takes effect, or after."""

    def __init__(self, store: Any, calls: list[str], dies_at: int, *, too_late: bool) -> None:
        self._store, self._calls, self._dies_at, self._too_late = store, calls, dies_at, too_late

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._calls.append(name)
            dies = len(self._calls) == self._dies_at
            if dies and not self._too_late:
                raise ConnectionError("the worker dies here")
            result = await method(*args, **kwargs)
            if dies:
                raise ConnectionError("the worker dies here")
            return result

        return call


DEATHS = [
    pytest.param(at, too_late, marks=() if (at, too_late) == (4, True) else pytest.mark.nightly)
    for at in range(1, 16)
    for too_late in (False, True)
]


class TestDeaths:
    @pytest.mark.parametrize(("dies_at", "too_late"), DEATHS)
    async def test_a_removal_that_is_interrupted_anywhere_ends_the_same(
        self, world: World, dies_at: int, too_late: bool
    ) -> None:
        await fill(world, ADA)
        await fill(world, Scope("acme2", "ada"))
        other = everything_of(world, "acme2")
        removal = await plan(world)
        calls, work = world.app.privacy.removal_calls, world.app.privacy.removal
        await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=False)
        results: list[str] = []
        stores = ("removals", "table", "objects", "search")
        mortal = replace(
            work, **{name: Mortal(getattr(work, name), results, dies_at, too_late=too_late) for name in stores}
        )
        for _ in range(40):
            try:
                result = await mortal.sweep(ADA, WORK_ID, seconds=60)
            except ConnectionError:
                continue
            if result.next.value == "wait":
                world.clock.advance(work.wait_seconds)
            elif result.next.value == "done":
                break
        assert len(results) >= dies_at
        assert (await calls.get(OPERATOR)).status is RemovalStatus.COMPLETED
        assert everything_of(world, "acme") == ([], [], {})
        assert everything_of(world, "acme2") == other


class TestFence:
    async def test_nothing_is_written_for_a_closed_tenant_and_other_tenants_go_on(self, world: World) -> None:
        await remove(world)
        gate = RemovedTenants(world.ports.removals, world.clock)
        fenced = replace(world.table, check_partition=gate.check_partition)
        item = {**keys.retention(ADA), "threads": 1}
        with pytest.raises(TenantRemoved):
            await fenced.put(item)
        with pytest.raises(TenantRemoved):
            await fenced.change(keys.retention(ADA), "SET a = :a", {":a": 1}, condition="attribute_not_exists(PK)")
        with pytest.raises(TenantRemoved):
            await fenced.add(item)
        await fenced.put({**keys.retention(Scope("acme2", "ada")), "threads": 1})
        await fenced.put({**keys.owner(new_thread_id()), "tenant_id": "acme2"})
        assert items_of(world, "acme") == []

    async def test_a_process_learns_of_a_removal_within_a_minute_and_never_forgets_it(self, world: World) -> None:
        gate = RemovedTenants(world.ports.removals, world.clock)
        await gate.check(ADA)
        await remove(world)
        world.clock.advance(60)
        with pytest.raises(TenantRemoved):
            await gate.check(ADA)


class TestConfirmation:
    async def test_it_needs_the_permission_the_name_and_a_fresh_plan(self, world: World) -> None:
        calls = world.app.privacy.removal_calls
        with pytest.raises(Forbidden):
            await calls.plan(replace(OPERATOR, permissions=frozenset({Permission.TENANT_MANAGE})))
        with pytest.raises(RemovalNotPlanned):
            await calls.confirm(OPERATOR, "acme", "no plan", keeps_audit=False)
        removal = await plan(world)
        with pytest.raises(InvalidRequest):
            await calls.confirm(OPERATOR, "acme2", removal.id, keeps_audit=False)
        with pytest.raises(RemovalNotPlanned):
            await calls.confirm(OPERATOR, "acme", "another plan", keeps_audit=False)
        world.clock.advance(86_401)
        with pytest.raises(RemovalNotPlanned):
            await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=False)
        assert not await world.ports.removals.has_closed("acme")

    async def test_a_repetition_changes_nothing(self, world: World) -> None:
        done = await remove(world)
        calls = world.app.privacy.removal_calls
        assert await calls.confirm(OPERATOR, "acme", done.id, keeps_audit=True) == done
        with pytest.raises(TenantRemoved):
            await calls.plan(OPERATOR)

    async def test_a_failed_removal_stays_closed_and_is_confirmed_again(self, world: World) -> None:
        await conversation(world, ADA)
        removal = await plan(world)
        calls, work = world.app.privacy.removal_calls, world.app.privacy.removal
        await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=False)
        await work.give_up(ADA, WORK_ID)
        assert (await calls.get(OPERATOR)).status is RemovalStatus.FAILED
        assert await world.ports.removals.has_closed("acme")
        world.clock.advance(10 * 86_400)
        before = len(world.items())
        await calls.confirm(OPERATOR, "acme", removal.id, keeps_audit=False)
        assert len(world.items()) == before, "a closed tenant has no audit any more"
        first, second = [name for name in world.forgettings.started if name.startswith("remove-")]
        assert first != second
        await carry_out(world)
        assert (await calls.get(OPERATOR)).status is RemovalStatus.COMPLETED
        assert items_of(world, "acme") == []
