"""The places of conversations at desks, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import Thread
from baton.ports.clock import Clock
from baton.ports.threads.desks import DeskPlace
from baton_testing.fakes.threads.thread_store import FakeThreadStore


class FakeDeskPlaces:
    """``ports.threads.desks.DeskPlaces`` over the threads of ``store``."""

    def __init__(self, store: FakeThreadStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.places: dict[str, set[DeskPlace]] = {}
        """The places by tenant."""

    async def add(self, scope: Scope, desk_place: DeskPlace) -> None:
        self.places.setdefault(scope.tenant_id, set()).add(desk_place)

    async def remove(self, scope: Scope, desk_place: DeskPlace) -> None:
        self.places.get(scope.tenant_id, set()).discard(desk_place)

    async def threads(
        self, scope: Scope, desk_id: str, *, limit: int, after: DeskPlace | None = None
    ) -> Sequence[Thread]:
        places = [location for location in self.places.get(scope.tenant_id, ()) if location.desk_id == desk_id]
        threads = []
        for location in sorted(places, key=_make_position):
            row = self._store.rows.get((scope.tenant_id, location.thread_id))
            thread = row.to_thread(self._clock.now()) if row is not None else None
            is_after = after is None or _make_position(location) > _make_position(after)
            if thread is not None and is_after and DeskPlace.of(thread.id, thread.conversation) == location:
                threads.append(thread)
        return threads[:limit]


def _make_position(desk_place: DeskPlace) -> tuple[float, str]:
    return desk_place.arrived_at.timestamp(), desk_place.thread_id
