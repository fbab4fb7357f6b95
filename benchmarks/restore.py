"""Measure a restore of lost conversations by copying: ``python -m benchmarks.restore``.

Two tables of DynamoDB Local serve as the restored table and the live one. The restored one has conversations that
Baton's adapters have written, with a question of 0.4 KB and an answer of 1.8 KB in each turn. The live one has none of
them. Files are not restored: each conversation would need one more request, to list its objects.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any, cast
from uuid import uuid4

import boto3

from baton.adapters.aws.direct_calls import make_operations
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, serialize, write_request
from baton.adapters.dynamodb.shards import LISTING
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from baton.concurrency.tasks import gather_each
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.message import Role, StoredMessage
from baton.ports.clock import SystemClock
from baton.ports.threads.leases import Commit, LeaseRequest
from baton.ports.threads.messages import TurnRecord
from baton_deployment.restoring.choice import DEFAULT_RATE, Choice
from baton_deployment.restoring.conversation_check import ConversationCheck
from baton_deployment.restoring.counts import Counts
from baton_deployment.restoring.forgotten import ForgottenSince
from baton_deployment.restoring.restoration import Position, Restoration, Stores
from baton_local.account import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from baton_local.engines.clients import client
from baton_local.resources import create_table
from baton_local.root import ROOT
from baton_local.stack.declarations import read_stack
from baton_local.stack.template import Endpoints
from benchmarks.capacity import CapacityMeter
from benchmarks.instruments.local_table import local_table
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.workload import ANSWER, QUESTION

SCOPE = Scope("benchmark", "ada")
MAX_IN_ONE_WRITE = 25
"""The most items of BatchWriteItem."""
UNLIMITED = 1e9
"""A rate of write units that no pass reaches."""
_SESSION = boto3.session.Session(ACCESS_KEY_ID, SECRET_ACCESS_KEY, region_name=REGION)


@dataclass(frozen=True, slots=True)
class Pass:
    """The measurements of one pass."""

    seconds: float
    cpu_seconds: float
    """The CPU time of this process, without DynamoDB's."""
    counts: Counts
    write_units: float


class _ListedRestoration(Restoration):
    """A restoration that reads the names of conversations from an index.

    DynamoDB Local takes seconds for a page of a scan, and more for later pages.
    """

    async def _partitions(self, after: Position | None) -> AsyncGenerator[tuple[Sequence[str], Position | None]]:
        conversations: list[str] = []
        async for page in self.stores.source.query(keys.user_listing(SCOPE), index=LISTING):
            conversations += [entry["PK"] for entry in page]
        yield conversations, None


class Bench:
    """The two tables, and a conversation that is copied many times."""

    def __init__(self, endpoint: str, live: str) -> None:
        stack = read_stack(ROOT / "template.yaml", {"Stage": "local"}, Endpoints("", "", "", ""))
        dynamodb = client("dynamodb", endpoint, max_pool_connections=64)
        self.clock, self.meter = SystemClock(), CapacityMeter()
        name = create_table(dynamodb, stack.table, "restored")
        self.source = replace(Table.sent_directly(dynamodb, name, _SESSION), seconds=120)
        metered = client("dynamodb", endpoint, max_pool_connections=64)
        self.meter.attach(metered)
        self.live = replace(Table.sent_directly(metered, live, _SESSION), seconds=120)
        self.requests = make_operations(dynamodb, _SESSION, write=write_request)

    async def fill(self, conversations: int, turns: int) -> None:
        """Write conversations into the restored table."""
        original = await self._write_original(turns)
        await gather_each(range(conversations), lambda _: self._write(_copy(original, str(uuid4()))), at_once=8)

    async def run(self, choice: Choice, *, writes: bool, verifies: bool = False) -> Pass:
        """Run one pass: a plan, a restore (``writes``) or a verification (``verifies``)."""
        forgotten = ForgottenSince(self.source, self.live, datetime.now(UTC), self.clock)
        stores = Stores(self.source, self.live, None, forgotten, self.clock)
        check = ConversationCheck(self.live, None) if verifies else None
        self.meter.take()
        began, cpu = time.perf_counter(), time.process_time()
        counts = await _ListedRestoration(stores, choice, writes=writes, check=check).run(_ignore)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        return Pass(seconds, cpu, counts, sum(request.write_units for request in self.meter.take()))

    async def _write(self, items: Iterator[Item]) -> None:
        while batch := list(islice(items, MAX_IN_ONE_WRITE)):
            puts = [{"PutRequest": {"Item": item}} for item in batch]
            await self.requests.call("BatchWriteItem", {"RequestItems": {self.source.name: puts}}, seconds=120)

    async def _write_original(self, turns: int) -> list[Item]:
        """Write a conversation with Baton's adapters, remove it again, and return its items."""
        thread_id = str(uuid4())
        store = DynamoThreadStore(self.source, cast("Any", None), self.clock)
        for number in range(turns):
            message_id, run_id = str(uuid4()), str(uuid4())
            request = LeaseRequest(
                thread_id, run_id, message_id, may_create=True, agent_id="assistant", idle_seconds=60
            )
            lease = await store.acquire(SCOPE, request)
            first = lease.thread.next_ordinal
            await store.open_turn(lease, TurnRecord(message_id, run_id, "0" * 64, first, lease.fence))
            question = StoredMessage(message_id, Role.USER, QUESTION, first, run_id, self.clock.now(), tokens=100)
            answer = replace(
                question, id=str(uuid4()), ordinal=first + 1, role=Role.ASSISTANT, content=ANSWER, agent_id="assistant"
            )
            await store.put_message(lease, question)
            await store.put_message(lease, answer)
            last_seq = lease.first_seq + number
            await store.commit(lease, Commit(next_ordinal=first + 2, last_seq=last_seq, usage=Usage(), tokens=500))
        items = await self.source.read_all(keys.partition(SCOPE, thread_id))
        owner = await self.source.get(keys.owner(thread_id))
        for item in [*items, owner]:
            await self.source.delete({"PK": item["PK"], "SK": item["SK"]})  # type: ignore[index]
        return [serialize(item) for item in [*items, cast("Item", owner)]]


def _copy(original: Sequence[Item], thread_id: str) -> Iterator[Item]:
    """Yield the items of a conversation with another id, in DynamoDB's JSON."""
    for item in original:
        if item["SK"] == {"S": "OWNER"}:
            listed_at = f"{item['listed_at']['S'].partition('#')[0]}#{thread_id}"
            yield {**item, **serialize(keys.owner(thread_id)), "listed_at": {"S": listed_at}}
        else:
            yield {**item, "PK": {"S": keys.partition(SCOPE, thread_id)}}


async def _ignore(counts: Counts, position: Position | None) -> None:
    """Store no progress."""


async def measure(conversations: int, turns: int, rate: float) -> list[tuple[str, Pass]]:
    """Return the measurements of a plan, a restore and its verification. Raises ``RuntimeError`` if it failed."""
    with local_table() as (endpoint, live):
        bench = Bench(endpoint, live)
        await bench.fill(conversations, turns)
        passes = []
        for name, writes, verifies in (("plan", False, False), ("restore", True, False), ("verification", False, True)):
            measured = await bench.run(Choice(rate=rate), writes=writes, verifies=verifies)
            print(f"{name}: {measured.seconds:.0f} s", file=sys.stderr)
            passes.append((name, measured))
        verified = passes[-1][1].counts
        if verified.changes or verified.lost_messages:
            raise RuntimeError(f"the restore is not complete: {verified}")
        return passes


def format_passes(passes: list[tuple[str, Pass]]) -> str:
    """Return a table with a row for each pass."""
    rows = [
        (
            name,
            measured.counts.conversations.total(),
            measured.counts.items.total(),
            round(measured.write_units),
            round(measured.seconds, 1),
            round(measured.cpu_seconds, 1),
        )
        for name, measured in passes
    ]
    return format_table(["", "conversations", "items", "write units", "seconds", "CPU seconds"], rows)


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.restore", description=__doc__)
    parser.add_argument("--conversations", type=int, default=1_000, help="default: %(default)s")
    parser.add_argument("--turns", type=int, default=50, help="turns of a conversation (default: %(default)s)")
    parser.add_argument(
        "--rate",
        type=float,
        default=UNLIMITED,
        help=f"write units a second (default: no limit; the command's: {DEFAULT_RATE})",
    )
    chosen = parser.parse_args()
    passes = asyncio.run(measure(chosen.conversations, chosen.turns, chosen.rate))
    print(describe_machine())
    print()
    print(f"{chosen.conversations * chosen.turns * 2:,} messages")
    print(format_passes(passes))


if __name__ == "__main__":
    main()
