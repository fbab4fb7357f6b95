"""A process that is killed at any call of a port while something begins by itself: it happens once, all the same.

Queues, ticks, tools and users repeat what has died.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from baton.composition.app import App
from baton.domain.runs.interrupt import DecisionStatus
from baton.domain.schedules.background_task import BackgroundStatus
from baton.ports.agents.tools import ToolResult
from baton.threads.background.callbacks import TaskReport
from baton_testing.virtual_time import VirtualTimeLoop
from tests.faults import counts
from tests.faults.due.world import THREAD_ID, Deaths, World
from tests.faults.steering.journey import Killed

Scenario = Callable[[World, Deaths], Awaitable[None]]
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


async def run_due_work(world: World, deaths: Deaths, *, after: float = 0.0) -> None:
    """Run the work that is due after some seconds, and the work that it queues."""
    await asyncio.sleep(after)
    await deaths.carry_out(world.go_on)
    while world.harness.queue.sent:
        await deaths.carry_out(world.go_on)


async def slots(world: World, deaths: Deaths) -> None:
    schedule = partial(world.schedule, schedule_id="s", minutes=60, rule="FREQ=DAILY;COUNT=2", text="Water.")
    await deaths.carry_out(schedule)
    await run_due_work(world, deaths, after=HOUR)
    await run_due_work(world, deaths, after=DAY)


async def slot_of_the_delay_queue(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.schedule, schedule_id="s", minutes=0.5, rule=None, text="Water quietly."))
    await run_due_work(world, deaths, after=31)


async def slot_in_a_moved_zone(world: World, deaths: Deaths) -> None:
    await world.harness.time_zones.put(world.harness.ada, "Europe/Vienna")
    make = partial(world.schedule, schedule_id="s", minutes=120, rule="FREQ=DAILY;COUNT=2", text="Water.", follows=True)
    await deaths.carry_out(make)
    await world.harness.time_zones.put(world.harness.ada, "America/New_York")
    await run_due_work(world, deaths, after=2 * HOUR)
    await run_due_work(world, deaths, after=8 * HOUR)


async def postponed(world: World, deaths: Deaths) -> None:
    await world.say(world.process(), "m1", "delete it")
    await deaths.carry_out(partial(world.schedule, schedule_id="s", minutes=2, rule=None, text="Water."))
    await run_due_work(world, deaths, after=2 * MINUTE)
    await run_due_work(world, deaths, after=2 * MINUTE)
    await world.decide(world.process(), THREAD_ID, DecisionStatus.RESOLVED)
    await run_due_work(world, deaths, after=4 * MINUTE)


async def event(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.send_event, event_id="e"))
    await run_due_work(world, deaths)


async def agent(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.say, message_id="m1", text="research this"))
    await run_due_work(world, deaths)


async def agent_that_asks_for_approval(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.say, message_id="m1", text="research to delete this"))
    await run_due_work(world, deaths)
    [task] = await world.tasks()
    await run_due_work(world, deaths, after=MINUTE)
    await deaths.carry_out(partial(world.decide, thread_id=task.id, status=DecisionStatus.RESOLVED))
    await run_due_work(world, deaths)


async def tool_that_reports(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.say, message_id="m1", text="report please"))
    for report in (TaskReport(BackgroundStatus.WORKING, "half"), TaskReport(BackgroundStatus.COMPLETED, "42 pages.")):
        await deaths.carry_out(partial(world.report, call=-1, report=report))
    await run_due_work(world, deaths)


async def tool_that_is_read(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.say, message_id="m1", text="report please"))
    await run_due_work(world, deaths, after=MINUTE)
    [location] = world.harness.tools.states
    world.harness.tools.states[location] = ToolResult("42 pages.")
    await run_due_work(world, deaths, after=5 * MINUTE)


async def remote_agent(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.say, message_id="m1", text="forecast please"))
    await run_due_work(world, deaths)
    world.distant.finish()
    await run_due_work(world, deaths, after=5 * MINUTE)


async def notified_remote_agent(world: World, deaths: Deaths) -> None:
    await world.say(world.process(), "m1", "forecast please")
    await run_due_work(world, deaths)
    world.distant.finish()
    [task] = await world.tasks()
    token = f"{world.harness.ada.tenant_id}.{THREAD_ID}.{task.token}"
    for digest in ("completed", "working"):
        notify = partial(send_notification, token=token, task_id=task.id, digest=digest)
        await deaths.carry_out(notify)
    await run_due_work(world, deaths)


async def send_notification(app: App, **notification: str) -> None:
    await app.self_started.background_work.callbacks.take_notification(**notification)


async def cancelled_remote_agent(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.say, message_id="m1", text="forecast please"))
    await run_due_work(world, deaths)
    await cancel(world, deaths)
    assert world.distant.cancelled == world.distant.states.keys(), "the agent works on"


async def expired_remote_agent(world: World, deaths: Deaths) -> None:
    await deaths.carry_out(partial(world.say, message_id="m1", text="forecast please"))
    await run_due_work(world, deaths)
    await run_due_work(world, deaths, after=DAY)
    assert world.distant.cancelled == world.distant.states.keys(), "the agent works on"


async def tool_that_names_its_pauses(world: World, deaths: Deaths) -> None:
    await world.say(world.process(), "m1", "report please")
    [location] = world.harness.tools.states
    world.harness.tools.states[location] = ToolResult("", is_pending=True, poll_seconds=10, progress="half")
    await run_due_work(world, deaths, after=MINUTE)
    await run_due_work(world, deaths, after=MINUTE)
    world.harness.tools.states[location] = ToolResult("42 pages.")
    await run_due_work(world, deaths, after=MINUTE)


async def tool_that_a_worker_carries_out(world: World, deaths: Deaths) -> None:
    world.puts_off = True
    await deaths.carry_out(partial(world.say, message_id="m1", text="report please"))
    [location] = world.harness.tools.states
    world.harness.tools.states[location] = ToolResult("42 pages.")
    await run_due_work(world, deaths)


async def cancelled_agent(world: World, deaths: Deaths) -> None:
    await world.say(world.process(), "m1", "research this")
    await cancel(world, deaths)


async def cancelled_tool(world: World, deaths: Deaths) -> None:
    await world.say(world.process(), "m1", "report please")
    await cancel(world, deaths)
    assert True in {deletes for _, deletes in world.harness.tools.reads}, "the tool works on"


async def cancel(world: World, deaths: Deaths) -> None:
    [task] = await world.tasks()
    await deaths.carry_out(lambda app: app.self_started.background_work.cancel(world.harness.ada, THREAD_ID, task.id))
    await run_due_work(world, deaths)


async def expired_agent(world: World, deaths: Deaths) -> None:
    await world.say(world.process(), "m1", "research this")
    world.harness.queue.sent.clear()
    await run_due_work(world, deaths, after=DAY)


async def expired_tool(world: World, deaths: Deaths) -> None:
    await world.say(world.process(), "m1", "report please")
    await run_due_work(world, deaths, after=DAY)


async def outcome_of(scenario: Scenario, killed: Killed | None) -> tuple[list[Any], ...]:
    """Return what is there after a scenario whose process dies, and after everything that repeats."""
    world = World()
    deaths = Deaths(world, killed)
    await scenario(world, deaths)
    if killed is not None and killed.at is not None:
        counts.faults["kill -9"] += deaths.is_dead
    await world.settle()
    causes = [
        (message.role, message.text, message.begun_by and (message.begun_by.kind, message.begun_by.id))
        for message in await world.messages()
    ]
    schedules = await world.harness.schedules.of_user(world.harness.ada)
    return (
        causes,
        [(schedule.id, schedule.status, schedule.runs, schedule.next_slot) for schedule in schedules],
        [(task.id, task.status, task.result_run_id) for task in await world.tasks()],
        world.model.violations,
    )


def carry_out(scenario: Scenario, killed: Killed | None) -> tuple[list[Any], ...]:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(outcome_of(scenario, killed))


# In front of one call is almost the same as after the one before it.
@pytest.mark.parametrize("after", [pytest.param(False, marks=pytest.mark.nightly), True], ids=["in front", "after"])
@pytest.mark.parametrize(
    "scenario",
    [
        slots,
        postponed,
        event,
        agent_that_asks_for_approval,
        tool_that_reports,
        remote_agent,
        expired_remote_agent,
        cancelled_agent,
        *(
            pytest.param(scenario, marks=pytest.mark.nightly)
            for scenario in (
                slot_of_the_delay_queue,
                slot_in_a_moved_zone,
                agent,
                tool_that_is_read,
                tool_that_names_its_pauses,
                tool_that_a_worker_carries_out,
                notified_remote_agent,
                cancelled_remote_agent,
                cancelled_tool,
                expired_agent,
                expired_tool,
            )
        ),
    ],
)
def test_what_a_killed_process_was_at_happens_once(scenario: Scenario, after: bool) -> None:
    whole = Killed()
    expected = carry_out(scenario, whole)
    counts.cases["what begins by itself, killed at each call"] += whole.calls
    for at in range(1, whole.calls + 1):
        assert carry_out(scenario, Killed(at, after)) == expected, f"killed at call {at}, {whole.noted[at - 1]}"
