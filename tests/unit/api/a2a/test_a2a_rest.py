"""A2A over HTTP+JSON: the reference client, and calls that are wrong."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.api.a2a.json_text import MAX_VALUES
from baton.domain.errors import RateLimited
from tests.a2a_schema import check_message
from tests.examples import examples
from tests.fakes.chat_model import Answer
from tests.harness.wiki import delete, wiki
from tests.unit.api.a2a_client import A2AServed, Json

CURRENT = {"A2A-Version": "1.0"}


class Watched(A2AServed):
    """Baton behind A2A, where the first event of a stream is noted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.first_event = asyncio.Event()

    async def watched(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_and_note(message: Any) -> None:
            await send(message)
            if message.get("body", b"").startswith(b"data: "):
                self.first_event.set()

        await self.app(scope, receive, send_and_note)


@pytest.fixture
def served() -> Watched:
    return Watched(wiki())


@pytest.fixture
async def http(served: Watched) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {served.harness.ada.tenant_id},ada"}
    transport = httpx.ASGITransport(served.watched)
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test", headers=headers) as client:
        yield client


async def connect(http: httpx.AsyncClient, *, streaming: bool = False) -> Client:
    """The reference client, over the binding that it finds in the card."""
    card = await A2ACardResolver(http, "http://baton.test").get_agent_card()
    config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=["HTTP+JSON"])
    return ClientFactory(config).create(card)


def make_request(text: str, task_id: str = "", message_id: str = "", *, at_once: bool = False) -> SendMessageRequest:
    message = Message(
        message_id=message_id or str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)], task_id=task_id
    )
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=at_once))


async def listen(client: Client, request: SendMessageRequest) -> list[StreamResponse]:
    return [response async for response in client.send_message(request)]


def texts(task: Task) -> list[str]:
    return ["".join(part.text for part in message.parts) for message in task.history]


async def test_a_conversation_of_several_turns(served: Watched, http: httpx.AsyncClient) -> None:
    served.harness.model.script(Answer.calling(delete("home"), text="First."), "Second.")
    client = await connect(http)
    first = (await listen(client, make_request("One")))[-1].task
    assert first.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    second = (await listen(client, make_request("Two", first.id)))[-1].task
    assert (second.id, second.context_id) == (first.id, first.context_id)
    assert texts(second) == ["One", "First.", "Two", "Second."]
    assert await client.get_task(GetTaskRequest(id=first.id)) == second
    newest = await client.get_task(GetTaskRequest(id=first.id, history_length=1))
    assert texts(newest) == ["Second."]
    assert newest.status.state == TaskState.TASK_STATE_COMPLETED
    with pytest.raises(UnsupportedOperationError):
        await listen(client, make_request("Three", first.id))


async def test_both_bindings_see_the_same_task(served: Watched, http: httpx.AsyncClient) -> None:
    task = (await listen(await connect(http), make_request("One")))[-1].task
    older = (await served.call("tasks/get", {"id": task.id}))["result"]
    assert (older["id"], older["status"]["state"]) == (task.id, "completed")


async def test_a_stream_begins_with_the_task_and_ends_with_its_state(served: Watched, http: httpx.AsyncClient) -> None:
    served.harness.model.script("One two.")
    events = await listen(await connect(http, streaming=True), make_request("Count"))
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds[0] == "task"
    assert "artifact_update" in kinds
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


async def test_a_task_is_cancelled_and_followed(served: Watched, http: httpx.AsyncClient) -> None:
    gate = asyncio.Event()
    served.harness.model.script(Answer(("One ", "two"), gate=gate, gate_at=1))
    client = await connect(http, streaming=True)
    waiting = await connect(http)
    task = (await listen(waiting, make_request("Count", at_once=True)))[-1].task
    following = await begin_listening(served, client.subscribe(SubscribeToTaskRequest(id=task.id)))
    cancelled = await client.cancel_task(CancelTaskRequest(id=task.id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
    followed = await following
    assert followed[0].task.id == task.id
    assert followed[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED
    with pytest.raises(TaskNotCancelableError):
        await client.cancel_task(CancelTaskRequest(id=task.id))


async def test_a_stream_is_found_again(served: Watched, http: httpx.AsyncClient) -> None:
    gate = asyncio.Event()
    served.harness.model.script(Answer(("One ", "two"), gate=gate, gate_at=1))
    client = await connect(http, streaming=True)
    task = (await listen(await connect(http), make_request("Count", at_once=True)))[-1].task
    following = await begin_listening(served, client.subscribe(SubscribeToTaskRequest(id=task.id)))
    await client.cancel_task(CancelTaskRequest(id=task.id))  # until the task is final the stream stays
    followed = await following
    assert followed[0].WhichOneof("payload") == "task"
    assert followed[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED


async def test_the_id_of_a_task_may_contain_any_character_that_a_message_id_may(
    served: Watched, http: httpx.AsyncClient
) -> None:
    client = await connect(http)
    for message_id in ("a/b c:cancel%", "order 4711", "x:subscribe", "100%25"):
        task = (await listen(client, make_request("One", message_id=message_id)))[-1].task
        if message_id.startswith(("a/b", "order")):  # the reference client does not encode ids once more
            assert (await client.get_task(GetTaskRequest(id=task.id))).id == task.id
        encoded = task.id.replace("%", "%25")
        answer = await http.get(f"/a2a/v1/tasks/{encoded}", headers=CURRENT)
        assert answer.json()["id"] == task.id


async def test_an_agent_has_the_binding_at_an_address_of_its_own(served: Watched, http: httpx.AsyncClient) -> None:
    card = await A2ACardResolver(http, "http://baton.test/a2a/assistant").get_agent_card()
    config = ClientConfig(streaming=False, httpx_client=http, supported_protocol_bindings=["HTTP+JSON"])
    client = ClientFactory(config).create(card)
    task = (await listen(client, make_request("One")))[-1].task
    assert texts(task) == ["One", "Hello there."]
    extended = await client.get_extended_agent_card(GetExtendedAgentCardRequest())
    assert extended.name == "Assistant"


@pytest.mark.parametrize("version", ["0.3", "0.3.0", "", None])
@pytest.mark.parametrize(("method", "path"), [("POST", "message:send"), ("POST", "message:stream"), ("GET", "tasks/x")])
async def test_calls_of_0_3_are_reported_to_use_json_rpc(
    served: Watched, http: httpx.AsyncClient, method: str, path: str, version: str | None
) -> None:
    """A call without a version is one of 0.3, as the specification says."""
    headers = {"A2A-Version": version} if version is not None else {}
    answer = await http.request(method, f"/a2a/v1/{path}", json=message(), headers=headers)
    assert (answer.status_code, error_of(answer)["details"][0]["reason"]) == (400, "VERSION_NOT_SUPPORTED")
    assert "JSON-RPC" in error_of(answer)["message"]
    assert served.harness.model.requests == []


async def test_cards_name_the_binding_for_1_0_only(http: httpx.AsyncClient) -> None:
    card = (await http.get("/.well-known/agent-card.json")).json()
    bound = [
        supported_interface
        for supported_interface in card["supportedInterfaces"]
        if supported_interface["protocolBinding"] == "HTTP+JSON"
    ]
    assert [item["protocolVersion"] for item in bound] == ["1.0"]
    assert [additional_interface["transport"] for additional_interface in card["additionalInterfaces"]] == ["JSONRPC"]
    assert (await http.get("/a2a/v1/card", headers=CURRENT)).status_code == 404


async def test_answers_are_as_the_schema_says(http: httpx.AsyncClient) -> None:
    answer = await send(http, {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"data": {"x": 1}}]}})
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/a2a+json"
    task = answer.json()["task"]
    check_message(Task(), task)
    assert task["history"][0]["parts"][0]["data"] == {"x": 1}


# What is wrong


async def send(http: httpx.AsyncClient, body: Any, path: str = "message:send", **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await http.post(f"/a2a/v1/{path}", content=content, headers=CURRENT | headers)


def message(**fields: Any) -> Json:
    return {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hi"}]} | fields}


@pytest.mark.parametrize("path", ["message:send", "message:stream"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"message": NaN}',
        b"[" * 100_000,
        {},
        {"message": "text"},
        {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": []}},
        {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "x"}] * 33}},
        {"message": {"messageId": "", "role": "ROLE_USER", "parts": [{"text": "x"}]}},
        {"message": {"messageId": "m-1", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}},
        {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"file": 1}]}},
        {"message": {"messageId": "m-1", "role": "ROLE_USER", "content": [{"text": "x"}]}},
    ],
)
async def test_bodies_that_are_wrong(served: Watched, http: httpx.AsyncClient, path: str, body: Any) -> None:
    answer = await send(http, body, path)
    assert answer.status_code == 400
    reported = error_of(answer)
    assert (reported["code"], reported["status"]) == (400, "INVALID_ARGUMENT")
    assert served.harness.model.requests == []


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", "tasks/nothing", 404, "TASK_NOT_FOUND"),
        ("POST", "tasks/nothing:cancel", 404, "TASK_NOT_FOUND"),
        ("GET", "tasks/nothing:subscribe", 404, "TASK_NOT_FOUND"),
        ("POST", "tasks/nothing:subscribe", 404, "TASK_NOT_FOUND"),
        ("GET", "tasks/nothing?historyLength=-1", 400, "INVALID_PARAMS"),
        ("GET", "tasks/nothing?historyLength=many", 400, "INVALID_PARAMS"),
        ("GET", "tasks/nothing?historyLength=99999999999999", 400, "INVALID_PARAMS"),
    ],
)
async def test_calls_that_are_wrong(http: httpx.AsyncClient, method: str, path: str, code: int, reason: str) -> None:
    answer = await http.request(method, f"/a2a/v1/{path}", headers=CURRENT)
    assert answer.status_code == code
    assert error_of(answer)["details"][0]["reason"] == reason


async def test_the_task_of_another_tenant_is_not_found(served: Watched, http: httpx.AsyncClient) -> None:
    client = await connect(http)
    task = (await listen(client, make_request("One")))[-1].task
    http.headers["Authorization"] = "Bearer eves-own,ada"
    for call in (client.get_task(GetTaskRequest(id=task.id)), client.cancel_task(CancelTaskRequest(id=task.id))):
        with pytest.raises(TaskNotFoundError):
            await call


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["message", "request", "parts", "content", "text", "data", "file", "role", "metadata"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(body=ANYTHING, version=st.sampled_from(["1.0", "0.3"]))
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_body_is_refused_without_a_fault(http: httpx.AsyncClient, body: Any, version: str) -> None:
    answer = await send(http, body, **{"A2A-Version": version})
    assert 400 <= answer.status_code < 500
    error_of(answer)


@pytest.mark.parametrize("version", ["2.0", "x"])
async def test_other_versions_are_refused(http: httpx.AsyncClient, version: str) -> None:
    answer = await send(http, message(), **{"A2A-Version": version})
    assert (answer.status_code, error_of(answer)["details"][0]["reason"]) == (400, "VERSION_NOT_SUPPORTED")


@pytest.mark.parametrize("authorization", ["", "Bearer nothing", "Basic x"])
async def test_calls_need_a_token(http: httpx.AsyncClient, authorization: str) -> None:
    answer = await send(http, message(), Authorization=authorization)
    assert (answer.status_code, error_of(answer)["status"]) == (401, "UNAUTHENTICATED")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_an_agent_that_does_not_exist_is_not_found(http: httpx.AsyncClient) -> None:
    answer = await http.get("/a2a/nobody/v1/tasks/x", headers=CURRENT)
    assert (answer.status_code, error_of(answer)["status"]) == (404, "NOT_FOUND")


async def test_an_address_that_breaks_a_rule_is_refused_in_the_form_of_the_binding(http: httpx.AsyncClient) -> None:
    answer = await http.get(f"/a2a/{'a' * 65}/v1/tasks/x", headers=CURRENT)
    assert (answer.status_code, error_of(answer)["status"]) == (422, "INVALID_ARGUMENT")


async def test_a_body_that_is_too_large_is_refused(http: httpx.AsyncClient) -> None:
    answer = await send(http, b" " * (5 * 1024 * 1024 + 1))
    assert (answer.status_code, error_of(answer)["status"]) == (413, "INVALID_ARGUMENT")


async def test_a_body_of_too_many_values_is_refused(served: Watched, http: httpx.AsyncClient) -> None:
    """Anybody who parses it stops all other streams of the process."""
    answer = await send(http, message(metadata={"numbers": [1] * MAX_VALUES}))
    assert answer.status_code == 400
    assert "values" in error_of(answer)["message"]
    assert served.harness.model.requests == []


async def test_a_refusal_of_batons_own_keeps_its_http_status(
    served: Watched, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> None:
        raise RateLimited

    monkeypatch.setattr("baton.api.a2a.sending.Sender.prepare", refuse)
    for path in ("message:send", "message:stream"):
        answer = await send(http, message(), path)
        assert (answer.status_code, error_of(answer)["status"]) == (429, "RESOURCE_EXHAUSTED")
        metadata = error_of(answer)["details"][0]["metadata"]
        assert metadata == {"code": "rate_limited", "retryable": "true", "retryAfter": "1"}


def error_of(answer: httpx.Response) -> Json:
    """The error, which is the JSON of ``google.rpc.Status``."""
    reported: Json = answer.json()
    assert set(reported) == {"error"}
    error: Json = reported["error"]
    assert error["code"] == answer.status_code
    [info] = error["details"]
    assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert all(isinstance(value, str) for value in info["metadata"].values())
    return error


async def begin_listening(served: Watched, events: AsyncIterator[StreamResponse]) -> asyncio.Task[list[StreamResponse]]:
    """Begin to read a stream and return once its first event was sent. (The transport gives it out at its end.)"""
    following = asyncio.ensure_future(_all(events))
    await served.first_event.wait()
    return following


async def _all(events: AsyncIterator[StreamResponse]) -> list[StreamResponse]:
    return [event async for event in events]
