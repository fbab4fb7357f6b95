"""Items of the table that begin runs by themselves: written, kept as JSON, and put back into another tenant."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from baton.adapters.dynamodb.table import Table
from baton.domain.schedules.background_task import BackgroundKind, BackgroundTask
from baton.domain.schedules.run_source import CauseKind, RunSource
from baton.domain.tenants.identity import ThreadRef, derive_run_id
from baton.domain.threads.turn_requests import MessageRequest
from baton.ports.threads.schedules import LaterRun
from baton.threads.requests.queue_mapping import make_queued_message
from baton.threads.schedules.schedule_making import ScheduleChange
from baton_local.engines.clients import client
from tests.harness.due import DueHarness

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Item = dict[str, Any]
TENANT = "acme"
"""The tenant of recorded items."""
THREAD_ID, TASK_ID = "6d1f4c62-3f0a-4a52-9f0e-6a4f1f4f7a11", "8f0b1a52-6c1d-4f7e-9a3b-2d5c7e9f1a34"
NOT_RECORDED = ("AUDIT#", "CONTEXT#", "STEP#")
"""Kinds of items that begin nothing, and would make the record long."""


async def write(due: DueHarness) -> None:
    """Make everything that begins runs by itself: in two hours all of it is due, and one reminder has run."""
    due.thread_id, now = THREAD_ID, due.clock.now()
    await due.say("m1", "Hello", time_zone="Europe/Vienna")
    await due.remind("Stand up.", id="past", at="2040-03-01T12:01Z")
    await due.pass_time(minutes=1)
    await due.remind("Water the plants.", id="once", at="2040-03-01T13:30Z")
    rule = {"rule": "FREQ=DAILY;BYHOUR=14;BYMINUTE=45", "time_zone": "user"}
    await due.remind("Report.", id="daily", at=None, ends_at=now + timedelta(days=30), **rule)
    await due.remind("Rest.", id="paused", rule="FREQ=WEEKLY;BYDAY=MO", at=None)
    await due.app.self_started.schedule_making.change(due.ada, "paused", ScheduleChange(paused=True))
    source = RunSource(CauseKind.EVENT, "e1", type="order.shipped")
    request = MessageRequest(
        ThreadRef(THREAD_ID, may_create=False),
        "m9",
        derive_run_id(THREAD_ID, "m9"),
        '{"carrier": "DHL"}',
        begun_by=source,
    )
    message = make_queued_message(due.ada, request, request_id="m9").model_copy(update={"put_off": 3})
    await due.due_items.put_off(LaterRun(now + timedelta(hours=1), message))
    task = BackgroundTask(
        id=TASK_ID,
        kind=BackgroundKind.TOOL,
        name="make_report",
        agent_id="assistant",
        message='{"year": 2039}',
        started_at=now,
        expires_at=now + timedelta(hours=1),
        permissions=("reports:read",),
        user_name="Ada",
        progress="3 of 10",
        token="secret",
        is_deletable=True,
    )
    await due.background_tasks.add(due.ada, THREAD_ID, task.plan_check(now))


async def record(table: Table, tenant: str) -> list[Item]:
    """Return the items of a tenant, as JSON values."""
    items: list[Item] = []
    for page in _plain(table).get_paginator("scan").paginate(TableName=table.name, ConsistentRead=True):
        items += page["Items"]
    own = [item for item in items if tenant in item["PK"]["S"] and not item["SK"]["S"].startswith(NOT_RECORDED)]
    text = json.dumps(own, default=_encode, sort_keys=True).replace(tenant, TENANT)
    recorded: list[Item] = json.loads(text)
    return sorted(recorded, key=lambda item: (item["PK"]["S"], item["SK"]["S"]))


def restore(table: Table, tenant: str, recorded: list[Item]) -> None:
    """Put recorded items into the table, as those of another tenant."""
    for item in json.loads(json.dumps(recorded).replace(TENANT, tenant), object_hook=_decode):
        _plain(table).put_item(TableName=table.name, Item=item)


def remove(table: Table, tenant: str) -> None:
    """Remove the items of a tenant: their ids are those of every tenant that they are put into."""
    plain = _plain(table)
    for page in plain.get_paginator("scan").paginate(TableName=table.name, ConsistentRead=True):
        for item in page["Items"]:
            if tenant in item["PK"]["S"]:
                plain.delete_item(TableName=table.name, Key={"PK": item["PK"], "SK": item["SK"]})


def _plain(table: Table) -> DynamoDBClient:
    """Return a client that reads items as they are."""
    return client("dynamodb", table.client.meta.endpoint_url)


def _encode(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else str(value)


def _decode(value: Item) -> Any:
    return base64.b64decode(value["base64"]) if value.keys() == {"base64"} else value
