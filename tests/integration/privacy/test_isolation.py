"""Forgetting one user leaves every byte of the others, whatever they share: threads' turns, tenants, user ids."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.domain.documents.search import IndexDocument, IndexedText, IndexName
from baton.domain.memory.forgetting import ForgetStatus
from baton.domain.tenants.identity import Scope
from tests.integration.privacy.conftest import World

TENANTS = ("acme", "acme-2", "acm")
USERS = ("ada", "ad", "ada#x", "ada/x", "~ada", "Me", "ümläut", "ada%23x")
"""Ids that are prefixes of each other, and that mean something in keys and paths."""

people = st.builds(Scope, st.sampled_from(TENANTS), st.sampled_from(USERS))
conversations = st.lists(st.tuples(people, st.integers(1, 2)), min_size=2, max_size=5)


async def hold_conversation(world: World, scope: Scope, turns: int) -> str:
    thread_id = str(uuid.uuid4())
    for number in range(turns):
        await world.say(scope, thread_id, f"turn {number}")
    key = f"{scope.tenant_id}/{thread_id}/files/file_1"
    world.s3.put_object(Bucket=world.bucket, Key=key, Body=scope.user_id.encode())
    document = IndexDocument(
        thread_id, thread_id, "message", {"turn": IndexedText("x")}, world.clock.now(), thread_id=thread_id
    )
    await world.search.put(scope, IndexName.EPISODES, [document])
    return thread_id


def everything_of(world: World, threads: set[str]) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    """The items, object versions and documents that belong to the threads, in order."""
    items = [item for item in world.items() if any(thread in repr(item) for thread in threads)]
    versions = [key for key in world.versions() if key.split("/")[1] in threads]
    documents = [entry for of_owner in world.search.documents.values() for entry in of_owner if entry in threads]
    return sorted(items, key=lambda item: (item["PK"], item["SK"])), sorted(versions), sorted(documents)


@pytest.mark.parametrize("subject", ["user", "thread"])
def test_forgetting_touches_nobody_else(new_world: Callable[[], World], subject: str) -> None:
    world = new_world()
    loop = asyncio.new_event_loop()

    @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(conversations, st.data())
    def holds(talks: list[tuple[Scope, int]], data: st.DataObject) -> None:
        loop.run_until_complete(check(talks, data))

    async def check(talks: list[tuple[Scope, int]], data: st.DataObject) -> None:
        existing = [(scope, await hold_conversation(world, scope, turns)) for scope, turns in talks]
        chosen, thread_id = data.draw(st.sampled_from(existing))
        gone = {thread for scope, thread in existing if scope == chosen} if subject == "user" else {thread_id}
        others = {thread for _, thread in existing} - gone
        before = everything_of(world, others)
        calls = world.app.privacy.forget_calls
        # By its own caller as "me".
        request = await (
            calls.forget_user(chosen, "me") if subject == "user" else calls.forget_thread(chosen, thread_id)
        )
        await world.run(chosen, request.id)
        assert (await calls.get(chosen, request.id)).status is ForgetStatus.COMPLETED
        assert everything_of(world, others) == before
        items, versions, documents = everything_of(world, gone)
        assert (versions, documents) == ([], [])
        assert {item["SK"].split("#")[0] for item in items} <= {"AUDIT", "REQUEST", "THREAD"}
        assert [item for item in items if item["SK"] == "THREAD"] == []

    try:
        holds()
    finally:
        loop.close()
