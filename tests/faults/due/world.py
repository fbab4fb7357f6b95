"""A conversation in virtual time with everything that begins runs by itself: schedules, events and tasks.

Queues, the minute tick, tools that report later and a clock that can be set stand around it, outside the processes that
die.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from baton.composition.app import App, build
from baton.domain.agents.agent import AgentDefinition
from baton.domain.agents.tool import BackgroundRules
from baton.domain.errors import LeaseLost, StoreUnavailable, ThreadBusy, ThreadUnavailable
from baton.domain.runs.interrupt import DecisionStatus, InterruptDecision
from baton.domain.runs.tool_call import ToolCall
from baton.domain.runs.usage import Usage
from baton.domain.schedules.background_task import BackgroundTask
from baton.domain.schedules.due_entry import DueEntry
from baton.domain.schedules.schedule import USER_ZONE
from baton.domain.tenants.identity import Scope, ThreadRef
from baton.domain.threads.desk_requests import make_return_request, make_take_request
from baton.domain.threads.message import Role, StoredMessage
from baton.domain.threads.queued import Queued, QueuedTaskCheck, RecordDelivery
from baton.domain.threads.thread import Thread
from baton.domain.threads.turn_requests import TurnRequest
from baton.ports.agents.agent_client import AgentChunk, AgentDone, AgentStarted, AgentTask, TaskLost
from baton.ports.agents.chat_model import Finished, FinishReason, ModelChunk, ModelSettings, Prompt, TextDelta, ToolSpec
from baton.ports.agents.tools import ToolResult
from baton.threads.background.callbacks import TaskReport
from baton.threads.requests.parsing import make_decision_request
from baton.threads.schedules.incoming_event import IncomingEvent
from baton.threads.schedules.schedule_making import ScheduleRequest
from baton_testing.fakes.clock import NOON, FakeClock
from tests.faults.steering.journey import Killed
from tests.harness.desks import ANNA, desk
from tests.harness.due import DueHarness
from tests.harness.harness import ASSISTANT

PORTS = (
    "store",
    "schedules",
    "due_items",
    "background_tasks",
    "delay_queue",
    "queue",
    "records",
    "live",
    "log",
    "audit",
    "handoffs",
    "workflows",
    "desk_places",
    "time_zones",
)
"""The ports that a dying process loses."""
THREAD_ID = "5f3d6c1e-0000-4000-8000-000000000001"
RECEIVES = 4
"""Deliveries of a record after which it is given up."""
AGAIN_SECONDS = 60
"""Seconds until a record whose worker has died is delivered again, and the dead worker's lease is over."""
DELETE, REPORT = (
    {"type": "python", "name": name, "description": "Does it.", "entry_point": "x:y"}
    for name in ("delete", "make_report")
)
RESEARCHER = AgentDefinition.model_validate(
    {
        "id": "researcher",
        "name": "Researcher",
        "description": "Finds out.",
        "system_prompt": "Find out.",
        "tools": [DELETE],
    }
)
WEATHER = AgentDefinition.model_validate(
    {
        "id": "weather",
        "name": "Weather",
        "description": "Knows the weather.",
        "remote": {"card_url": "https://weather.example/card.json"},
    }
)
MAIN = AgentDefinition.model_validate(
    ASSISTANT.model_dump()
    | {
        "sub_agents": [{"agent": name, "background": True} for name in ("researcher", "weather")],
        "handoffs": [{"to": "support"}],
        "tools": [DELETE, REPORT],
        "events": [{"type": "order.shipped", "instructions": "Tell the user."}],
    }
)
UNWRITTEN = "No person has written this"


class SteppedClock(FakeClock):
    """A clock that goes with the event loop, and is set forward and back."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed=seed)
        self.error = 0.0
        """Seconds by which it is wrong."""

    def now(self) -> datetime:
        return NOON + timedelta(seconds=round(asyncio.get_running_loop().time() + self.error, 3), microseconds=437)


@dataclass
class Delays:
    """``DelayQueue`` that delivers its entries after their delay, independent of the clock."""

    waiting: list[tuple[float, DueEntry]] = field(default_factory=list)

    async def send(self, entry: DueEntry, *, seconds: int) -> None:
        assert 0 <= seconds <= 900
        self.waiting.append((asyncio.get_running_loop().time() + seconds, entry))

    def ripe(self) -> list[DueEntry]:
        """Take the entries whose time has passed."""
        now = asyncio.get_running_loop().time()
        ripe = [entry for at, entry in self.waiting if at <= now]
        self.waiting = [waiting_entry for waiting_entry in self.waiting if waiting_entry[0] > now]
        return ripe


@dataclass
class DistantAgent:
    """A remote agent, which gives a message that is sent again the task that it has for it."""

    states: dict[str, str | None] = field(default_factory=dict)
    """The results of its tasks; None for one in progress."""
    cancelled: set[str] = field(default_factory=set)

    async def stream(self, agent: AgentDefinition, task: AgentTask, **_: Any) -> AsyncGenerator[AgentChunk, None]:
        remote_id = task.follows.remote_task_id if task.follows is not None else f"remote-{task.task_id}"
        await asyncio.sleep(0.05)
        if remote_id in self.cancelled:
            raise TaskLost("The task was stopped.")
        self.states.setdefault(remote_id, None)
        if task.follows is None:
            yield AgentStarted(remote_id)
        result = self.states[remote_id]
        if result is not None:
            yield TextDelta(result)
            yield AgentDone()

    async def cancel(self, agent: AgentDefinition, scope: Scope, remote_task_id: str) -> None:
        self.cancelled.add(remote_task_id)

    def finish(self) -> None:
        """Finish all work."""
        self.states = dict.fromkeys(self.states, "Warm.")


@dataclass
class Obedient:
    """A model that calls the tools which its user's words ask for, and is silent on some causes."""

    harness: DueHarness
    violations: list[str] = field(default_factory=list)

    async def stream(
        self, settings: ModelSettings, prompts: Sequence[Prompt], *, tools: Sequence[ToolSpec] = (), **_: Any
    ) -> AsyncGenerator[ModelChunk, None]:
        row = self.harness.store.rows.get((self.harness.ada.tenant_id, THREAD_ID))
        names, last = {tool.name for tool in tools}, prompts[-1]
        in_fork = "ask_researcher" not in names
        if row is not None and row.thread.conversation.desk is not None and tools and not in_fork:
            self.violations.append("a model was asked while a desk was active")
        await asyncio.sleep(0.05)
        call = self._call(str(last.content), names) if last.role is Role.USER else None
        if call is not None:
            yield call
            yield Finished(FinishReason.TOOL_CALLS, settings.model, Usage(10, 2))
            return
        yield TextDelta("Found it." if in_fork else "Done." if last.role is Role.TOOL else "Noted.")
        yield Finished(FinishReason.STOP, settings.model, Usage(10, 2))

    def _call(self, text: str, names: set[str]) -> ToolCall | None:
        if UNWRITTEN in text:
            return ToolCall("s", "stay_silent", "{}") if "quietly" in text and "stay_silent" in names else None
        words = {"research": "ask_researcher", "forecast": "ask_weather", "report": "make_report", "delete": "delete"}
        for word, name in words.items():
            if word in text and name in names:
                return ToolCall("c", name, json.dumps({"message": text} if name.startswith("ask_") else {}))
        return None


class World:
    """The conversation, its stores and its queues. A process is an ``App`` over them."""

    def __init__(self, seed: int = 1) -> None:
        support = desk(triggers=["talk to a human"], desk={"wait_minutes": 5, "silence_minutes": 5, "closed": "queue"})
        self.delays, self.distant = Delays(), DistantAgent()
        self.puts_off = False
        """Whether a worker does the work of the tool that makes reports."""
        self.harness = DueHarness(
            assistant=MAIN,
            others=(RESEARCHER, WEATHER, support),
            agent_client=self.distant,
            clock=SteppedClock(seed),
            delay_queue=self.delays,
            public_url="https://baton.example/",
            rules={"max_per_user": 100},
        )
        self.harness.thread_id = THREAD_ID
        self.model = Obedient(self.harness)
        self.harness.tools.add("delete", self._delete, requires_approval=True)
        rules = BackgroundRules(expires_hours=24, cancel=True)
        self.harness.tools.add("make_report", self._make_report, background=rules)
        self.receives: Counter[str] = Counter()
        self.given_up: list[str] = []
        self.attempted: set[str] = set()
        """Tasks whose end was reported or read: if that died, it may enter, and the task expire before a repetition."""

    @property
    def clock(self) -> SteppedClock:
        clock = self.harness.clock
        assert isinstance(clock, SteppedClock)
        return clock

    def process(self, killed: Killed | None = None) -> App:
        """Return a process of a deployment, which may be one that dies."""
        ports = {name: killed.wrap(getattr(self.harness, name)) for name in PORTS} if killed is not None else {}
        return build(self.harness.with_ports(model=self.model, **ports))

    async def _delete(self) -> str:
        return "Deleted."

    async def _make_report(self) -> ToolResult:
        location = self.make_location(-1)
        self.harness.tools.states.setdefault(location, ToolResult("", is_pending=True))
        return ToolResult("Accepted.", is_pending=True, location=location, is_put_off=self.puts_off)

    def make_location(self, call: int) -> str:
        """Return the address at which the state of a call's work is read: the same for each attempt at the call."""
        return f"https://reports.example/{self.harness.tools.calls[call].context.idempotency_key}"

    # What users and other systems do

    async def say(self, app: App, message_id: str, text: str) -> None:
        request = self.harness.request(message_id, text)
        await app.turns.run(self.harness.ada, request, lambda event: None, seconds=60, patience=5)

    async def schedule(
        self, app: App, schedule_id: str, *, minutes: float, rule: str | None, text: str, follows: bool = False
    ) -> None:
        """Make a schedule. A repetition finds the first."""
        at = (self.clock.now() + timedelta(minutes=minutes)).isoformat()
        thread, zone = ThreadRef(THREAD_ID, may_create=True), USER_ZONE if follows else None
        request = ScheduleRequest(id=schedule_id, text=text, at=at, rule=rule, time_zone=zone, thread=thread)
        await app.self_started.schedule_making.create(self.harness.ada, request)

    async def send_event(self, app: App, event_id: str) -> None:
        event = IncomingEvent.parse(event_id, "order.shipped", {"event": event_id})
        await app.self_started.event_starts.begin(self.harness.ada, self.harness.ada, THREAD_ID, event)

    async def report(self, app: App, call: int, report: TaskReport) -> None:
        """Report as the tool of a call does."""
        callback = self.harness.tools.calls[call].context.callback
        assert callback is not None
        await app.self_started.background_work.callbacks.take_report(
            callback.token, callback.url.rpartition("/")[2], report
        )

    async def decide(self, app: App, thread_id: str, status: DecisionStatus) -> None:
        """Decide on what a conversation or a fork waits for, until its run goes on."""
        thread = await self.harness.store.get_thread(self.harness.ada, thread_id)
        for interrupt in thread.pending.interrupts[:1] if thread.pending is not None else ():
            request = make_decision_request(
                thread.id, [InterruptDecision(interrupt.id, status, {"approved": True}, "ada")]
            )
            await app.turns.run(self.harness.ada, request, lambda event: None, seconds=60, patience=5)

    # What the deployment does

    async def tick(self, app: App) -> None:
        """Sweep as each minute does."""
        await app.self_started.due_starts.sweep(seconds=20)
        await app.sweeper.sweep(seconds=20)

    async def deliver_delayed(self, app: App) -> None:
        """Deliver what the delay queue holds for now. What fails is delivered again."""
        for entry in self.delays.ripe():
            try:
                await app.self_started.due_starts.start_queued(entry.model_dump_json())
            except StoreUnavailable:
                self.delays.waiting.append((asyncio.get_running_loop().time() + AGAIN_SECONDS, entry))
                raise

    async def deliver(self, app: App, record: Queued) -> None:
        """Deliver a record of the queue once. It stays in the queue until a worker has finished it."""
        body, name = record.model_dump_json(by_alias=True), record.request_id
        self.receives[name] += 1
        if isinstance(record, QueuedTaskCheck):
            self.attempted.add(record.task_id)
        if self.receives[name] > RECEIVES:
            await app.queued_turns.give_up(body)
            self.given_up.append(name)
        else:
            await app.queued_turns.run(body, "", RecordDelivery(name, self.receives[name]), seconds=60)
        self.harness.queue.sent[:] = [entry for entry in self.harness.queue.sent if entry[1] != record]
        del self.receives[name]

    def first_records(self) -> list[Queued]:
        """Return the first record of each group: the others wait behind them."""
        firsts: dict[str, Queued] = {}
        for _, queued in self.harness.queue.sent:
            firsts.setdefault(queued.group, queued)
        return list(firsts.values())

    async def go_on(self, app: App) -> bool:
        """Do everything that can be done now. Return whether there was anything."""
        await self.tick(app)
        await self.deliver_delayed(app)
        records = self.first_records()
        for record in records:
            await self.deliver(app, record)
        return bool(records)

    async def next_due(self) -> datetime | None:
        """Return the time of the next due item."""
        forever = self.clock.now() + timedelta(days=4000)
        pages = [page async for page in self.harness.due_items.before(forever)]
        return min((entry.at for page in pages for entry in page), default=None)

    async def settle(self, *, patience: int = 40) -> None:
        """Let processes that live do everything that is still to do, in the time that it takes.

        People decide after ``patience`` rounds.
        """
        app = self.process()
        for number in range(5000):
            if number % patience == patience - 1:
                await self.free(app)
            with suppress(StoreUnavailable, LeaseLost, ThreadBusy):
                if await self.go_on(app):
                    continue
            if self.harness.queue.sent:
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            due = await self.next_due()
            if due is None:
                return
            if due > self.clock.now():
                await asyncio.sleep((due - self.clock.now()).total_seconds() + 0.01)
            else:
                await asyncio.sleep(60)
        raise AssertionError(f"it never ends: {self.harness.queue.sent}, {await self.next_due()}")

    async def free(self, app: App) -> None:
        """Decide on all open interrupts."""
        for thread_id in [THREAD_ID, *(task.id for task in await self.tasks())]:
            with suppress(ThreadUnavailable):
                await self.decide(app, thread_id, DecisionStatus.RESOLVED)
        if not await self.messages():
            return
        thread = await self.thread()
        if (session := thread.conversation.desk) is not None:
            if session.person is None:
                await self.act(app, make_take_request(thread, session, ANNA))
                thread = await self.thread()
            if thread.conversation.desk is not None:
                await self.act(app, make_return_request(thread, thread.conversation.desk, ANNA, ""))

    async def act(self, app: App, request: TurnRequest) -> None:
        """Carry out what a person at a desk does."""
        owner = Scope(self.harness.ada.tenant_id, self.harness.ada.user_id)
        await app.turns.run(owner, request, lambda event: None, seconds=60, patience=5)

    # What is there afterwards

    async def thread(self) -> Thread:
        return await self.harness.store.get_thread(self.harness.ada, THREAD_ID)

    async def messages(self) -> list[StoredMessage]:
        try:
            await self.thread()
        except ThreadUnavailable:
            return []
        return self.harness.store.committed(self.harness.ada.tenant_id, THREAD_ID)

    async def tasks(self) -> Sequence[BackgroundTask]:
        return await self.harness.background_tasks.of_thread(self.harness.ada, THREAD_ID)


class Deaths:
    """The process in which everything happens. When it dies, another one goes on with what it was at."""

    def __init__(self, world: World, killed: Killed | None) -> None:
        self._world = world
        self.killed = killed or Killed(10**9)
        self.app = world.process(self.killed)

    @property
    def is_dead(self) -> bool:
        return self.killed.at is not None and self.killed.calls >= self.killed.at

    async def carry_out(self, act: Any) -> None:
        """Carry out an act, again by another process if this one dies, as queues, ticks and clients do."""
        for _ in range(3):
            was_dead = self.is_dead
            with suppress(StoreUnavailable, LeaseLost):
                await act(self.app)
                if was_dead or not self.is_dead:
                    return
            if was_dead:
                raise AssertionError("a process that lives has failed")
            await asyncio.sleep(AGAIN_SECONDS)
            self.app = self._world.process()
        raise AssertionError("it was not carried out")
