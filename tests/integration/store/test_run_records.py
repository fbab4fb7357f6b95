"""Every store of run records keeps its contract, and the table reads no more of them than it shows."""

from __future__ import annotations

import base64
import random
from dataclasses import replace

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb.threads.run_records import DynamoRunRecords
from tests.contracts.context_records import ContextRecordsContract
from tests.contracts.run_records import RemoteTaskContract, StepContract, TaskContract, ToolCallContract, call
from tests.contracts.stores import make_answer, make_question, new_thread_id
from tests.integration.store.conftest import BUCKET, Engine, NotedTable

RUNS = 12
NOISE = base64.b64encode(random.Random(1).randbytes(220_000)).decode()  # noqa: S311 - hardly compresses
"""Of which the table gives four at a time."""


class TestToolCalls(ToolCallContract):
    pass


class TestContextRecords(ContextRecordsContract):
    pass


class TestRemoteTasks(RemoteTaskContract):
    """In memory and on the table."""


class TestSteps(StepContract):
    pass


class TestTasks(TaskContract):
    pass


async def test_runs_beyond_a_full_page_are_not_read(on_dynamodb_local: Engine) -> None:
    stores, thread_id = on_dynamodb_local.stores(), new_thread_id()
    for number in range(RUNS):
        lease = await stores.acquire(thread_id, message_id=f"m{number}", run_id=f"r{number}")
        await stores.records.put_call(lease, replace(call(stores, lease, f"c{number:02}"), output=NOISE))
        await stores.commit(lease, make_question(lease), make_answer(lease))
    table = NotedTable(on_dynamodb_local.table.client, on_dynamodb_local.table.name)
    records = DynamoRunRecords(table, S3Bodies(on_dynamodb_local.s3, BUCKET))
    first, cursor = await records.list_calls(stores.ada, thread_id, limit=100, cursor=None)
    assert len(table.read) < RUNS
    visible = [one.id for one in first]
    while cursor is not None:
        page, cursor = await records.list_calls(stores.ada, thread_id, limit=100, cursor=cursor)
        visible += [one.id for one in page]
    assert visible == [f"c{number:02}" for number in reversed(range(RUNS))]
