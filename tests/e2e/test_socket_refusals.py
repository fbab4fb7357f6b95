"""Refusals of a WebSocket: with a typed error, without an effect, and without ending the connection."""

from __future__ import annotations

import json
import uuid

import pytest
from websockets.exceptions import ConnectionClosed

from tests.e2e.cloud import RunningCloud
from tests.e2e.fixtures import NewUser
from tests.e2e.sockets import SocketClient, new_id
from tests.e2e.users import User

UNAVAILABLE = "This conversation is not available to you. Please start a new one."

THREAD_ID = "550e8400-e29b-41d4-a716-446655440000"
Frame = dict[str, object]

MESSAGE: Frame = {"action": "message", "threadId": THREAD_ID, "messageId": "m-1", "content": "Hello"}
RESUME: Frame = {"action": "resume", "threadId": THREAD_ID, "after": 0}


def replace_fields(base: Frame, **changes: object) -> Frame:
    """Return ``base`` with these fields changed; a field of ``LEFT_OUT`` is removed."""
    changed = base | changes
    return {name: value for name, value in changed.items() if value is not LEFT_OUT}


LEFT_OUT = object()

NOT_AN_OBJECT = ["", "{", "hello", "[]", "[1, 2]", "null", "true", "17", '"ping"', "{'action': 'ping'}", "NaN", "\x00"]
NOT_QUITE_JSON = ['{"action": "ping", "n": NaN}', '{"action": "ping"} {}', "[" * 10_000, '{"action": "ping"']

INVALID: list[Frame] = [
    {},
    {"action": None},
    {"action": 7},
    {"action": ["ping"]},
    {"action": {"name": "ping"}},
    {"action": "ping", "quiet": None},
    replace_fields(MESSAGE, messageId=LEFT_OUT),
    replace_fields(MESSAGE, messageId=None),
    replace_fields(MESSAGE, messageId=7),
    replace_fields(MESSAGE, messageId=""),
    replace_fields(MESSAGE, messageId="x" * 129),
    replace_fields(MESSAGE, messageId="line\nbreak"),
    replace_fields(MESSAGE, messageId="null\x00byte"),
    replace_fields(MESSAGE, messageId="half a pair \ud83d"),
    replace_fields(MESSAGE, threadId=7),
    replace_fields(MESSAGE, threadId=""),
    replace_fields(MESSAGE, threadId="x" * 257),
    replace_fields(MESSAGE, threadId="tab\there"),
    replace_fields(MESSAGE, threadId="half a pair \udc00"),
    replace_fields(MESSAGE, threadId=["a"]),
    replace_fields(MESSAGE, content=LEFT_OUT),
    replace_fields(MESSAGE, content=None),
    replace_fields(MESSAGE, content=7),
    replace_fields(MESSAGE, content=""),
    replace_fields(MESSAGE, content=" \n\t "),
    replace_fields(MESSAGE, content={"type": "text", "text": "Hello"}),
    replace_fields(MESSAGE, content=[]),
    replace_fields(MESSAGE, content=["Hello"]),
    replace_fields(MESSAGE, content=[{"text": "Hello"}]),
    replace_fields(MESSAGE, content=[{"type": 7, "text": "Hello"}]),
    replace_fields(MESSAGE, content=[{"type": "text"}]),
    replace_fields(MESSAGE, content=[{"type": "text", "text": 7}]),
    replace_fields(MESSAGE, content=[{"type": "text", "text": " "}]),
    replace_fields(MESSAGE, content=[{"type": "text", "text": "Hello"}] * 33),
    replace_fields(MESSAGE, content="half a pair \ud83d"),
    replace_fields(MESSAGE, content=[{"type": "text", "text": "half a pair \udc00"}]),
    replace_fields(
        MESSAGE, content=[{"type": "image", "source": {"type": "data", "value": "!!", "mimeType": "image/png"}}]
    ),
    replace_fields(
        MESSAGE, content=[{"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "text/html"}}]
    ),
    replace_fields(MESSAGE, content=[{"type": "image", "source": {"type": "url", "value": "file:///etc/passwd"}}]),
    replace_fields(MESSAGE, content=[{"type": "image", "source": {"type": "url", "value": "http://"}}]),
    replace_fields(MESSAGE, content=[{"type": "image", "source": {"type": "teleport", "value": "x"}}]),
    replace_fields(MESSAGE, content=[{"type": "document"}]),
    replace_fields(MESSAGE, agentId=7),
    replace_fields(MESSAGE, agentId=""),
    replace_fields(RESUME, threadId=LEFT_OUT),
    replace_fields(RESUME, threadId=None),
    replace_fields(RESUME, threadId=7),
    replace_fields(RESUME, after=LEFT_OUT),
    replace_fields(RESUME, after=None),
    replace_fields(RESUME, after=-1),
    replace_fields(RESUME, after=1.5),
    replace_fields(RESUME, after="0"),
    replace_fields(RESUME, after=True),
    replace_fields(RESUME, after=10**30),
]


async def test_a_frame_that_is_no_json_object_is_refused(socket: SocketClient) -> None:
    for frame in (*NOT_AN_OBJECT, *NOT_QUITE_JSON):
        await socket.send_text(frame)
        assert (await socket.receive_refusal())["code"] == "malformed_json", frame
    await socket.check_no_more_events()


async def test_a_frame_of_the_wrong_shape_is_refused(socket: SocketClient, cloud: RunningCloud, tenant: str) -> None:
    for frame in INVALID:
        await socket.send_text(json.dumps(frame))
        refusal = await socket.receive_refusal()
        assert (refusal["code"], refusal["metadata"]["retryable"]) == ("invalid_request", False), frame
    await socket.check_no_more_events()
    assert cloud.items(tenant) == []


async def test_an_unknown_action_is_refused(socket: SocketClient) -> None:
    for action in ("", "dance", "MESSAGE", "$default", "$connect", "x" * 1000, "\u0000"):
        await socket.send(action)
        assert (await socket.receive_refusal())["code"] == "unknown_action", action
    await socket.check_no_more_events()


@pytest.mark.parametrize(
    "part",
    [
        {"type": "audio", "source": {"type": "data", "value": "AAAA", "mimeType": "audio/wav"}},
        {"type": "video", "source": {"type": "url", "value": "https://example.com/film.mp4"}},
        {"type": "hologram"},
        {"type": "document", "source": {"type": "file", "value": "file-abc", "provider": "openai"}},
        {"type": "image", "source": {"type": "file", "value": "../../secrets", "provider": "baton"}},
    ],
    ids=lambda part: json.dumps(part)[:60],
)
async def test_a_part_that_is_not_taken_is_refused(
    socket: SocketClient, cloud: RunningCloud, tenant: str, part: Frame
) -> None:
    await socket.send("message", messageId="m-1", threadId=THREAD_ID, content=[{"type": "text", "text": "Hi"}, part])
    refusal = await socket.receive_refusal()
    assert (refusal["code"], refusal["metadata"]["retryable"]) == ("unsupported_part", False)
    await socket.check_no_more_events()
    assert cloud.items(tenant) == []


async def test_a_refusal_says_what_was_refused(socket: SocketClient) -> None:
    thread_id = new_id()
    await socket.send("message", messageId="m-1", threadId=thread_id, content=7)
    metadata = (await socket.receive_refusal())["metadata"]
    assert (metadata["action"], metadata["messageId"], metadata["threadId"]) == ("message", "m-1", thread_id)


async def test_a_frame_over_28_kb_is_refused_and_the_connection_lives(
    socket: SocketClient, cloud: RunningCloud, tenant: str
) -> None:
    for text in ("x" * 29_000, "é" * 14_700):
        await socket.send_text(json.dumps(replace_fields(MESSAGE, content=text), ensure_ascii=False))
        assert (await socket.receive_refusal())["code"] == "message_too_large"
    await socket.check_no_more_events()
    assert cloud.items(tenant) == []


async def test_a_frame_of_28_kb_is_taken(socket: SocketClient) -> None:
    overhead = len(json.dumps({"action": "message", "messageId": "m-1", "content": ""}))
    text = "x" * (28 * 1024 - overhead)
    run = await socket.say(text, message_id="m-1")
    assert run[0]["input"]["messages"][0]["content"] == text


async def test_a_frame_over_32_kb_ends_the_connection_as_api_gateway_does(socket: SocketClient) -> None:
    await socket.send_text("x" * (32 * 1024 + 1))
    with pytest.raises(ConnectionClosed) as closed:
        await socket.receive()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


async def test_a_new_id_of_version_5_begins_nothing(socket: SocketClient, cloud: RunningCloud, tenant: str) -> None:
    thread_id = str(uuid.uuid5(uuid.NAMESPACE_URL, "https://example.com"))
    _, [refusal] = await socket.exchange(threadId=thread_id, messageId="m-1", content="Hello")
    assert (refusal["type"], refusal["metadata"]["retryable"]) == ("RUN_ERROR", False)
    await socket.check_no_more_events()
    assert cloud.list_data(tenant) == []


@pytest.mark.parametrize("whose", ["another user's", "another tenant's"])
async def test_a_foreign_thread_is_not_available(
    socket: SocketClient, new_user: NewUser, cloud: RunningCloud, tenant: str, whose: str
) -> None:
    theirs = tenant if whose == "another user's" else f"t-{uuid.uuid4().hex}"
    owner = new_user("bob", tenant=theirs)
    thread_id = (await owner.ask("Our secret"))["sessionId"]
    before = cloud.list_data(tenant), cloud.list_data(theirs)
    _, refusals = await socket.exchange(threadId=thread_id, messageId="m-1", content="Let me in")
    await socket.send("resume", threadId=thread_id, after=0)
    for refusal in (*refusals, await socket.receive_refusal()):
        assert (refusal["code"], refusal["message"]) == ("thread_unavailable", UNAVAILABLE)
        assert refusal["metadata"]["retryable"] is False
        assert "secret" not in json.dumps(refusal)
    await socket.check_no_more_events()
    assert (cloud.list_data(tenant), cloud.list_data(theirs)) == before
    attempts = cloud.audits(tenant)
    assert {(item["action"], item["outcome"], item["user_id"]) for item in attempts} == {
        ("thread.write", "denied", "alice"),
        ("thread.resume", "denied", "alice"),
    }
    assert all(thread_id in item["PK"] for item in attempts)
    later = await owner.ask("Still only us?", sessionId=thread_id)
    assert [message["metadata"]["ordinal"] for message in later["messages"]] == [2, 3]


async def test_a_watcher_hears_nothing_of_a_foreign_thread(
    socket: SocketClient, new_user: NewUser, model: object
) -> None:
    bob = new_user("bob")
    thread_id = (await bob.ask("Our secret"))["sessionId"]
    await socket.send("resume", threadId=thread_id, after=0)
    await socket.receive_refusal()
    await bob.ask("Another one", sessionId=thread_id)
    await socket.check_no_more_events()


async def test_holders_of_read_all_may_watch_but_not_write(
    new_user: NewUser, cloud: RunningCloud, tenant: str, alice: User
) -> None:
    thread_id = (await alice.ask("Hello"))["sessionId"]
    admin = new_user("admin", "thread:read_all")
    before = cloud.list_data(tenant)
    async with admin.connect() as socket:
        _, [refusal] = await socket.exchange(threadId=thread_id, messageId="m-1", content="Let me write")
        assert (refusal["code"], refusal["message"]) == ("thread_unavailable", UNAVAILABLE)
        assert cloud.list_data(tenant) == before
        await socket.send("resume", threadId=thread_id, after=0)
        await socket.receive_until("RUN_FINISHED")


async def test_an_unknown_thread_cannot_be_resumed(socket: SocketClient, cloud: RunningCloud, tenant: str) -> None:
    await socket.send("resume", threadId=new_id(), after=0)
    refusal = await socket.receive_refusal()
    assert (refusal["code"], refusal["message"]) == ("thread_unavailable", UNAVAILABLE)
    await socket.check_no_more_events()
    assert cloud.list_data(tenant) == []


@pytest.mark.parametrize("agent_id", ["nobody", "guarded", "specialist"])
async def test_a_conversation_begins_only_with_an_agent_that_takes_it(
    socket: SocketClient, cloud: RunningCloud, tenant: str, agent_id: str
) -> None:
    _, [refusal] = await socket.exchange(threadId=new_id(), messageId="m-1", content="Hello", agentId=agent_id)
    assert (refusal["code"], refusal["metadata"]["retryable"]) == ("unknown_agent", False)
    assert "seq" not in refusal["metadata"]
    await socket.check_no_more_events()
    assert cloud.list_data(tenant) == []


async def test_a_conversation_does_not_change_its_main_agent(
    socket: SocketClient, cloud: RunningCloud, tenant: str
) -> None:
    thread_id = new_id()
    await socket.say("Hello", thread_id=thread_id, agentId="impatient")
    before = len(cloud.turns(tenant))
    _, [refusal] = await socket.exchange(threadId=thread_id, messageId="m-2", content="Hello", agentId="assistant")
    assert (refusal["code"], refusal["metadata"]["retryable"]) == ("agent_mismatch", False)
    assert len(cloud.turns(tenant)) == before
    run = await socket.say("Hello again", thread_id=thread_id, agentId="impatient")
    assert run[2]["metadata"]["agentId"] == "impatient"


async def test_a_message_id_is_not_used_for_other_content(
    socket: SocketClient, cloud: RunningCloud, tenant: str, alice: User
) -> None:
    thread_id = new_id()
    await socket.say("Hello", thread_id=thread_id, message_id="m-1")
    before = cloud.turns(tenant)
    _, [refusal] = await socket.exchange(threadId=thread_id, messageId="m-1", content="Something else")
    assert (refusal["code"], refusal["metadata"]["retryable"]) == ("message_id_conflict", False)
    assert refusal["metadata"]["messageId"] == "m-1"
    await socket.check_no_more_events()
    assert cloud.turns(tenant) == before
    assert [message["content"] for message in await alice.messages(thread_id)] == ["Hello", "Hello"]
    assert (await alice.read(f"/threads/{thread_id}"))["run"] is None
