"""What functions do seldom, done under their roles: bodies that do not fit into items, ends of sessions, sweeps."""

from __future__ import annotations

import base64
import random

from local.engines.clients import client
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import User
from tests.fault_model import FaultModel, answers, calls_tools


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
    await socket.until("RUN_FINISHED")
    closed = await alice.post(f"/threads/{thread_id}/close", {})
    assert closed.status_code in {200, 202}
    await socket.until(lambda event: event.get("name") == "thread_closed")


async def test_a_large_answer_over_a_socket_is_kept_and_shown_again(
    alice: User, socket: SocketClient, model: FaultModel
) -> None:
    thread_id = new_id()
    text = noise(0.5, 2)
    model.script(answers(text))
    await socket.say("Make some noise", thread_id=thread_id)
    assert (await alice.messages(thread_id))[1]["content"] == text
    await socket.send("resume", threadId=thread_id, after=0)
    again = await socket.until("RUN_FINISHED")
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
    await socket.until(lambda event: event.get("name") == "thread_closed")
    assert (await alice.read(f"/threads/{thread_id}"))["status"] == "closed"
