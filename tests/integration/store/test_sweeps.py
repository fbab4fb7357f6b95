"""The sweeper over a real table: every shard has its turn, and a record that nobody can read is put off."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shards import DUE_PAGE
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.threads.idle_threads import DynamoIdleThreads
from baton.composition.app import build
from baton.domain.memory.episode import EpisodePart
from baton.ports.threads.threads import DueThread
from tests.contracts.endings import session
from tests.contracts.episodes import episode_of
from tests.contracts.stores import Stores, new_thread_id
from tests.fakes.ports import FakePorts
from tests.integration.store.conftest import Engine

LONG_AGO = datetime(1980, 1, 1, tzinfo=UTC)
"""Before everything that other tests have in the same index."""


@pytest.fixture
def stores(on_dynamodb_local: Engine) -> Stores:
    return on_dynamodb_local.stores()


async def make_due_since(engine: Engine, stores: Stores, thread_id: str, moment: datetime, **changed: object) -> str:
    """Make the thread due at this moment."""
    item = await engine.table.get(keys.thread(stores.ada, thread_id))
    assert item is not None
    await engine.table.put({**item, "idle_check_at": round(moment.timestamp() * 1000), **changed})
    return thread_id


async def in_shard(stores: Stores, shard: str, count: int) -> list[str]:
    """Threads of one shard of the index."""
    ids: list[str] = []
    while len(ids) < count:
        thread_id = new_thread_id()
        if keys.idle_shards.of(thread_id) == shard:
            ids.append((await stores.turn(thread_id)).thread_id)
    return ids


async def test_no_shard_waits_for_the_end_of_another(on_dynamodb_local: Engine, stores: Stores) -> None:
    first, *_, last = keys.idle_shards()
    busy = await in_shard(stores, first, 2 * DUE_PAGE)
    for number, thread_id in enumerate(busy):
        await make_due_since(on_dynamodb_local, stores, thread_id, LONG_AGO + timedelta(seconds=number))
    [late] = await in_shard(stores, last, 1)
    await make_due_since(on_dynamodb_local, stores, late, LONG_AGO + timedelta(hours=1))

    order = [due.thread_id async for due in stores.idle.due(LONG_AGO + timedelta(days=1))]

    assert sorted(order) == sorted([*busy, late])
    assert order.index(late) == DUE_PAGE
    for thread_id in order:
        await make_due_since(on_dynamodb_local, stores, thread_id, datetime(2090, 1, 1, tzinfo=UTC))


async def test_a_record_that_nobody_can_read_is_put_off_and_the_others_are_looked_at(
    on_dynamodb_local: Engine, stores: Stores
) -> None:
    ids = [(await stores.turn(new_thread_id())).thread_id for _ in range(3)]
    broken = await make_due_since(
        on_dynamodb_local, stores, ids[0], LONG_AGO, pending=b"\xff written by a later version of Baton"
    )
    for number, thread_id in enumerate(ids[1:]):
        await make_due_since(on_dynamodb_local, stores, thread_id, LONG_AGO + timedelta(seconds=1 + number))

    class Since1980(DynamoIdleThreads):
        """The due sessions of this test, and of no other."""

        def due(self, before: datetime) -> Any:
            return super().due(LONG_AGO + timedelta(days=1))

    idle = Since1980(on_dynamodb_local.table, stores.clock)
    sweeper = build(FakePorts.from_stores(stores, idle=idle)).sweeper
    report = await sweeper.sweep(seconds=60)

    assert (report.looked_at, report.failed, report.postponed) == (3, 1, 2)
    assert [due async for due in idle.due(LONG_AGO)] == []
    item = await on_dynamodb_local.table.get(keys.thread(stores.ada, broken))
    assert item is not None
    assert item["idle_failures"] == 1
    assert item["idle_check_at"] == round((stores.clock.now() + timedelta(minutes=1)).timestamp() * 1000)


async def test_a_record_that_another_sweep_has_moved_is_not_looked_at(
    on_dynamodb_local: Engine, stores: Stores
) -> None:
    thread_id = (await stores.turn(new_thread_id())).thread_id
    await make_due_since(on_dynamodb_local, stores, thread_id, LONG_AGO)
    seen: list[DueThread] = [due async for due in stores.idle.due(LONG_AGO)]
    assert [due.thread_id for due in seen] == [thread_id]
    later = datetime(2090, 1, 1, tzinfo=UTC)
    assert await stores.idle.postpone(seen[0], later)
    assert not await stores.idle.postpone(seen[0], later)
    assert [due async for due in stores.idle.due(LONG_AGO)] == []


async def test_a_thread_that_the_index_names_twice_is_looked_at_once(on_dynamodb_local: Engine, stores: Stores) -> None:
    ids = [(await stores.turn(new_thread_id())).thread_id for _ in range(2)]
    for number, thread_id in enumerate(ids):
        await make_due_since(on_dynamodb_local, stores, thread_id, LONG_AGO + timedelta(seconds=number))

    class NamedTwice(Table):
        """A table whose index still has the entries of the threads from before they moved."""

        async def query(self, *arguments: Any, **options: Any) -> AsyncGenerator[list[Item], None]:
            async for page in super().query(*arguments, **options):
                yield [location for item in page for location in (item | {"idle_check_at": 0}, item)]

    table = on_dynamodb_local.table
    idle = DynamoIdleThreads(NamedTwice(table.client, table.name), stores.clock)
    results = [due.thread_id async for due in idle.due(LONG_AGO + timedelta(days=1))]
    for thread_id in ids:
        await make_due_since(on_dynamodb_local, stores, thread_id, datetime(2090, 1, 1, tzinfo=UTC))
    assert results == ids


async def test_the_episode_of_the_session_before_is_known_with_the_thread(
    on_dynamodb_local: Engine, stores: Stores
) -> None:
    stored, pending = [await close_and_reopen(stores, completes=completes) for completes in (True, False)]
    for number, thread_id in enumerate((stored, pending)):
        await make_due_since(on_dynamodb_local, stores, thread_id, LONG_AGO + timedelta(seconds=number))
    results = {due.thread_id: due.read() async for due in stores.idle.due(LONG_AGO + timedelta(days=1))}
    for thread_id in results:
        await make_due_since(on_dynamodb_local, stores, thread_id, datetime(2090, 1, 1, tzinfo=UTC))
    assert {thread_id: idle.has_last_episode for thread_id, idle in results.items()} == {stored: True, pending: False}


async def close_and_reopen(stores: Stores, *, completes: bool) -> str:
    """A thread in its second session; whether the first has its episode, the pipeline decides."""
    thread_id = (await stores.turn(new_thread_id())).thread_id
    lease = await stores.lease(thread_id)
    session_ref = session(stores, lease)
    await stores.episodes.begin(lease, session_ref)
    await stores.store.close(lease, last_seq=lease.first_seq, ended=session_ref)
    if completes:
        await stores.episodes.store(stores.ada, episode_of(stores, session_ref))
        for part in EpisodePart:
            await stores.episodes.mark(stores.ada, session_ref, part)
        await stores.episodes.complete(stores.ada, session_ref)
    await stores.turn(thread_id, 2)
    return thread_id
