"""The money that calls of models have cost, and that calls in progress have reserved, by day and month (UTC).

This module has values only: ``spending_limits`` decides, and a store keeps the counts of each account as one
``SpendingCounts``. Amounts are whole billionths of the currency's unit, as in overviews.
"""

from __future__ import annotations

import hashlib
import math
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from baton.domain.tenants.overview import NANO
from baton.domain.tenants.spending_rules import SpendingLimit

HOLD_SECONDS = 960
"""Seconds after which the reservation of a dead worker ends. A Lambda function runs for at most 900 seconds."""
WARNING_SHARE = 0.8
"""The share of a limit from which users and administrators are warned."""
EPOCH = date(1970, 1, 1)


class AccountKind(StrEnum):
    """The kinds of accounts."""

    TENANT = "TENANT"
    AGENT = "AGENT"
    USER = "USER"


@dataclass(frozen=True, slots=True)
class Account:
    """A tenant, an agent or a user whose spending is counted and limited."""

    kind: AccountKind
    name: str = ""
    """The agent's id or the tag of the user; empty for the tenant."""

    @classmethod
    def of_user(cls, user_id: str) -> Account:
        """Return the account of a user, by a tag of sixteen characters."""
        tag = hashlib.sha256(user_id.encode()).digest()[:12]
        return cls(AccountKind.USER, urlsafe_b64encode(tag).decode())


class SpendingPeriod(StrEnum):
    """The periods for which spending is limited."""

    DAY = "day"
    MONTH = "month"

    def find_number(self, day: int) -> int:
        """Return the number of the period that contains a day. ``day`` is counted from 1970-01-01, which is 0."""
        if self is SpendingPeriod.DAY:
            return day
        at = EPOCH + timedelta(days=day)
        return at.year * 12 + at.month - 1

    def end(self, day: int) -> datetime:
        """Return the time at which the period that contains a day ends. ``day`` is counted as in ``find_number``."""
        at = EPOCH + timedelta(days=day + 1)
        if self is SpendingPeriod.MONTH:
            at = EPOCH + timedelta(days=day)
            at = date(at.year + at.month // 12, at.month % 12 + 1, 1)
        return datetime(at.year, at.month, at.day, tzinfo=UTC)


PERIODS = tuple(SpendingPeriod)


def find_day_number(now: datetime) -> int:
    """Return the number of the day (UTC) of a time, counted from 1970-01-01."""
    return int(now.timestamp()) // 86_400


def compute_nano_limits(limit: SpendingLimit) -> Mapping[SpendingPeriod, int]:
    """Return the limit of each limited period, in parts of ``NANO``."""
    limits = {SpendingPeriod.DAY: limit.per_day, SpendingPeriod.MONTH: limit.per_month}
    return {period: round(most * NANO) for period, most in limits.items() if most is not None}


@dataclass(frozen=True, slots=True)
class SpendingWarning:
    """An account that has spent most of its limit."""

    account: AccountKind
    period: SpendingPeriod
    percent: int
    """The part of the limit that is spent, in percent."""
    resets_at: datetime


@dataclass(frozen=True, slots=True)
class Hold:
    """The reservation of a call in progress."""

    amount: int
    """The most that the call may cost, in parts of ``NANO``."""
    least: int
    """The cost that counts if its worker dies: that of the prompt, which the provider has most likely charged."""
    until: int
    """Unix time, in seconds, at which its worker counts as dead."""
    day: int
    """The number of the day on which it counts."""


@dataclass(frozen=True, slots=True)
class SpendingCounts:
    """The counts of one account."""

    day: int = 0
    """The number of the day of the counts, from 1970-01-01."""
    taken: Mapping[SpendingPeriod, int] = field(default_factory=dict)
    """The sum of spent and reserved money in the day and in its month."""
    holds: Mapping[str, Hold] = field(default_factory=dict)
    """Reservations by the ids of calls."""
    warned: Mapping[SpendingPeriod, int] = field(default_factory=dict)
    """The numbers of the periods for which a warning was given."""
    months: Mapping[int, int] = field(default_factory=dict)
    """The amounts spent in earlier months, by the numbers of the months."""

    def at(self, day: int) -> SpendingCounts:
        """Return the counts on a day. A day before the counted day, from a slow clock, changes nothing."""
        if day <= self.day:
            return self
        taken = {
            period: self.taken.get(period, 0) if period.find_number(day) == period.find_number(self.day) else 0
            for period in PERIODS
        }
        month, months = SpendingPeriod.MONTH.find_number(self.day), self.months
        if self.taken and SpendingPeriod.MONTH.find_number(day) != month:
            months = {**months, month: self.taken.get(SpendingPeriod.MONTH, 0)}
        return replace(self, day=day, taken=taken, months=months)

    def find_spent_in(self, month: int) -> int:
        """Return the amount spent in a month, by its number."""
        if month == SpendingPeriod.MONTH.find_number(self.day):
            return self.compute_spent(SpendingPeriod.MONTH)
        return self.months.get(month, 0)

    def sum_reserved(self, period: SpendingPeriod) -> int:
        """Return the amount that calls in progress have reserved in the counted period."""
        number = period.find_number(self.day)
        return sum(hold.amount for hold in self.holds.values() if period.find_number(hold.day) == number)

    def compute_spent(self, period: SpendingPeriod) -> int:
        """Return the amount spent in the counted period, without reservations."""
        return self.taken.get(period, 0) - self.sum_reserved(period)

    def find_full(self, limits: Mapping[SpendingPeriod, int]) -> SpendingPeriod | None:
        """Return the period with the latest end in which nothing is left; None if there is room in all."""
        return next(
            (period for period in reversed(PERIODS) if self.taken.get(period, 0) >= _find_limit(limits, period)), None
        )

    def find_spent(self, limits: Mapping[SpendingPeriod, int]) -> SpendingPeriod | None:
        """Return the period with the latest end whose limit is spent, without reservations; None if none is."""
        return next(
            (period for period in reversed(PERIODS) if self.compute_spent(period) >= _find_limit(limits, period)), None
        )

    def list_high(self, limits: Mapping[SpendingPeriod, int]) -> Sequence[tuple[SpendingPeriod, int]]:
        """Return the periods in which ``WARNING_SHARE`` of the limit is spent, with the percentages."""
        shares = [(period, self.compute_spent(period) / most if most else 1.0) for period, most in limits.items()]
        return [(period, int(100 * share)) for period, share in shares if share >= WARNING_SHARE]

    def find_expired(self, now: datetime) -> Mapping[str, Hold]:
        """Return the reservations of workers that have died."""
        seconds = int(now.timestamp())
        return {name: hold for name, hold in self.holds.items() if hold.until <= seconds}

    def reserve(self, name: str, hold: Hold) -> SpendingCounts:
        """Return the counts with a reservation, moved on to the hold's day unless they are of a later one."""
        counts = self.at(hold.day)
        hold = replace(hold, day=counts.day)
        taken = {period: counts.taken.get(period, 0) + hold.amount for period in PERIODS}
        return replace(counts, taken=taken, holds={**counts.holds, name: hold})

    def settle(self, name: str, cost: int) -> SpendingCounts:
        """Return the counts with a cost in place of a reservation; the same if there is no such reservation."""
        hold = self.holds.get(name)
        if hold is None:
            return self
        taken = {
            period: count + (cost - hold.amount if period.find_number(hold.day) == period.find_number(self.day) else 0)
            for period, count in self.taken.items()
        }
        month, months = SpendingPeriod.MONTH.find_number(hold.day), self.months
        if month in months:
            months = {**months, month: months[month] + cost - hold.amount}
        return replace(
            self, taken=taken, months=months, holds={other: rest for other, rest in self.holds.items() if other != name}
        )


def _find_limit(limits: Mapping[SpendingPeriod, int], period: SpendingPeriod) -> float:
    return limits.get(period, math.inf)
