"""Lists that pass over most of what they read."""

from __future__ import annotations

import pytest

from tests.unit.api.served import Served


@pytest.fixture
def served() -> Served:
    return Served()


async def test_a_request_reads_a_bounded_number_of_messages_and_returns_a_cursor(served: Served) -> None:
    harness = served.harness
    for number in range(15):
        await harness.say(f"m{number}")
    path = f"/threads/{harness.thread_id}/messages"
    assert await served.items(path, roles="tool", limit=100) == ([], None)
    items, cursor = await served.items(path, roles="tool", limit=2)
    assert items == []
    assert cursor is not None
    assert await served.items(path, roles="tool", limit=2, cursor=cursor) == ([], None)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_pages_of_one_role_hold_every_message_of_it_once(served: Served, limit: int) -> None:
    harness = served.harness
    for number in range(15):
        await harness.say(f"m{number}")
    results: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        more = {"cursor": cursor} if cursor else {}
        items, cursor = await served.items(f"/threads/{harness.thread_id}/messages", roles="user", limit=limit, **more)
        results = [message["id"] for message in items] + results
    assert results == [f"m{number}" for number in range(15)]
