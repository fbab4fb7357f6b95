"""The contract of counts of activity: no more than the limit at once, and no place is ever lost."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import strategies as st

from baton.composition.app import build
from baton.domain.errors import LimitReached, RateLimited
from baton.domain.tenants.activity import Activity, CounterKind, derive_user_tag
from baton.domain.tenants.activity import Counter as Counted
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.self_started_runs import SelfStartedRuns
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.ports.threads.leases import Lease
from tests.contracts.stores import Stores, new_thread_id

USERS = ("ada", "bob", "cleo")
A_LEASE = 31.0

steps = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.lists(st.sampled_from(USERS), min_size=1, max_size=4)),
        st.tuples(st.just("end"), st.lists(st.integers(0, 30), min_size=1, max_size=1)),
        st.tuples(st.just("die"), st.just([0])),
    ),
    max_size=14,
)
"""Runs of users that begin at the same time, a run that ends, or the death of all workers."""
Steps = Sequence[tuple[str, Sequence[str | int]]]


@dataclass(frozen=True)
class SameLimits:
    """The limits of every tenant."""

    limits: DeploymentLimits

    async def of(self, scope: Scope) -> DeploymentLimits:
        return self.limits


class LimitedTenant:
    """A separate tenant whose users begin and end runs under limits."""

    def __init__(self, stores: Stores, *, self_started_runs: SelfStartedRuns | None = None, **limits: int) -> None:
        self.tenant_id = f"t{uuid.uuid4().hex}"
        self.stores = stores
        self.app = build(stores)
        deployment = DeploymentLimits(self_started_runs=self_started_runs, **limits)
        self.app.limits.current = SameLimits(deployment)  # type: ignore[assignment]
        self.limits, self.places = self.app.limits.runs, self.app.limits.places
        self.running: list[Lease] = []

    def scope(self, user: str) -> Scope:
        return Scope(self.tenant_id, user)

    async def begin(
        self, user: str, thread_id: str | None = None, message_id: str | None = None, *, begins_itself: bool = False
    ) -> Lease:
        """Begin a run. Raises ``RateLimited`` and ``LimitReached``."""
        scope, thread_id, message_id = self.scope(user), thread_id or new_thread_id(), message_id or uuid.uuid4().hex
        permit = await self.limits.check(scope, thread_id, message_id, is_message=True, begins_itself=begins_itself)
        lease = await self.stores.acquire(thread_id, scope=scope, message_id=message_id, run_id=message_id)
        refusal = await self.limits.begin(permit, lease) if permit is not None else None
        if refusal is not None:
            await self.stores.store.release(lease)
            raise refusal
        self.running.append(lease)
        return lease

    async def may_begin(self, user: str) -> bool:
        """Begin a run, and return whether the limits allow it."""
        try:
            await self.begin(user)
        except RateLimited:
            return False
        return True

    async def end(self, lease: Lease) -> None:
        """Commit a run of 15 tokens."""
        self.running.remove(lease)
        await self.stores.commit(lease)

    def die(self) -> None:
        """Let all workers die, and their leases run out."""
        self.stores.clock.advance(A_LEASE)
        self.running.clear()

    async def read_counts(self, user: str, limit: str) -> Activity:
        """Return the counts of runs: the user's if ``limit`` is one of users, otherwise the tenant's."""
        scope = self.scope(user)
        return await self.stores.activity.get(
            scope, Counted(CounterKind.RUNS, derive_user_tag(scope) if limit.startswith("user_") else "")
        )

    def by_user(self) -> Counter[str]:
        return Counter(lease.scope.user_id for lease in self.running)


async def check_places(stores: Stores, done: Steps, *, of_tenant: int | None, of_user: int) -> None:
    """Carry out the steps, and check after each that no limit is exceeded and that no place is lost."""
    both = {"user_runs_at_once": of_user} | ({"runs_at_once": of_tenant} if of_tenant is not None else {})
    tenant = LimitedTenant(stores, **both)
    most = of_tenant if of_tenant is not None else 10**6
    for kind, about in done:
        if kind == "begin":
            await asyncio.gather(*(tenant.may_begin(str(user)) for user in about))
        elif kind == "die":
            tenant.die()
        elif tenant.running:
            await tenant.end(tenant.running[int(about[0]) % len(tenant.running)])
        assert len(tenant.running) <= most
        assert all(count <= of_user for count in tenant.by_user().values())
    for user in USERS:
        is_free = len(tenant.running) < most and tenant.by_user()[user] < of_user
        assert await tenant.may_begin(user) is is_free


class ActivityContract:
    """Rules of counts that hold on every store."""

    async def test_the_place_of_a_run_that_ended_is_free(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, runs_at_once=1)
        first = await tenant.begin("ada")
        assert not await tenant.may_begin("bob")
        await tenant.end(first)
        assert await tenant.may_begin("bob")

    async def test_the_place_of_a_dead_worker_is_free_with_its_lease(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, runs_at_once=1)
        await tenant.begin("ada")
        stores.clock.advance(29)
        assert not await tenant.may_begin("bob")
        stores.clock.advance(2)
        assert await tenant.may_begin("bob")

    async def test_a_renewed_lease_keeps_its_place(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, runs_at_once=1)
        lease = await tenant.begin("ada")
        for _ in range(4):
            stores.clock.advance(20)
            lease = await stores.store.renew(lease, used_seq=lease.first_seq)
        assert not await tenant.may_begin("bob")

    async def test_another_attempt_at_a_run_keeps_its_place_and_counts_no_message(self, stores: Stores) -> None:
        tenant, thread_id = LimitedTenant(stores, runs_at_once=1, messages_per_minute=2), new_thread_id()
        await tenant.begin("ada", thread_id, "m1")
        tenant.die()
        await tenant.begin("ada", thread_id, "m1")
        assert not await tenant.may_begin("bob")
        await tenant.end(tenant.running[0])
        assert await tenant.may_begin("bob")

    async def test_messages_are_counted_by_the_minute(self, stores: Stores) -> None:
        tenant, thread_id = LimitedTenant(stores, user_messages_per_minute=2), new_thread_id()
        for _ in range(2):
            await tenant.end(await tenant.begin("ada", thread_id))
        stores.clock.advance(20.5 - stores.clock.now().timestamp() % 60)
        assert await _wait(tenant, "ada") == 40
        assert await tenant.may_begin("bob")
        stores.clock.advance(40)
        assert await tenant.may_begin("ada")

    async def test_tokens_are_counted_by_the_day_once_a_run_has_ended(self, stores: Stores) -> None:
        tenant, thread_id = LimitedTenant(stores, tokens_per_day=50, user_tokens_per_day=30), new_thread_id()
        await tenant.end(await tenant.begin("ada", thread_id))
        await tenant.end(await tenant.begin("ada"))
        assert not await tenant.may_begin("ada")
        await tenant.end(await tenant.begin("bob"))
        assert await tenant.may_begin("bob")  # 45 of 50: what has begun may exceed it
        await tenant.end(tenant.running[0])
        wait = await _wait(tenant, "cleo")
        assert wait == 86_400 - stores.clock.now().timestamp() % 86_400
        stores.clock.advance(wait)
        assert await tenant.may_begin("ada")

    async def test_tokens_of_a_deleted_conversation_count(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, user_tokens_per_day=30)
        for _ in range(2):
            lease = await tenant.begin("ada")
            await tenant.end(lease)
            await stores.bury(lease.scope, lease.thread_id)
        assert not await tenant.may_begin("ada")

    @pytest.mark.parametrize("limit", ["user_tokens_per_day", "tokens_per_day"])
    async def test_tokens_count_after_the_tombstone_is_removed(self, stores: Stores, limit: str) -> None:
        tenant = LimitedTenant(stores, **{limit: 30})
        for _ in range(2):
            lease = await tenant.begin("ada")
            await tenant.end(lease)
            await stores.bury(lease.scope, lease.thread_id)
            for _ in range(2):  # a repeated step counts once
                await tenant.app.privacy.forgotten_runs.count(lease.scope, lease.thread_id)
            await stores.unbury(lease.scope, lease.thread_id)
        assert not await tenant.may_begin("ada")
        assert sum(location.run != "" for location in (await tenant.read_counts("ada", limit)).places.values()) == 0

    async def test_tokens_count_however_much_time_of_the_day_is_between_the_runs(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, user_tokens_per_day=30)
        for _ in range(2):
            await tenant.end(await tenant.begin("ada"))
            stores.clock.advance(61 * 60)
        assert not await tenant.may_begin("ada")

    async def test_runs_that_go_on_do_not_keep_the_places_of_others(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, tokens_per_day=10**6)
        long_runs = [await tenant.begin("ada"), await tenant.begin("bob")]
        for number in range(12):
            stores.clock.advance(5)
            long_runs = [await stores.store.renew(lease, used_seq=lease.first_seq) for lease in long_runs]
            await tenant.end(await tenant.begin(f"user {number}"))
        counted = await tenant.read_counts("ada", "tokens_per_day")
        assert len(counted.places) <= 6
        assert counted.tokens >= 15 * 8

    async def test_tenants_and_users_count_apart(self, stores: Stores) -> None:
        tenant, other = (
            LimitedTenant(stores, runs_at_once=2, user_runs_at_once=1),
            LimitedTenant(stores, runs_at_once=1),
        )
        await tenant.begin("ada")
        assert not await tenant.may_begin("ada")
        assert await tenant.may_begin("bob")
        assert not await tenant.may_begin("cleo")
        assert await other.may_begin("ada")

    @pytest.mark.parametrize("limits", [{}, {"runs_at_once": 9}])
    async def test_runs_that_begin_by_themselves_are_counted_by_the_day(
        self, stores: Stores, limits: dict[str, int]
    ) -> None:
        rules = SelfStartedRuns(per_conversation_per_day=2, per_user_per_day=3)
        tenant, thread_id = LimitedTenant(stores, self_started_runs=rules, **limits), new_thread_id()
        for message_id in ("m1", "m1", "m2"):  # a worker that takes a run over does not count it again
            await tenant.end(await tenant.begin("ada", thread_id, message_id, begins_itself=True))
        for of_thread in (thread_id, None):
            if of_thread is None:
                await tenant.end(await tenant.begin("ada", begins_itself=True))
            with pytest.raises(LimitReached):
                await tenant.begin("ada", of_thread, begins_itself=True)
        await tenant.end(await tenant.begin("ada", thread_id))
        await tenant.end(await tenant.begin("bob", begins_itself=True))
        stores.clock.advance(24 * 3600)
        await tenant.begin("ada", thread_id, begins_itself=True)

    async def test_users_alone_are_counted_in_an_item_of_each(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, user_runs_at_once=1)
        await tenant.begin("ada")
        counted = await stores.activity.get(tenant.scope("ada"), Counted(CounterKind.RUNS))
        assert counted.revision == 0
        assert await tenant.may_begin("bob")

    async def test_connections_take_places_until_they_end(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, connections=2, user_connections=1)
        ada, bob, cleo = map(tenant.scope, USERS)
        await tenant.places.take(ada, CounterKind.CONNECTIONS, "a", seconds=7200)
        await tenant.places.take(bob, CounterKind.CONNECTIONS, "b", seconds=7200)
        for scope in (ada, cleo):
            with pytest.raises(RateLimited) as refused:
                await tenant.places.take(scope, CounterKind.CONNECTIONS, "c", seconds=7200)
            assert refused.value.retry_after == 60
        await tenant.places.give_back(ada, CounterKind.CONNECTIONS, "a")
        await tenant.places.take(cleo, CounterKind.CONNECTIONS, "c", seconds=7200)
        stores.clock.advance(7200)  # nobody has said that they ended
        await tenant.places.take(ada, CounterKind.CONNECTIONS, "d", seconds=7200)

    async def test_a_read_before_the_place_was_taken_does_not_give_it_back(self, stores: Stores) -> None:
        tenant = LimitedTenant(stores, runs_at_once=1)
        lease = await tenant.begin("ada")
        before = await stores.activity.threads(lease.scope, [lease.thread_id])
        stale = {item: replace(use, fence=use.fence - 1, lease_until=None) for item, use in before.items()}

        class Behind:
            get, change = stores.activity.get, stores.activity.change

            async def threads(self, scope: Scope, thread_ids: object) -> object:
                return stale

        tenant.limits = replace(tenant.limits, counts=Behind())
        assert not await tenant.may_begin("bob")


async def _wait(tenant: LimitedTenant, user: str) -> int:
    """The seconds that a refused user has to wait."""
    with pytest.raises(RateLimited) as refused:
        await tenant.begin(user)
    return refused.value.retry_after
