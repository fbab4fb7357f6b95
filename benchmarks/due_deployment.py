"""A deployment over DynamoDB Local that starts due items while its processes are killed and replaced."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from inspect import iscoroutinefunction
from typing import Any

from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from baton.composition.app import App, build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.errors import BatonError, StoreUnavailable
from baton.domain.runs.usage import Usage
from baton.domain.schedules.background_task import BackgroundKind, BackgroundTask, derive_result_message_id
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.schedules.schedule import Schedule
from baton.domain.tenants.identity import Scope, ThreadRef, derive_run_id
from baton.domain.threads.queued import Queued, RecordDelivery
from baton.domain.threads.thread import LeaseTimes
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, TextDelta
from baton.ports.threads.leases import LeaseRequest
from baton.ports.threads.schedules import LaterRun
from baton.threads.requests.queue_mapping import make_queued_message
from benchmarks.instruments.metered_baton import Baton, HourClock, MeteredPorts, started
from benchmarks.instruments.ports import AgentsInMemory

ITEMS_OF_A_CONVERSATION = 10
WORKERS, SWEEPERS = 12, 2
CALLS_OF_AN_ITEM = 14
"""The approximate number of calls of ports for one item and its run, from which the lengths of lives are computed."""
KILLS_BEFORE_A_DEPLOYMENT = 50
"""The kills after which all processes are replaced."""
AGAIN_SECONDS = 1.0
"""The seconds until a record is delivered again after its worker was killed."""
SHORT_LEASES = LeaseTimes(lease=3.0, renew=1.0, refresh=0.2, quiet=0.15, answered=1.0, answer=0.6)
PORTS = ("store", "schedules", "due_items", "background_tasks", "records", "live", "log", "audit")
MAX_SCHEDULES = 20
"""The most schedules of a user."""
AGENT = {
    "id": "assistant",
    "name": "Assistant",
    "description": "Reminds.",
    "main": True,
    "system_prompt": "You remind people.",
    "schedules": {"allowed": True, "max_per_user": MAX_SCHEDULES},
}
ASSISTANT = AgentDefinition.model_validate(AGENT)
HELPER = AgentDefinition(id="helper", name="Helper", description="Helps.", system_prompt="You help.")


class MovableClock(HourClock):
    """The system clock, which can be set ahead."""

    def now(self) -> datetime:
        """Return the current time plus ``ahead``."""
        return datetime.now(UTC) + self.ahead


class BriefModel:
    """A model that answers without delay."""

    async def stream(self, settings: ModelSettings, *_: Any, **__: Any) -> AsyncGenerator[ModelChunk, None]:
        """Stream one short answer."""
        yield TextDelta("Noted.")
        yield Finished(FinishReason.STOP, settings.model, Usage(10, 2))


@dataclass
class Life:
    """The life of a process, which ends with a number of calls of ports. The last call may be carried out or not."""

    calls: int
    is_carried_out: bool = False
    is_over: bool = False

    async def pass_on(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make a call. Raises ``StoreUnavailable`` if the life is over, or ends with this call."""
        self.calls -= 1
        if self.is_over or (self.calls == 0 and not self.is_carried_out):
            self.is_over = True
            raise StoreUnavailable
        result = await call()
        if self.calls == 0:
            self.is_over = True
            raise StoreUnavailable
        return result


class MortalPort:
    """A port of a process with a limited life."""

    def __init__(self, port: Any, life: Life) -> None:
        self._port, self._life = port, life

    def __getattr__(self, name: str) -> Any:
        attribute, life = getattr(self._port, name), self._life
        if not iscoroutinefunction(attribute):
            return attribute

        async def pass_on(*arguments: Any, **options: Any) -> Any:
            return await life.pass_on(lambda: attribute(*arguments, **options))

        return pass_on


@dataclass
class Records:
    """A ``TurnQueue`` of several workers. It delivers at least once, in order within a group, and drops duplicates."""

    waiting: dict[str, list[tuple[float, Queued]]] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    async def send(self, scope: Scope, message: Queued) -> None:
        """Store a record, unless its request id was sent before."""
        if message.request_id not in self.names:
            self.names.add(message.request_id)
            self.waiting.setdefault(message.group, []).append((0.0, message))

    def take(self) -> Queued | None:
        """Return the first record of a group that no worker holds, and hold the group; None without one."""
        now = time.monotonic()
        for group, records in self.waiting.items():
            if group not in self.held and records[0][0] <= now:
                self.held.add(group)
                return records[0][1]
        return None

    def end(self, record: Queued, *, is_done: bool) -> None:
        """Release a record's group. Remove the record if it is done, otherwise deliver it again later."""
        records = self.waiting[record.group]
        if is_done:
            del records[0]
            if not records:
                del self.waiting[record.group]
        else:
            records[0] = (time.monotonic() + AGAIN_SECONDS, record)
        self.held.remove(record.group)


class NoDelays:
    """A ``DelayQueue`` that is not needed, because everything is due."""

    async def send(self, entry: DueEntry, *, seconds: int) -> None:
        """Do nothing."""


@dataclass
class Deployment:
    """Processes over the same stores and queues that are killed and replaced."""

    baton: Baton
    kills: int
    """The number of remaining kills."""
    calls_of_a_life: int
    """The average number of calls of ports in a process's life."""
    records: Records = field(default_factory=Records)
    happened: Counter[str] = field(default_factory=Counter)
    """The numbers of ``kills`` and ``deployments`` so far."""
    release: int = 1
    is_over: bool = False

    def __post_init__(self) -> None:
        self.choice = random.Random(1)  # noqa: S311 - the same in every run

    def make_ports(self, life: Life | None = None) -> MeteredPorts:
        """Return the ports of a process, with a limited life if ``life`` is given."""
        ports = self.baton.make_ports()
        ports.model, ports.clock = BriefModel(), MovableClock()
        ports.shipped_agents = AgentsInMemory(ASSISTANT, HELPER)
        own = vars(ports)
        own["lease_times"], own["delay_queue"] = SHORT_LEASES, NoDelays()
        own["store"] = DynamoThreadStore(ports.table, ports.bodies, ports.clock, SHORT_LEASES.lease)
        own["queue"], own["queue_records"], own["public_url"] = self.records, None, None
        if life is not None:
            own |= {name: MortalPort(getattr(ports, name), life) for name in PORTS}
        return ports

    def start_process(self) -> tuple[App, Life, int]:
        """Return a new process, its life and its release."""
        calls = self.choice.randint(1, 2 * self.calls_of_a_life) if self.kills else 10**12
        life = Life(calls, is_carried_out=self.choice.random() < 0.5)
        return build(self.make_ports(life)), life, self.release

    async def live(self, step: Callable[[App], Awaitable[bool]]) -> None:
        """Repeat ``step`` in one process after the other, until the deployment is over."""
        while not self.is_over:
            app, life, release = self.start_process()
            while not (self.is_over or life.is_over or release != self.release):
                if not await step(app):
                    await asyncio.sleep(0.02)
            if life.is_over:
                self.happened["kills"] += 1
                self.kills = max(0, self.kills - 1)  # several processes may die after the last one was counted
                if self.happened["kills"] % KILLS_BEFORE_A_DEPLOYMENT == 0:
                    self.release += 1
                    self.happened["deployments"] += 1

    async def work(self, app: App) -> bool:
        """Work on the next record. Return whether one was available."""
        record = self.records.take()
        if record is None:
            return False
        is_done = False
        with suppress(BatonError):
            delivery = RecordDelivery(record.request_id, 1)
            await app.queued_turns.run(record.model_dump_json(by_alias=True), "", delivery, seconds=60)
            is_done = True
        self.records.end(record, is_done=is_done)
        return True

    async def sweep(self, app: App) -> bool:
        """Sweep once. Return whether items were started. Without due items and records, the deployment is over."""
        started_items = 0
        with suppress(BatonError):
            started_items = await app.self_started.due_starts.sweep(seconds=20)
        if started_items == 0 and not self.records.waiting and not await _count_due(self.make_ports()):
            self.is_over = True
        return started_items > 0


async def _count_due(ports: MeteredPorts) -> int:
    """Return the number of items that are due."""
    return sum([len(page) async for page in ports.due_items.before(datetime.now(UTC))])


@dataclass(frozen=True, slots=True)
class Expected:
    """A conversation, with the ids of the messages of the runs that its due items must begin."""

    scope: Scope
    thread_id: str
    message_ids: frozenset[str]


async def fill(deployment: Deployment, items: int) -> list[Expected]:
    """Write due items: reminders, postponed messages, and completed tasks. Return the expected messages."""
    ports = deployment.make_ports()
    now = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
    limit = asyncio.Semaphore(16)

    async def fill_conversation(number: int, count: int) -> Expected:
        async with limit:
            scope, thread_id = Scope("benchmark", f"user-{number}"), str(uuid.uuid4())
            request = LeaseRequest(thread_id, may_create=True, agent_id="assistant", idle_seconds=1800)
            await ports.store.release(await ports.store.acquire(scope, request))
            message_ids = [await _add(ports, scope, thread_id, index, now) for index in range(count)]
            return Expected(scope, thread_id, frozenset(message_ids))

    sizes = [min(ITEMS_OF_A_CONVERSATION, items - start) for start in range(0, items, ITEMS_OF_A_CONVERSATION)]
    return await asyncio.gather(*(fill_conversation(number, size) for number, size in enumerate(sizes)))


async def _add(ports: MeteredPorts, scope: Scope, thread_id: str, index: int, now: datetime) -> str:
    """Add the due item with an index: of five, three reminders, a postponed message and a completed task.

    Return the id of the message that its run begins with.
    """
    if index % 5 == 3:
        message_id = str(uuid.uuid4())
        run_id = derive_run_id(thread_id, message_id)
        request = MessageRequest(ThreadRef(thread_id, may_create=False), message_id, run_id, "Put off.")
        await ports.due_items.put_off(LaterRun(now, make_queued_message(scope, request, request_id=message_id)))
        return message_id
    if index % 5 == 4:
        task_id = str(uuid.uuid4())
        task = BackgroundTask(
            id=task_id,
            kind=BackgroundKind.TOOL,
            name="report",
            agent_id="assistant",
            message="{}",
            started_at=now,
            expires_at=now,
            check_at=now,
        )
        await ports.background_tasks.add(scope, thread_id, task)
        return derive_result_message_id(thread_id, task_id)
    schedule = Schedule(
        id=str(uuid.uuid4()),
        agent_id="assistant",
        thread_id=thread_id,
        text="Water the plants.",
        start=now.replace(tzinfo=None).isoformat(),
        zone="UTC",
        created_at=now,
        created_by="user",
    ).plan(now)
    await ports.schedules.add(scope, schedule)
    return schedule.message_id


@dataclass(frozen=True, slots=True)
class KillFigures:
    """The outcomes of due items under kills."""

    items: int
    lost: int
    """The number of items without a run."""
    twice: int
    """The number of further runs of the same item."""
    strange: int
    """The number of messages without a due item."""
    seconds: float
    happened: Mapping[str, int]
    """The numbers of ``kills`` and ``deployments``."""


async def measure_kills(items: int, kills: int) -> KillFigures:
    """Start ``items`` due items under at least ``kills`` kills, and count the outcomes."""
    async with started() as baton:
        # Lives are a fifth shorter than items need on average, so that all kills happen.
        calls = max(1, int(0.8 * CALLS_OF_AN_ITEM * items / max(1, kills)))
        deployment = Deployment(baton, kills, calls)
        filled = await fill(deployment, items)
        began = time.perf_counter()
        steps = [deployment.work] * WORKERS + [deployment.sweep] * SWEEPERS
        await asyncio.gather(*map(deployment.live, steps))
        seconds, ports = time.perf_counter() - began, deployment.make_ports()
        lost = twice = strange = 0
        for conversation in filled:
            thread = await ports.store.get_thread(conversation.scope, conversation.thread_id)
            page = await ports.store.read_messages(conversation.scope, thread, limit=100, before=None)
            counts = Counter(message.id for message in page.messages if message.is_question)
            lost += sum(counts[message_id] == 0 for message_id in conversation.message_ids)
            twice += sum(count - 1 for count in counts.values() if count > 1)
            strange += len(counts.keys() - conversation.message_ids)
        return KillFigures(items, lost, twice, strange, seconds, deployment.happened)
