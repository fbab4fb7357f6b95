"""The reliability, delays and cost of work that begins at its due time: ``python -m benchmarks.due``.

1. Baton's use cases over DynamoDB Local start items that are all due at once, as after an outage, with a scripted model
   and queues in memory. Their processes are killed before or after calls of ports, and replaced by deployments. Leases
   are a tenth as long as usual. Every item must begin exactly one run.
2. The local cloud, in a separate process, starts reminders that are spread over some minutes, in real time. A delay is
   the time from the due time of a reminder to the beginning of its run, by the clock of the same machine. The local
   cloud's queue replaces SQS.
3. The requests and units of single items are counted on DynamoDB Local, without those of the run that an item begins,
   which is a plain turn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import ExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from baton.composition.app import build
from baton.domain.schedules.background_task import BackgroundStatus
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.queued import QueuedMessage
from baton.threads.schedules.schedule_making import ScheduleRequest
from benchmarks.capacity import CapacityMeter
from benchmarks.due_deployment import AGENT, ASSISTANT, HELPER, MAX_SCHEDULES, Deployment, KillFigures, measure_kills
from benchmarks.instruments.metered_baton import started
from benchmarks.instruments.report import describe_machine, format_table
from benchmarks.turn_latency import Figures, local_cloud, model_endpoint

ITEMS, KILLS, REMINDERS = 10_000, 1_000, 200
SPREAD_SECONDS = 150
"""The seconds over which the measured reminders are spread."""
TENANT = "benchmark"
SCOPE = Scope(TENANT, "ada@example.com", frozenset({"docs:read"}), name="Ada")

Json = dict[str, Any]
Units = dict[str, tuple[int, float, float, float]]
"""Requests, write units, write units of the item itself, and read units, by step."""
ITEM_KINDS = ("SCHEDULE", "BACKGROUND")
"""The kinds of due items."""


@asynccontextmanager
async def _user(url: str, user: str) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client with the token of a user."""
    async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:
        answer = await client.post("/local/token", json={"tenant": TENANT, "user": user})
        client.headers["Authorization"] = f"Bearer {answer.raise_for_status().json()['token']}"
        yield client


async def _measure_user_delays(url: str, user: str, count: int) -> list[float]:
    """Create reminders of a user at random future times. Return the delays of their runs in seconds."""
    choice, first = random.Random(user), datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=15)  # noqa: S311
    async with _user(url, user) as client:
        times: dict[str, datetime] = {}
        for _ in range(count):
            at = first + timedelta(seconds=choice.randrange(SPREAD_SECONDS))
            body = {"agentId": "assistant", "text": "Water the plants.", "at": at.isoformat()}
            answer = await client.post("/v1/schedules", json=body)
            times[answer.raise_for_status().json()["threadId"]] = at
        await asyncio.sleep(max(0.0, (first - datetime.now(UTC)).total_seconds() + SPREAD_SECONDS + 10))
        return [(await _read_beginning(client, thread_id) - at).total_seconds() for thread_id, at in times.items()]


async def _read_beginning(client: httpx.AsyncClient, thread_id: str) -> datetime:
    """Return the time of the first message of a conversation, which is the beginning of its run."""
    answer = await client.get(f"/v1/threads/{thread_id}/messages")
    timestamp: str = answer.raise_for_status().json()["items"][0]["metadata"]["timestamp"]
    return datetime.fromisoformat(timestamp)


async def measure_delays(reminders: int) -> list[float]:
    """Return the delays in seconds from the due times of reminders to the beginnings of their runs."""
    with ExitStack() as stack:
        agents = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (agents / "assistant.yaml").write_text(json.dumps(AGENT))  # JSON is YAML
        url = stack.enter_context(local_cloud(stack.enter_context(model_endpoint()), BATON_AGENTS_DIR=agents))
        counts = [min(MAX_SCHEDULES, reminders - start) for start in range(0, reminders, MAX_SCHEDULES)]
        users = (_measure_user_delays(url, f"user-{number}", count) for number, count in enumerate(counts))
        return [delay for delays in await asyncio.gather(*users) for delay in delays]


class Bench:
    """A user whose items are created and started one by one."""

    def __init__(self, deployment: Deployment, meter: CapacityMeter) -> None:
        self._deployment = deployment
        self._ports = deployment.make_ports()
        self._app = build(self._ports)
        self._meter = meter
        self._units: Units = {}
        self._thread = ThreadRef(str(uuid.uuid4()), may_create=True)

    async def measure(self) -> Units:
        """Return the requests and units of each step."""
        await self._create("warm-up", at=self._in_an_hour())
        await self._begin_conversation()
        await self._count("a sweep that finds nothing due", self._app.self_started.due_starts.sweep(seconds=10))
        for name, rule in (("single", None), ("repeating", "FREQ=DAILY")):
            await self._count(f"{name}: creating it", self._create(name, at=self._in_an_hour(), rule=rule))
            schedule = await self._ports.schedules.get(SCOPE, name)
            assert schedule is not None  # noqa: S101 - made above
            # A schedule whose time is past has the same stored size.
            past = schedule.plan(datetime.now(UTC))
            entry = self._ports.schedules.make_entry(SCOPE, past)
            assert entry is not None  # noqa: S101 - it has a slot
            await self._count(f"{name}: starting it", self._start(entry))
        await self._measure_task()
        return self._units

    async def _begin_conversation(self) -> None:
        """Begin the conversation with a reminder."""
        schedule = await self._ports.schedules.get(SCOPE, "warm-up")
        entry = self._ports.schedules.make_entry(SCOPE, schedule) if schedule is not None else None
        assert entry is not None  # noqa: S101 - made before
        await self._start(entry)
        await self._run_queue()

    async def _measure_task(self) -> None:
        """Count the steps of a background task."""
        work = self._app.self_started.background_work
        begin = work.begin_agent(SCOPE, self._thread.id, "call", "Find out.", agent=HELPER, asked_by=ASSISTANT)
        await self._count("background task: beginning it", begin)
        [task] = await self._ports.background_tasks.of_thread(SCOPE, self._thread.id)
        await self._count("background task: checking it", work.check(SCOPE, self._thread.id, task))
        [task] = await self._ports.background_tasks.of_thread(SCOPE, self._thread.id)
        report = work.results.report(SCOPE, self._thread.id, task, BackgroundStatus.COMPLETED, "Found it.")
        await self._count("background task: its result", report)

    async def _create(self, schedule_id: str, *, at: str, rule: str | None = None) -> None:
        request = ScheduleRequest(id=schedule_id, text="Water the plants.", at=at, rule=rule, thread=self._thread)
        await self._app.self_started.schedule_making.create(SCOPE, request)

    async def _start(self, entry: DueEntry) -> None:
        """Start an item as at its due time."""
        clock: Any = self._ports.clock
        clock.ahead = entry.at - datetime.now(UTC)
        try:
            await self._app.self_started.due_starts.start(entry)
        finally:
            clock.ahead = timedelta()

    @staticmethod
    def _in_an_hour() -> str:
        return (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    async def _run_queue(self) -> None:
        """Run the turns of all queued messages."""
        while (record := self._deployment.records.take()) is not None:
            self._deployment.records.end(record, is_done=True)
            if isinstance(record, QueuedMessage):  # no title is needed
                await self._app.turns.run(record.scope, record.request, lambda event: None, seconds=60)

    async def _count(self, name: str, act: Awaitable[Any]) -> None:
        """Carry out an act, and note its requests and units as the step ``name``."""
        self._meter.take()
        await act
        requests = self._meter.take()
        writes = sum(request.write_units for request in requests)
        own = sum(request.write_units for request in requests if request.target in ITEM_KINDS)
        self._units[name] = len(requests), writes, own, sum(request.read_units for request in requests)


async def measure_units() -> Units:
    """Return the requests and units of single items, by step."""
    async with started() as baton:
        return await Bench(Deployment(baton, 0, 1), baton.meter).measure()


def format_kills(figures: KillFigures) -> str:
    """Return a table of the outcomes of the items."""
    rows = [
        ("items", figures.items),
        ("kills", figures.happened["kills"]),
        ("deployments", figures.happened["deployments"]),
        ("lost", figures.lost),
        ("twice", figures.twice),
        ("begun without an item", figures.strange),
        ("seconds", round(figures.seconds)),
    ]
    return format_table(["", "number"], rows)


def format_delays(delays: Sequence[float]) -> str:
    """Return a table of the delays."""
    figures = Figures.of(delays)
    row = [f"{value:.2f}" for value in (figures.p50, figures.p95, max(delays), min(delays))]
    return format_table(["seconds", "p50", "p95", "at most", "at least"], [("from the time to the run", *row)])


def main() -> None:
    """Measure and print the report."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.due", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=ITEMS, help="items that are due at once (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=KILLS, help="kills of processes (default: %(default)s)")
    parser.add_argument(
        "--reminders", type=int, default=REMINDERS, help="reminders in real time (default: %(default)s)"
    )
    parser.add_argument("--only", choices=["kills", "delays", "units"], help="measure only this")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # the product's log lines about kills are not part of the report
    print(f"Measured on {describe_machine()}; load average before it {os.getloadavg()[0]:.1f}.")
    if arguments.only in (None, "units"):
        units = asyncio.run(measure_units())
        print(
            "\n"
            + format_table(
                ["", "requests", "write units", "- of the item", "read units"],
                [(name, *counts) for name, counts in units.items()],
            )
        )
    if arguments.only in (None, "delays"):
        print("\n" + format_delays(asyncio.run(measure_delays(arguments.reminders))))
    if arguments.only in (None, "kills"):
        print("\n" + format_kills(asyncio.run(measure_kills(arguments.items, arguments.kills))))


if __name__ == "__main__":
    main()
