"""What a function's first request needs is loaded before it comes: at a cold start nobody waits for imports."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from local.settings import ROOT
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import new_id
from tests.e2e.users import run_input

MODULES_OF_PYTHON = set(sys.stdlib_module_names)


def first_request(cloud: RunningCloud, function: str, request: dict[str, Any]) -> tuple[Any, set[str]]:
    """What a fresh environment of ``function`` answers, and the packages that it loads for the answer."""
    command = [sys.executable, "-m", "tests.e2e.first_request", function]
    done = subprocess.run(
        command, input=json.dumps(request), env=cloud.environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    loaded = {name for name in told["loaded"] if name.partition(".")[0] not in MODULES_OF_PYTHON}
    return told["answer"], loaded


def sample(name: str) -> Any:
    return json.loads((ROOT / "events" / f"{name}.json").read_text())


def test_a_queued_message(cloud: RunningCloud, tenant: str) -> None:
    event = sample("sqs_turns")
    [record] = event["Records"]
    body = json.loads(record["body"]) | {"tenantId": tenant, "threadId": new_id()}
    record["body"] = json.dumps(body)
    answer, loaded = first_request(cloud, "turns", event)
    assert answer == {"batchItemFailures": []}
    assert cloud.turns(tenant) != []
    assert loaded == set()


@pytest.mark.parametrize("path", ["/v1/threads", "/v1/threads/{}", "/v1/threads/{}/messages", "/v1/agents"])
def test_a_request_over_http(cloud: RunningCloud, tenant: str, path: str) -> None:
    event = sample("rest_http") | {"path": path.replace("{}", new_id())}
    event["multiValueHeaders"]["Authorization"] = [f"Bearer {cloud.token(tenant, 'ada')}"]
    answer, loaded = first_request(cloud, "http", event)
    assert answer["statusCode"] == (404 if "{}" in path else 200)
    assert loaded == set()


def test_a_run_as_a_stream(cloud: RunningCloud, tenant: str) -> None:
    request = {"token": cloud.token(tenant, "ada"), "body": run_input("Hello")}
    answer, loaded = first_request(cloud, "streams", request)
    assert '"type":"RUN_FINISHED"' in answer
    assert loaded == set()


@pytest.mark.parametrize("method", ["message/stream", "message/send", "SendStreamingMessage"])
def test_a_call_over_a2a(cloud: RunningCloud, tenant: str, method: str) -> None:
    said = {"messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "Hello"}]}
    if method == "SendStreamingMessage":
        said |= {"role": "ROLE_USER", "parts": [{"text": "Hello"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": said}}
    request = {"token": cloud.token(tenant, "ada"), "path": "/a2a", "body": body}
    answer, loaded = first_request(cloud, "streams", request)
    assert '"result":' in answer
    assert loaded == set()


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_call_over_mcp(cloud: RunningCloud, tenant: str, version: str) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": "assistant", "arguments": {"message": "Hello"}, "_meta": {**meta, "progressToken": 1}}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "assistant",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    request = {"token": cloud.token(tenant, "ada"), "path": "/mcp", "body": body, "headers": headers}
    answer, loaded = first_request(cloud, "streams", request)
    assert '"structuredContent":' in answer
    assert loaded == set()


def test_a_frame_of_a_web_socket(cloud: RunningCloud, tenant: str) -> None:
    event = sample("websocket_default")
    event["requestContext"]["authorizer"] |= {"tenant": tenant, "expires": "4102444800"}
    answer, loaded = first_request(cloud, "sockets", event)
    assert answer == {"statusCode": 200}
    assert loaded == set()


def test_a_token_of_a_web_socket(cloud: RunningCloud, tenant: str) -> None:
    event = sample("authorizer_request")
    protocols = [f"baton.v1, {cloud.token(tenant, 'ada')}"]
    event["multiValueHeaders"] = event["multiValueHeaders"] | {"Sec-WebSocket-Protocol": protocols}
    answer, loaded = first_request(cloud, "authorizer", event)
    assert answer["context"]["tenant"] == tenant
    assert loaded == set()


def test_a_sweep(cloud: RunningCloud) -> None:
    _, loaded = first_request(cloud, "sweeper", sample("schedule_sweeper"))
    assert loaded == set()
