"""The contract of counted spending: a limit is exceeded by one call at most, and no reservation is lost."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from hypothesis import strategies as st

from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending import (
    HOLD_SECONDS,
    Account,
    AccountKind,
    Hold,
    SpendingCounts,
    SpendingPeriod,
    find_day_number,
)
from baton.ports.tenants.spending import Reservation
from tests.contracts.stores import Stores

DAY, MONTH = SpendingPeriod.DAY, SpendingPeriod.MONTH
TENANT = Account(AccountKind.TENANT)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.integers(1, 6)),
        st.tuples(st.just("end"), st.integers(0, 30)),
        st.tuples(st.just("die"), st.just(0)),
        st.tuples(st.just("day"), st.integers(0, 40)),
    ),
    max_size=14,
)
"""Calls that begin at the same time, a call that ends, the death of all workers, and days that pass."""
Steps = Sequence[tuple[str, int]]


class Spender:
    """An account of a separate tenant, and its calls in progress. A call reserves 100 and costs 40."""

    def __init__(self, stores: Stores, limits: Mapping[SpendingPeriod, int], amount: int = 100) -> None:
        self.stores, self.limits, self.amount = stores, limits, amount
        self.scope = Scope(f"t{uuid.uuid4().hex}", "ada")
        self.account = Account.of_user("ada")
        self.calls: dict[str, Hold] = {}

    @property
    def now(self) -> datetime:
        return self.stores.clock.now()

    def hold(self) -> Hold:
        until = int(self.now.timestamp()) + HOLD_SECONDS
        return Hold(self.amount, least=10, until=until, day=find_day_number(self.now))

    async def reserve(self, name: str | None = None) -> Reservation:
        name = name or f"c{uuid.uuid4().hex}"
        done = await self.stores.spending.reserve(self.scope, self.account, name, self.hold(), self.limits)
        if done.hold is not None:
            self.calls[name] = done.hold
        return done

    async def may_begin(self) -> bool:
        return (await self.reserve()).hold is not None

    async def settle(self, name: str, cost: int = 40) -> SpendingCounts | None:
        hold = self.calls.pop(name)
        return await self.stores.spending.settle(self.scope, self.account, name, hold, cost)

    async def counts(self) -> SpendingCounts:
        return await self.stores.spending.get(self.scope, self.account)


async def check_spending(stores: Stores, done: Steps, *, per_day: int, per_month: int) -> None:
    """Carry out the steps, and check after each that no limit is exceeded by more than a call."""
    spender = Spender(stores, {DAY: per_day, MONTH: per_month})
    for kind, number in done:
        if kind == "begin":
            await asyncio.gather(*(spender.reserve() for _ in range(number)))
        elif kind == "die":
            stores.clock.advance(HOLD_SECONDS)
            spender.calls.clear()
        elif kind == "day":
            stores.clock.advance(timedelta(days=number).total_seconds())
            spender.calls.clear()
        elif spender.calls:
            await spender.settle(list(spender.calls)[number % len(spender.calls)])
        counts = (await spender.counts()).at(find_day_number(spender.now))
        for period, most in spender.limits.items():
            assert counts.compute_spent(period) >= 0
            assert counts.taken.get(period, 0) < most + spender.amount
        assert set(spender.calls) <= set(counts.holds)


class SpendingContract:
    """Spending is counted exactly, also by many workers at the same time."""

    async def test_two_hundred_calls_at_once_exceed_a_limit_by_one_call_at_most(self, stores: Stores) -> None:
        spender = Spender(stores, {DAY: 1_000})
        started = await asyncio.gather(*(spender.may_begin() for _ in range(200)))
        assert sum(started) == 10
        await asyncio.gather(*(spender.settle(name) for name in list(spender.calls)))
        assert (await spender.counts()).compute_spent(DAY) == 400
        assert await spender.may_begin()

    async def test_runs_of_several_calls_at_once_spend_no_more_than_the_limit_and_a_call(self, stores: Stores) -> None:
        spender = Spender(stores, {DAY: 1_000, MONTH: 5_000})

        async def run() -> None:
            for _ in range(5):
                name = f"c{uuid.uuid4().hex}"
                if (await spender.reserve(name)).hold is not None:
                    await asyncio.sleep(0)
                    await spender.settle(name, spender.amount)

        await asyncio.gather(*(run() for _ in range(40)))
        counts = await spender.counts()
        assert not counts.holds
        assert 1_000 <= counts.compute_spent(DAY) < 1_000 + spender.amount

    async def test_the_reservation_of_a_dead_worker_ends(self, stores: Stores) -> None:
        spender = Spender(stores, {DAY: 100})
        assert await spender.may_begin()
        assert not await spender.may_begin()
        stores.clock.advance(HOLD_SECONDS)
        assert await spender.may_begin()
        assert (await spender.counts()).compute_spent(DAY) == 10

    async def test_a_cost_is_counted_once_however_often_it_is_settled(self, stores: Stores) -> None:
        spender = Spender(stores, {DAY: 1_000})
        await spender.reserve("c1")
        hold = spender.calls["c1"]
        counts = await spender.settle("c1")
        assert counts is not None
        assert (counts.compute_spent(DAY), counts.compute_spent(MONTH), counts.holds) == (40, 40, {})
        assert await stores.spending.settle(spender.scope, spender.account, "c1", hold, 40) is None
        assert (await spender.counts()).compute_spent(DAY) == 40

    async def test_a_repeated_reservation_reserves_nothing_more(self, stores: Stores) -> None:
        spender = Spender(stores, {DAY: 100})
        first = await spender.reserve("c1")
        again = await spender.reserve("c1")
        assert again.hold == first.hold
        assert (await spender.counts()).taken[DAY] == 100

    async def test_the_next_day_begins_at_nothing_and_the_month_goes_on(self, stores: Stores) -> None:
        spender = Spender(stores, {DAY: 50, MONTH: 150})
        await spender.reserve("c1")
        await spender.settle("c1", 100)
        assert not await spender.may_begin()
        stores.clock.advance(86_400)
        await spender.reserve("c2")
        await spender.settle("c2", 100)
        stores.clock.advance(86_400)
        refused = await spender.reserve()
        assert (refused.hold, refused.counts.find_spent(spender.limits)) == (None, MONTH)
        march = MONTH.find_number(refused.counts.day)
        stores.clock.advance(31 * 86_400)
        assert await spender.may_begin()
        counts = await spender.counts()
        assert (counts.find_spent_in(march), counts.find_spent_in(march + 1), counts.find_spent_in(march - 1)) == (
            200,
            0,
            0,
        )

    async def test_a_call_over_midnight_counts_for_the_day_on_which_it_began(self, stores: Stores) -> None:
        spender = Spender(stores, {DAY: 1_000})
        stores.clock.advance(12 * 3_600 - 60)  # from noon
        await spender.reserve("c1")
        stores.clock.advance(120)
        await spender.reserve("c2")
        await spender.settle("c1", 70)
        counts = await spender.settle("c2", 20)
        assert counts is not None
        assert (counts.compute_spent(DAY), counts.compute_spent(MONTH)) == (20, 90)

    async def test_a_call_over_the_end_of_a_month_counts_for_the_month_in_which_it_began(self, stores: Stores) -> None:
        spender = Spender(stores, {MONTH: 1_000})
        stores.clock.advance(30 * 86_400 + 12 * 3_600 - 60)  # from noon of 1 March
        await spender.reserve("c1")
        march = MONTH.find_number(find_day_number(spender.now))
        stores.clock.advance(120)
        await spender.reserve("c2")
        await spender.settle("c1", 70)
        await spender.settle("c2", 20)
        counts = await spender.counts()
        assert (counts.find_spent_in(march), counts.find_spent_in(march + 1)) == (70, 20)

    async def test_a_limit_of_nothing_lets_no_call_begin(self, stores: Stores) -> None:
        spender = Spender(stores, {MONTH: 0})
        assert not await spender.may_begin()
        assert await spender.counts() == SpendingCounts()

    async def test_accounts_and_tenants_are_counted_apart(self, stores: Stores) -> None:
        first, second = Spender(stores, {DAY: 100}), Spender(stores, {DAY: 100})
        assert await first.may_begin()
        assert await second.may_begin()
        first.account = TENANT
        assert await first.may_begin()
        first.account = Account(AccountKind.AGENT, "assistant")
        assert await first.may_begin()

    async def test_one_of_several_workers_warns_in_a_period(self, stores: Stores) -> None:
        spender = Spender(stores, {DAY: 100})
        await spender.reserve()
        note = stores.spending.note_warning
        first = await asyncio.gather(*(note(spender.scope, spender.account, DAY, 7) for _ in range(5)))
        assert sorted(first) == [False, False, False, False, True]
        assert await note(spender.scope, spender.account, MONTH, 7)
        assert await note(spender.scope, spender.account, DAY, 8)
