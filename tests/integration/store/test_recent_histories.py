"""A process remembers the messages that the table has, also while other processes work on the thread."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import StoredMessage
from baton.ports.threads.leases import Commit, Lease
from tests.contracts.stores import Stores, make_answer, make_question, new_thread_id, texts, turn
from tests.integration.store.conftest import Engine, NotedTable

STEPS = 40
BUDGET = 10_000


class Process:
    """A process that works on threads of one user."""

    def __init__(self, stores: Stores, scope: Scope) -> None:
        self.stores = stores
        self._scope = scope
        self._number = 0

    async def begin(self, thread_id: str) -> Lease:
        self._number += 1
        name = f"{id(self)}-{self._number}"
        lease = await self.stores.acquire(thread_id, scope=self._scope, message_id=f"m{name}", run_id=f"r{name}")
        if lease.thread.run is not None and lease.thread.run.run_id != f"r{name}":  # of a process that died
            lease = await self.stores.store.begin_run(lease, run_id=f"r{name}", message_id=f"m{name}")
        return lease

    async def read(self, lease: Lease, *, budget: int = BUDGET, first_ordinal: int = 0) -> Sequence[StoredMessage]:
        return await self.stores.store.recent_messages(
            self._scope, lease.thread, token_budget=budget, first_ordinal=first_ordinal
        )

    async def answer(self, lease: Lease, text: str, *, dies: bool = False, summary_at: int | None = None) -> None:
        store = self.stores.store
        await store.open_turn(lease, turn(lease))
        messages = make_question(lease, f"q{text}"), make_answer(lease, f"a{text}")
        for message in messages:
            await store.put_message(lease, message)
        if dies:
            await store.abandon(lease)
            return
        commit = Commit(
            next_ordinal=lease.thread.next_ordinal + len(messages),
            last_seq=lease.first_seq + 4,
            usage=Usage(10, 5),
            tokens=20,
            summary_at=summary_at,
        )
        await store.commit(lease, commit)


def processes(engine: Engine, count: int) -> list[Process]:
    first = engine.stores()
    return [Process(item, first.ada) for item in (first, *(engine.stores(first.clock) for _ in range(count - 1)))]


@pytest.mark.parametrize("seed", range(3))
async def test_every_process_knows_what_the_table_has(on_dynamodb_local: Engine, seed: int) -> None:
    chance, thread_id = random.Random(seed), new_thread_id()  # noqa: S311 - a fixed sequence
    working = processes(on_dynamodb_local, 2)
    for step in range(STEPS):
        process = chance.choice(working)
        lease = await process.begin(thread_id)
        [onlooker] = processes(on_dynamodb_local, 1)
        first_ordinal, budget = chance.randrange(lease.thread.next_ordinal + 1), chance.choice([0, 25, 100, BUDGET])
        existing = await process.read(lease, budget=budget, first_ordinal=first_ordinal)
        stored = await onlooker.stores.store.recent_messages(
            process._scope, lease.thread, token_budget=budget, first_ordinal=first_ordinal
        )
        assert list(existing) == list(stored)
        fate = chance.choice(["dies", "asks for a summary", *["answers"] * 3])
        ordinal = chance.randrange(lease.thread.next_ordinal + 1) if fate == "asks for a summary" else None
        await process.answer(lease, str(step), dies=fate == "dies", summary_at=ordinal)
        if ordinal is not None:
            await chance.choice(working).stores.store.put_summary(
                process._scope, lease.thread, ordinal=ordinal, agent_id="assistant", summary=f"s{step}"
            )


async def test_the_next_turn_of_a_process_reads_no_message_again(on_dynamodb_local: Engine) -> None:
    table = NotedTable(on_dynamodb_local.table.client, on_dynamodb_local.table.name)
    [process] = processes(replace(on_dynamodb_local, table=table), 1)
    thread_id = new_thread_id()
    for number in range(3):
        lease = await process.begin(thread_id)
        await process.read(lease)
        await process.answer(lease, str(number))
    table.read.clear()
    lease = await process.begin(thread_id)
    assert texts(await process.read(lease)) == ["q0", "a0", "q1", "a1", "q2", "a2"]
    assert texts(await process.read(lease, first_ordinal=4)) == ["q2", "a2"]
    assert table.read == []


async def test_another_thread_of_the_same_id_has_none_of_the_messages(on_dynamodb_local: Engine) -> None:
    [process] = processes(on_dynamodb_local, 1)
    stores, thread_id = process.stores, new_thread_id()
    lease = await process.begin(thread_id)
    await process.answer(lease, "secret")
    await stores.bury(stores.ada, thread_id)
    await stores.unbury(stores.ada, thread_id)
    stores.clock.advance(1)
    again = Process(on_dynamodb_local.stores(stores.clock), stores.ada)
    lease = await again.begin(thread_id)
    await again.answer(lease, "other")
    lease = await process.begin(thread_id)
    assert texts(await process.read(lease)) == ["qother", "aother"]
