"""Requests to /mcp that are wrong, and requests that are anything."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton.api.a2a.access import A2AAccess
from baton.api.application import create_app
from baton.api.mcp.access import McpAccess
from tests.fakes.chat_model import Answer
from tests.unit.api.mcp_client import Json, McpServed, read_structured, request, response_in

VERSIONS = (None, "2025-11-25", "2026-07-28")
METADATA = "http://baton.test/.well-known/oauth-protected-resource"


@pytest.fixture
def served() -> McpServed:
    return McpServed.over()


def call(version: str | None, **params: Any) -> tuple[Json, dict[str, str]]:
    """A call of a tool in either line of the protocol; its body and headers."""
    headers = {} if version is None else {"MCP_Protocol_Version": version}
    if version == "2026-07-28":
        name = params.get("name")
        headers |= {"Mcp_Method": "tools/call"} | ({"Mcp_Name": name} if isinstance(name, str) else {})
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        } | params.get("_meta", {})
    return request("tools/call", **params), headers


NO_MESSAGES: list[bytes] = [
    b"",
    b"{",
    b"\xff\xfe",
    b"null",
    b'"text"',
    b"{}",
    b"[]",
    b"[" * 50_000,
    b"[" + json.dumps(request("ping")).encode() + b"]",
    json.dumps(request("ping") | {"jsonrpc": "1.0"}).encode(),
    json.dumps(request("ping") | {"id": {"bad": "type"}}).encode(),
    json.dumps(request("ping") | {"method": None}).encode(),
]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_body_that_is_no_message_is_refused(served: McpServed, version: str | None) -> None:
    headers = {} if version is None else {"MCP_Protocol_Version": version}
    for body in NO_MESSAGES:
        answer = await served.send(body, **headers)
        assert answer.status_code == 400, body[:80]
        assert answer.json()["error"]["code"] in (-32700, -32600, -32602), body[:80]


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, 405),
        ("DELETE", {}, 405),
        ("GET", {"Mcp_Session_Id": "s-1"}, 405),
        ("POST", {"Accept": "application/json"}, 406),
        ("POST", {"Accept": "text/html"}, 406),
        ("POST", {"MCP_Protocol_Version": "1999-01-01"}, 400),
        ("POST", {"MCP_Protocol_Version": "\x7f"}, 400),
        ("POST", {"Content_Type": "text/plain"}, 400),
    ],
)
async def test_a_request_that_is_not_of_the_protocol_is_refused(
    served: McpServed, method: str, headers: dict[str, str], status: int
) -> None:
    answer = await served.send(request("ping"), method=method, **headers)
    assert answer.status_code == status
    if status == 405:
        assert answer.headers["allow"] == "POST"


async def test_a_session_is_a_name_and_nothing_more(served: McpServed) -> None:
    for session in ("never-heard-of", "x" * 5_000, "a b", "\x7f"):
        answer = await served.send(request("tools/list"), Mcp_Session_Id=session)
        assert [tool["name"] for tool in response_in(answer)["result"]["tools"]] == ["assistant"]


WRONG_ARGUMENTS: list[Json | None] = [
    None,
    {},
    {"message": 1},
    {"message": " "},
    {"message": ""},
    {"message": "\ud800"},
    {"message": "Hello", "more": 1},
    {"message": "Hello", "thread_id": 7},
    {"message": "Hello", "thread_id": ""},
    {"message": "Hello", "thread_id": "a\0b"},
    {"message": "Hello", "thread_id": "t" * 300},
    {"message": "Hello", "answer": {"approved": True}},
    {"answer": {"approved": True}},
    {"answer": "yes", "thread_id": "t-1"},
]


@pytest.mark.parametrize("version", VERSIONS)
async def test_wrong_arguments_are_a_result_that_says_what_is_wrong(served: McpServed, version: str | None) -> None:
    for arguments in WRONG_ARGUMENTS:
        body, headers = call(version, name="assistant", arguments=arguments)
        if arguments is None:
            del body["params"]["arguments"]
        reported = response_in(await served.send(body, **headers))
        if "error" in reported:  # text that JSON cannot hold
            assert reported["error"]["code"] in (-32700, -32602), arguments
            continue
        assert reported["result"]["isError"] is True, arguments
        assert reported["result"]["structuredContent"]["code"] == "invalid_request", arguments
    assert served.harness.model.requests == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "params", [{}, {"name": 1}, {"name": None}, {"name": "assistant", "arguments": "Hello"}, {"name": ["assistant"]}]
)
async def test_a_call_of_another_shape_is_an_error_of_the_protocol(
    served: McpServed, version: str | None, params: Json
) -> None:
    body, headers = call(version, **params)
    reported = response_in(await served.send(body, **headers))
    assert reported["error"]["code"] in (-32602, -32020)
    assert served.harness.model.requests == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_unknown_method_is_not_found(served: McpServed, version: str | None) -> None:
    body, headers = call(version, name="assistant")
    body["method"] = "tools/cal"
    headers = {name: "tools/cal" if name == "Mcp_Method" else value for name, value in headers.items()}
    headers.pop("Mcp_Name", None)
    assert response_in(await served.send(body, **headers))["error"]["code"] == -32601


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_message_of_a_megabyte_is_too_large(served: McpServed, version: str | None) -> None:
    body, headers = call(version, name="assistant", arguments={"message": "x" * (1024 * 1024 + 1)})
    reported = response_in(await served.send(body, **headers))
    assert reported["result"]["structuredContent"]["code"] == "message_too_large"
    assert served.harness.model.requests == []
    assert (await served.send(b" " * (6 * 1024 * 1024), **headers)).status_code == 413


@pytest.mark.parametrize("key", [1, "", "k" * 1_025, "a\nb", ["k"]])
async def test_a_key_must_be_text(served: McpServed, key: Any) -> None:
    body, headers = call("2026-07-28", name="assistant", arguments={"message": "Hello"})
    body["params"]["_meta"]["baton.dev/idempotency-key"] = key
    reported = response_in(await served.send(body, **headers))
    assert reported["result"]["structuredContent"]["code"] == "invalid_request"


@pytest.mark.parametrize(
    "fields",
    [
        {"requestState": "00000000-0000-4000-8000-000000000000", "inputResponses": {"a.1": {"action": "accept"}}},
        {"requestState": "\0", "inputResponses": {"a.1": {"action": "accept", "content": {"approved": True}}}},
        {"requestState": "t-1", "inputResponses": {}},
        {"requestState": "t-1", "inputResponses": {"": {"action": "decline"}}},
        {"requestState": "t-1", "inputResponses": {"a.1": {"roots": []}}},
    ],
)
async def test_answers_to_forms_that_nobody_was_shown_are_refused(served: McpServed, fields: Json) -> None:
    body, headers = call("2026-07-28", name="assistant", arguments={"message": "Hello"})
    body["params"] |= fields
    reported = response_in(await served.send(body, **headers))
    assert reported["result"]["isError"] is True
    assert served.harness.model.requests == []


async def test_a_call_without_a_token_is_led_to_who_issues_them(served: McpServed) -> None:
    reported = await served.send(request("ping"), user=None)
    assert (reported.status_code, reported.json()["code"]) == (401, "unauthorized")
    assert reported.headers["www-authenticate"] == f'Bearer resource_metadata="{METADATA}/mcp"'
    bad = await served.send(request("ping"), user=None, Authorization="Bearer x")
    assert bad.status_code == 401
    assert bad.headers["www-authenticate"] == f'Bearer error="invalid_token", resource_metadata="{METADATA}/mcp"'


@pytest.mark.parametrize("issuers", [(), ("https://login.example.com/", "https://other.example.com")])
async def test_the_metadata_names_the_issuers(served: McpServed, issuers: tuple[str, ...]) -> None:
    served.app = create_app(served.app.state.use_cases, a2a=A2AAccess(issuers=lambda: issuers))
    for path, resource in (("", "http://baton.test"), ("/mcp", "http://baton.test/mcp")):
        reported = (await served.request("GET", f"/.well-known/oauth-protected-resource{path}")).json()
        assert reported["resource"] == resource
        assert reported.get("authorization_servers", []) == list(issuers)
        assert reported["bearer_methods_supported"] == ["header"]


@pytest.mark.parametrize(
    ("access", "origin", "status"),
    [
        (McpAccess(), None, 200),
        (McpAccess(), "https://any.example.com", 200),
        (McpAccess(lambda: ("https://app.example.com",)), "https://app.example.com", 200),
        (McpAccess(lambda: ("https://app.example.com",)), "https://evil.example.com", 403),
        (McpAccess(lambda: ("https://app.example.com",)), "https://app.example.com.evil.net", 403),
        (McpAccess(lambda: ("https://app.example.com",)), "null", 403),
        (McpAccess(tuple), "https://app.example.com", 403),
        (McpAccess(is_local=True), "http://localhost:6274", 200),
        (McpAccess(is_local=True), "http://127.0.0.1:8080", 200),
        (McpAccess(is_local=True), "http://rebound.example.com:8080", 403),
        (McpAccess(is_local=True), "http://[::1", 403),
        (McpAccess(is_local=True), "null", 403),
        (McpAccess(lambda: ("https://rebound.example.com",), is_local=True), "https://rebound.example.com", 200),
    ],
)
async def test_only_pages_of_allowed_origins_may_call(
    served: McpServed, access: McpAccess, origin: str | None, status: int
) -> None:
    served.app.state.mcp = access
    answer = await served.send(request("ping"), **({"Origin": origin} if origin is not None else {}))
    assert answer.status_code == status
    if status == 403:
        assert answer.json()["code"] == "origin_refused"


async def test_a_call_ends_when_the_token_does_and_the_run_goes_on() -> None:
    served = McpServed.over(token_seconds=5.0)
    gate = asyncio.Event()
    served.harness.model.script(Answer(("Said.",), gate=gate))
    async with served.client() as client:
        reported = read_structured(await client.call_tool("assistant", {"message": "Hello"}))
    assert reported["code"] == "token_expired"
    gate.set()
    served.token_seconds = 3600.0
    async with served.client() as client:
        after = read_structured(
            await client.call_tool("assistant", {"message": "And?", "thread_id": reported["thread_id"]})
        )
    assert after["state"] == "completed"
    messages, _ = await served.items(f"/threads/{reported['thread_id']}/messages")
    assert [message["content"] for message in messages][:2] == ["Hello", "Said."]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_fault_of_ours_shows_nothing_of_the_inside(
    served: McpServed, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: Any, **options: Any) -> Any:
        fail_at_once()

    def fail_at_once(*arguments: Any) -> None:
        raise RuntimeError("the inside")

    body, headers = call(version, name="assistant", arguments={"message": "Hello"})
    monkeypatch.setattr(served.harness.store, "acquire", fail)
    answer = await served.send(body, **headers)
    assert response_in(answer)["result"]["structuredContent"]["code"] == "internal_error"
    assert "inside" not in answer.text
    monkeypatch.setattr(served.harness.shipped_agents, "get", fail_at_once)
    answer = await served.send(body, **headers)
    assert response_in(answer)["error"]["code"] == -32603
    assert "inside" not in answer.text


ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
NAMES = st.sampled_from(["name", "arguments", "_meta", "requestState", "inputResponses", "cursor", "requestId", "task"])
ARGUMENTS = st.dictionaries(st.sampled_from(["message", "thread_id", "answer"]) | st.text(max_size=5), ANYTHING)
METHODS = st.sampled_from(
    [
        "tools/call",
        "tools/list",
        "ping",
        "initialize",
        "server/discover",
        "notifications/cancelled",
        "notifications/initialized",
        "subscriptions/listen",
        "prompts/get",
    ]
)


@pytest.mark.hypothesis  # so that `make properties` finds it
def test_anything_gets_an_answer() -> None:
    with asyncio.Runner() as runner:
        served = McpServed.over()

        @settings(suppress_health_check=list(HealthCheck))
        @given(
            method=METHODS | ANYTHING,
            request_id=st.integers() | st.text(max_size=5) | ANYTHING,
            params=st.dictionaries(NAMES, st.just("assistant") | ARGUMENTS | ANYTHING) | ANYTHING,
            version=st.sampled_from(VERSIONS)
            | st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=12),
            is_notification=st.booleans(),
        )
        def check(method: Any, request_id: Any, params: Any, version: str | None, *, is_notification: bool) -> None:
            body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
            if is_notification:
                del body["id"]
            headers = {"Mcp_Session_Id": "s-1"} | ({} if version is None else {"MCP_Protocol_Version": version})
            if isinstance(method, str) and method.isascii() and method.isprintable():
                headers["Mcp_Method"] = method
            answer = runner.run(served.send(body, **headers))
            assert answer.status_code in (200, 202, 400, 404, 406), answer.text
            if answer.status_code != 202 and answer.content:
                reported = response_in(answer)
                assert reported.get("error", {}).get("code") != -32603, reported

        check()
