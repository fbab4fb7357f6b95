"""A turn's history is read at half the price, and again if that read did not see the newest writes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id, texts
from tests.integration.store.conftest import Engine


@dataclass(frozen=True)
class LateTable(Table):
    """A table whose queries without consistency see the items of ``late`` as they were, and those with None not."""

    late: dict[str, Item | None] = field(default_factory=dict)
    reads: list[bool] = field(default_factory=list)
    """Whether each query was consistent."""

    async def query(self, *arguments: Any, **options: Any) -> AsyncGenerator[list[Item], None]:
        consistent = options.get("consistent", True)
        self.reads.append(consistent)
        async for page in super().query(*arguments, **options):
            yield page if consistent else [seen for item in page if (seen := self.late.get(item["SK"], item))]


class Reader:
    """Stores on a ``LateTable``."""

    def __init__(self, engine: Engine) -> None:
        self.table = LateTable(engine.table.client, engine.table.name)
        self.stores: Stores = Engine(self.table, engine.s3).stores()
        self.thread_id = new_thread_id()

    async def history(self, token_budget: int = 1_000) -> list[str]:
        thread = await self.stores.store.get_thread(self.stores.ada, self.thread_id)
        self.table.reads.clear()
        # Another process, which does not know what this one has written.
        store = DynamoThreadStore(self.table, self.stores.bodies, self.stores.clock)
        return texts(await store.recent_messages(self.stores.ada, thread, token_budget=token_budget))

    async def take_over_turn(self) -> None:
        """Run a turn whose first worker dies after it stored question and answer; the second worker writes others."""
        stores = self.stores
        dead = await stores.acquire(self.thread_id, message_id="m3", run_id="r3")
        for message in (make_question(dead, "old q3"), make_answer(dead, "old a3")):
            await stores.store.put_message(dead, message)
        stores.clock.advance(60)
        async for page in self.table.query(f"{stores.tenant}#{self.thread_id}", prefix="MSG#"):
            self.table.late.update({item["SK"]: item for item in page})
        lease = await stores.acquire(self.thread_id, message_id="m3", run_id="r3")
        await stores.commit(lease, make_question(lease, "q3"), make_answer(lease, "a3"))

    async def ask_for_summary(self, *, at: int) -> None:
        """Run a turn that asks for a summary of the messages before ``at``."""
        stores = self.stores
        lease = await stores.acquire(self.thread_id, message_id="m3", run_id="r3")
        await stores.commit(lease, make_question(lease, "q3"), make_answer(lease, "a3"), summary_at=at)

    async def summarise(self, *, at: int) -> None:
        thread = await self.stores.store.get_thread(self.stores.ada, self.thread_id)
        await self.stores.store.put_summary(
            self.stores.ada, thread, ordinal=at, agent_id="assistant", summary="They talked."
        )


async def two_turns(engine: Engine) -> Reader:
    reader = Reader(engine)
    for number in (1, 2):
        await reader.stores.turn(reader.thread_id, number)
    return reader


async def test_a_plain_history_is_read_once_without_consistency(on_dynamodb_local: Engine) -> None:
    reader = await two_turns(on_dynamodb_local)
    assert await reader.history() == ["q1", "a1", "q2", "a2"]
    assert reader.table.reads == [False]
    assert await reader.history(token_budget=15) == ["q2", "a2"]
    assert reader.table.reads == [False]


async def test_a_history_without_the_newest_message_is_read_again(on_dynamodb_local: Engine) -> None:
    for missing in range(4):
        reader = await two_turns(on_dynamodb_local)
        reader.table.late[f"MSG#{missing:012d}"] = None
        assert await reader.history() == ["q1", "a1", "q2", "a2"]
        assert reader.table.reads == [False, True]


async def test_what_a_dead_worker_wrote_is_not_read_for_what_its_successor_wrote(on_dynamodb_local: Engine) -> None:
    reader = await two_turns(on_dynamodb_local)
    await reader.take_over_turn()
    expected = ["q1", "a1", "q2", "a2", "q3", "a3"]
    assert await reader.history() == expected
    assert reader.table.reads == [False, True]
    await reader.stores.turn(reader.thread_id, 4)
    assert await reader.history() == [*expected, "q4", "a4"]
    assert reader.table.reads == [False, True]
    reader.table.late.clear()
    assert await reader.history() == [*expected, "q4", "a4"]
    assert reader.table.reads == [False]


async def test_a_history_that_has_its_summary_is_read_once(on_dynamodb_local: Engine) -> None:
    reader = await two_turns(on_dynamodb_local)
    await reader.ask_for_summary(at=2)
    await reader.summarise(at=2)
    assert await reader.history() == ["q1", "a1", "q2", "a2", "q3", "a3"]
    assert reader.table.reads == [False]


async def test_a_history_that_waits_for_its_summary_is_read_again(on_dynamodb_local: Engine) -> None:
    reader = await two_turns(on_dynamodb_local)
    await reader.ask_for_summary(at=2)
    async for page in reader.table.query(f"{reader.stores.tenant}#{reader.thread_id}", prefix="MSG#"):
        reader.table.late.update({item["SK"]: item for item in page})
    await reader.history()
    assert reader.table.reads == [False, True], "it is not written yet"
    await reader.summarise(at=2)
    await reader.history()
    assert reader.table.reads == [False, True], "the copy is behind"
    await reader.stores.turn(reader.thread_id, 4)
    await reader.history(token_budget=15)
    assert reader.table.reads == [False], "what is read has no such message"


async def test_a_history_whose_question_was_replaced_is_read_consistently(on_dynamodb_local: Engine) -> None:
    reader = await two_turns(on_dynamodb_local)
    lease = await reader.stores.acquire(reader.thread_id, message_id="m3", run_id="r3")
    await reader.stores.store.put_message(lease, make_question(lease, "dragons"))
    await reader.stores.commit(
        lease, make_question(lease, "lizards"), make_answer(lease, "a3"), messages_may_change=True
    )
    assert await reader.history() == ["q1", "a1", "q2", "a2", "lizards", "a3"]
    assert reader.table.reads == [True]
