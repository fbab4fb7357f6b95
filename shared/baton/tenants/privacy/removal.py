"""Remove a whole tenant from every store, in steps that may be repeated, and verify that nothing is left.

A removal is planned first: its records are counted. Its confirmation closes the tenant for ever (``RemovedTenants``).
Then passes through all stores remove everything. Between the first and the second one all workers have ended that had
begun before they knew. At last the stores are searched.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from baton.domain.errors import InvalidRequest, NotFound, RemovalNotPlanned, StoreUnavailable, TenantRemoved
from baton.domain.memory.forgetting import MAX_ROUNDS, NextStep, StepResult
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.removal import PLAN_VALID, WORK_ID, RemovalStage, RemovalStatus, TenantRemoval
from baton.ports.clock import Clock
from baton.ports.documents.search import SearchIndex
from baton.ports.tenants.audit import AuditLog
from baton.ports.tenants.privacy import Forgettings, ObjectErasure
from baton.ports.tenants.removal import TenantErasure, TenantRemovals
from baton.tenants.tenant_copies import FRESH

SAVE_SECONDS = 10.0
"""Seconds after which progress is stored. A worker that dies repeats so much, and its counts of that are lost."""
_RECORDS = {RemovalStage.OBJECTS: "objectVersions", RemovalStage.INDICES: "searchDocuments"}


@dataclass(frozen=True, slots=True)
class RemovalCalls:
    """Callers' requests about the removal of their tenant. All need ``tenant:remove``."""

    removals: TenantRemovals
    pipelines: Forgettings
    audit: AuditLog
    clock: Clock

    async def get(self, scope: Scope) -> TenantRemoval:
        """Return the tenant's removal. Raises ``Forbidden`` and ``NotFound``."""
        scope.require(Permission.TENANT_REMOVE, "tenant.remove")
        return await self._get(scope)

    async def plan(self, scope: Scope) -> TenantRemoval:
        """Begin to count what a removal would remove, or return the count in progress.

        Raises ``Forbidden``, and ``TenantRemoved`` once a removal is confirmed.
        """
        scope.require(Permission.TENANT_REMOVE, "tenant.remove")
        before, now = await self.removals.get(scope.tenant_id), self.clock.now()
        if before is not None and before.is_confirmed:
            raise TenantRemoved
        if before is not None and before.is_at_work(now):
            removal = before
        else:
            revision = before.revision + 1 if before is not None else 1
            removal = TenantRemoval(self.clock.new_id(), scope.tenant_id, scope.user_id, now, revision=revision)
            if not await self.removals.put(removal):
                return await self._get(scope)  # somebody else has been faster
            await self._record(scope, removal, "planned")
        await self.pipelines.start_work(scope.tenant_id, WORK_ID, f"plan-{removal.id}")
        return removal

    async def confirm(self, scope: Scope, tenant_id: str, plan_id: str, *, keeps_audit: bool) -> TenantRemoval:
        """Close the tenant for ever, and begin to remove its data. A repetition starts a lost pipeline again.

        Raises ``Forbidden``, ``InvalidRequest`` for another ``tenant_id`` than the caller's, and ``RemovalNotPlanned``.
        """
        scope.require(Permission.TENANT_REMOVE, "tenant.remove")
        if tenant_id != scope.tenant_id:
            raise InvalidRequest("tenantId: name your own tenant, whose data are removed.")
        removal, now = await self.removals.get(scope.tenant_id), self.clock.now()
        if removal is None or removal.id != plan_id:
            raise RemovalNotPlanned
        if removal.is_confirmed and (removal.is_at_work(now) or removal.status is RemovalStatus.COMPLETED):
            await self._start(removal)
            return removal
        planned_at = removal.planned_at
        if not removal.is_confirmed and (planned_at is None or now - planned_at > PLAN_VALID):
            raise RemovalNotPlanned
        confirmed = replace(
            removal,
            status=RemovalStatus.REMOVING,
            stage=RemovalStage.TABLE,
            position=None,
            round=1,
            not_before=None,
            attempt=removal.attempt + removal.is_confirmed,
            keeps_audit=keeps_audit,
            confirmed_by=removal.confirmed_by or scope.user_id,
            confirmed_at=removal.confirmed_at or now,
            changed_at=now,
            ended_at=None,
            revision=removal.revision + 1,
        )
        if not removal.is_confirmed:  # a closed tenant has no audit any more
            await self._record(scope, removal, "confirmed")
        if not await self.removals.put(confirmed):
            raise RemovalNotPlanned
        await self._start(confirmed)
        return confirmed

    async def _start(self, removal: TenantRemoval) -> None:
        if removal.status is not RemovalStatus.COMPLETED:
            # A lost pipeline of an earlier round gets a successor. Two at once do no harm: only one can store progress.
            name = f"remove-{removal.id}-{removal.attempt}-{removal.round}"
            await self.pipelines.start_work(removal.tenant_id, WORK_ID, name)

    async def _get(self, scope: Scope) -> TenantRemoval:
        removal = await self.removals.get(scope.tenant_id)
        if removal is None:
            raise NotFound("No removal of this tenant has been planned.")
        return removal

    async def _record(self, scope: Scope, removal: TenantRemoval, outcome: str) -> None:
        detail: dict[str, object] = {"requestId": removal.id}
        await self.audit.record(scope, "tenant.remove", thread_id=None, outcome=outcome, detail=detail)


@dataclass(frozen=True, slots=True)
class TenantRemovalWork:
    """The steps of removals. Every step may be repeated, and two may run at once."""

    removals: TenantRemovals
    table: TenantErasure
    objects: ObjectErasure
    search: SearchIndex
    clock: Clock
    zombie_seconds: float
    """Seconds after which no worker is alive that had begun."""

    @property
    def wait_seconds(self) -> float:
        """The time between two passes: workers may know of a removal a minute late, and then live on for a while."""
        return self.zombie_seconds + FRESH.total_seconds()

    async def sweep(self, scope: Scope, request_id: str, *, seconds: float) -> StepResult:
        """Continue the tenant's removal for about ``seconds``. Raises ``NotFound`` if there is none.

        ``request_id`` is not used, because a tenant has one removal.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        removal = await self._get(scope)
        while True:
            removal, following = await self._proceed(scope, removal, deadline)
            if following is not None:
                residue = removal.residue if removal.status is RemovalStatus.FAILED else {}
                return StepResult(following, removal.counts or removal.plan, residue)

    async def verify(self, scope: Scope, request_id: str, *, seconds: float) -> StepResult:
        """Continue the removal, as ``sweep`` does: its record has the next step."""
        return await self.sweep(scope, request_id, seconds=seconds)

    async def give_up(self, scope: Scope, request_id: str) -> StepResult:
        """Mark the removal as failed, because the pipeline has failed permanently. A confirmed tenant stays closed.

        Raises ``NotFound`` if there is none.
        """
        removal = await self._get(scope)
        if removal.ended_at is None:
            now = self.clock.now()
            removal = await self._save(removal, status=RemovalStatus.FAILED, ended_at=now)
        return StepResult(NextStep.INCOMPLETE, removal.counts, removal.residue)

    async def _proceed(
        self, scope: Scope, removal: TenantRemoval, deadline: float
    ) -> tuple[TenantRemoval, NextStep | None]:
        """Make a part of the present pass and store it. Return None as the next step if there is time for more."""
        match removal.status:
            case RemovalStatus.COUNTING | RemovalStatus.REMOVING | RemovalStatus.VERIFYING:
                pass
            case RemovalStatus.COMPLETED | RemovalStatus.PLANNED:
                return removal, NextStep.DONE
            case RemovalStatus.FAILED:
                return removal, NextStep.INCOMPLETE
        if removal.not_before is not None and self.clock.now() < removal.not_before:
            return removal, NextStep.WAIT
        loop = asyncio.get_running_loop()
        counts: Counter[str] = Counter()
        stage: RemovalStage | None = removal.stage
        position, until = removal.position, min(deadline, loop.time() + SAVE_SECONDS)
        while stage is not None:
            counted, stage, position = await self._handle_page(scope, removal, stage, position)
            counts.update(counted)
            if loop.time() >= until:
                break
        saved = replace(removal, stage=stage or RemovalStage.TABLE, position=position)
        match removal.status:
            case RemovalStatus.COUNTING:
                saved = replace(saved, plan=_add(removal.plan, counts))
            case RemovalStatus.REMOVING:
                saved = replace(saved, counts=_add(removal.counts, counts))
            case _:
                saved = replace(saved, residue=_add(removal.residue, counts))
        following = None
        if stage is None:
            saved, following = self._end_pass(saved)
        saved = await self._save(saved)
        if following is None and loop.time() >= deadline:
            following = NextStep.SWEEP
        return saved, following

    async def _handle_page(
        self, scope: Scope, removal: TenantRemoval, stage: RemovalStage, position: str | None
    ) -> tuple[Mapping[str, int], RemovalStage | None, str | None]:
        """Count or remove a page of a stage. Return the counts, and the next stage and position; None after the last.

        A plan counts all audit records, because none has lost its content yet.
        """
        removes = removal.status is RemovalStatus.REMOVING
        following: str | None = None
        store: ObjectErasure | SearchIndex
        next_stage: RemovalStage | None
        match stage:
            case RemovalStage.TABLE:
                handle = self.table.sweep if removes else self.table.count
                keeps_audit = removal.keeps_audit and removal.is_confirmed
                counts, following = await handle(scope, position, keeps_audit=keeps_audit)
                return counts, stage if following is not None else RemovalStage.OBJECTS, following
            case RemovalStage.OBJECTS:
                store, next_stage = self.objects, RemovalStage.INDICES
            case RemovalStage.INDICES:
                store, next_stage = self.search, None
        if removes:
            number, is_done = await store.sweep_tenant(scope)
        else:
            number, following = await store.count_of_tenant(scope, position)
            is_done = following is None
        return {_RECORDS[stage]: number}, next_stage if is_done else stage, following

    def _end_pass(self, removal: TenantRemoval) -> tuple[TenantRemoval, NextStep | None]:
        """Return the removal after a complete pass, and the next step."""
        now = self.clock.now()
        match removal.status:
            case RemovalStatus.COUNTING:
                return replace(removal, status=RemovalStatus.PLANNED, planned_at=now), NextStep.DONE
            case RemovalStatus.REMOVING if removal.round == 1:
                return self._begin_round(removal), NextStep.WAIT
            case RemovalStatus.REMOVING:
                return replace(removal, status=RemovalStatus.VERIFYING, residue={}), None
        if not removal.residue:
            return replace(removal, status=RemovalStatus.COMPLETED, ended_at=now), NextStep.DONE
        if removal.round < MAX_ROUNDS:
            return self._begin_round(removal), NextStep.WAIT
        return replace(removal, status=RemovalStatus.FAILED, ended_at=now), NextStep.INCOMPLETE

    def _begin_round(self, removal: TenantRemoval) -> TenantRemoval:
        """Return the removal before its next pass, for which all executions wait."""
        not_before = self.clock.now() + timedelta(seconds=self.wait_seconds)
        return replace(removal, status=RemovalStatus.REMOVING, round=removal.round + 1, not_before=not_before)

    async def _save(self, removal: TenantRemoval, **changes: object) -> TenantRemoval:
        """Store the next revision. Raises ``StoreUnavailable`` if another worker has stored one meanwhile."""
        values = {**changes, "changed_at": self.clock.now(), "revision": removal.revision + 1}
        saved: TenantRemoval = replace(removal, **values)  # type: ignore[arg-type]
        if not await self.removals.put(saved):
            raise StoreUnavailable("Another worker goes on with this removal.")
        return saved

    async def _get(self, scope: Scope) -> TenantRemoval:
        removal = await self.removals.get(scope.tenant_id)
        if removal is None:
            raise NotFound
        return removal


def _add(before: Mapping[str, int], counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return both counts together, in the order of their names, without zeros."""
    return dict(sorted((Counter(before) + Counter(counts)).items()))
