"""Rare work of functions, done under their roles: bodies that do not fit into items, ends of sessions, sweeps."""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING, Any

from baton_local.engines.clients import client
from tests.e2e.cloud import RunningCloud
from tests.e2e.gates import Gate
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers, calls_tools

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


def noise(megabytes: float, seed: int) -> str:
    """Text that does not get smaller by packing."""
    chance = random.Random(seed)  # noqa: S311  the same noise every time
    return base64.b64encode(chance.randbytes(int(megabytes * 3 / 4 * 1024 * 1024))).decode()


async def test_a_large_message_over_http_is_kept_and_shown_again(alice: User, socket: SocketClient) -> None:
    thread_id = new_id()
    text = noise(0.6, 1)
    await alice.ask(text, sessionId=thread_id)
    assert (await alice.messages(thread_id))[0]["content"] == text
    await socket.send("resume", threadId=thread_id, after=0)
    await socket.receive_until("RUN_FINISHED")
    closed = await alice.post(f"/threads/{thread_id}/close", {})
    assert closed.status_code in {200, 202}
    await socket.receive_until(lambda event: event.get("name") == "thread_closed")


async def test_a_large_answer_over_a_socket_is_kept_and_shown_again(
    alice: User, socket: SocketClient, model: FaultModel
) -> None:
    thread_id = new_id()
    text = noise(0.5, 2)
    model.script(answers(text))
    await socket.say("Make some noise", thread_id=thread_id)
    assert (await alice.messages(thread_id))[1]["content"] == text
    await socket.send("resume", threadId=thread_id, after=0)
    again = await socket.receive_until("RUN_FINISHED")
    assert "".join(event["delta"] for event in again if event["type"] == "TEXT_MESSAGE_CONTENT") == text


async def test_an_agent_ends_the_conversation_over_http(alice: User, model: FaultModel) -> None:
    model.script(calls_tools(("end_conversation", {"reason": "The user said goodbye."})), answers("Goodbye."))
    answer = await alice.ask("That is all, thank you", agentId="assistant")
    assert answer["outcome"] == {"type": "success"}
    assert (await alice.read(f"/threads/{answer['sessionId']}"))["status"] == "closed"


async def test_the_sweeper_ends_a_session_that_has_gone_idle(
    cloud: RunningCloud, alice: User, socket: SocketClient, tenant: str
) -> None:
    thread_id = new_id()
    await socket.say("Hello", thread_id=thread_id)
    table = client("dynamodb", cloud.environment["AWS_ENDPOINT_URL_DYNAMODB"])
    [thread] = [item for item in cloud.items(tenant) if item["SK"] == "THREAD"]
    table.update_item(
        TableName=cloud.environment["BATON_TABLE"],
        Key={"PK": {"S": thread["PK"]}, "SK": {"S": "THREAD"}},
        UpdateExpression="SET idle_check_at = :long_ago, idle_ms = :at_once",
        ExpressionAttributeValues={":long_ago": {"N": "1"}, ":at_once": {"N": "0"}},
    )
    table.close()
    assert cloud.sweep()["closed"] >= 1
    await socket.receive_until(lambda event: event.get("name") == "thread_closed")
    assert (await alice.read(f"/threads/{thread_id}"))["status"] == "closed"


async def test_the_sweeper_has_a_dead_run_taken_over(
    cloud: RunningCloud, alice: User, socket: SocketClient, model: FaultModel
) -> None:
    thread_id = await dead_run(cloud, alice, socket, model)
    cloud.sweep()
    await socket.receive_until(ends_second_attempt)
    assert [message["content"] for message in await alice.messages(thread_id)] == ["Hello", "Here I am again."]


async def test_a_dead_run_whose_events_are_followed_is_taken_over(
    cloud: RunningCloud, alice: User, socket: SocketClient, model: FaultModel
) -> None:
    thread_id = await dead_run(cloud, alice, socket, model)
    followed = await alice.follow(thread_id)
    assert followed[-1]["type"] == "RUN_FINISHED"
    assert [message["content"] for message in await alice.messages(thread_id)] == ["Hello", "Here I am again."]


async def dead_run(cloud: RunningCloud, user: User, socket: SocketClient, model: FaultModel) -> str:
    """A thread whose worker died in the middle of an answer, long ago; anybody who takes the run over gets another one.

    The worker is well: the thread's items are set back to what they were when it had streamed half of its answer.
    """
    thread_id, gate = new_id(), Gate()
    model.script(gate.behaviour, answers("Here I am again."))
    await socket.send("message", messageId=new_id(), threadId=thread_id, content="Hello")
    await socket.receive_until("TEXT_MESSAGE_CONTENT")
    table = client("dynamodb", cloud.environment["AWS_ENDPOINT_URL_DYNAMODB"])
    name, partition = cloud.environment["BATON_TABLE"], f"{user.tenant}#{thread_id}"
    left_behind = thread_items(table, name, partition)
    gate.open()
    await socket.receive_until("RUN_FINISHED")
    for item in thread_items(table, name, partition):
        table.delete_item(TableName=name, Key={"PK": item["PK"], "SK": item["SK"]})
    for item in left_behind:
        if item["SK"] == {"S": "THREAD"}:
            assert item.keys() >= {"run_id", "lease_until", "idle_check_at"}
            item |= {"lease_until": {"N": "1"}, "idle_check_at": {"N": "1"}}
        table.put_item(TableName=name, Item=item)
    table.close()
    return thread_id


def ends_second_attempt(event: dict[str, Any]) -> bool:
    """Return whether the event ends a run that another worker took over; the first attempt's events may repeat."""
    return event["type"] == "RUN_FINISHED" and bool(event["metadata"]["attempt"] == 2)


def thread_items(table: DynamoDBClient, name: str, partition: str) -> list[dict[str, Any]]:
    """Everything the table holds for a thread."""
    pages = table.get_paginator("query").paginate(
        TableName=name,
        KeyConditionExpression="PK = :partition",
        ExpressionAttributeValues={":partition": {"S": partition}},
        ConsistentRead=True,
    )
    return [item for page in pages for item in page["Items"]]
