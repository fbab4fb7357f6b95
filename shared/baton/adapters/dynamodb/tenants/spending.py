"""Spending on DynamoDB: one small item for each account, changed by single updates under conditions.

The table decides each update in one step, so that calls at the same time need not repeat theirs. DynamoDB takes a
thousand write units a second for one item, and an item grows by about 30 bytes for each call in progress.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending import PERIODS, Account, Hold, SpendingCounts, SpendingPeriod
from baton.ports.tenants.spending import Reservation

KEPT_SECONDS = 400 * 86_400
"""Seconds from the last reservation until an item expires. It contains the spending of earlier months."""
_MONTH = SpendingPeriod.MONTH


class DynamoSpending(TimedTableStore):
    """``SpendingStore`` on the conversation table."""

    async def get(self, scope: Scope, account: Account) -> SpendingCounts:
        item = await self._table.get(_make_key(scope, account), consistent=False)
        return _to_counts(item) if item is not None else SpendingCounts()

    async def reserve(
        self, scope: Scope, account: Account, name: str, hold: Hold, limits: Mapping[SpendingPeriod, int]
    ) -> Reservation:
        key = _make_key(scope, account)
        before: SpendingCounts | None = SpendingCounts(day=hold.day)  # right except for the first call of a day
        async for _ in self._table.pace_attempts():
            try:
                if before is None:
                    return await self._create(key, name, hold, limits)
                counts = _to_counts(await self._add(key, name, hold, before, limits))
                return Reservation(counts, counts.holds[name])
            except ConditionFailed as failure:
                before = _to_counts(failure.item) if failure.item is not None else None
            if before is None:
                continue
            if name in before.holds:  # an earlier attempt stored the hold, and its response was lost
                return Reservation(before, before.holds[name])
            expired = before.find_expired(self._clock.now())
            for expired_name, expired_hold in expired.items():
                await self.settle(scope, account, expired_name, expired_hold, expired_hold.least)
            counts = before.at(hold.day)
            if not expired and counts.find_full(limits) is not None:
                return Reservation(counts, None)
        raise StoreUnavailable

    async def settle(self, scope: Scope, account: Account, name: str, hold: Hold, cost: int) -> SpendingCounts | None:
        day, was_kept = hold.day, False
        async for _ in self._table.pace_attempts():
            periods = [period for period in PERIODS if period.find_number(day) == period.find_number(hold.day)]
            attributes = [_name_sum(period) for period in periods]
            attributes += [_name_month(_MONTH.find_number(hold.day))] if was_kept else []
            sums = ", ".join(f"{attribute} = {attribute} + :change" for attribute in attributes)
            values: Item = {":day": day} | ({":change": cost - hold.amount} if sums else {})
            expression = f"SET {sums} REMOVE holds.{name}" if sums else f"REMOVE holds.{name}"
            condition = f"counted_day = :day AND attribute_exists(holds.{name})"
            try:
                item = await self._table.update(_make_key(scope, account), expression, values, condition=condition)
            except ConditionFailed as failure:
                if failure.item is None or name not in failure.item["holds"]:
                    return None
                day = failure.item["counted_day"]  # another day has begun
                was_kept = _MONTH.find_number(hold.day) in _to_counts(failure.item).months
            else:
                return _to_counts(item)
        raise StoreUnavailable

    async def note_warning(self, scope: Scope, account: Account, period: SpendingPeriod, number: int) -> bool:
        warned = f"warned_{period}"
        return await self._table.change(
            _make_key(scope, account),
            f"SET {warned} = :number",
            {":number": number},
            condition=f"attribute_exists(PK) AND (attribute_not_exists({warned}) OR {warned} < :number)",
        )

    async def _create(self, key: Key, name: str, hold: Hold, limits: Mapping[SpendingPeriod, int]) -> Reservation:
        """Store the account's first reservation. Raises ``ConditionFailed`` if others have stored one.

        Return a reservation without a hold, and store nothing, if a limit is 0.
        """
        counts = SpendingCounts(day=hold.day)
        if counts.find_full(limits) is not None:
            return Reservation(counts, None)
        counts = counts.reserve(name, hold)
        item: Item = {
            "counted_day": counts.day,
            **{_name_sum(period): counts.taken[period] for period in PERIODS},
            "holds": {name: _pack(hold)},
            "months": {},
            "expires_at": self._compute_expiry(),
        }
        await self._table.put(key | item, condition=IS_NEW)
        return Reservation(counts, hold)

    async def _add(
        self, key: Key, name: str, hold: Hold, before: SpendingCounts, limits: Mapping[SpendingPeriod, int]
    ) -> Item:
        """Add a reservation to an item that has the day of ``before``.

        Raises ``ConditionFailed`` if the item has another day, already has the reservation, or has reached a limit.
        """
        day = max(before.day, hold.day)
        sums, conditions = [], ["counted_day = :before", f"attribute_not_exists(holds.{name})"]
        values: Item = {
            ":before": before.day,
            ":day": day,
            ":amount": hold.amount,
            ":hold": _pack(hold, day),
            ":expires": self._compute_expiry(),
        }
        for period in PERIODS:
            total, limit = _name_sum(period), limits.get(period)
            if period.find_number(day) != period.find_number(before.day):
                sums.append(f"{total} = :amount")
                if period is _MONTH:
                    sums.append(f"{_name_month(period.find_number(before.day))} = {total}")
                continue
            sums.append(f"{total} = {total} + :amount")
            if limit is not None:
                conditions.append(f"{total} < :limit_{period}")
                values[f":limit_{period}"] = limit
        fields = [*sums, "counted_day = :day", f"holds.{name} = :hold", "expires_at = :expires"]
        return await self._table.update(key, f"SET {', '.join(fields)}", values, condition=" AND ".join(conditions))

    def _compute_expiry(self) -> int:
        return int(self._clock.now().timestamp()) + KEPT_SECONDS


def _make_key(scope: Scope, account: Account) -> Key:
    return keys.spending(scope, account.name, account.kind)


def _name_sum(period: SpendingPeriod) -> str:
    """Return the name of the attribute with what a period has taken."""
    return f"taken_{period}"


def _name_month(number: int) -> str:
    """Return the path of the sum of an earlier month, by the month's number."""
    return f"months.m{number}"


def _pack(hold: Hold, day: int | None = None) -> list[int]:
    return [hold.amount, hold.least, hold.until, hold.day if day is None else day]


def _to_counts(item: Item) -> SpendingCounts:
    return SpendingCounts(
        day=item["counted_day"],
        taken={period: item[_name_sum(period)] for period in PERIODS},
        holds={name: Hold(*map(int, packed)) for name, packed in item["holds"].items()},
        months={int(name[1:]): nano for name, nano in item["months"].items()},
        warned={period: item[f"warned_{period}"] for period in PERIODS if f"warned_{period}" in item},
    )
