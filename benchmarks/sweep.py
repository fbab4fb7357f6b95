"""Measure the threads that a sweeper checks per minute, and the cost of a check: ``python -m benchmarks.sweep``.

Baton's sweeper runs against DynamoDB Local, with the table of ``template.yaml``. Every thread is due and was active
after its check time was set, so that the sweeper postpones the check, which is the most frequent case. Half of the runs
use threads with an earlier session, for which the sweeper also checks that the episode exists.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

from baton.adapters.aws import blocking_calls as aws
from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item, serialize
from baton.adapters.dynamodb.memory.episodes import DynamoEpisodes
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from baton.composition.app import build
from baton.composition.ports import Ports
from baton.domain.memory.episode import Episode, EpisodePart, EpisodeStatus, make_episode_ref
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import EndReason
from baton.domain.times import to_millis
from baton.ports.clock import SystemClock
from baton.ports.threads.leases import Commit, LeaseRequest
from baton.ports.threads.threads import ThreadStore
from baton_local.engines.clients import client
from benchmarks.capacity import CapacityMeter, count_by_operation
from benchmarks.instruments.local_table import local_table
from benchmarks.instruments.report import describe_machine, format_table

SCOPE = Scope("benchmark", "ada@example.com")
WANTED = 33_000
"""Checks per minute that a million active conversations need, with an idle time of half an hour."""
MAX_IN_ONE_WRITE = 25
"""The most items of BatchWriteItem."""
MAX_SECONDS = 600.0
"""The most seconds of a sweep."""


@dataclass(frozen=True, slots=True)
class SweepMeasurement:
    """The measurements of one sweep over threads that were all due."""

    threads: int
    seconds: float
    cpu_seconds: float
    requests: Mapping[str, float]
    """The requests by operation; those of one check in the results of the module's ``measure``."""
    write_units: float
    """The write units; those of one check in the same results."""

    @property
    def checks_a_minute(self) -> float:
        """The number of threads that a sweeper checks in a minute."""
        return 60 * self.threads / self.seconds


class _Ports(Ports):
    """A deployment's ports. A check needs only the table."""

    def __init__(self, table: Table, store: ThreadStore) -> None:
        self.table, self.store = table, store
        self.queue = self.connections = self.closings = self.shipped_agents = self.bodies = cast("Any", None)


class Bench:
    """A table with due threads, and a sweeper."""

    def __init__(self, endpoint: str, name: str) -> None:
        self.clock = SystemClock()
        self.meter = CapacityMeter()
        self._filler = client("dynamodb", endpoint, max_pool_connections=64)
        self._metered = client("dynamodb", endpoint, max_pool_connections=64)
        self.meter.attach(self._metered)
        self.table = Table.of(client("dynamodb", endpoint, **_make_client_settings()), name, seconds=60)
        self.store = DynamoThreadStore(self.table, cast("Any", None), self.clock)
        self.episodes = DynamoEpisodes(self.table, cast("Any", None))

    async def fill(self, count: int, *, with_session: bool) -> None:
        """Write ``count`` due threads, each like a thread that was active a moment ago."""
        originals = await self._write_original(with_session=with_session)
        items: list[Item] = []
        for _ in range(count):
            thread_id = str(uuid4())
            due = {"idle_shard": keys.idle_shards.of(thread_id), "idle_check_at": to_millis(self.clock.now()) - 1}
            for item in originals:
                is_thread = item["SK"] == "THREAD"
                items.append({**item, "PK": keys.partition(SCOPE, thread_id), **(due if is_thread else {})})
        for start in range(0, len(items), MAX_IN_ONE_WRITE):
            puts: Any = [{"PutRequest": {"Item": serialize(row)}} for row in items[start : start + MAX_IN_ONE_WRITE]]
            await asyncio.to_thread(self._filler.batch_write_item, RequestItems={self.table.name: puts})

    async def sweep(self, count: int, *, metered: bool = False) -> SweepMeasurement:
        """Sweep all threads once. The meter uses CPU time, so requests and times are measured by separate sweeps.

        ``count`` is the number of due threads. Raises ``RuntimeError`` unless the sweep postpones exactly these.
        """
        on = Table.of(self._metered, self.table.name, seconds=60) if metered else self.table
        sweeper = build(_Ports(on, self.store)).sweeper
        self.meter.take()
        cpu, began = _measure_cpu_seconds(), time.perf_counter()
        report = await sweeper.sweep(seconds=MAX_SECONDS)
        seconds, cpu = time.perf_counter() - began, _measure_cpu_seconds() - cpu
        if (report.looked_at, report.postponed) != (count, count):
            raise RuntimeError(f"the sweep did something else: {report}")
        requests = self.meter.take()
        units = sum(request.write_units for request in requests)
        return SweepMeasurement(count, seconds, cpu, count_by_operation(requests), units)

    async def _write_original(self, *, with_session: bool) -> list[Item]:
        """Write a thread that is not due, with an earlier session if requested. Return its items."""
        thread_id = str(uuid4())
        request = LeaseRequest(thread_id, "r1", "m1", may_create=True, agent_id="assistant", idle_seconds=1800)
        lease = await self.store.acquire(SCOPE, request)
        session = make_episode_ref(lease.thread, 2, EndReason.TIMEOUT, self.clock.now()) if with_session else None
        if session is not None:
            await self.episodes.begin(lease, session)
            done = Episode(session, "ada", ("assistant",), EpisodeStatus.COMPLETE, self.clock.now(), 2, Usage())
            await self.episodes.store(SCOPE, done)
            for part in EpisodePart:
                await self.episodes.mark(SCOPE, session, part)
            await self.episodes.complete(SCOPE, session)
        await self.store.commit(lease, Commit(next_ordinal=2, last_seq=9, usage=Usage(), tokens=20, ended=session))
        items = [await self.table.get(keys.thread(SCOPE, thread_id))]
        if with_session:
            await self.store.settle(SCOPE, thread_id, episode=1)
            again = await self.store.acquire(SCOPE, LeaseRequest(thread_id, "r2", "m2"))
            await self.store.commit(again, Commit(next_ordinal=4, last_seq=19, usage=Usage(), tokens=20))
            items = [await self.table.get(keys.thread(SCOPE, thread_id))]
            items.append(await self.table.get(keys.episode(SCOPE, thread_id, 1)))
        item = items[0]
        assert item is not None  # noqa: S101 - written above
        # Move the check of the original thread out of the sweep.
        later = to_millis(self.clock.now() + timedelta(days=1))
        await self.table.put({**item, "idle_check_at": later})
        return [row for row in items if row is not None]


def _make_client_settings() -> dict[str, Any]:
    """Return the client settings of a deployment."""
    return {"max_pool_connections": aws.MAX_CONNECTIONS, "parameter_validation": False}


def _measure_cpu_seconds() -> float:
    """Return the CPU seconds of this process so far, in user and system mode."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def measure(count: int) -> tuple[SweepMeasurement, SweepMeasurement]:
    """Return the measurements for threads in their first session, and for threads with an earlier session."""
    with local_table() as (endpoint, name):
        bench = Bench(endpoint, name)
        await bench.fill(200, with_session=False)
        await bench.sweep(200)  # opens connections and loads code
        swept = []
        few = max(1, count // 4)
        for with_session in (False, True):
            await bench.fill(few, with_session=with_session)
            cost = await bench.sweep(few, metered=True)
            await bench.fill(count, with_session=with_session)
            timed = await bench.sweep(count)
            per_check = {name: number / few for name, number in cost.requests.items()}
            swept.append(replace(timed, requests=per_check, write_units=cost.write_units / few))
        return swept[0], swept[1]


def format_measurements(columns: tuple[SweepMeasurement, SweepMeasurement]) -> str:
    """Return a table with one column for each kind of thread."""
    operations = sorted({name for swept in columns for name in swept.requests})
    return format_table(
        ["", "first session", "later session"],
        [
            ("threads", *(swept.threads for swept in columns)),
            ("checks per minute", *(round(swept.checks_a_minute) for swept in columns)),
            (f"seconds for {WANTED:,} checks", *(60 * WANTED / swept.checks_a_minute for swept in columns)),
            (
                "- of these, CPU seconds of the sweeper",
                *(WANTED * swept.cpu_seconds / swept.threads for swept in columns),
            ),
            *(
                (f"{name} per check", *(f"{swept.requests.get(name, 0):.3f}" for swept in columns))
                for name in operations
            ),
            ("write units per check", *(swept.write_units for swept in columns)),
        ],
    )


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__)
    parser.add_argument("--threads", type=int, default=8_000, help="threads of each kind (default: %(default)s)")
    columns = asyncio.run(measure(parser.parse_args().threads))
    print(describe_machine())
    print()
    print(format_measurements(columns))


if __name__ == "__main__":
    main()
