"""Runs of schedules that enter the conversation in which their user was last."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from baton.domain.agents.agent_settings import ScheduleConversation
from baton.domain.schedules.schedule import Schedule
from baton.domain.tenants.identity import derive_run_id
from baton.domain.tenants.spending_rules import SpendingRules
from baton.domain.tenants.tenant_limits import DeploymentLimits
from tests.harness.due import DueHarness, run_queue
from tests.harness.harness import ASSISTANT

WATER = "Water the plants."
NEWEST = {"conversation": ScheduleConversation.NEWEST}
FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
OTHER = ASSISTANT.model_copy(update={"id": "other", "name": "Other"})


def make_harness(**overrides: Any) -> DueHarness:
    return DueHarness(rules=NEWEST, **overrides)


async def talk(due: DueHarness, thread_id: str, message_id: str = "m1", *, agent_id: str | None = None) -> None:
    """Send a message in one of the user's conversations."""
    due.clock.advance(60)
    due.thread_id = thread_id
    await due.say(message_id, "Hello", agent_id=agent_id)


async def list_reminded(due: DueHarness, *thread_ids: str) -> list[str]:
    """The conversations among these that a reminder has entered, once for each time."""
    return [
        thread_id
        for thread_id in thread_ids
        for message in await due.messages(thread_id)
        if message.begun_by is not None
    ]


async def test_a_reminder_enters_the_conversation_in_which_the_user_was_last() -> None:
    due = make_harness()
    await talk(due, FIRST)
    await due.remind()
    await talk(due, SECOND)
    assert await due.pass_time(hours=1) == 1
    assert await list_reminded(due, FIRST, SECOND) == [SECOND]


async def test_without_the_setting_it_stays_where_it_was_made() -> None:
    due = DueHarness()
    await talk(due, FIRST)
    await due.remind()
    await talk(due, SECOND)
    await due.pass_time(hours=1)
    assert await list_reminded(due, FIRST, SECOND) == [FIRST]


async def test_each_slot_finds_the_conversation_of_its_time() -> None:
    due = make_harness()
    await talk(due, FIRST)
    await due.remind(rule="FREQ=DAILY")
    await due.pass_time(hours=1)
    await talk(due, SECOND)
    await due.pass_time(hours=24)
    await talk(due, FIRST, "m2")
    await due.pass_time(hours=24)
    assert await list_reminded(due, FIRST, SECOND) == [FIRST, FIRST, SECOND]


async def test_while_a_run_waits_in_one_conversation_none_of_its_schedule_enters_another() -> None:
    due = make_harness()
    stopped = DeploymentLimits(spending=SpendingRules(enabled=False))
    await talk(due, FIRST)
    await due.remind(rule="FREQ=DAILY")
    due.deployment_limits = stopped
    await due.pass_time(hours=1)
    due.deployment_limits = DeploymentLimits()
    due.clock.advance(3600)
    await talk(due, SECOND)
    due.deployment_limits = stopped
    for _ in range(45):  # past the next slot, between two attempts
        await due.pass_time(minutes=31)
    assert [later.message.thread_id for later in due.due_items.later.values()] == [FIRST]
    due.deployment_limits = DeploymentLimits()
    await due.pass_time(hours=2)
    assert await list_reminded(due, FIRST, SECOND) == [FIRST]


async def test_conversations_with_other_agents_and_of_other_users_do_not_count() -> None:
    due = make_harness(others=(OTHER,))
    await talk(due, FIRST)
    await due.remind()
    await talk(due, SECOND, agent_id="other")
    await due.pass_time(hours=1)
    assert await list_reminded(due, FIRST, SECOND) == [FIRST]


async def test_a_user_without_a_conversation_gets_the_schedules_own() -> None:
    due = make_harness()
    schedule = await due.remind(thread=None)
    await due.pass_time(hours=1)
    assert await list_reminded(due, schedule.thread_id) == [schedule.thread_id]


async def test_a_forgotten_conversation_gives_way_to_the_newest_one() -> None:
    due = make_harness()
    await talk(due, FIRST)
    await due.remind()
    await talk(due, SECOND)
    due.store.bury(due.ada, FIRST)
    await due.pass_time(hours=1)
    assert await list_reminded(due, SECOND) == [SECOND]


async def test_a_conversation_that_begins_between_two_starts_of_a_slot_gets_no_second_run() -> None:
    due = make_harness()
    await talk(due, FIRST)
    await due.remind()
    due.clock.advance(3600)
    [entry] = [entry async for page in due.due_items.before(due.clock.now()) for entry in page]
    queued: list[Schedule] = []

    async def die(owner: object, schedule: Schedule) -> bool:
        queued.append(schedule)
        raise RuntimeError("killed after the message was queued")

    keep = due.schedules.replace
    due.schedules.replace = lambda owner, schedule: (  # type: ignore[method-assign]
        die(owner, schedule) if schedule.runs else keep(owner, schedule)
    )
    with pytest.raises(RuntimeError):
        await due.app.self_started.due_starts.start(entry)
    due.schedules.replace = keep  # type: ignore[method-assign]
    assert len(queued) == 1
    await talk(due, SECOND)
    await due.pass_time(minutes=1)
    assert await list_reminded(due, FIRST, SECOND) == [FIRST]


async def test_starts_at_once_choose_one_conversation() -> None:
    due = make_harness()
    await talk(due, FIRST)
    await due.remind()
    due.clock.advance(3600)
    [entry] = [entry async for page in due.due_items.before(due.clock.now()) for entry in page]
    results = due.store.list_threads
    lists = 0

    async def list_with_interruption(*arguments: Any, **options: Any) -> Any:
        nonlocal lists
        lists += 1
        page = await results(*arguments, **options)
        if lists == 1:
            await asyncio.sleep(0)
            await talk(due, SECOND)  # while the first start chooses
            await due.app.self_started.due_starts.start(entry)
        return page

    due.store.list_threads = list_with_interruption  # type: ignore[method-assign]
    await due.app.self_started.due_starts.start(entry)
    await run_queue(due)
    await due.pass_time(minutes=1)
    assert await list_reminded(due, FIRST, SECOND) == [SECOND]


async def test_the_runs_id_is_that_of_its_conversation() -> None:
    due = make_harness()
    await talk(due, FIRST)
    await due.remind(rule="FREQ=DAILY")
    await talk(due, SECOND)
    await due.pass_time(hours=1)
    [schedule] = await due.app.self_started.schedule_making.list_schedules(due.ada)
    [cause] = [message for message in await due.messages(SECOND) if message.begun_by is not None]
    assert schedule.last_run_id == derive_run_id(SECOND, cause.id)


async def test_a_schedule_in_its_own_conversation_runs_with_its_agent() -> None:
    allowed = OTHER.model_copy(update={"schedules": OTHER.schedules.model_copy(update={"allowed": True})})
    due = DueHarness(others=(allowed,))
    schedule = await due.remind(thread=None, agent_id="other")
    await due.pass_time(hours=1)
    thread = await due.store.get_thread(due.ada, schedule.thread_id)
    assert thread.agent_id == "other"
