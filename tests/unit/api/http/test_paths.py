"""Valid values in paths, and the methods of each path."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from mangum import Mangum

from baton.domain.tenants.identity import Scope, resolve_thread_ref
from tests.unit.api.served import Served, openapi

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
HOSTS_IDS = [
    "order/4711",
    "a//b",
    "/",
    "100%",
    "a%2Fb",
    "a%252Fb/c",
    "très/long?#",
    "../threads",
    "x/messages",
    "y/close",
]


@pytest.mark.parametrize("given_id", HOSTS_IDS)
async def test_a_hosts_own_id_is_read_back_under_any_path_whatever_it_holds(given_id: str) -> None:
    served = Served()
    sent = await served.post("/messages", {"sessionId": given_id, "messageId": "m1", "message": "Hello"})
    canonical = sent.json()["sessionId"]
    path = f"/threads/{quote(given_id, safe='')}"
    assert (await served.get(path)).json()["id"] == canonical
    messages, _ = await served.items(f"{path}/messages")
    assert messages[0]["content"] == "Hello"
    closed = await served.post(f"{path}/close", None)
    assert (closed.status_code, closed.json()["threadId"]) == (202, canonical)


@pytest.mark.parametrize("given_id", HOSTS_IDS)
async def test_a_rest_apis_event_names_the_same_thread(given_id: str) -> None:
    """Mangum has no raw path; the event's own is still encoded."""
    served = Served()
    event = rest_event(f"/v1/threads/{quote(given_id, safe='')}/close")
    answer = await asyncio.to_thread(by_mangum, served, event)
    assert answer["statusCode"] == 404
    [record] = served.harness.audit.records
    assert record.thread_id == resolve_thread_ref(Scope("acme", "ada"), given_id).id


async def test_slashes_that_are_not_encoded_part_segments() -> None:
    served = Served()
    assert (await served.get("/threads/order/4711")).json()["code"] == "not_found"


def list_described() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, operations in openapi()["paths"].items():
        for method, operation in operations.items():
            yield path, method.upper(), operation


async def test_a_method_that_a_path_does_not_take_is_refused_with_those_it_takes() -> None:
    served = Served()
    taken: dict[str, set[str]] = {}
    for path, method, _ in list_described():
        taken.setdefault(path, set()).add(method)
    for path, methods in taken.items():
        for method in {*METHODS, "TRACE", "HEAD", "PURGE"} - methods:
            named = path.replace("{episode_id}", str(uuid.uuid4())).replace("{", "").replace("}", "")
            answer = await served.request(method, named)
            assert answer.status_code == 405, (method, path)
            assert set(answer.headers["allow"].split(", ")) == methods, (method, path)


def test_every_route_that_takes_a_body_shows_that_it_may_be_malformed() -> None:
    for path, method, operation in list_described():
        # A2A and MCP answer such a body by JSON-RPC's own error.
        if "requestBody" in operation and not path.startswith(("/a2a", "/mcp")):
            assert "400" in operation["responses"], (method, path)


def by_mangum(served: Served, event: dict[str, Any]) -> dict[str, Any]:
    """The function's answer; Mangum works on the loop of its thread."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        return Mangum(served.app, lifespan="off")(event, {})  # type: ignore[arg-type]


def rest_event(path: str) -> dict[str, Any]:
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": "POST",
        "headers": {"Authorization": "Bearer acme,ada", "Host": "baton.test"},
        "multiValueHeaders": {"Authorization": ["Bearer acme,ada"], "Host": ["baton.test"]},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "requestContext": {"identity": {}, "requestId": "r-1"},
        "body": None,
        "isBase64Encoded": False,
    }
