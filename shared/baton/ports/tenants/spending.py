"""The port to the counts of the costs of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.tenants.spending import Account, Hold, SpendingCounts, SpendingPeriod


@dataclass(frozen=True, slots=True)
class Reservation:
    """The result of a reservation."""

    counts: SpendingCounts
    """The counts of its day, with the reservation if it was made."""
    hold: Hold | None
    """The reservation; None if nothing was left."""


class SpendingStore(Protocol):
    """The spending of tenants, agents and users. Methods raise ``StoreUnavailable``."""

    async def get(self, scope: Scope, account: Account) -> SpendingCounts:
        """Return the counts. They may be a moment old, and of an earlier day."""

    async def reserve(
        self, scope: Scope, account: Account, name: str, hold: Hold, limits: Mapping[SpendingPeriod, int]
    ) -> Reservation:
        """Reserve ``hold`` under the name of a call if a part of each limit is left.

        The decision is one atomic step, so that of simultaneous calls only the last one may exceed a limit. Expired
        reservations are settled at their ``least``. ``name`` begins with a letter and has letters and digits only. A
        repetition with the same name reserves nothing more.
        """

    async def settle(self, scope: Scope, account: Account, name: str, hold: Hold, cost: int) -> SpendingCounts | None:
        """Count a cost in place of a reservation, which ``reserve`` has returned.

        Returns the counts; None if the reservation does not exist (any more), so that a repetition counts nothing.
        """

    async def note_warning(self, scope: Scope, account: Account, period: SpendingPeriod, number: int) -> bool:
        """Note that a warning was given for the period ``number``. Return whether it is the first warning."""
