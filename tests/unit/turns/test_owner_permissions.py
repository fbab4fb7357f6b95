"""Runs that begin by themselves have the permissions of their maker that their owner still has."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from baton.domain.tenants.identity import Scope
from baton.domain.threads.queued import QueuedMessage
from baton.threads.schedules import owner_permissions
from tests.harness.due import MAIN, RESEARCHER, DueHarness
from tests.harness.events import SHIPPED, TAKES, EventSender
from tests.harness.handoffs import calling
from tests.harness.harness import ASSISTANT

READS, WRITES = "docs:read", "docs:write"


@pytest.fixture
def due() -> DueHarness:
    return add_owner(DueHarness())


def add_owner(due: DueHarness) -> DueHarness:
    due.ada = replace(due.ada, permissions=frozenset({READS, WRITES}))
    return due


def with_only(due: DueHarness, *permissions: str) -> Scope:
    """Ada, with a token that grants less, or more."""
    return replace(due.ada, permissions=frozenset(permissions))


async def permissions_of_last_run(due: DueHarness) -> set[str]:
    cause = [message for message in await due.messages() if message.begun_by is not None][-1]
    turn = await due.store.get_turn(due.ada, due.thread_id, cause.id)
    assert turn is not None
    return set(turn.permissions)


async def test_a_run_has_the_permissions_of_its_maker(due: DueHarness) -> None:
    await due.remind()
    await due.pass_time(hours=1)
    assert await permissions_of_last_run(due) == {READS, WRITES}


async def test_a_permission_that_the_owner_has_lost_is_lost_for_the_run(due: DueHarness) -> None:
    await due.remind(rule="FREQ=DAILY")
    due.clock.advance(60)
    await due.say("m1", scope=with_only(due, READS))
    await due.pass_time(hours=1)
    assert await permissions_of_last_run(due) == {READS}
    await due.say("m2", scope=with_only(due, READS, WRITES, "docs:delete"))
    await due.pass_time(hours=24)
    assert await permissions_of_last_run(due) == {READS, WRITES}, "back again, and never more than its maker had"


async def test_the_owners_last_message_counts_in_whichever_conversation_it_is(due: DueHarness) -> None:
    await due.remind(rule="FREQ=DAILY")
    await due.say("m1")
    due.clock.advance(60)
    await due.say("m2", scope=with_only(due), thread_id=str(uuid.uuid4()))
    for _ in range(2):  # the first run makes its own conversation the most recently active
        await due.pass_time(hours=24)
        assert await permissions_of_last_run(due) == set()


async def test_messages_from_before_the_schedule_do_not_count(due: DueHarness) -> None:
    await due.say("m1", scope=with_only(due))
    due.clock.advance(60)
    await due.remind()
    await due.pass_time(hours=1)
    assert await permissions_of_last_run(due) == {READS, WRITES}


async def test_runs_that_have_begun_by_themselves_are_no_messages_of_the_owner(
    due: DueHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner_permissions, "PAGE", 4)
    agent = ASSISTANT.model_validate({**due.shipped_agents.definitions["assistant"].model_dump(), **TAKES})
    due.shipped_agents.definitions["assistant"] = agent
    await due.remind()
    shop = EventSender(due)
    for number in range(3):  # which have no permissions
        await shop.send(f"e{number}", type=SHIPPED)
        await due.run_queue()
    await due.pass_time(hours=1)
    assert await permissions_of_last_run(due) == {READS, WRITES}


async def test_a_run_that_was_put_off_is_checked_when_it_begins(due: DueHarness) -> None:
    await due.remind()
    due.clock.advance(3600)
    await due.app.self_started.due_starts.sweep(seconds=10)
    [(_, record)] = due.queue.sent
    due.queue.sent.clear()
    assert isinstance(record, QueuedMessage)
    await due.app.self_started.due_starts.put_off(record)  # as while people are waited for
    await due.say("m1", scope=with_only(due, WRITES))
    await due.pass_time(minutes=1)
    assert await permissions_of_last_run(due) == {WRITES}


async def test_the_result_of_a_task_is_checked_as_well() -> None:
    due = add_owner(DueHarness(assistant=MAIN, others=(RESEARCHER,)))
    due.model.script(calling("ask_researcher", message="Why?"), "I am on it.", "Hello.", "Because.", "So it is.")
    await due.say("m1", "Research this.")
    due.clock.advance(60)
    await due.say("m2", scope=with_only(due, READS))
    while await due.run_queue():
        pass
    assert await permissions_of_last_run(due) == {READS}


async def test_an_agent_that_the_owner_may_not_use_any_more_is_out_of_reach(due: DueHarness) -> None:
    secret = due.shipped_agents.definitions["assistant"].model_copy(update={"required_permissions": (WRITES,)})
    due.shipped_agents.definitions |= {
        "secret": secret.model_copy(update={"id": "secret"}),
        "assistant": secret.model_copy(update={"required_permissions": ()}),
    }
    await due.remind(agent_id="secret")
    due.clock.advance(60)
    await due.say("m1", scope=with_only(due, READS), thread_id=str(uuid.uuid4()))
    await due.pass_time(hours=1)
    [dropped] = [record for record in due.audit.records if record.action == "due.run"]
    assert (dropped.outcome, dropped.detail["code"]) == ("dropped", "unknown_agent")
