"""Lists of more threads than one read of the table brings."""

from __future__ import annotations

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.table import serialize
from tests.contracts.house import House, new_thread_id
from tests.integration.store.conftest import Engine

IN_ONE_HOUR = 250
MOST_IN_ONE_WRITE = 25


async def test_a_busy_hour_hides_no_thread(on_dynamodb_local: Engine) -> None:
    house = on_dynamodb_local.house()
    oldest = (await house.turn(new_thread_id())).thread_id
    house.clock.advance(2 * 3600)
    model = (await house.turn(new_thread_id())).thread_id
    expected = [*await copies(on_dynamodb_local, house, model), model, oldest]

    found: list[str] = []
    cursor = None
    while True:
        threads, cursor = await house.store.list_threads(house.ada, limit=100, cursor=cursor)
        found += [thread.id for thread in threads]
        if cursor is None:
            break
    assert found == expected


async def copies(engine: Engine, house: House, thread_id: str) -> list[str]:
    """More threads like this one, a millisecond of activity apart, written without their turns; newest first."""
    item = await engine.table.get(keys.thread(house.ada, thread_id))
    assert item is not None
    ids = [new_thread_id() for _ in range(IN_ONE_HOUR)]
    puts = [
        {
            "PutRequest": {
                "Item": serialize(
                    item | keys.thread(house.ada, copy) | {"last_activity_at": item["last_activity_at"] + n}
                )
            }
        }
        for n, copy in enumerate(ids, start=1)
    ]
    for start in range(0, len(puts), MOST_IN_ONE_WRITE):
        engine.table.client.batch_write_item(
            RequestItems={engine.table.name: puts[start : start + MOST_IN_ONE_WRITE]}  # type: ignore[dict-item]
        )
    return ids[::-1]
