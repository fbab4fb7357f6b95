"""Reading what agents did: tool calls and sub-tasks, as a worker has kept them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.threads.run_records import DynamoRunRecords
from baton.adapters.dynamodb.threads.thread_store import DynamoThreadStore
from baton.domain.runs.task import Task, TaskMessage, TaskStatus
from baton.domain.runs.tool_call import ToolCallRecord
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.ports.clock import SystemClock
from baton.ports.threads.leases import Lease, LeaseRequest
from baton_local.engines.clients import client
from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.problems import check_problem
from tests.e2e.sockets import new_id
from tests.e2e.users import User

BEGAN = datetime(2026, 3, 14, 9, 26, 53, 589_000, tzinfo=UTC)
LARGE = "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(150_000))
CALL = ToolCallRecord(
    id="call_1",
    run_id="r-1",
    agent_id="assistant",
    tool_name="get_weather",
    input={"city": "Zürich"},
    output="Sunny.",
    succeeded=True,
    error_message=None,
    called_at=BEGAN,
    duration=timedelta(milliseconds=412),
)
TASK = Task(
    id="task-1",
    run_id="r-1",
    tool_call_id="call_2",
    agent_id="librarian",
    message="Which edition is the oldest?",
    started_at=BEGAN,
    status=TaskStatus.COMPLETED,
    result="The one of 1561.",
    ended_at=BEGAN + timedelta(seconds=3),
    usage=Usage(12, 3),
    messages=(TaskMessage("user", "Which?", BEGAN), TaskMessage("tool", "shelf 7", BEGAN, tool_name="shelves")),
)


class Worker:
    """A worker that keeps records in the cloud's table."""

    def __init__(self, cloud: RunningCloud) -> None:
        self._dynamodb = client("dynamodb", cloud.environment["AWS_ENDPOINT_URL_DYNAMODB"])
        self._s3 = client("s3", cloud.environment["AWS_ENDPOINT_URL_S3"])
        table, bodies = Table(self._dynamodb, cloud.environment["BATON_TABLE"]), self._bodies(cloud)
        self._store = DynamoThreadStore(table, bodies, SystemClock())
        self.records = DynamoRunRecords(table, bodies)

    async def lease(self, user: User, thread_id: str) -> Lease:
        """Take up a run in the user's thread."""
        return await self._store.acquire(Scope(user.tenant, user.name), LeaseRequest(thread_id, "r-1", "m-1"))

    def close(self) -> None:
        self._dynamodb.close()
        self._s3.close()

    def _bodies(self, cloud: RunningCloud) -> S3Bodies:
        return S3Bodies(self._s3, cloud.environment["BATON_BUCKET"])


@pytest.fixture
def worker(cloud: RunningCloud) -> Iterator[Worker]:
    worker = Worker(cloud)
    yield worker
    worker.close()


async def test_tool_calls_are_listed_newest_first_while_their_run_goes_on(alice: User, worker: Worker) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    lease = await worker.lease(alice, thread_id)
    await worker.records.put_call(lease, CALL)
    failed = replace(
        CALL,
        id="call_0",
        input="no {json",
        output=None,
        succeeded=False,
        error_message="The arguments are no JSON object.",
        called_at=BEGAN + timedelta(seconds=1),
        task_id="task-1",
    )
    await worker.records.put_call(lease, failed)
    visible = await alice.read(f"/threads/{thread_id}/tool-calls")
    assert visible == {
        "items": [
            {
                "id": "call_0",
                "runId": "r-1",
                "taskId": "task-1",
                "agentId": "assistant",
                "toolName": "get_weather",
                "label": None,
                "input": "no {json",
                "output": None,
                "succeeded": False,
                "errorMessage": "The arguments are no JSON object.",
                "refusedTo": None,
                "calledAt": "2026-03-14T09:26:54.589Z",
                "durationMs": 412,
            },
            {
                "id": "call_1",
                "runId": "r-1",
                "taskId": None,
                "agentId": "assistant",
                "toolName": "get_weather",
                "label": None,
                "input": {"city": "Zürich"},
                "output": "Sunny.",
                "succeeded": True,
                "errorMessage": None,
                "refusedTo": None,
                "calledAt": "2026-03-14T09:26:53.589Z",
                "durationMs": 412,
            },
        ],
        "nextCursor": None,
    }
    page = await alice.read(f"/threads/{thread_id}/tool-calls", limit=1)
    assert page["items"] == visible["items"][:1]
    rest = await alice.read(f"/threads/{thread_id}/tool-calls", limit=1, cursor=page["nextCursor"])
    assert rest == {"items": visible["items"][1:], "nextCursor": None}


@pytest.mark.nightly
async def test_what_a_tool_answered_is_shown_whole(alice: User, worker: Worker) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    await worker.records.put_call(await worker.lease(alice, thread_id), replace(CALL, output=LARGE))
    [call] = (await alice.read(f"/threads/{thread_id}/tool-calls"))["items"]
    assert call["output"] == LARGE


@pytest.mark.nightly
async def test_whatever_a_model_wrote_as_arguments_can_be_shown(alice: User, worker: Worker) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    lease = await worker.lease(alice, thread_id)
    await worker.records.put_call(lease, replace(CALL, input={"x": float("nan")}, output="half \ud83d"))
    [call] = (await alice.read(f"/threads/{thread_id}/tool-calls"))["items"]
    assert (call["input"], call["output"]) == ('{"x": NaN}', "half \ufffd")


async def test_a_task_is_listed_without_and_read_with_its_messages(alice: User, worker: Worker) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    lease = await worker.lease(alice, thread_id)
    await worker.records.put_task(lease, TASK)
    listed: dict[str, Any] = {
        "taskId": "task-1",
        "parentTaskId": "r-1",
        "runId": "r-1",
        "toolCallId": "call_2",
        "agentId": "librarian",
        "status": "completed",
        "message": "Which edition is the oldest?",
        "result": "The one of 1561.",
        "error": None,
        "startedAt": "2026-03-14T09:26:53.589Z",
        "endedAt": "2026-03-14T09:26:56.589Z",
        "durationMs": 3000,
        "usage": {"inputTokens": 12, "outputTokens": 3, "totalTokens": 15},
    }
    at = "2026-03-14T09:26:53.589Z"
    messages = [
        {"role": "user", "content": "Which?", "timestamp": at, "toolName": None},
        {"role": "tool", "content": "shelf 7", "timestamp": at, "toolName": "shelves"},
    ]
    assert await alice.read(f"/threads/{thread_id}/tasks") == {"items": [listed], "nextCursor": None}
    assert await alice.read(f"/threads/{thread_id}/tasks/task-1") == {
        **listed,
        "messages": messages,
        "sources": [],
        "consulted": [],
    }


@pytest.mark.nightly
async def test_a_task_in_progress_has_no_end(alice: User, worker: Worker) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    lease = await worker.lease(alice, thread_id)
    started = Task("task-1", "r-1", "call_2", "librarian", "Which?", BEGAN)
    await worker.records.put_task(lease, started)
    visible = await alice.read(f"/threads/{thread_id}/tasks/task-1")
    assert (visible["status"], visible["endedAt"], visible["durationMs"], visible["messages"]) == (
        "working",
        None,
        None,
        [],
    )


@pytest.mark.nightly
async def test_an_unknown_task_is_not_found(alice: User, worker: Worker) -> None:
    thread_id, other_id = [(await alice.ask("Hello"))["sessionId"] for _ in range(2)]
    await worker.records.put_task(await worker.lease(alice, thread_id), TASK)
    for address in (f"{thread_id}/tasks/task-2", f"{other_id}/tasks/task-1", f"{thread_id}/tasks/%F0%9F%98%80%23"):
        check_problem(await alice.get(f"/threads/{address}"), 404, "not_found")
    check_problem(await alice.get(f"/threads/{thread_id}/tasks/{'x' * 129}"), 422, "invalid_request")


@pytest.mark.nightly
async def test_a_thread_without_tools_has_empty_lists(alice: User) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    for what in ("tool-calls", "tasks"):
        assert await alice.read(f"/threads/{thread_id}/{what}") == {"items": [], "nextCursor": None}
        check_problem(await alice.get(f"/threads/{thread_id}/{what}", cursor="garbage"), 422, "invalid_request")
        check_problem(await alice.get(f"/threads/{thread_id}/{what}", limit=101), 422, "invalid_request")


@pytest.mark.parametrize("what", ["tool-calls", "tasks", "tasks/task-1"])
async def test_records_of_others_are_refused_but_shown_to_those_who_may_read_all(
    alice: User, new_user: NewUser, worker: Worker, what: str
) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    lease = await worker.lease(alice, thread_id)
    await worker.records.put_call(lease, CALL)
    await worker.records.put_task(lease, TASK)
    stranger = new_user("alice", "thread:read_all", tenant=f"t-{new_id()}")
    for user in (new_user("bob"), stranger):
        check_problem(await user.get(f"/threads/{thread_id}/{what}"), 404, "thread_unavailable")
    mine = await alice.read(f"/threads/{thread_id}/{what}")
    assert await new_user("admin", "thread:read_all").read(f"/threads/{thread_id}/{what}") == mine


async def test_the_trace_of_a_turn_is_shown_to_inspectors_of_its_tenant_only(alice: User, new_user: NewUser) -> None:
    """Over the functions, the exporter and the local cloud's collector; spans are sent in the background."""
    thread_id = (await alice.ask("Hello"))["sessionId"]
    trace_id = (await alice.read(f"/threads/{thread_id}/turns"))["items"][0]["traceId"]
    path = f"/local/traces/{trace_id}"
    inspector, stranger = (
        new_user("ines", "context:inspect", tenant=tenant) for tenant in (alice.tenant, f"t-{new_id()}")
    )
    kinds: set[str] = set()
    async with asyncio.timeout(60):
        while "invoke_workflow" not in kinds:  # the last one to end
            visible = await alice.client.get(path, headers=inspector.headers)
            spans = visible.json()["spans"] if visible.status_code == 200 else []
            kinds = {span["attributes"]["gen_ai.operation.name"] for span in spans}
            await asyncio.sleep(0.05)
    assert {"invoke_agent", "chat"} <= kinds
    for user, status in ((alice, 403), (stranger, 404)):
        assert (await alice.client.get(path, headers=user.headers)).status_code == status
