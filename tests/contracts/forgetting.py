"""The contract of every store of requests to forget and of retention."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import timedelta

from baton.domain.memory.forgetting import ForgetRequest, ForgetStatus, ForgetSubject, Retention
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.privacy import ForgetRequests
from baton.ports.tenants.tenants import Retentions
from baton_testing.fakes.clock import FakeClock


@dataclass
class Forgotten:
    """The stores under test, and a separate tenant."""

    requests: ForgetRequests
    retentions: Retentions
    clock: FakeClock

    def __post_init__(self) -> None:
        self.tenant = f"t{uuid.uuid4().hex}"
        self.ada, self.bob = Scope(self.tenant, "ada"), Scope(self.tenant, "bob")

    def request(self, scope: Scope, *, thread_id: str | None = None) -> ForgetRequest:
        subject = ForgetSubject.THREAD if thread_id is not None else ForgetSubject.USER
        now = self.clock.now()
        return ForgetRequest(str(uuid.uuid4()), self.tenant, subject, scope.user_id, "boss", now, thread_id)


class RequestContract:
    """Requests to forget."""

    async def test_a_request_is_read_as_it_was_saved(self, forgotten: Forgotten) -> None:
        request = await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada, thread_id="t1"))
        changed = replace(
            request,
            round=3,
            cutoff_at=forgotten.clock.now() + timedelta(seconds=7),
            counts={"messages": 2},
            residue={"items": 1},
            status=ForgetStatus.FAILED,
            ended_at=forgotten.clock.now() + timedelta(seconds=9),
        )
        await forgotten.requests.save(forgotten.ada, changed)
        assert await forgotten.requests.get(forgotten.bob, request.id) == changed
        assert await forgotten.requests.find_latest(forgotten.bob, "t1") == changed

    async def test_one_request_of_a_subject_runs_at_a_time(self, forgotten: Forgotten) -> None:
        first = await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada))
        second = await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada))
        assert second.id == first.id
        assert (await forgotten.requests.open(forgotten.bob, forgotten.request(forgotten.bob))).id != first.id
        about_thread = forgotten.request(forgotten.ada, thread_id="t1")
        assert await forgotten.requests.open(forgotten.ada, about_thread) == about_thread
        await forgotten.requests.save(forgotten.ada, replace(first, status=ForgetStatus.COMPLETED))
        assert (await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada))).id != first.id

    async def test_a_request_that_has_run_for_a_day_is_replaced(self, forgotten: Forgotten) -> None:
        first = await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada))
        forgotten.clock.advance(25 * 3600)
        second = forgotten.request(forgotten.ada)
        assert await forgotten.requests.open(forgotten.ada, second) == second
        await forgotten.requests.save(forgotten.ada, replace(first, status=ForgetStatus.COMPLETED))
        third = await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada))
        assert third.id == second.id, "the end of a replaced request ends no other"

    async def test_the_cutoff_is_the_latest_of_user_and_thread(self, forgotten: Forgotten) -> None:
        noon = forgotten.clock.now()
        assert await forgotten.requests.find_cutoff(forgotten.ada, "t1") is None
        user = await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada))
        assert await forgotten.requests.find_cutoff(forgotten.ada, "t1") == noon
        later = noon + timedelta(minutes=16)
        await forgotten.requests.save(forgotten.ada, replace(user, cutoff_at=later, status=ForgetStatus.COMPLETED))
        assert await forgotten.requests.find_cutoff(forgotten.ada, "t2") == later
        assert await forgotten.requests.find_cutoff(forgotten.bob, "t1") is None
        forgotten.clock.advance(3600)
        await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada, thread_id="t1"))
        assert await forgotten.requests.find_cutoff(forgotten.ada, "t1") == noon + timedelta(hours=1)

    async def test_the_latest_request_of_retention_is_the_tenants(self, forgotten: Forgotten) -> None:
        assert await forgotten.requests.find_latest_of_retention(forgotten.ada) is None
        await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada))
        request = replace(forgotten.request(forgotten.ada), subject=ForgetSubject.RETENTION)
        await forgotten.requests.open(forgotten.ada, request)
        assert await forgotten.requests.find_latest_of_retention(forgotten.bob) == request
        assert await forgotten.requests.find_latest_of_retention(Scope(f"{forgotten.tenant}-2", "ada")) is None

    async def test_another_tenants_requests_do_not_exist(self, forgotten: Forgotten) -> None:
        request = await forgotten.requests.open(forgotten.ada, forgotten.request(forgotten.ada, thread_id="t1"))
        stranger = Scope(f"{forgotten.tenant}-2", "ada")
        assert await forgotten.requests.get(stranger, request.id) is None
        assert await forgotten.requests.find_latest(stranger, "t1") is None
        assert await forgotten.requests.find_cutoff(stranger, "t1") is None


class RetentionContract:
    """The retention of tenants."""

    async def test_nothing_is_limited_unless_the_tenant_says_so(self, forgotten: Forgotten) -> None:
        assert await forgotten.retentions.get(forgotten.ada) == Retention()

    async def test_it_is_read_as_it_was_set_in_its_tenant_only(self, forgotten: Forgotten) -> None:
        stored = Retention(threads=30, audit=400, changed_by="boss", changed_at=forgotten.clock.now())
        await forgotten.retentions.put(forgotten.ada, stored)
        assert await forgotten.retentions.get(forgotten.bob) == stored
        assert await forgotten.retentions.get(Scope(f"{forgotten.tenant}-2", "ada")) == Retention()

    async def test_it_is_due_at_once_and_then_once_a_day(self, forgotten: Forgotten) -> None:
        async def claim() -> bool:
            return forgotten.tenant in await forgotten.retentions.claim_due(forgotten.clock.now())

        stored = Retention(uploads=1, changed_by="boss", changed_at=forgotten.clock.now())
        await forgotten.retentions.put(forgotten.ada, stored)
        assert [await claim(), await claim()] == [True, False]
        forgotten.clock.advance(86_399)
        assert not await claim()
        forgotten.clock.advance(1)
        assert await claim()
        await forgotten.retentions.put(forgotten.ada, replace(stored, uploads=None))
        forgotten.clock.advance(86_400)
        assert not await claim()

    async def test_a_changed_one_is_due_at_once(self, forgotten: Forgotten) -> None:
        stored = Retention(uploads=9, changed_by="boss", changed_at=forgotten.clock.now())
        assert await forgotten.retentions.find_due_time(forgotten.ada) is None
        await forgotten.retentions.put(forgotten.ada, stored)
        now = forgotten.clock.now()
        assert await forgotten.retentions.find_due_time(forgotten.bob) == now
        assert forgotten.tenant in await forgotten.retentions.claim_due(now)
        assert await forgotten.retentions.find_due_time(forgotten.ada) == now + timedelta(days=1)
        await forgotten.retentions.put(forgotten.ada, replace(stored, uploads=1))
        assert forgotten.tenant in await forgotten.retentions.claim_due(now)

    async def test_it_can_be_made_due_again_while_anything_is_limited(self, forgotten: Forgotten) -> None:
        now = forgotten.clock.now()
        await forgotten.retentions.repeat_soon(forgotten.ada)
        assert await forgotten.retentions.find_due_time(forgotten.ada) is None
        await forgotten.retentions.put(forgotten.ada, Retention(uploads=9, changed_by="boss", changed_at=now))
        await forgotten.retentions.claim_due(now)
        await forgotten.retentions.repeat_soon(forgotten.ada)
        assert forgotten.tenant in await forgotten.retentions.claim_due(now)
