"""Items of each release that begin runs by themselves: this one reads them, and begins each run once."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from baton.domain.schedules.background_task import BackgroundStatus
from baton.domain.schedules.schedule import ScheduleStatus
from baton_local.root import ROOT
from tests.harness import recorded_items
from tests.harness.due import DueHarness
from tests.harness.recorded_items import TASK_ID, THREAD_ID
from tests.integration.store.conftest import Engine

RELEASES = {path.stem: json.loads(path.read_text())["items"] for path in (ROOT / "tests/records").glob("*.json")}


@pytest.fixture
def due(on_dynamodb_local: Engine) -> Iterator[DueHarness]:
    stores = on_dynamodb_local.stores()
    harness = DueHarness(stores=stores, clock=stores.clock)
    harness.thread_id = THREAD_ID
    yield harness
    recorded_items.remove(on_dynamodb_local.table, harness.ada.tenant_id)


def shapes(items: list[dict[str, Any]]) -> set[tuple[str, frozenset[str]]]:
    """The kinds of items, with the names of their attributes."""
    return {(item["SK"]["S"].partition("#")[0], frozenset(item)) for item in items}


async def test_the_items_of_this_release_are_kept(on_dynamodb_local: Engine, due: DueHarness) -> None:
    await recorded_items.write(due)
    items = await recorded_items.record(on_dynamodb_local.table, due.ada.tenant_id)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert shapes(RELEASES[version]) == shapes(items), json.dumps(items)


@pytest.mark.parametrize("version", RELEASES)
async def test_items_of_a_release_begin_their_runs_once(
    on_dynamodb_local: Engine, due: DueHarness, version: str
) -> None:
    of_a_later_one = {"attribute_of_a_later_release": {"S": "anything"}}
    items = [item | of_a_later_one for item in RELEASES[version]]
    recorded_items.restore(on_dynamodb_local.table, due.ada.tenant_id, items)
    schedules = {
        schedule.id: schedule for schedule in await due.app.self_started.schedule_making.list_schedules(due.ada)
    }
    assert {name: (schedule.status, schedule.runs) for name, schedule in schedules.items()} == {
        "once": (ScheduleStatus.ACTIVE, 0),
        "daily": (ScheduleStatus.ACTIVE, 0),
        "past": (ScheduleStatus.FINISHED, 1),
        "paused": (ScheduleStatus.PAUSED, 0),
    }
    [task] = await due.background_tasks.of_thread(due.ada, THREAD_ID)
    assert (task.status, task.progress, task.user_name) == (BackgroundStatus.WORKING, "3 of 10", "Ada")
    thread = await due.store.get_thread(due.ada, THREAD_ID)
    assert (thread.unread, thread.awaits_user, thread.time_zone) == (2, True, "Europe/Vienna")
    for _ in range(2):
        await due.pass_time(hours=2)
    causes = [message.begun_by for message in await due.messages() if message.begun_by is not None]
    assert sorted((cause.kind.value, cause.id) for cause in causes) == [
        ("event", "e1"),
        ("schedule", "daily"),
        ("schedule", "once"),
        ("schedule", "past"),
        ("task", TASK_ID),
    ]
    assert (await due.store.get_thread(due.ada, THREAD_ID)).unread == 6
    assert schedules["daily"].follows_user
    [daily] = [
        item for item in await due.app.self_started.schedule_making.list_schedules(due.ada) if item.id == "daily"
    ]
    assert (daily.runs, daily.next_slot) == (1, "2040-03-02T14:45:00")
