"""Push notifications to a real server, for the reference clients of both lines."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from a2a.compat.v0_3 import types as v03
from a2a.types import Task

from tests.a2a_schema import check_message
from tests.e2e.a2a.clients import A2AClient
from tests.e2e.a2a.receiver import FLOOD, HANG, Notification, Receiver, keys_of
from tests.e2e.cloud import RunningCloud
from tests.e2e.users import Json, User
from tests.fault_model import FaultModel, answers, calls_tools


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver() as running:
        yield running


def task_in(notification: Notification, line: str) -> tuple[str, Json]:
    """State and body of the task that a client of the line gets; it is checked by the line's schema."""
    reported = notification.json
    if line == "0.3":
        return v03.Task.model_validate(reported).status.state.value, reported
    [(name, task)] = reported.items()
    assert name == "task"
    check_message(Task(), task)
    return task["status"]["state"].removeprefix("TASK_STATE_").lower().replace("_", "-"), task


async def read_states(receiver: Receiver, line: str, number: int) -> list[str]:
    """The next states that the receiver gets."""
    return [task_in(await receiver.receive(), line)[0] for _ in range(number)]


@pytest.mark.parametrize(
    "streaming", [True, pytest.param(False, marks=pytest.mark.nightly)], ids=["streaming", "blocking"]
)
async def test_a_client_hears_of_every_state(
    client: A2AClient,
    alice: User,
    model: FaultModel,
    receiver: Receiver,
    http_client: httpx.AsyncClient,
    *,
    streaming: bool,
) -> None:
    model.script(answers("One two three."))
    task = await client.last_of(alice, "say", text="Count", streaming=streaming, hook=receiver.url)
    assert task_in(await receiver.receive(), client.line)[0] == "working"
    end = await receiver.receive()
    state, reported = task_in(end, client.line)
    assert (state, reported["id"], reported["contextId"]) == ("completed", task["taskId"], task["contextId"])
    assert end.headers["x-a2a-notification-token"] == "its token"
    keys = await keys_of(http_client, alice.cloud.url)
    claims = end.check_signature(keys, audience=receiver.url, issuer=alice.cloud.url)
    assert claims["request_body_sha256"] == hashlib.sha256(end.body).hexdigest()


@pytest.mark.nightly
async def test_a_queued_message_is_announced_by_the_tab_that_takes_it_from_the_queue(
    alice: User, receiver: Receiver
) -> None:
    message = {"kind": "message", "messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "Hello"}]}
    how = {"blocking": False, "pushNotificationConfig": {"url": receiver.url}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message, "configuration": how}}
    answer = await alice.client.post("/a2a", json=call, headers=alice.headers)
    assert answer.json()["result"]["kind"] == "task"
    assert await read_states(receiver, "0.3", 2) == ["working", "completed"]


@pytest.mark.nightly
async def test_a_configuration_is_set_and_removed(
    client: A2AClient, alice: User, model: FaultModel, receiver: Receiver
) -> None:
    model.script(calls_tools(("delete_page", {"page": "home"}), text="May I?"), answers("All right."))
    url = f"{alice.cloud.url}/a2a/careful"
    task = await client.last_of(alice, "say", text="Delete it", url=url)
    set_ = await client.last_of(alice, "notify", task_id=task["taskId"], hook=receiver.url)
    assert set_ == {"id": "mine", "url": receiver.url}
    await client.last_of(alice, "say", text="no", task_id=task["taskId"], url=url)
    assert await read_states(receiver, client.line, 2) == ["working", "completed"]
    await client.all_of(alice, "stop notifying", task_id=task["taskId"])
    await client.last_of(alice, "say", text="With another", hook=f"{receiver.url}/other")
    assert {(await receiver.receive()).path for _ in range(2)} == {"/hook/other"}


@pytest.mark.nightly
@pytest.mark.parametrize("answer", [500, HANG], ids=str)
async def test_what_fails_is_sent_again(
    running_clients: dict[str, A2AClient], alice: User, receiver: Receiver, answer: int | str
) -> None:
    receiver.answers = [answer]
    await running_clients["1.x"].last_of(alice, "say", text="Hello", hook=receiver.url)
    assert await read_states(receiver, "1.x", 3) == ["working", "working", "completed"]


@pytest.mark.nightly
@pytest.mark.parametrize("answer", [301, FLOOD], ids=str)
async def test_redirects_are_not_followed_and_bodies_not_read(
    running_clients: dict[str, A2AClient], alice: User, receiver: Receiver, answer: int | str
) -> None:
    receiver.answers = [answer]
    await running_clients["1.x"].last_of(alice, "say", text="Hello", hook=receiver.url)
    first, second = await receiver.receive(), await receiver.receive()
    assert [task_in(item, "1.x")[0] for item in (first, second)] == ["working", "completed"]
    assert {first.path, second.path} == {"/hook"}


@pytest.mark.nightly
async def test_tasks_are_listed_by_pages(running_clients: dict[str, A2AClient], alice: User) -> None:
    client = running_clients["1.x"]
    first = await client.last_of(alice, "say", text="One")
    second = await client.last_of(alice, "say", text="Two", context_id=first["contextId"])
    third = await client.last_of(alice, "say", text="Three")
    listed = await client.all_of(alice, "list")
    assert [item["taskId"] for item in listed] == [third["taskId"], second["taskId"], first["taskId"]]


@pytest.fixture(scope="module")
def killable(fault_model_server: FaultModel) -> Iterator[RunningCloud]:
    """The product with queue-fed functions in a process that can be killed."""
    settings = {"BATON_LOCAL_WORKER_PROCESSES": "1", "BATON_LOCAL_VISIBILITY_SECONDS": "4"}
    with RunningCloud(fault_model_server.base_url, settings) as running:
        yield running


@pytest.mark.nightly
async def test_a_notification_is_sent_though_its_sender_is_killed(
    killable: RunningCloud, running_clients: dict[str, A2AClient], receiver: Receiver, tenant: str, model: FaultModel
) -> None:
    async with httpx.AsyncClient(base_url=killable.url, trust_env=False) as http:
        ada = User(killable, http, tenant, "ada", killable.token(tenant, "ada"))
        receiver.answers = [503, HANG]
        await running_clients["1.x"].last_of(ada, "say", text="Hello", hook=receiver.url)
        assert await read_states(receiver, "1.x", 2) == ["working", "working"]
        assert killable.kill_workers() > 0
        states = await read_states(receiver, "1.x", 2)
        while states[-1] == "working":  # a slow sender may lose its record too, and duplicates do no harm
            states += await read_states(receiver, "1.x", 1)
        assert states[-1] == "completed"
