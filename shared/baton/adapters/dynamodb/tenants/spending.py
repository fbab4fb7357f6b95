"""Spending on DynamoDB: one small item for each account, changed by single updates under conditions.

An update is decided by the table, in one step, so calls at once do not have to repeat theirs. DynamoDB takes a thousand
write units a second for one item, and an item grows by about 30 bytes for each call in progress.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.table import IS_NEW, ConditionFailed, TimedTableStore
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending import PERIODS, Account, Hold, SpendingCounts, SpendingPeriod
from baton.ports.tenants.spending import Reservation

KEPT_SECONDS = 400 * 86_400
"""Seconds after its last change until an item expires: it has the money of earlier months."""
_MONTH = SpendingPeriod.MONTH


class DynamoSpending(TimedTableStore):
    """``SpendingStore`` on the conversation table."""

    async def get(self, scope: Scope, account: Account) -> SpendingCounts:
        item = await self._table.get(_key(scope, account), consistent=False)
        return _counts(item) if item is not None else SpendingCounts()

    async def reserve(
        self, scope: Scope, account: Account, name: str, hold: Hold, limits: Mapping[SpendingPeriod, int]
    ) -> Reservation:
        key = _key(scope, account)
        before: SpendingCounts | None = SpendingCounts(day=hold.day)  # as it is, except for the first call of a day
        async for _ in self._table.attempts():
            try:
                if before is None:
                    return await self._create(key, name, hold, limits)
                counts = _counts(await self._add(key, name, hold, before, limits))
                return Reservation(counts, counts.holds[name])
            except ConditionFailed as failure:
                before = _counts(failure.item) if failure.item is not None else None
            if before is None:
                continue
            if name in before.holds:  # it is stored; the store's answer was lost
                return Reservation(before, before.holds[name])
            expired = before.find_expired(self._clock.now())
            for dead, its_hold in expired.items():
                await self.settle(scope, account, dead, its_hold, its_hold.least)
            counts = before.at(hold.day)
            if not expired and counts.find_full(limits) is not None:
                return Reservation(counts, None)
        raise StoreUnavailable

    async def settle(self, scope: Scope, account: Account, name: str, hold: Hold, cost: int) -> SpendingCounts | None:
        day, was_kept = hold.day, False
        async for _ in self._table.attempts():
            periods = [period for period in PERIODS if period.number(day) == period.number(hold.day)]
            counts = [_taken(period) for period in periods] + ([_month(_MONTH.number(hold.day))] if was_kept else [])
            sums = ", ".join(f"{name} = {name} + :change" for name in counts)
            values: Item = {":day": day} | ({":change": cost - hold.amount} if sums else {})
            expression = f"SET {sums} REMOVE holds.{name}" if sums else f"REMOVE holds.{name}"
            condition = f"counted_day = :day AND attribute_exists(holds.{name})"
            try:
                item = await self._table.update(_key(scope, account), expression, values, condition=condition)
            except ConditionFailed as failure:
                if failure.item is None or name not in failure.item["holds"]:
                    return None
                day = failure.item["counted_day"]  # another day has begun
                was_kept = _MONTH.number(hold.day) in _counts(failure.item).months
            else:
                return _counts(item)
        raise StoreUnavailable

    async def note_warning(self, scope: Scope, account: Account, period: SpendingPeriod, number: int) -> bool:
        warned = f"warned_{period}"
        return await self._table.change(
            _key(scope, account),
            f"SET {warned} = :number",
            {":number": number},
            condition=f"attribute_exists(PK) AND (attribute_not_exists({warned}) OR {warned} < :number)",
        )

    async def _create(self, key: Key, name: str, hold: Hold, limits: Mapping[SpendingPeriod, int]) -> Reservation:
        """Store the account's first reservation. Raises ``ConditionFailed`` if others have stored one."""
        counts = SpendingCounts(day=hold.day)
        if counts.find_full(limits) is not None:
            return Reservation(counts, None)
        counts = counts.reserve(name, hold)
        item: Item = {
            "counted_day": counts.day,
            **{_taken(period): counts.taken[period] for period in PERIODS},
            "holds": {name: _packed(hold)},
            "months": {},
            "expires_at": self._expires_at(),
        }
        await self._table.put(key | item, condition=IS_NEW)
        return Reservation(counts, hold)

    async def _add(
        self, key: Key, name: str, hold: Hold, before: SpendingCounts, limits: Mapping[SpendingPeriod, int]
    ) -> Item:
        """Add a reservation to an item of the day of ``before``. Raises ``ConditionFailed``."""
        day = max(before.day, hold.day)
        sums, conditions = [], ["counted_day = :before", f"attribute_not_exists(holds.{name})"]
        values: Item = {
            ":before": before.day,
            ":day": day,
            ":amount": hold.amount,
            ":hold": _packed(hold, day),
            ":expires": self._expires_at(),
        }
        for period in PERIODS:
            taken, most = _taken(period), limits.get(period)
            if period.number(day) != period.number(before.day):
                sums.append(f"{taken} = :amount")
                if period is _MONTH:
                    sums.append(f"{_month(period.number(before.day))} = {taken}")
                continue
            sums.append(f"{taken} = {taken} + :amount")
            if most is not None:
                conditions.append(f"{taken} < :most_{period}")
                values[f":most_{period}"] = most
        fields = [*sums, "counted_day = :day", f"holds.{name} = :hold", "expires_at = :expires"]
        return await self._table.update(key, f"SET {', '.join(fields)}", values, condition=" AND ".join(conditions))

    def _expires_at(self) -> int:
        return int(self._clock.now().timestamp()) + KEPT_SECONDS


def _key(scope: Scope, account: Account) -> Key:
    return keys.spending(scope, account.name, account.kind)


def _taken(period: SpendingPeriod) -> str:
    return f"taken_{period}"


def _month(number: int) -> str:
    return f"months.m{number}"


def _packed(hold: Hold, day: int | None = None) -> list[int]:
    return [hold.amount, hold.least, hold.until, hold.day if day is None else day]


def _counts(item: Item) -> SpendingCounts:
    return SpendingCounts(
        day=item["counted_day"],
        taken={period: item[_taken(period)] for period in PERIODS},
        holds={name: Hold(*map(int, packed)) for name, packed in item["holds"].items()},
        months={int(name[1:]): nano for name, nano in item["months"].items()},
        warned={period: item[f"warned_{period}"] for period in PERIODS if f"warned_{period}" in item},
    )
