"""Every refusal over HTTP is a problem, and the API says of itself what it does."""

from __future__ import annotations

import json
import re

import httpx
import pytest

from tests.e2e.bad_tokens import BAD_TOKENS, TokenMaker, make_expired
from tests.e2e.cloud import RunningCloud
from tests.e2e.problems import check_any_problem, check_problem
from tests.e2e.sockets import new_id
from tests.e2e.users import User, run_input


async def test_nothing_is_reported_without_a_token(http_client: httpx.AsyncClient) -> None:
    document = (await http_client.get("/v1/openapi.json")).raise_for_status().json()
    thread_id = new_id()
    protected = [
        (method.upper(), re.sub(r"{\w+}", lambda part: "1" if part[0] == "{number}" else thread_id, path))
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if operation["security"] and {} not in operation["security"]
    ]
    assert len(protected) > 100
    for method, path in protected:
        refused = await http_client.request(method, path)
        assert refused.status_code == 401, (method, path)
        if not re.match(r"/a2a/([\w-]+/)?v1/", path):  # errors of A2A's HTTP+JSON binding have another form
            check_problem(refused, 401, "unauthorized")
        assert refused.headers["www-authenticate"].startswith("Bearer"), (method, path)


@pytest.mark.parametrize("path", ["/v1/threads", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/events"])
async def test_nothing_is_reported_to_half_a_token(http_client: httpx.AsyncClient, path: str) -> None:
    for value in ("Bearer", "Basic YTpi", "Bearer x y"):
        refused = await http_client.get(path, headers={"Authorization": value})
        check_problem(refused, 401, "unauthorized")
        assert refused.headers["www-authenticate"].startswith("Bearer"), value


@pytest.mark.parametrize("make", BAD_TOKENS)
async def test_a_token_that_cannot_be_trusted_is_refused(
    http_client: httpx.AsyncClient, cloud: RunningCloud, make: TokenMaker
) -> None:
    for path in ("/v1/threads", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/events"):
        refused = await http_client.get(path, headers={"Authorization": f"Bearer {make(cloud)}"})
        check_problem(refused, 401, "token_expired" if make is make_expired else "unauthorized")


@pytest.mark.nightly
async def test_the_token_is_not_taken_from_the_query(http_client: httpx.AsyncClient, cloud: RunningCloud) -> None:
    query = {"token": cloud.token("acme", "alice"), "access_token": cloud.token("acme", "alice")}
    check_problem(await http_client.get("/v1/threads", params=query), 401, "unauthorized")


UNKNOWN_ADDRESSES = [
    ("GET", "/v1/nothing"),
    ("GET", "/v1"),
    ("GET", "/nothing"),
    ("POST", "/v2/messages"),
    ("GET", "/v1/threads/a/b/c"),
    ("GET", "/v1/threads//messages"),
    ("GET", "/v1/%2e%2e/%2e%2e/etc/passwd"),
    ("GET", "/v1/threads/%00"),
    ("GET", "/v1/threads/%ff%fe"),
    ("PUT", "/health/deep"),
]


@pytest.mark.nightly
async def test_an_unknown_address_is_a_problem(alice: User) -> None:
    for method, path in UNKNOWN_ADDRESSES:
        refused = await alice.client.request(method, path, headers=alice.headers)
        assert check_any_problem(refused)["status"] in (404, 422), (method, path)


UNKNOWN_METHODS = [
    ("GET", "/v1/messages"),
    ("PUT", "/v1/messages"),
    ("DELETE", "/v1/messages"),
    ("GET", "/v1/runs"),
    ("PATCH", "/v1/threads"),
    ("POST", "/v1/agents"),
    ("POST", "/health"),
    ("PUT", "/v1/threads/a/events"),
    ("GET", "/v1/threads/a/exit"),
    ("PUT", "/v1/threads/a/continue"),
    ("PUT", "/v1/threads/a/merge"),
    ("POST", "/v1/workflows"),
]


@pytest.mark.nightly
async def test_a_method_that_is_not_there_is_a_problem(alice: User) -> None:
    for method, path in UNKNOWN_METHODS:
        refused = await alice.client.request(method, path, headers=alice.headers)
        # A separate route for one method leaves API Gateway, not the app, to refuse the others.
        assert check_any_problem(refused)["code"] in ("method_not_allowed", "not_found"), (method, path)


@pytest.mark.nightly
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/runs"])
async def test_a_body_that_is_no_json_is_a_problem(alice: User, cloud: RunningCloud, tenant: str, path: str) -> None:
    headers = {**alice.headers, "Content-Type": "application/json"}
    for body in (b"", b"{", b"nonsense", b"\xff\xfe\x00", b'{"message": "Hello"', b"{'a': 1}"):
        refused = await alice.client.post(path, content=body, headers=headers)
        assert check_any_problem(refused)["code"] in ("malformed_json", "invalid_request"), body
        assert refused.status_code in (400, 422), body
    assert cloud.items(tenant) == []


@pytest.mark.nightly
async def test_a_body_of_another_type_is_a_problem(alice: User) -> None:
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        headers = {**alice.headers, **({"Content-Type": media_type} if media_type else {})}
        refused = await alice.client.post("/v1/messages", content=b"message=Hello", headers=headers)
        assert 400 <= check_any_problem(refused)["status"] < 500, media_type


WRONG_BODIES: list[object] = [
    {},
    [],
    "Hello",
    7,
    None,
    {"message": None},
    {"message": 7},
    {"message": ""},
    {"message": " \n"},
    {"message": []},
    {"message": {}},
    {"message": [7]},
    {"message": [{"type": "text"}]},
    {"message": [{"type": "text", "text": "Hello"}] * 33},
    {"message": "Hello", "sessionId": 7},
    {"message": "Hello", "sessionId": ""},
    {"message": "Hello", "sessionId": "x" * 257},
    {"message": "Hello", "sessionId": "a\x00b"},
    {"message": "Hello", "messageId": ""},
    {"message": "Hello", "messageId": 7},
    {"message": "Hello", "messageId": "x" * 129},
    {"message": "Hello", "messageId": "a\nb"},
    {"message": "Hello", "agentId": 7},
    {"message": "Hello", "agentId": ["assistant"]},
]


@pytest.mark.nightly
async def test_a_body_of_the_wrong_shape_is_a_problem(alice: User, cloud: RunningCloud, tenant: str) -> None:
    for body in WRONG_BODIES:
        problem = check_problem(await alice.post("/messages", body), 422, "invalid_request")
        assert len(problem["detail"]) < 500, body
    assert cloud.items(tenant) == []


@pytest.mark.nightly
@pytest.mark.parametrize("text", ['"half a pair \\ud83d"', '[{"type": "text", "text": "\\udc00"}]'])
async def test_half_a_surrogate_pair_is_no_text(alice: User, cloud: RunningCloud, tenant: str, text: str) -> None:
    headers = {**alice.headers, "Content-Type": "application/json"}
    for path, body in (
        ("/v1/messages", f'{{"message": {text}}}'),
        ("/v1/messages", '{"message": "Hello", "sessionId": "\\ud83d"}'),
        ("/v1/messages", '{"message": "Hello", "messageId": "\\ud83d"}'),
        ("/v1/runs", json.dumps(run_input("TEXT")).replace('"TEXT"', text)),
    ):
        check_problem(await alice.client.post(path, content=body, headers=headers), 422, "invalid_request")
    assert cloud.items(tenant) == []


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/runs"])
async def test_a_body_over_a_megabyte_is_refused(alice: User, cloud: RunningCloud, tenant: str, path: str) -> None:
    text = "x" * (1024 * 1024 + 1)
    for size in (1, 2):
        body = {"message": text * size} if path == "/v1/messages" else run_input(text * size)
        refused = await alice.client.post(path, json=body, headers=alice.headers)
        check_problem(refused, 413, "message_too_large")
    assert cloud.items(tenant) == []


async def test_a_body_over_api_gateways_limit_is_a_problem_too(alice: User) -> None:
    body = b"x" * (10 * 1024 * 1024 + 1)
    refused = await alice.client.post("/v1/threads/a/files", content=body, headers=alice.headers)
    check_problem(refused, 413, "message_too_large")


@pytest.mark.nightly
async def test_audio_is_refused(alice: User, cloud: RunningCloud, tenant: str) -> None:
    audio = {"type": "audio", "source": {"type": "data", "value": "AAAA", "mimeType": "audio/wav"}}
    check_problem(await alice.post("/messages", {"message": [audio]}), 422, "unsupported_part")
    assert cloud.items(tenant) == []


async def test_a_web_page_of_any_origin_may_call(alice: User) -> None:
    origin = "https://shop.example"
    for method, path in (
        ("POST", "/v1/runs"),
        ("POST", "/v1/messages"),
        ("POST", f"/v1/threads/{new_id()}/exit"),
        ("POST", f"/v1/threads/{new_id()}/continue"),
        ("POST", f"/v1/threads/{new_id()}/merge"),
        ("GET", f"/v1/threads/{new_id()}/events"),
    ):
        preflight = await alice.client.options(
            path,
            headers={
                "Origin": origin,
                "Access-Control-Request-Method": method,
                "Access-Control-Request-Headers": "authorization, content-type, last-event-id",
            },
        )
        assert preflight.status_code in (200, 204)
        assert preflight.headers["access-control-allow-origin"] in ("*", origin)
        assert method in preflight.headers["access-control-allow-methods"]
        allowed = preflight.headers["access-control-allow-headers"].lower()
        assert all(name in allowed for name in ("authorization", "content-type", "last-event-id"))
    for path in ("/v1/threads", f"/v1/threads/{new_id()}", "/v1/nothing", "/nothing"):
        answered = await alice.client.get(path, headers={**alice.headers, "Origin": origin})
        assert answered.headers["access-control-allow-origin"] in ("*", origin), path


@pytest.mark.nightly
async def test_request_ids_differ(alice: User) -> None:
    ids = {check_any_problem(await alice.get("/threads/nobodys"))["requestId"] for _ in range(3)}
    assert len(ids) == 3
