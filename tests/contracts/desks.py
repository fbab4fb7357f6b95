"""Places at desks: what every store does about them."""

from __future__ import annotations

from datetime import timedelta

from baton.domain.desks.desk_session import DeskSession
from baton.domain.runs.usage import Usage
from baton.domain.threads.thread import ConversationState
from baton.ports.threads.desks import DeskPlace
from baton.ports.threads.leases import Commit
from tests.contracts.stores import Stores, new_thread_id


async def commit_arrival(stores: Stores, thread_id: str, minutes: int, desk_id: str = "support") -> DeskPlace:
    """Commit a conversation that arrives at a desk in ``minutes``, and return its place."""
    arrived_at = stores.clock.now() + timedelta(minutes=minutes)
    state = ConversationState(desk_id, desk=DeskSession(arrived_at, arrived_at))
    desk_place = DeskPlace(desk_id, thread_id, arrived_at)
    lease = await stores.acquire(thread_id)
    await stores.desk_places.add(stores.ada, desk_place)
    await stores.store.commit(lease, make_commit(state))
    return desk_place


def make_commit(state: ConversationState) -> Commit:
    """Return the commit of a run that adds no message."""
    return Commit(next_ordinal=0, last_seq=0, usage=Usage(), tokens=0, conversation=state)


class DeskPlacesContract:
    """The conversations at desks."""

    async def test_threads_are_listed_by_their_arrival(self, stores: Stores) -> None:
        later, first = new_thread_id(), new_thread_id()
        await commit_arrival(stores, later, 2)
        await commit_arrival(stores, first, 1)
        await commit_arrival(stores, new_thread_id(), 0, "billing")
        assert [thread.id for thread in await stores.desk_places.threads(stores.ada, "support", limit=9)] == [
            first,
            later,
        ]
        assert await stores.desk_places.threads(stores.stranger, "support", limit=9) == []

    async def test_a_page_continues_after_the_last_one_of_the_previous_page(self, stores: Stores) -> None:
        places = [await commit_arrival(stores, new_thread_id(), minutes) for minutes in range(5)]
        listed = []
        after = None
        while page := await stores.desk_places.threads(stores.ada, "support", limit=2, after=after):
            listed += [thread.id for thread in page]
            after = places[len(listed) - 1]
        assert listed == [desk_place.thread_id for desk_place in places]

    async def test_a_thread_that_has_left_is_not_listed(self, stores: Stores) -> None:
        gone, back, removed = new_thread_id(), new_thread_id(), new_thread_id()
        for minutes, thread_id in enumerate((gone, back, removed)):
            desk_place = await commit_arrival(stores, thread_id, minutes)
        await stores.desk_places.remove(stores.ada, desk_place)
        await stores.desk_places.remove(stores.ada, desk_place)
        lease = await stores.acquire(gone, message_id="m2", run_id="r2")
        await stores.store.commit(lease, make_commit(ConversationState("assistant")))
        assert [thread.id for thread in await stores.desk_places.threads(stores.ada, "support", limit=9)] == [back]
