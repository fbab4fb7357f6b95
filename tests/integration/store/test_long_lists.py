"""Lists of more threads than one read of the table brings."""

from __future__ import annotations

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import serialize
from tests.contracts.stores import Stores, new_thread_id
from tests.integration.store.conftest import Engine

IN_ONE_HOUR = 250
MAX_IN_ONE_WRITE = 25


async def test_a_busy_hour_hides_no_thread(on_dynamodb_local: Engine) -> None:
    stores = on_dynamodb_local.stores()
    oldest = (await stores.turn(new_thread_id())).thread_id
    stores.clock.advance(2 * 3600)
    model = (await stores.turn(new_thread_id())).thread_id
    expected = [*await copies(on_dynamodb_local, stores, model), model, oldest]

    results: list[str] = []
    cursor = None
    while True:
        threads, cursor = await stores.store.list_threads(stores.ada, limit=100, cursor=cursor)
        results += [thread.id for thread in threads]
        if cursor is None:
            break
    assert results == expected


async def copies(engine: Engine, stores: Stores, thread_id: str) -> list[str]:
    """More threads like this one, a millisecond of activity apart, written without their turns; newest first."""
    item = await engine.table.get(keys.thread(stores.ada, thread_id))
    assert item is not None
    ids = [new_thread_id() for _ in range(IN_ONE_HOUR)]
    puts = [
        {
            "PutRequest": {
                "Item": serialize(
                    item | keys.thread(stores.ada, copy) | {"last_activity_at": item["last_activity_at"] + n}
                )
            }
        }
        for n, copy in enumerate(ids, start=1)
    ]
    for start in range(0, len(puts), MAX_IN_ONE_WRITE):
        engine.table.client.batch_write_item(
            RequestItems={engine.table.name: puts[start : start + MAX_IN_ONE_WRITE]}  # type: ignore[dict-item]
        )
    return ids[::-1]
