"""The contract of every store of the users' time zones."""

from __future__ import annotations

from dataclasses import replace

from baton.domain.times import from_millis, to_millis
from baton.ports.clock import LastTimeZone
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id


class TimeZonesContract:
    """The store keeps one time zone for each user and one for each thread."""

    async def test_the_last_zone_is_kept_with_its_time(self, stores: Stores) -> None:
        await stores.time_zones.put(stores.ada, "Europe/Vienna")
        stores.clock.advance(60)
        since = from_millis(to_millis(stores.clock.now()))
        await stores.time_zones.put(stores.ada, "America/Argentina/Buenos_Aires")
        stores.clock.advance(60)
        assert await stores.time_zones.last(stores.ada) == LastTimeZone("America/Argentina/Buenos_Aires", since)

    async def test_other_users_and_tenants_have_none(self, stores: Stores) -> None:
        await stores.time_zones.put(stores.ada, "Europe/Vienna")
        assert await stores.time_zones.last(stores.bob) is None
        assert await stores.time_zones.last(stores.stranger) is None

    async def test_a_thread_and_a_message_keep_theirs(self, stores: Stores) -> None:
        thread_id, stored = new_thread_id(), []
        for number, zone in enumerate(("Europe/Vienna", None, "UTC-08:00")):
            lease = await stores.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
            await stores.commit(
                lease, replace(make_question(lease), time_zone=zone), make_answer(lease), time_zone=zone
            )
            thread = await stores.store.get_thread(stores.ada, thread_id)
            stored.append(thread.time_zone)
        assert stored == ["Europe/Vienna", "Europe/Vienna", "UTC-08:00"]
        page = await stores.store.read_messages(stores.ada, thread, limit=10, before=None)
        assert [message.time_zone for message in page.messages] == [
            "Europe/Vienna",
            None,
            None,
            None,
            "UTC-08:00",
            None,
        ]
