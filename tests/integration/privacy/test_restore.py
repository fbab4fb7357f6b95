"""A restore copies what is lost from a restored table, and overwrites nothing newer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import serialize
from baton.adapters.dynamodb.table import Table
from baton.domain.tenants.identity import Scope
from baton_deployment.restoring.choice import Choice
from baton_deployment.restoring.counts import Counts
from baton_deployment.restoring.forgotten import ForgottenSince
from baton_deployment.restoring.object_versions import ObjectVersions
from baton_deployment.restoring.restoration import Position, Restoration, Stores
from tests.contracts.stores import new_thread_id
from tests.engines import TableAt
from tests.integration.privacy.conftest import World

ADA, BOB = Scope("acme", "ada"), Scope("acme", "bob")
EVERYTHING = Choice()


class Drill:
    """A live world and the table that a point-in-time restore would make of it."""

    def __init__(self, world: World, new_table: Callable[[str], TableAt], endpoint: str) -> None:
        self.world = world
        self.source = Table(world.dynamodb, new_table(endpoint).name)
        self.at = datetime.now(UTC)

    async def remember(self) -> None:
        """Copy the live table as it is, as a restore to this moment would."""
        for item in self.world.items():
            self.world.dynamodb.put_item(TableName=self.source.name, Item=serialize(item))
        self.at = datetime.now(UTC)

    def lose(self, *partitions: str, prefix: str = "") -> int:
        """Delete the items of these partitions from the live table, and their files; the number of items."""
        lost = [item for item in self.world.items() if item["PK"] in partitions and item["SK"].startswith(prefix)]
        for item in lost:
            key = serialize({"PK": item["PK"], "SK": item["SK"]})
            self.world.dynamodb.delete_item(TableName=self.world.table_name, Key=key)
        return len(lost)

    async def texts(self, scope: Scope, thread_id: str) -> list[str]:
        """The texts of a conversation, as its user reads them."""
        store = self.world.harness.store
        page = await store.read_messages(scope, await store.get_thread(scope, thread_id), limit=100, before=None)
        return [message.text for message in page.messages]

    async def restore(self, choice: Choice = EVERYTHING, *, writes: bool = True, **options: Any) -> Counts:
        world = self.world
        forgotten = ForgottenSince(self.source, world.table, self.at, world.clock)
        objects = ObjectVersions(world.s3, world.bucket, world.bucket, self.at)
        stores = Stores(self.source, world.table, objects, forgotten, world.clock)

        async def report(counts: Counts, position: Position | None) -> None:
            pass

        return await Restoration(stores, choice, writes=writes).run(report, **options)


@pytest.fixture
async def drill(world: World, new_table: Callable[[str], TableAt], dynamodb_local: str) -> Drill:
    return Drill(world, new_table, dynamodb_local)


def partition(scope: Scope, thread_id: str) -> str:
    return keys.partition(scope, thread_id)


async def test_a_lost_conversation_comes_back_and_goes_on(drill: Drill) -> None:
    world, thread_id, other = drill.world, new_thread_id(), new_thread_id()
    await world.say(ADA, thread_id, "My name is Ada.")
    await world.say(BOB, other, "Hello")
    await drill.remember()
    drill.lose(partition(ADA, thread_id), keys.owner(thread_id)["PK"])

    plan = await drill.restore(Choice("acme", thread_id), writes=False)
    assert plan.conversations == {"restored": 1}
    assert partition(ADA, thread_id) not in {item["PK"] for item in world.items()}

    done = await drill.restore(Choice("acme", thread_id))
    assert (done.conversations, done.items) == (plan.conversations, plan.items)
    assert done.items["messages"] == 2

    await world.say(ADA, thread_id, "What is my name?")
    assert await drill.texts(ADA, thread_id) == ["My name is Ada.", "Hello there.", "What is my name?", "Hello there."]
    again = await drill.restore()
    assert again.conversations == {"gone on": 1, "unchanged": 1}
    assert again.changes == 0
