"""Every refusal over HTTP is a problem, and the API says of itself what it does."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from openapi_spec_validator import validate

from tests.e2e.bad_tokens import BAD_TOKENS, TokenMaker, expired
from tests.e2e.cloud import RunningCloud
from tests.e2e.problems import check_any_problem, check_problem
from tests.e2e.sockets import new_id
from tests.e2e.users import User, run_input

PROTECTED = [
    ("POST", "/v1/runs"),
    ("POST", "/v1/messages"),
    ("GET", "/v1/threads"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000"),
    ("PATCH", "/v1/threads/550e8400-e29b-41d4-a716-446655440000"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/messages"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/messages/m-1/feedback"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/turns"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/turns/550e8400-e29b-41d4-a716-446655440000/context"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/turns/550e8400-e29b-41d4-a716-446655440000/rerun"),
    ("GET", "/v1/episodes"),
    ("GET", "/v1/episodes/550e8400-e29b-41d4-a716-446655440000"),
    ("POST", "/v1/episodes/search"),
    ("POST", "/v1/episodes/import"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/events"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/files"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/cancel"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/exit"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/continue"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/fork"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/sandbox"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/merge"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/branches"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/branches/b1/select"),
    ("POST", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/close"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/audit"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/tool-calls"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/tasks"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/tasks/task-1"),
    ("GET", "/v1/threads/550e8400-e29b-41d4-a716-446655440000/handoffs"),
    ("DELETE", "/v1/threads/550e8400-e29b-41d4-a716-446655440000"),
    ("GET", "/v1/users/me"),
    ("DELETE", "/v1/users/me/memory"),
    ("GET", "/v1/users/me/export"),
    ("GET", "/v1/forget-requests/request-1"),
    ("GET", "/v1/overview"),
    ("GET", "/v1/usage"),
    ("GET", "/v1/webhooks/deliveries"),
    ("POST", "/v1/webhooks/deliveries/x/redeliver"),
    ("GET", "/v1/tenant/limits"),
    ("PUT", "/v1/tenant/limits"),
    ("GET", "/v1/models"),
    ("POST", "/v1/models/check"),
    ("GET", "/v1/evaluations"),
    ("POST", "/v1/evaluations"),
    ("GET", "/v1/evaluations/550e8400-e29b-41d4-a716-446655440000"),
    ("DELETE", "/v1/evaluations/550e8400-e29b-41d4-a716-446655440000"),
    ("GET", "/v1/retention"),
    ("PUT", "/v1/retention"),
    ("GET", "/v1/workflows"),
    ("GET", "/v1/audit"),
    ("GET", "/v1/audit/export"),
    ("GET", "/v1/agents"),
    ("GET", "/v1/agents/assistant"),
    ("PUT", "/v1/agents/tutor"),
    ("DELETE", "/v1/agents/tutor"),
    ("GET", "/v1/agents/tutor/versions"),
    ("GET", "/v1/agents/tutor/versions/1"),
    ("POST", "/v1/agents/tutor/rollback"),
    ("GET", "/v1/agents/assistant/procedures"),
    ("POST", "/v1/agents/assistant/procedures"),
    ("POST", "/v1/agents/assistant/procedures/match"),
    ("GET", "/v1/agents/assistant/procedures/slack-alert"),
    ("GET", "/v1/agents/assistant/procedures/slack-alert/SKILL.md"),
    ("PUT", "/v1/agents/assistant/procedures/slack-alert"),
    ("DELETE", "/v1/agents/assistant/procedures/slack-alert"),
    ("POST", "/v1/agents/assistant/procedures/slack-alert/approve"),
    ("POST", "/v1/agents/assistant/procedures/slack-alert/reject"),
    ("POST", "/v1/agents/assistant/procedures/slack-alert/offer"),
    ("DELETE", "/v1/agents/assistant/procedures/slack-alert/offer"),
    ("POST", "/v1/agents/assistant/procedures/slack-alert/share"),
    ("POST", "/v1/agents/assistant/procedures/slack-alert/decline"),
    ("GET", "/v1/agents/assistant/procedures/slack-alert/source"),
    ("GET", "/v1/procedures"),
    ("GET", "/v1/skills"),
    ("POST", "/v1/agents/assistant/knowledge/search"),
    ("POST", "/v1/agents/assistant/documents"),
    ("GET", "/v1/agents/assistant/documents"),
    ("GET", "/v1/agents/assistant/documents/doc_00000000000000000000000000000001"),
    ("DELETE", "/v1/agents/assistant/documents/doc_00000000000000000000000000000001"),
    ("POST", "/v1/agents/assistant/sources"),
    ("GET", "/v1/agents/assistant/sources"),
    ("GET", "/v1/agents/assistant/sources/src_00000000000000000000000000000001"),
    ("DELETE", "/v1/agents/assistant/sources/src_00000000000000000000000000000001"),
    ("POST", "/v1/agents/assistant/sources/src_00000000000000000000000000000001/refresh"),
    ("POST", "/a2a"),
    ("POST", "/a2a/assistant"),
    ("GET", "/agent/authenticatedExtendedCard"),
    ("POST", "/mcp"),
]
PUBLIC = [
    ("GET", "/health"),
    ("GET", "/.well-known/agent-card.json"),
    ("GET", "/.well-known/agent.json"),
    ("GET", "/a2a/{}/.well-known/agent-card.json"),
    ("GET", "/a2a"),
    ("GET", "/a2a/{}"),
    ("GET", "/.well-known/oauth-protected-resource"),
    ("GET", "/.well-known/oauth-protected-resource/mcp"),
    ("GET", "/.well-known/agent-card-keys.json"),
    ("GET", "/.well-known/jwks.json"),
]
"""Routes that answer without a token."""
TOKENLESS = (
    "/health",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/agent-card-keys.json",
    "/.well-known/jwks.json",
)
"""Those of them that never look at one."""


async def test_nothing_is_reported_without_a_token(http_client: httpx.AsyncClient) -> None:
    for method, path in PROTECTED:
        refused = await http_client.request(method, path)
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
        check_problem(refused, 401, "token_expired" if make is expired else "unauthorized")


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
    ("POST", "/v1/threads/a/events"),
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


@pytest.fixture(scope="session")
async def openapi(http_client: httpx.AsyncClient) -> dict[str, Any]:
    """The API's own description."""
    response = await http_client.get("/v1/openapi.json")
    assert response.status_code == 200
    document: dict[str, Any] = response.json()
    return document


@pytest.mark.nightly
async def test_the_description_is_valid_openapi(openapi: dict[str, Any]) -> None:
    assert openapi["openapi"].startswith("3.1")
    validate(openapi)


@pytest.mark.nightly
async def test_the_description_holds_every_route(openapi: dict[str, Any]) -> None:
    described = {(method.upper(), re.sub(r"\{\w+\}", "{}", path)) for path, method, _ in operations(openapi)}
    named = re.compile(
        r"/(550e[\w-]+|(?:doc|src)_0+1|b1|assistant|task-1|m-1|me(?=/)|request-1|slack-alert|tutor|1)(?=/|$)"
    )
    placeholders = {(method, named.sub("/{}", path)) for method, path in PROTECTED}
    assert described == placeholders | set(PUBLIC)


@pytest.mark.nightly
async def test_every_route_is_described_with_examples(openapi: dict[str, Any]) -> None:
    for path, method, operation in operations(openapi):
        where = f"{method} {path}"
        assert operation["summary"], where
        assert operation["description"], where
        assert operation["tags"], where
        succeeded = [answer for code, answer in operation["responses"].items() if code.startswith("2")]
        assert succeeded, where
        for answer in succeeded:
            # A 204 has no content.
            for media in answer.get("content", {}).values():
                assert has_example(openapi, media), where
        if "requestBody" in operation:
            for media in operation["requestBody"]["content"].values():
                assert has_example(openapi, media), where
        for parameter in operation.get("parameters", []):
            assert parameter.get("description") or parameter["schema"].get("description"), (where, parameter["name"])


@pytest.mark.nightly
async def test_every_protected_route_shows_its_problems(openapi: dict[str, Any]) -> None:
    for path, method, operation in operations(openapi):
        if path in TOKENLESS:
            continue
        assert operation["security"], path
        assert "401" in operation["responses"], (method, path)
        for code, answer in operation["responses"].items():
            if code.startswith(("4", "5")):
                media = answer["content"]["application/problem+json"]
                for example in media["examples"].values():
                    assert example["value"]["status"] == int(code)
                assert "application/json" not in answer["content"], (method, path, code)


def operations(openapi: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Path, method and description of every operation.

    A2A's HTTP+JSON binding has problems of another kind: see ``tests/unit/api/a2a/test_a2a_rest.py``.
    """
    return [
        (path, method, operation)
        for path, item in openapi["paths"].items()
        if not re.match(r"/a2a/(\{agent_id\}/)?v1/", path)
        for method, operation in item.items()
    ]


def has_example(openapi: dict[str, Any], media: dict[str, Any]) -> bool:
    """Whether there is an example of this body: in the body, its schema, or every property of it."""
    if media.get("example") or media.get("examples"):
        return True
    return schema_has_example(openapi, media["schema"])


def schema_has_example(openapi: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether a reader of the schema sees what a value looks like."""
    if "$ref" in schema:
        return schema_has_example(openapi, openapi["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]])
    if any(name in schema for name in ("example", "examples", "enum", "const", "default")):
        return True
    if schema.get("type") == "boolean" or schema.get("type") == "null":
        return True
    if "properties" in schema:
        return all(schema_has_example(openapi, value) for value in schema["properties"].values())
    if "items" in schema:
        return schema_has_example(openapi, schema["items"])
    if "anyOf" in schema:
        return any(schema_has_example(openapi, value) for value in schema["anyOf"] if value.get("type") != "null")
    return bool(schema.get("description"))
