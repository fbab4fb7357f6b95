"""Requests that take long to be read are refused before they are, in the form of each protocol."""

from __future__ import annotations

import json
from typing import Any, get_args

import httpx
import pytest
from fastapi.routing import APIRoute

from baton.api.http.middleware import MAX_BODY_BYTES, MAX_BODY_VALUES, MAX_HEADERS, MAX_PARAMETERS
from baton.domain.errors import InvalidRequest
from baton.domain.json_values import MAX_MEMBERS
from baton.entry.actions import parse_frame
from tests.unit.api.served import Served

MANY = {f"k{number}": 0 for number in range(MAX_MEMBERS + 1)}
ITEMS = 20_000
MAX_ERRORS = 2 * MAX_MEMBERS


def client() -> httpx.AsyncClient:
    served = Served()
    headers = {"Authorization": f"Bearer {served.harness.ada.tenant_id},ada"}
    return httpx.AsyncClient(transport=httpx.ASGITransport(served.app), base_url="http://baton.test", headers=headers)


@pytest.mark.parametrize("body", [MANY, {"message": "Hello", "metadata": [[{"a": MANY}]]}, [MANY]])
async def test_an_object_with_too_many_members_is_refused(body: Any) -> None:
    refused = await Served().post("/messages", body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "more than 1,000 members" in refused.json()["detail"]


async def test_long_lists_and_texts_are_not_counted_as_members() -> None:
    body = {"message": '{"a": 1, ' * 2_000, "agentId": "nobody", "parts": [[0] * 2_000, {"a": list(range(2_000))}]}
    refused = await Served().post("/messages", body)
    assert "members" not in refused.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "limit"),
    [
        ("/messages", {"message": "x" * MAX_BODY_BYTES}, "5 MiB"),
        ("/episodes/import", {"messages": ["x" * MAX_BODY_BYTES]}, "5 MiB"),
        ("/messages", {"message": [0] * MAX_BODY_VALUES}, "150,000 JSON values"),
    ],
    ids=["message", "import", "values"],
)
async def test_a_body_that_is_too_large_is_refused_by_the_limit_it_exceeds(path: str, body: Any, limit: str) -> None:
    refused = await Served().post(path, body)
    assert (refused.status_code, refused.json()["code"]) == (413, "message_too_large")
    assert refused.json()["detail"] == f"The body may have at most {limit}."


@pytest.mark.parametrize("path", ["/a2a", "/a2a/assistant"])
async def test_over_a2a_the_refusal_is_an_error_of_json_rpc(path: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": MANY}
    async with client() as ada:
        answer = await ada.post(path, json=call)
    assert answer.status_code == 200
    assert "more than 1,000 members" in answer.json()["error"]["message"]


def test_frames_have_the_same_limit() -> None:
    with pytest.raises(InvalidRequest, match="more than 1,000 members"):
        parse_frame(json.dumps(MANY))


async def test_a_query_has_a_bounded_number_of_parameters() -> None:
    parameters = {f"a{number}": "1" for number in range(MAX_PARAMETERS + 1)}
    refused = await Served().get("/threads", **parameters)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "at most 100 query parameters" in refused.json()["detail"]


async def test_a_request_has_a_bounded_number_of_headers() -> None:
    headers = {f"x-{number}": "1" for number in range(MAX_HEADERS + 1)}
    async with client() as ada:
        refused = await ada.get("/v1/threads", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert "at most 200 headers" in refused.json()["detail"]


def bodies() -> dict[str, tuple[Any, Any]]:
    """The field of each route's body, and its model."""
    results: dict[str, tuple[Any, Any]] = {}
    for route in Served().app.routes:
        if isinstance(route, APIRoute) and route.body_field is not None:
            annotation = route.body_field.field_info.annotation
            model = next((argument for argument in get_args(annotation) if argument is not type(None)), annotation)
            results[f"{min(route.methods)} {route.path}"] = (route.body_field, model)
    return results


BODIES = bodies()


RUN = {"threadId": "t", "runId": "r", "tools": [], "context": [], "state": {}, "forwardedProps": {}}
MESSAGES = [
    {"id": "m", "role": "user", "content": [0] * ITEMS},
    {"id": "m", "role": "assistant", "toolCalls": [{}] * ITEMS},
    {"id": "m", "role": "tool", "toolCallId": "c", "content": [{}] * ITEMS},
]


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize(("route", "more"), [("POST /v1/runs", RUN), ("POST /v1/episodes/import", {"sessionId": "s"})])
def test_lists_within_messages_end_validation_too(route: str, more: dict[str, Any], message: dict[str, Any]) -> None:
    field, _ = BODIES[route]
    for messages in ([message], [message] * 10, [{"id": "n", "role": "user", "content": "Hello"}, message]):
        _, errors = field.validate({**more, "messages": messages}, {}, loc=("body",))
        assert 0 < len(errors) <= MAX_ERRORS


@pytest.mark.parametrize("route", BODIES)
def test_no_body_makes_validation_collect_more_errors_than_an_object_has_members(route: str) -> None:
    field, model = BODIES[route]
    names = [item.alias or name for name, item in getattr(model, "model_fields", {}).items()]
    for value in ({}, 0, "x", [0], {"a": [0]}):
        for name in names:
            _, errors = field.validate({name: [value] * ITEMS}, {}, loc=("body",))
            assert len(errors or []) <= MAX_ERRORS, (name, value)
