"""Measures the reads of the console's list of conversations, however many there are: ``python -m benchmarks.console``.

Baton's thread store runs against DynamoDB Local, with the table of ``template.yaml``. A tenant has a number of
conversations whose last activity is spread over thirty days. Measured is the first page of the list, as ``GET
/v1/threads?scope=tenant`` reads it: with no filter, and by an agent. Counts do not depend on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import uuid4

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, serialize
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.thread_item import tenant_listed_at
from baton.adapters.dynamodb.thread_store import DynamoThreadStore
from baton.domain.identity import Permission, Scope
from baton.domain.thread_search import ThreadQuery
from baton.domain.times import to_millis
from baton.domain.usage import Usage
from baton.ports.clock import SystemClock
from baton.ports.leases import Commit, LeaseRequest
from baton_local.engines.clients import client
from benchmarks.capacity import CapacityMeter
from benchmarks.local_table import local_table
from benchmarks.report import machine, table

DAYS = 30
PAGE = 20
MAX_IN_ONE_WRITE = 25
PERMISSIONS = frozenset({Permission.THREAD_READ_ALL})


@dataclass(frozen=True, slots=True)
class Page:
    """The reads of one page."""

    shown: int
    requests: int
    read_units: float


class Bench:
    """A table with tenants of any size."""

    def __init__(self, endpoint: str, name: str) -> None:
        self.clock = SystemClock()
        self.meter = CapacityMeter()
        self._filler = client("dynamodb", endpoint, max_pool_connections=64)
        metered = client("dynamodb", endpoint, max_pool_connections=64)
        self.meter.attach(metered)
        self.table = Table.of(metered, name, seconds=60)
        self.store = DynamoThreadStore(self.table, cast("Any", None), self.clock)

    async def fill(self, tenant: str, count: int) -> None:
        """Give ``tenant`` conversations, each a copy of one that was held, at another time."""
        scope = Scope(tenant, "ada", PERMISSIONS)
        thread, owner = await self._original(scope)
        now = self.clock.now()
        items: list[Item] = []
        for number in range(count - 1):
            items += _copy(scope, thread, owner, now - timedelta(days=DAYS) * (number / count))
            if len(items) >= MAX_IN_ONE_WRITE - 1:
                await self._write(items)
                items = []
        await self._write(items)

    async def first_page(self, tenant: str, query: ThreadQuery | None) -> Page:
        """Read the first page, as the console does."""
        scope = Scope(tenant, "admin", PERMISSIONS)
        self.meter.take()
        threads, _ = await self.store.list_threads(scope, limit=PAGE, cursor=None, whole_tenant=True, query=query)
        requests = self.meter.take()
        return Page(len(threads), len(requests), sum(request.units for request in requests))

    async def _write(self, items: list[Item]) -> None:
        puts: Any = [{"PutRequest": {"Item": serialize(each)}} for each in items]
        if puts:
            await asyncio.to_thread(self._filler.batch_write_item, RequestItems={self.table.name: puts})

    async def _original(self, scope: Scope) -> tuple[Item, Item]:
        thread_id = str(uuid4())
        request = LeaseRequest(thread_id, "r1", "m1", may_create=True, agent_id="assistant", idle_seconds=1800)
        lease = await self.store.acquire(scope, request)
        await self.store.commit(lease, Commit(next_ordinal=2, last_seq=9, usage=Usage(), tokens=20))
        thread = await self.table.get(keys.thread(scope, thread_id))
        owner = await self.table.get(keys.owner(thread_id))
        assert thread is not None  # noqa: S101 - written above
        assert owner is not None  # noqa: S101 - written above
        return thread, owner


def _copy(scope: Scope, thread: Item, owner: Item, at: datetime) -> list[Item]:
    thread_id = str(uuid4())
    listed = {"listing": keys.tenant_listing(scope, thread_id), "listed_at": f"{tenant_listed_at(at)}#{thread_id}"}
    return [
        {**thread, "PK": keys.partition(scope, thread_id), "last_activity_at": to_millis(at)},
        {**owner, **keys.owner(thread_id), **listed},
    ]


async def measure(counts: list[int]) -> list[tuple[int, dict[str, Page]]]:
    """Return the first pages of tenants with so many conversations."""
    with local_table() as (endpoint, name):
        bench = Bench(endpoint, name)
        found = []
        for count in counts:
            await bench.fill(f"tenant-{count}", count)
            queries = {"all": None, "agent_id=assistant": ThreadQuery(agent_id="assistant")}
            found.append((count, {key: await bench.first_page(f"tenant-{count}", q) for key, q in queries.items()}))
        return found


def summary(measured: list[tuple[int, dict[str, Page]]]) -> str:
    """Return a table with one column for each size."""
    rows: list[tuple[object, ...]] = []
    for name in measured[0][1]:
        rows.append((f"{name}: conversations shown", *(pages[name].shown for _, pages in measured)))
        rows.append((f"{name}: requests", *(pages[name].requests for _, pages in measured)))
        rows.append((f"{name}: read units", *(pages[name].read_units for _, pages in measured)))
    return table(["conversations of the tenant", *(f"{count:,}" for count, _ in measured)], rows)


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__)
    parser.add_argument("--conversations", default="1000,10000,100000", help="sizes of tenants (default: %(default)s)")
    counts = [int(number) for number in parser.parse_args().conversations.split(",")]
    measured = asyncio.run(measure(counts))
    print(machine())
    print()
    print(summary(measured))


if __name__ == "__main__":
    main()
