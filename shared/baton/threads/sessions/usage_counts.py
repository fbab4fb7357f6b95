"""The usage of a tenant in a month, page by page, for billing. It is counted when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from baton.concurrency.tasks import gather_all
from baton.domain.cursors import decode, encode
from baton.domain.errors import InvalidRequest
from baton.domain.runs.usage import Prices, Usage
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.overview import NANO, DayCounts, Overview
from baton.domain.tenants.spending import Account, AccountKind
from baton.ports.tenants.spending import SpendingStore
from baton.ports.tenants.usage import StoredObjects, TenantObjects
from baton.threads.sessions.overviews import OverviewPosition, Overviews, Period

_MONTH = re.compile(r"(2[0-9]{3})-(0[1-9]|1[0-2])")
MAX_NAME = 1_024
"""Characters of an object's name. S3 allows 1,024 bytes."""
TENANT = Account(AccountKind.TENANT)


@dataclass(frozen=True, slots=True)
class Month:
    """A calendar month in UTC."""

    year: int
    month: int

    @classmethod
    def parse(cls, text: str) -> Month:
        """Return the month of ``2026-03``. Raises ``InvalidRequest``."""
        match = _MONTH.fullmatch(text)
        if match is None:
            raise InvalidRequest("month must be a year and a month, such as 2026-03.")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def of(cls, now: datetime) -> Month:
        """Return the month of a time."""
        return cls(now.year, now.month)

    @property
    def number(self) -> int:
        """The number of months since the year 0, as spending counts months."""
        return self.year * 12 + self.month - 1

    @property
    def period(self) -> Period:
        """The time from the month's beginning to its end."""
        next_month = Month(self.year + self.month // 12, self.month % 12 + 1)
        return Period(self._beginning, next_month._beginning - timedelta(milliseconds=1))

    @property
    def _beginning(self) -> datetime:
        return datetime(self.year, self.month, 1, tzinfo=UTC)

    def __str__(self) -> str:
        return f"{self.year}-{self.month:02}"


@dataclass(frozen=True, slots=True)
class UsagePosition:
    """The position of the next page. A field is None when everything of its kind is counted."""

    month: Month
    turns: OverviewPosition | None
    objects: str | None
    """The name of the last counted object; empty before the first."""
    is_first: bool = False

    @classmethod
    def first(cls, month: Month) -> UsagePosition:
        """Return the position of the first page."""
        return cls(month, OverviewPosition(month.period), "", is_first=True)

    def encode(self) -> str:
        """Return the position as a cursor for clients."""
        turns = self.turns.encode() if self.turns is not None else None
        return encode({"month": str(self.month), "turns": turns, "objects": self.objects})

    @classmethod
    def decode(cls, cursor: str) -> UsagePosition:
        """Return the position that a cursor names. Raises ``InvalidRequest``."""
        match decode(cursor):
            case {"month": str(month), "turns": str() | None as turns, "objects": str() | None as objects} if (
                len(objects or "") <= MAX_NAME
            ):
                position = OverviewPosition.decode(turns) if turns is not None else None
                return cls(Month.parse(month), position, objects)
        raise InvalidRequest("cursor was not handed out by this list.")


@dataclass(frozen=True, slots=True)
class ModelCost:
    """The tokens of a model, and their cost at the prices of today."""

    usage: Usage
    cost: float | None


@dataclass(frozen=True, slots=True)
class UsagePage:
    """A part of a tenant's usage in a month. The figures of all pages add up."""

    month: Month
    total: DayCounts
    agents: Mapping[str, DayCounts]
    """Counts by the id of the agent that spoke last, which is empty if none spoke."""
    models: Mapping[str, ModelCost]
    threads: int
    """Conversations that were active in the month or since."""
    stored: StoredObjects
    metered_cost: float | None
    """The cost of all calls in the month as spending limits have counted it; on the first page only."""
    following: UsagePosition | None


@dataclass(frozen=True, slots=True)
class UsageCounts:
    """The counting of tenants' usage."""

    overviews: Overviews
    spending: SpendingStore
    objects: TenantObjects
    prices: Callable[[], Prices]

    async def read_page(self, scope: Scope, position: UsagePosition) -> UsagePage:
        """Return one page. A page has sums only, so that the caller need not be allowed to read conversations."""
        reader = replace(scope, permissions=scope.permissions | {Permission.THREAD_READ_ALL})
        (counts, turns), (stored_objects, objects), metered_cost = await gather_all(
            self._count_turns(reader, position.turns),
            self._count_objects(scope, position.objects),
            self._read_spent(scope, position),
        )
        agents: dict[str, DayCounts] = {}
        for (_, agent_id), day in counts.days.items():
            agents[agent_id] = agents.get(agent_id, DayCounts()) + day
        is_last = turns is None and objects is None
        return UsagePage(
            month=position.month,
            total=sum(agents.values(), DayCounts()),
            agents=agents,
            models={
                model: ModelCost(usage, self._compute_cost(model, usage)) for model, usage in counts.models.items()
            },
            threads=counts.threads,
            stored=stored_objects,
            metered_cost=metered_cost,
            following=None if is_last else UsagePosition(position.month, turns, objects),
        )

    async def _count_turns(
        self, scope: Scope, position: OverviewPosition | None
    ) -> tuple[Overview, OverviewPosition | None]:
        return await self.overviews.read_page(scope, position) if position is not None else (Overview(), None)

    async def _count_objects(self, scope: Scope, after: str | None) -> tuple[StoredObjects, str | None]:
        return await self.objects.count(scope, after or None) if after is not None else (StoredObjects(), None)

    async def _read_spent(self, scope: Scope, position: UsagePosition) -> float | None:
        if not position.is_first:
            return None
        counts = await self.spending.get(scope, TENANT)
        return counts.find_spent_in(position.month.number) / NANO if counts.taken else None

    def _compute_cost(self, model: str, usage: Usage) -> float | None:
        price = self.prices().of(model)
        return round(price.compute_cost(usage), 9) if price is not None else None
