"""Calls over A2A that are wrong, and calls that are anything."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.api.a2a.access import A2AAccess
from baton.api.application import create_app
from tests.a2a_schema import ERROR_CODES, check_error
from tests.unit.api.a2a_client import A2AServed, Json, blocking, message

SEND = "message/send"


@pytest.fixture
def served() -> A2AServed:
    return A2AServed()


def call(method: Any = SEND, params: Any = None, **fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params} | fields).encode()


@pytest.mark.parametrize(
    ("body", "code", "request_id"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tasks/get", "params": {"id": NaN}}', -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"[" + call() + b"]", -32600, None),
        (b"null", -32600, None),
        (b'"text"', -32600, None),
        (b"{}", -32600, None),
        (call(jsonrpc="1.0"), -32600, 7),
        (call(jsonrpc=2.0), -32600, 7),
        (call(method=None), -32600, 7),
        (call(method=""), -32600, 7),
        (call(method=["tasks/get"]), -32600, 7),
        (call(id={"bad": "type"}), -32600, None),
        (call(id=True), -32600, None),
        (call(id=1.5), -32600, None),
        (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "tasks/get"}', -32600, None),
        (call(method="message/ssend"), -32601, 7),
        (call(method="Sendmessage"), -32601, 7),
        (call(method="tasks/list"), -32601, 7),
        (call(params=[]), -32602, 7),
        (call(params="not an object"), -32602, 7),
        (call(params={"": "not_a_dict"}), -32602, 7),
        (call(method="SendMessage", params=[]), -32602, 7),
        (call(method="SendMessage", params={"message": "text"}), -32602, 7),
        (call(method="tasks/get", params={}), -32602, 7),
        (call(method="tasks/get", params={"id": 1}), -32602, 7),
        (call(method="tasks/get", params={"id": "nothing"}), -32001, 7),
        (call(method="GetTask", params={}), -32001, 7),
        (call(method="tasks/cancel", params={"id": "nothing"}), -32001, 7),
        (call(method="tasks/pushNotificationConfig/list", params={"id": "nothing"}), -32001, 7),
        (call(method="ListTasks", params={"pageSize": 0}), -32602, 7),
        (call(method="ListTasks", params={"pageSize": 101}), -32602, 7),
        (call(method="ListTasks", params={"pageToken": "none of ours"}), -32602, 7),
        (call(method="ListTasks", params={"historyLength": -1}), -32602, 7),
    ],
)
async def test_calls_that_are_wrong(served: A2AServed, body: bytes, code: int, request_id: int | None) -> None:
    answer = await served.post_a2a(body)
    assert answer.status_code == 200
    reported = answer.json()
    assert (reported["error"]["code"], reported["id"]) == (code, request_id)
    check_error(reported["error"])


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"parts": []}, -32602),
        ({"parts": "text"}, -32602),
        ({"parts": [{"text": "no kind"}]}, -32602),
        ({"parts": [{"kind": "video", "text": "unknown"}]}, -32602),
        ({"parts": [{"type": "text", "text": "the kind's older name"}]}, -32602),
        ({"parts": [{"kind": "text"}]}, -32602),
        ({"parts": [{"kind": "text", "text": " "}]}, -32602),
        ({"parts": [{"kind": "text", "text": "\ud800"}]}, -32602),
        ({"parts": [{"kind": "file", "file": {"name": "a", "bytes": "not base64!"}}]}, -32602),
        ({"parts": [{"kind": "file", "file": {"name": "a", "uri": "invalid://x"}}]}, -32602),
        ({"parts": [{"kind": "file", "file": {"mimeType": "audio/mpeg", "uri": "https://a.b/c"}}]}, -32005),
        ({"parts": [{"kind": "text", "text": "x"}] * 33}, -32602),
        ({"parts": [{"kind": "text", "text": "x" * (1024 * 1024)}]}, -32602),
        ({"role": "agent"}, -32602),
        ({"role": "nobody"}, -32602),
        ({"role": None}, -32602),
        ({"messageId": None}, -32602),
        ({"messageId": ""}, -32602),
        ({"messageId": "m" * 129}, -32602),
        ({"messageId": "m\n1"}, -32602),
        ({"contextId": "c" * 257}, -32602),
        ({"contextId": "a\0b"}, -32602),
        ({"taskId": "nothing"}, -32001),
        ({"taskId": "550e8400-e29b-41d4-a716-446655440000.m-1"}, -32001),
    ],
)
@pytest.mark.parametrize("method", [SEND, "message/stream"])
async def test_messages_that_are_wrong(served: A2AServed, method: str, fields: Json, code: int) -> None:
    sent_message = message("Hello", "m-1") | fields
    for is_blocking in (True, False):
        reported = await served.call(method, blocking(sent_message, blocking=is_blocking))
        assert reported["error"]["code"] == code
    assert served.harness.model.requests == []
    assert served.queue.sent == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"contextId": "c" * 257}, "contextId must be 1 to 256 printable characters."),
        ({"parts": [{"kind": "text", "text": "\ud800"}]}, "half of a surrogate pair"),
    ],
)
async def test_the_message_of_an_error_has_the_names_of_the_protocol(
    served: A2AServed, fields: Json, words: str
) -> None:
    reported = await served.call(SEND, blocking(message("Hello", "m-1") | fields))
    assert words in reported["error"]["message"]


@pytest.mark.parametrize(
    "fields",
    ['"metadata": {"x": 1e999}', '"parts": [{"kind": "data", "data": {"x": -1e999}}]'],
    ids=["metadata", "data"],
)
async def test_numbers_that_are_too_large(served: A2AServed, fields: str) -> None:
    sent_message = f'{{"messageId": "m-1", "role": "user", "parts": [{{"kind": "text", "text": "x"}}], {fields}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {{"message": {sent_message}}}}}'
    assert (await served.post_a2a(body.encode())).json()["error"]["code"] == -32602


async def test_required_fields_that_are_missing(served: A2AServed) -> None:
    for name in ("messageId", "role", "parts"):
        sent_message = message("Hello", "m-1")
        del sent_message[name]
        assert (await served.call(SEND, {"message": sent_message}))["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["tasks/get", "GetTask"])
async def test_a_negative_length_of_the_history(served: A2AServed, method: str) -> None:
    task = (await served.call(SEND, blocking(message("One", "m-1"))))["result"]
    assert (await served.call(method, {"id": task["id"], "historyLength": -1}))["error"]["code"] == -32602
    refused = await served.call(SEND, blocking(message("Two", "m-2"), historyLength=-1))
    assert refused["error"]["code"] == -32602


async def test_task_and_context_that_do_not_belong_together(served: A2AServed) -> None:
    task = (await served.call(SEND, blocking(message("One", "m-1"))))["result"]
    sent_message = message("Two", "m-2", taskId=task["id"], contextId="another")
    assert (await served.call(SEND, blocking(sent_message)))["error"]["code"] == -32602


async def test_a_sender_that_wants_notifications_learns_that_there_are_none() -> None:
    served = A2AServed(a2a=A2AAccess())
    config = {"pushNotificationConfig": {"url": "https://example.com/hook"}}
    assert (await served.call(SEND, blocking(message("One", "m-1"), **config)))["error"]["code"] == -32003
    for method, params in (
        ("set", {"taskId": "t", "pushNotificationConfig": {"url": "https://example.com/hook"}}),
        ("get", {"id": "t"}),
        ("list", {"id": "t"}),
        ("delete", {"id": "t", "pushNotificationConfigId": "c"}),
    ):
        assert (await served.call(f"tasks/pushNotificationConfig/{method}", params))["error"]["code"] == -32003


@pytest.mark.parametrize("version", ["0.3", "0.3.0", "1.0", "1.1", ""])
async def test_versions_that_are_served(served: A2AServed, version: str) -> None:
    assert "result" in await served.call(SEND, blocking(message()), version=version)


@pytest.mark.parametrize("method", ["GetTask", "tasks/get"])
async def test_a_version_that_is_not_served(served: A2AServed, method: str) -> None:
    reported = await served.call(method, {"id": "t"}, version="2.0")
    assert reported["error"]["code"] == -32009


async def test_a_call_without_an_id_is_answered(served: A2AServed) -> None:
    body = {"jsonrpc": "2.0", "method": SEND, "params": blocking(message())}
    reported = (await served.post_a2a(json.dumps(body).encode())).json()
    assert reported["id"] is None
    assert reported["result"]["status"]["state"] == "completed"


async def test_a_body_that_is_too_large(served: A2AServed) -> None:
    answer = await served.post_a2a(b"x" * (5 * 1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32600)


async def test_a_long_message_is_taken(served: A2AServed) -> None:
    text = "ö" * 500_000
    task = (await served.call(SEND, blocking(message(text, "m-1"))))["result"]
    assert task["history"][0]["parts"][0]["text"] == text


@pytest.mark.parametrize(
    ("method", "part"), [(SEND, {"kind": "text", "text": "a"}), ("SendMessage", {"text": "a"})], ids=["0.3", "1.0"]
)
async def test_more_parts_than_a_message_may_have(served: A2AServed, method: str, part: Json) -> None:
    body = call(method, {"message": message() | {"parts": [part] * 33}})
    reported = (await served.post_a2a(body)).json()
    assert reported["error"]["code"] == -32602
    assert "1 to 32 parts" in reported["error"]["message"]


async def test_a_fault_says_nothing_of_itself(served: A2AServed, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(served.harness.store, "get_thread", fail)
    reported = await served.call("tasks/get", {"id": "550e8400-e29b-41d4-a716-446655440000.m-1"})
    assert reported["error"]["code"] == -32603
    assert "secret" not in json.dumps(reported)


# Tokens


@pytest.mark.parametrize("authorization", [None, "Bearer", "Basic YTpi", "Bearer nothing"])
async def test_a_call_without_a_valid_token(served: A2AServed, authorization: str | None) -> None:
    headers = {"Authorization": authorization} if authorization is not None else {}
    answer = await served.post_a2a(call(), user=None, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_where_calls_are_open_those_without_a_token_are_one_users(served: A2AServed) -> None:
    services = served.app.state.use_cases
    served.app = create_app(services, a2a=A2AAccess(is_open=True))
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": SEND, "params": blocking(message("Hi", "m-1"))})
    task = (await served.post_a2a(body.encode(), user=None)).json()["result"]
    assert "result" in await served.call("tasks/get", {"id": task["id"]}, tenant="demo", user="a2a")
    assert "error" in await served.call("tasks/get", {"id": task["id"]}, tenant="demo", user="eve")
    wrong = await served.post_a2a(body.encode(), user=None, headers={"Authorization": "Bearer nothing"})
    assert wrong.status_code == 401


@pytest.mark.parametrize("method", ["agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"])
async def test_the_extended_card_needs_a_token_where_calls_are_open(served: A2AServed, method: str) -> None:
    served.app = create_app(served.app.state.use_cases, a2a=A2AAccess(is_open=True))
    assert (await served.call(method, {}, user=None))["error"]["code"] == -32007
    assert "result" in await served.call(method, {})


# Anything


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
METHODS = st.sampled_from(
    [
        SEND,
        "message/stream",
        "tasks/get",
        "tasks/cancel",
        "tasks/resubscribe",
        "tasks/pushNotificationConfig/set",
        "tasks/pushNotificationConfig/get",
        "tasks/pushNotificationConfig/list",
        "tasks/pushNotificationConfig/delete",
        "agent/getAuthenticatedExtendedCard",
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "ListTasks",
        "CancelTask",
        "SubscribeToTask",
        "CreateTaskPushNotificationConfig",
        "GetExtendedAgentCard",
    ]
)
FIELDS = st.sampled_from(
    [
        "message",
        "messageId",
        "role",
        "parts",
        "kind",
        "text",
        "data",
        "file",
        "raw",
        "url",
        "bytes",
        "uri",
        "id",
        "taskId",
        "contextId",
        "configuration",
        "blocking",
        "historyLength",
        "metadata",
        "name",
        "tenant",
    ]
)
VALUES = JSON | st.sampled_from(
    ["user", "ROLE_USER", "text", "data", "file", "m-1", "550e8400-e29b-41d4-a716-446655440000"]
)
OBJECTS = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=15
)
PARTS = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("kind", "text", "data", "file"), OBJECTS)), max_size=3
)
MESSAGES = st.fixed_dictionaries(
    {"messageId": VALUES, "role": VALUES, "parts": PARTS | OBJECTS},
    optional={"taskId": VALUES, "contextId": VALUES, "metadata": OBJECTS, "kind": VALUES},
)
PARAMS = OBJECTS | st.fixed_dictionaries({"message": MESSAGES}, optional={"configuration": OBJECTS})
CALLS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | JSON, "method": METHODS | JSON}, optional={"id": JSON, "params": PARAMS}
)
BODIES = st.binary(max_size=60) | JSON.map(json.dumps).map(str.encode) | CALLS.map(json.dumps).map(str.encode)


ANYTHING_SERVED = A2AServed()
"""One for all examples: it takes a while to build."""


@given(BODIES)
def test_any_body_gets_a_response_of_json_rpc(body: bytes) -> None:
    served = ANYTHING_SERVED

    async def check() -> None:
        answer = await served.post_a2a(body)
        assert answer.status_code == 200
        if answer.headers["Content-Type"].startswith("text/event-stream"):
            return
        reported = answer.json()
        assert reported["jsonrpc"] == "2.0"
        assert ("error" in reported) != ("result" in reported)
        if "error" in reported:
            assert reported["error"]["code"] in ERROR_CODES - {-32603}
        await served.queue.wait_until_idle()

    asyncio.run(check())
