"""Ports for limits, retention, counts and evaluations of tenants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from baton.domain.memory.forgetting import Retention
from baton.domain.tenants.activity import Activity, Counter, ThreadUse
from baton.domain.tenants.evaluation import Evaluation, EvaluationEntry
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.tenant_limits import TenantLimits


class TenantLimitStore(Protocol):
    """The limits that tenants have chosen. Methods raise ``StoreUnavailable``."""

    async def get(self, scope: Scope) -> TenantLimits:
        """Return the tenant's limits. Limits that were never set are None: the deployment's apply."""

    async def put(self, scope: Scope, limits: TenantLimits) -> bool:
        """Store the limits if the stored revision is the one before theirs. Return whether they are stored.

        A repetition after a lost answer returns True.
        """


class Retentions(Protocol):
    """The times for which tenants keep their data."""

    async def get(self, scope: Scope) -> Retention:
        """Return the tenant's retention. A retention that was never set keeps all data."""

    async def put(self, scope: Scope, retention: Retention) -> None:
        """Set the tenant's retention. It is due at once, and then once a day."""

    async def find_due_time(self, scope: Scope) -> datetime | None:
        """Return the time at which the tenant's retention is due next; None if nothing is limited."""

    async def repeat_soon(self, scope: Scope) -> None:
        """Make the tenant's retention due again at once, unless nothing is limited."""

    async def claim_due(self, now: datetime) -> Sequence[str]:
        """Return the tenants whose retention is due, each to one caller only. It is due again a day later."""


class SearchedTenants(Protocol):
    """The tenants that have searchable data."""

    async def all(self) -> Mapping[str, Sequence[str]]:
        """Return all tenants with episodes or documents, in order, each with its agents that have documents, in order.

        It reads the table's whole list of lists, so it is for operators only. Raises ``StoreUnavailable``.
        """


class EvaluationStore(Protocol):
    """The evaluations of tenants. Expired evaluations are not returned. Methods raise ``StoreUnavailable``."""

    async def put(self, scope: Scope, evaluation: Evaluation) -> bool:
        """Store an evaluation unless its id is taken. Return whether it is new."""

    async def get(self, scope: Scope, evaluation_id: str) -> Evaluation | None:
        """Return an evaluation; None if there is none."""

    async def page(
        self, scope: Scope, *, limit: int, cursor: str | None
    ) -> tuple[Sequence[EvaluationEntry], str | None]:
        """Return a page of the tenant's evaluations, newest first, and the next cursor.

        Raises ``InvalidRequest`` for a cursor that this list did not hand out.
        """

    async def remove(self, scope: Scope, evaluation_id: str) -> None:
        """Remove an evaluation. A repetition is not an error."""


Change = Callable[[Activity], Awaitable[Activity]]
"""Returns the changed counts, or the same if there is nothing to change. It may be called again with other counts."""


class CountsTooLarge(Exception):
    """The counts exceed the largest item of the store. Nothing was changed."""


class ActivityCounts(Protocol):
    """The counters of tenants. Methods raise ``StoreUnavailable``."""

    async def get(self, scope: Scope, counter: Counter) -> Activity:
        """Return the counts. They may be a moment old."""

    async def change(self, scope: Scope, counter: Counter, change: Change, *, known: Activity | None = None) -> bool:
        """Apply ``change`` to the current counts in one step. Return whether it was applied.

        ``known``: counts for the first attempt, which saves a read. False: others changed the counts at each attempt.
        Raises ``CountsTooLarge``.
        """

    async def threads(self, scope: Scope, thread_ids: Collection[str]) -> Mapping[str, ThreadUse]:
        """Return the use of the tenant's threads, even of forgotten ones until their tombstones are removed.

        A result may be a moment old, which shows in a fence lower than that of the thread's place. A thread that is
        missing in the result does not exist, and is not merely too new.
        """
