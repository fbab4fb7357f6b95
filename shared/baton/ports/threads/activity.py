"""Counts of what tenants and users do at once, in a minute and in a day."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Protocol

from baton.domain.tenants.activity import Activity, Counter, ThreadUse
from baton.domain.tenants.identity import Scope

Change = Callable[[Activity], Awaitable[Activity]]
"""Returns the changed counts, or the same if there is nothing to change. It may be called again with other counts."""


class CountsTooLarge(Exception):
    """The store takes no item of this size. Nothing was changed."""


class ActivityCounts(Protocol):
    """The counters of tenants. Methods raise ``StoreUnavailable``."""

    async def get(self, scope: Scope, counter: Counter) -> Activity:
        """Return the counts. They may be those of a moment ago."""

    async def change(self, scope: Scope, counter: Counter, change: Change, *, known: Activity | None = None) -> bool:
        """Apply ``change`` in one step, first to ``known``; False if others were faster. Raises ``CountsTooLarge``."""

    async def threads(self, scope: Scope, thread_ids: Collection[str]) -> Mapping[str, ThreadUse]:
        """Return the use of the tenant's threads, also of forgotten ones until their tombstones are removed.

        A thread may be as it was a moment ago: then its fence is lower than that of its place. One that is missing in
        the result does not exist: it is not merely too new.
        """
