"""A request over a rate is refused in the form of each protocol, before anything expensive is done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from baton.api.runs.sse import Timing
from baton.domain.tenants.tenant_limits import DeploymentLimits, OperatorLimits
from tests.fakes.chat_model import Answer
from tests.harness.able_model import AbleModel
from tests.harness.harness import ASSISTANT, Harness
from tests.unit.api.a2a_client import A2AServed, blocking, message
from tests.unit.api.mcp_client import McpServed, open_to_mcp, request, response_in
from tests.unit.api.rerunning import Rerunning
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served


def limit_runs(**limits: Any) -> Harness:
    harness = Harness(assistant=open_to_mcp(ASSISTANT))
    harness.deployment_limits = DeploymentLimits(**limits)
    return harness


def check_problem(refused: httpx.Response, seconds: int) -> None:
    assert (refused.status_code, refused.headers["Content-Type"]) == (429, "application/problem+json")
    assert refused.headers["Retry-After"] == str(seconds)
    assert (refused.json()["code"], refused.json()["retryable"]) == ("rate_limited", True)


async def test_over_http_and_server_sent_events_it_is_a_problem_with_retry_after() -> None:
    served = Served(limit_runs(user_messages_per_minute=0))
    check_problem(await served.post("/messages", {"message": "Hello"}), 60)
    check_problem(await served.post("/runs", run_input(served)), 60)
    assert served.harness.model.requests == []


async def test_another_user_of_the_tenant_is_not_limited_by_the_first() -> None:
    served = Served(limit_runs(user_messages_per_minute=1))
    for user in ("ada", "bob"):
        assert (await served.post("/messages", {"message": "Hello"}, user=user)).status_code == 200
        check_problem(await served.post("/messages", {"message": "Again"}, user=user), 60)


async def test_a_repeated_message_gets_its_answer_whatever_the_rates_are() -> None:
    served = Served(limit_runs(user_messages_per_minute=1))
    body = {"sessionId": served.harness.thread_id, "messageId": "m1", "message": "Hello"}
    first = (await served.post("/messages", body)).json()
    check_problem(await served.post("/messages", body | {"messageId": "m2"}), 60)
    assert (await served.post("/messages", body)).json() == first


@pytest.mark.parametrize("version", [None, "1.0"])
async def test_over_a2a_it_is_an_error_with_the_time_to_wait(version: str | None) -> None:
    served = A2AServed(limit_runs(user_messages_per_minute=0))
    method = "message/send" if version is None else "SendMessage"
    sent = message() if version is None else {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}
    for params in ({"message": sent}, {"message": sent, "configuration": {"returnImmediately": True}}):
        answer = await served.call(method, params if version else blocking(sent), version=version)
        data = answer["error"]["data"]
        about = data if isinstance(data, dict) else data[0]
        assert "rate_limited" in json.dumps(about)
        assert '"retryAfter"' in json.dumps(about)
    assert served.queue.sent == []
    assert served.harness.a2a_tasks.marks == {}


async def test_over_a2a_by_http_it_is_a_status_with_retry_after() -> None:
    served = A2AServed(limit_runs(user_messages_per_minute=0))
    body = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}}
    refused = await served.post_a2a(
        json.dumps(body).encode(), path="/a2a/v1/message:send", headers={"A2A-Version": "1.0"}
    )
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert refused.json()["error"]["status"] == "RESOURCE_EXHAUSTED"


async def test_over_mcp_it_is_a_failed_result_with_the_time_to_wait() -> None:
    served = McpServed.over(limit_runs(user_messages_per_minute=0))
    call = request("tools/call", name="assistant", arguments={"message": "Hello"})
    result = response_in(await served.send(call))["result"]
    assert result["isError"]
    content = result["structuredContent"]
    assert (content["code"], content["retryable"], content["retry_after"]) == ("rate_limited", True, 60)


async def test_a_user_follows_no_more_streams_than_allowed_and_an_ended_one_makes_room() -> None:
    served = Served(limit_runs(user_follow_streams=1), timing=Timing(follow_seconds=30))
    goes_on = asyncio.Event()
    served.harness.model.script(Answer(("Hello there.",), gate=goes_on))
    running = asyncio.ensure_future(served.harness.say("m1"))
    await served.harness.wait_for_requests()
    path = f"/threads/{served.harness.thread_id}/events"
    following = asyncio.ensure_future(served.get(path))
    while not served.harness.activity.writes:  # noqa: ASYNC110 - the fake has no event for it
        await asyncio.sleep(0.01)
    check_problem(await served.get(path), 45)
    goes_on.set()
    await asyncio.gather(running, following)
    assert (await served.get(path)).status_code == 200


async def test_subscriptions_to_tasks_take_places_of_streams() -> None:
    served = A2AServed(limit_runs(user_follow_streams=1))
    goes_on = asyncio.Event()
    served.harness.model.script(Answer(("Hello there.",), gate=goes_on))
    started = {"message": message("One", "m-1"), "configuration": {"blocking": False}}
    task = (await served.call("message/send", started))["result"]
    following = asyncio.ensure_future(served.calls("SubscribeToTask", {"id": task["id"]}))
    await served.wait_for_answers(2)
    refused = await served.call("SubscribeToTask", {"id": task["id"]})
    assert "rate_limited" in json.dumps(refused["error"])
    await served.call("tasks/cancel", {"id": task["id"]})
    await following
    goes_on.set()
    [counted] = served.harness.activity.counts.values()
    assert not counted.places


async def test_by_default_a_flood_leaves_places_to_colleagues() -> None:
    harness = Harness()
    harness.deployment_limits = OperatorLimits()
    most = OperatorLimits().user_runs_at_once or 0
    served, goes_on = Served(harness), asyncio.Event()
    harness.model.script(*[Answer(("Hello there.",), gate=goes_on)] * most)
    flood = [asyncio.ensure_future(served.post("/messages", {"message": "Hello"})) for _ in range(most)]
    await harness.wait_for_requests(most)
    assert (await served.post("/messages", {"message": "One more"})).status_code == 429
    assert (await served.post("/messages", {"message": "Hello"}, user="bob")).status_code == 200
    goes_on.set()
    assert {answer.status_code for answer in await asyncio.gather(*flood)} == {200}


READ_ALL = ("context:inspect", "thread:read_all")


async def test_dry_runs_count_as_messages_of_their_caller() -> None:
    served = Rerunning(limit_runs(user_messages_per_minute=2))
    await served.harness.say("m1")
    await served.rerun_successfully("m1")
    check_problem(await served.rerun("m1"), 60)
    assert len(served.harness.model.requests) == 2
    assert (await served.rerun("m1", *READ_ALL, user="boss")).status_code == 200


async def test_dry_runs_spend_tokens_of_their_caller() -> None:
    served = Rerunning(limit_runs(user_tokens_per_day=1))
    await served.harness.say("m1")
    assert (await served.rerun("m1", *READ_ALL, user="boss")).status_code == 200
    check_problem(await served.rerun("m1", *READ_ALL, user="boss"), 12 * 3600)


async def test_a_user_has_no_more_dry_runs_at_once_than_runs() -> None:
    served = Rerunning(limit_runs(user_runs_at_once=1))
    await served.harness.say("m1")
    goes_on = asyncio.Event()
    served.harness.model.script(Answer(("Hello there.",), gate=goes_on))
    running = asyncio.ensure_future(served.rerun("m1"))
    await served.harness.wait_for_requests(2)
    refused = await served.rerun("m1")
    assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    goes_on.set()
    assert (await running).status_code == 200
    assert (await served.rerun("m1")).status_code == 200


async def test_model_checks_count_as_messages_and_spend_tokens() -> None:
    harness = Harness(model=AbleModel())
    harness.deployment_limits = DeploymentLimits(user_messages_per_minute=1, user_tokens_per_day=10**6)
    served = Served(harness)
    body = {"model": "test-model"}
    assert (await served.post("/models/check", body, "tenant:manage")).status_code == 200
    [counted] = harness.activity.counts.values()
    assert counted.tokens > 0
    check_problem(await served.post("/models/check", body, "tenant:manage"), 60)


async def test_a_request_that_is_refused_gives_its_place_back() -> None:
    served = Served(limit_runs(user_follow_streams=1))
    for _ in range(2):
        refused = await served.get("/threads/5c2f3a7e-6d55-4b62-9f0e-3a1c2f7f9f10/events")
        assert refused.status_code == 404


@pytest.mark.parametrize(
    "path", ["/v1/messages", "/v1/runs", "/v1/episodes/import", "/a2a", "/a2a/message:send", "/mcp"]
)
async def test_no_body_is_read_without_a_valid_token(path: str) -> None:
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"[")
        yield b"[" * 1_000

    transport = httpx.ASGITransport(Served().app)
    async with httpx.AsyncClient(transport=transport, base_url="http://baton.test") as client:
        headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
        refused = await client.post(path, content=body(), headers=headers)
    assert (refused.status_code, read) == (401, [])


@pytest.mark.parametrize("path", ["/v1/threads", "/v1/messages", "/a2a", "/mcp"])
async def test_thousands_of_parameters_are_refused_before_the_token_is_verified(path: str) -> None:
    served = Served()
    query = "&".join(f"limit={number}" for number in range(5_000))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(served.app), base_url="http://baton.test") as client:
        refused = await client.request("GET" if path == "/v1/threads" else "POST", f"{path}?{query}")
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
