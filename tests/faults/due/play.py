"""A conversation in which everything that begins runs by itself happens at random, with users, people and deaths.

Steps that are taken at once take turns at every wait of the event loop.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from baton.composition.app import App
from baton.domain.errors import BatonError, NotFound, TaskExpired, ThreadBusy, Unauthorized
from baton.domain.runs.interrupt import DecisionStatus
from baton.domain.schedules.background_task import BackgroundStatus, derive_result_message_id
from baton.domain.schedules.run_source import CauseKind
from baton.domain.schedules.schedule import ScheduleStatus
from baton.domain.tenants.identity import Scope
from baton.domain.threads.desk_requests import make_reply_request, make_return_request, make_take_request
from baton.domain.threads.message import StoredMessage
from baton.domain.threads.run_end import OutcomeType
from baton.domain.threads.turn_requests import TurnRequest
from baton.ports.agents.tools import ToolFailed, ToolResult
from baton.threads.background.callbacks import TaskReport
from baton.threads.schedules.schedule_making import ScheduleChange
from tests.faults.due.world import THREAD_ID, World
from tests.faults.steering.journey import Killed
from tests.harness.desks import ANNA

LONGEST = 25
"""The largest number of calls of ports that a process lives for if it dies."""
HALF = TaskReport(BackgroundStatus.WORKING, "half")
ENDS = (TaskReport(BackgroundStatus.COMPLETED, "42 pages."), TaskReport(BackgroundStatus.FAILED, "No paper."))
"""The ends of a tool's work: each piece of work has one of them, and its tool reports it until it is accepted."""


@dataclass
class DuePlay:
    """A conversation and all requests to it."""

    seed: int
    sent: dict[str, str] = field(default_factory=dict)
    """Texts of the user's messages by id."""
    events: set[str] = field(default_factory=set)
    schedules: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The requests for schedules by id."""
    touched: set[str] = field(default_factory=set)
    """Schedules that somebody has changed, paused or cancelled."""
    accepted: set[str] = field(default_factory=set)
    """Ids of messages, events and schedules whose sender knows that they are accepted."""
    unreported: set[int] = field(default_factory=set)
    """Calls whose tool does not know that its report is accepted."""
    cancelled: set[str] = field(default_factory=set)
    """Tasks that the user has tried to cancel."""
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.choice = random.Random(self.seed)  # noqa: S311  a seed makes the play again
        self.world = World(self.seed)
        self.harness = self.world.harness
        self.owner = Scope(self.harness.ada.tenant_id, self.harness.ada.user_id)

    async def run(self, steps: int) -> None:
        """Take steps at random, some of them at once, and look at the conversation after each."""
        while steps > 0:
            at_once = self.choice.choice([1, 1, 1, 2, 3])
            steps -= at_once
            await asyncio.gather(*(self._step() for _ in range(at_once)))
            await self._look()
        await self._settle()
        await self._look()
        await self._check_ends()

    async def _step(self) -> None:
        kinds = (
            (self._say, 8),
            (self._repeat, 2),
            (self._schedule, 5),
            (self._change, 3),
            (self._send_event, 4),
            (self._report, 5),
            (self._finish, 2),
            (self._cancel_task, 1),
            (self._decide, 4),
            (self._at_desk, 3),
            (self._wait, 6),
            (self._set_clock, 2),
            (self._tick, 8),
            (self._deliver, 12),
            (self._repeat_delivery, 2),
            (self._cancel, 1),
            (self._close, 1),
        )
        [step] = self.choice.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
        self.counts[step.__name__.strip("_")] += 1
        with suppress(BatonError):  # refused, or the process has died: nobody knows that it is done
            await step(self._process())

    def _process(self) -> App:
        """Return a process, which may die in one of its next calls."""
        if self.choice.random() >= 0.3:
            return self.world.process()
        self.counts["kill -9"] += 1
        return self.world.process(Killed(self.choice.randint(1, LONGEST), self.choice.random() < 0.5))

    # The user, other systems and people

    async def _say(self, app: App, message_id: str | None = None) -> None:
        if message_id is None:
            message_id = f"u{len(self.sent)}"
            words = [
                "research",
                "research to delete",
                "report",
                "report",
                "forecast",
                "forecast",
                "delete",
                "hello",
                "talk to a human",
            ]
            self.sent[message_id] = f"{self.choice.choice(words)} {message_id}"
        await self.world.say(app, message_id, self.sent[message_id])
        self.accepted.add(message_id)

    async def _repeat(self, app: App) -> None:
        if self.sent:
            await self._say(app, self.choice.choice(sorted(self.sent)))

    async def _schedule(self, app: App, schedule_id: str | None = None) -> None:
        if schedule_id is None:
            schedule_id = f"s{len(self.schedules)}"
            self.schedules[schedule_id] = {
                "minutes": self.choice.choice([0.2, 1, 3, 30, 300]),
                "rule": self.choice.choice([None, None, "FREQ=DAILY;COUNT=3"]),
                "text": self.choice.choice(["Water", "Water quietly"]) + f" {schedule_id}",
            }
        await self.world.schedule(app, schedule_id, **self.schedules[schedule_id])
        self.accepted.add(schedule_id)

    async def _change(self, app: App) -> None:
        if not self.schedules:
            return
        schedule_id = self.choice.choice(sorted(self.schedules))
        self.touched.add(schedule_id)
        change = self.choice.choice(
            [ScheduleChange(paused=True), ScheduleChange(paused=False), ScheduleChange(text="Water later"), None]
        )
        if change is None:
            await app.self_started.schedule_making.remove(self.harness.ada, schedule_id)
        else:
            await app.self_started.schedule_making.change(self.harness.ada, schedule_id, change)

    async def _send_event(self, app: App, event_id: str | None = None) -> None:
        if event_id is None:
            again = self.events and self.choice.random() < 0.3
            event_id = self.choice.choice(sorted(self.events)) if again else f"e{len(self.events)}"
            self.events.add(event_id)
        await self.world.send_event(app, event_id)
        self.accepted.add(event_id)

    async def _report(self, app: App, call: int | None = None) -> None:
        calls = self._calls()
        if call is None and not calls:
            return
        is_end = call is not None or self.choice.random() < 0.7
        call = self.choice.choice(calls) if call is None else call
        callback = self.harness.tools.calls[call].context.callback
        assert callback is not None
        task_id = callback.url.rpartition("/")[2]
        if is_end:
            self.unreported.add(call)
            self.world.attempted.add(task_id)
        with suppress(TaskExpired, Unauthorized):  # nobody waits for it any more
            await self.world.report(app, call, self._end(call) if is_end else HALF)
        self.unreported -= {call} if is_end else set()

    async def _finish(self, app: App) -> None:
        """Finish the work of tools and of the remote agent, which a reading finds."""
        self.world.distant.finish()
        for call in self._calls():
            location, end = self.world.make_location(call), self._end(call)
            is_completed = end.status is BackgroundStatus.COMPLETED
            self.harness.tools.states[location] = ToolResult(end.text) if is_completed else ToolFailed(end.text)

    def _calls(self) -> list[int]:
        """Return the calls whose tool works on."""
        return [call for call, called in enumerate(self.harness.tools.calls) if called.context.callback is not None]

    def _end(self, call: int) -> TaskReport:
        return ENDS[sum(map(ord, self.world.make_location(call))) % 2]

    async def _cancel_task(self, app: App) -> None:
        tasks = await self.world.tasks()
        if tasks:
            task = self.choice.choice(tasks)
            self.cancelled.add(task.id)
            with suppress(NotFound):
                await app.self_started.background_work.cancel(self.harness.ada, THREAD_ID, task.id)

    async def _decide(self, app: App) -> None:
        thread_ids = [THREAD_ID, *(task.id for task in await self.world.tasks())]
        await self.world.decide(app, self.choice.choice(thread_ids), self.choice.choice(list(DecisionStatus)))

    async def _at_desk(self, app: App) -> None:
        thread = await self.world.thread()
        session = thread.conversation.desk
        if session is None:
            return
        requests: list[TurnRequest] = [
            make_take_request(thread, session, ANNA),
            make_reply_request(thread, ANNA, f"p{self.choice.randrange(10**6)}", "I am here."),
            make_return_request(thread, session, ANNA, ""),
        ]
        await self.world.act(app, self.choice.choice(requests))

    async def _cancel(self, app: App) -> None:
        await app.controls.cancel(self.harness.ada, THREAD_ID, None)

    async def _close(self, app: App) -> None:
        request_id = str(uuid.UUID(int=self.choice.getrandbits(128)))
        await app.controls.close(self.harness.ada, THREAD_ID, request_id=request_id)

    # The deployment

    async def _wait(self, app: App) -> None:
        await asyncio.sleep(self.choice.choice([5, 65, 65, 400, 4_000, 30_000, 90_000]))

    async def _set_clock(self, app: App) -> None:
        self.world.clock.error += self.choice.choice([-300, -20, -2, 2, 20, 300])

    async def _tick(self, app: App) -> None:
        await self.world.tick(app)
        await self.world.deliver_delayed(self._process())

    async def _deliver(self, app: App) -> None:
        for record in self.world.first_records():
            with suppress(BatonError):
                await self.world.deliver(app, record)
            app = self._process()

    async def _repeat_delivery(self, app: App) -> None:
        """Deliver a record whose worker was so slow that the queue has taken it for dead."""
        records = self.world.first_records()
        if records:
            record = self.choice.choice(records)
            await asyncio.gather(
                self.world.deliver(app, record), self.world.deliver(self._process(), record), return_exceptions=True
            )

    async def _settle(self) -> None:
        """Finish with live processes what dead ones have left, and repeat requests that may not be accepted."""
        self.world.clock.error = 0.0
        await asyncio.sleep(90)
        app = self.world.process()
        for message_id in sorted(self.sent):
            await _insist(partial(self._say, app, message_id))
        for event_id in sorted(self.events):
            await _insist(partial(self._send_event, app, event_id))
        for call in sorted(self.unreported):
            await self._report(app, call)
        await self.world.settle(patience=self.choice.choice([40] * 9 + [10_000]))

    # What must hold

    async def _look(self) -> None:
        """Compare the conversation with what was asked of it."""
        self.violations += self.world.model.violations
        self.world.model.violations.clear()
        messages = await self.world.messages()
        ids = Counter(message.id for message in messages)
        self.violations += [f"{message_id} is there {count} times" for message_id, count in ids.items() if count > 1]
        if [message.ordinal for message in messages] != list(range(len(messages))):
            self.violations.append("ordinals have gaps")
        self.violations += _problems_of_runs(messages)
        for task in await self.world.tasks():
            if task.is_open != (task.check_at is not None):
                self.violations.append(f"the task {task.id} is {task.status} and looked at {task.check_at}")

    async def _check_ends(self) -> None:
        """Check that everything that was accepted has begun its run."""
        messages = await self.world.messages()
        ids = {message.id for message in messages}
        self.violations += [f"{message_id} is lost" for message_id in self.sent.keys() - ids]
        causes = Counter((message.begun_by.kind, message.begun_by.id) for message in messages if message.begun_by)
        for event_id in self.events:
            if causes[CauseKind.EVENT, event_id] != 1:
                self.violations.append(f"{event_id} has begun {causes[CauseKind.EVENT, event_id]} runs")
        await self._check_schedules(causes)
        await self._check_tasks({message.id: message for message in messages}, causes)

    async def _check_schedules(self, causes: Counter[tuple[CauseKind, str]]) -> None:
        stored = {schedule.id: schedule for schedule in await self.harness.schedules.of_user(self.owner)}
        # A slot may be skipped after its run was queued and counted, because an earlier run of the schedule waits.
        skips = Counter(
            record.detail["scheduleId"]
            for record in self.harness.audit.records
            if (record.action, record.outcome) == ("schedule.run", "skipped")
        )
        for schedule_id in self.accepted & self.schedules.keys():
            began, schedule = causes[CauseKind.SCHEDULE, schedule_id], stored.get(schedule_id)
            if schedule_id in self.touched:
                continue
            if schedule is None or schedule.status is not ScheduleStatus.FINISHED:
                self.violations.append(f"{schedule_id} is not finished: {schedule}")
            elif not began <= schedule.runs <= began + skips[schedule_id] or not 1 <= began <= (
                3 if schedule.rule else 1
            ):
                self.violations.append(f"{schedule_id} has begun {began} runs, and counts {schedule.runs}")

    async def _check_tasks(self, messages: dict[str, StoredMessage], causes: Counter[tuple[CauseKind, str]]) -> None:
        for task in await self.world.tasks():
            result = messages.get(derive_result_message_id(THREAD_ID, task.id))
            self.counts[f"task {task.status}"] += 1
            if causes[CauseKind.TASK, task.id] != (result is not None):
                self.violations.append(f"the task {task.id} has begun {causes[CauseKind.TASK, task.id]} runs")
            if task.is_open:
                self.violations.append(f"the task {task.id} is still {task.status}")
            elif task.status is BackgroundStatus.CANCELLED:
                if task.id not in self.cancelled:
                    self.violations.append(f"nobody has cancelled {task.id}")
            elif result is None:
                self.violations.append(f"the result of {task.id}, which has {task.status}, is lost")
            else:
                if task.status is not BackgroundStatus.EXPIRED or task.id not in self.world.attempted:
                    self._check_result(task.status, result)

    def _check_result(self, status: BackgroundStatus, result: StoredMessage) -> None:
        word = result.text.partition("]")[0].removeprefix("[") if result.text.startswith("[") else "completed"
        if word != status:
            self.violations.append(f"a task that has {status} says {result.text!r}")


async def _insist(act: Callable[[], Awaitable[None]]) -> None:
    """Do something again until the conversation is free."""
    for _ in range(20):
        with suppress(ThreadBusy):
            return await act()
        await asyncio.sleep(30)
    raise AssertionError("the conversation is busy for ever")


def _problems_of_runs(messages: Sequence[StoredMessage]) -> list[str]:
    """Return what is wrong about runs: those that began by themselves, and were delivered to people."""
    return [
        f"{message.id} was delivered to people"
        for message, end in ((message, message.end) for message in messages)
        if message.begun_by is not None and end is not None and end.outcome is OutcomeType.DELIVERED
    ]
