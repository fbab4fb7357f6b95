"""Imports for the usual first request of a function happen before it: at a cold start nobody waits for them.

What only some first requests need, such as A2A, MCP and most nouns of the API, is imported by the first that needs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from baton_local.root import ROOT
from tests.e2e.cloud import RunningCloud
from tests.e2e.sockets import new_id
from tests.e2e.users import run_input

pytestmark = pytest.mark.nightly

MODULES_OF_PYTHON = set(sys.stdlib_module_names)
LOADED_BY_EVERY_FUNCTION = {"ag_ui", "boto3", "botocore", "fastapi", "openai", "tiktoken"}
"""Packages that no protocol is an excuse for."""


class Environments:
    """The functions, each loaded once. Every request goes to a copy of what was loaded."""

    def __init__(self, cloud: RunningCloud) -> None:
        self._cloud = cloud
        self._loaded: dict[str, subprocess.Popen[str]] = {}

    def first_request(self, function: str, request: dict[str, Any]) -> tuple[Any, set[str]]:
        """The answer of a fresh environment of ``function``, and the packages that it loads for the answer."""
        if function not in self._loaded:
            command = [sys.executable, "-m", "tests.e2e.first_request", function]
            pipe = subprocess.PIPE
            self._loaded[function] = subprocess.Popen(
                command, env=self._cloud.environment, cwd=ROOT, stdin=pipe, stdout=pipe, text=True
            )
        process = self._loaded[function]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        lines = iter(process.stdout.readline, "")  # those of its log among them
        reported = json.loads(next((line for line in lines if line.startswith('{"answer": ')), '{"loaded": null}'))
        assert reported["loaded"] is not None, "standard error says why"
        loaded = {name for name in reported["loaded"] if name.partition(".")[0] not in MODULES_OF_PYTHON}
        return reported["answer"], loaded

    def close(self) -> None:
        """End them."""
        for process in self._loaded.values():
            process.communicate()


@pytest.fixture(scope="module")
def environments(cloud: RunningCloud) -> Iterator[Environments]:
    instance = Environments(cloud)
    yield instance
    instance.close()


def packages(modules: set[str]) -> set[str]:
    """The packages that modules belong to."""
    return {name.partition(".")[0] for name in modules}


def sample(name: str) -> Any:
    return json.loads((ROOT / "events" / f"{name}.json").read_text())


def test_a_queued_message(environments: Environments, cloud: RunningCloud, tenant: str) -> None:
    event = sample("sqs_turns")
    [record] = event["Records"]
    body = json.loads(record["body"]) | {"tenantId": tenant, "threadId": new_id()}
    record["body"] = json.dumps(body)
    answer, loaded = environments.first_request("turns", event)
    assert answer == {"batchItemFailures": []}
    assert cloud.turns(tenant) != []
    assert loaded == set()


@pytest.mark.parametrize("path", ["/v1/threads", "/v1/threads/{}", "/v1/threads/{}/messages", "/v1/agents"])
def test_a_request_over_http(environments: Environments, cloud: RunningCloud, tenant: str, path: str) -> None:
    event = sample("rest_http") | {"path": path.replace("{}", new_id())}
    event["multiValueHeaders"]["Authorization"] = [f"Bearer {cloud.token(tenant, 'ada')}"]
    answer, loaded = environments.first_request("http", event)
    assert answer["statusCode"] == (404 if "{}" in path else 200)
    assert loaded == set()


def test_a_run_as_a_stream(environments: Environments, cloud: RunningCloud, tenant: str) -> None:
    request = {"token": cloud.token(tenant, "ada"), "body": run_input("Hello")}
    answer, loaded = environments.first_request("streams", request)
    assert '"type":"RUN_FINISHED"' in answer
    assert loaded == set()


@pytest.mark.parametrize("method", ["message/stream", "message/send", "SendStreamingMessage"])
def test_a_call_over_a2a(environments: Environments, cloud: RunningCloud, tenant: str, method: str) -> None:
    message = {"messageId": "m-1", "role": "user", "parts": [{"kind": "text", "text": "Hello"}]}
    if method == "SendStreamingMessage":
        message |= {"role": "ROLE_USER", "parts": [{"text": "Hello"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}}
    request = {"token": cloud.token(tenant, "ada"), "path": "/a2a", "body": body}
    answer, loaded = environments.first_request("streams", request)
    assert '"result":' in answer
    assert "a2a" in packages(loaded)
    assert packages(loaded).isdisjoint(LOADED_BY_EVERY_FUNCTION)


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_call_over_mcp(environments: Environments, cloud: RunningCloud, tenant: str, version: str) -> None:
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
    answer, loaded = environments.first_request("streams", request)
    assert '"structuredContent":' in answer
    assert "mcp" in packages(loaded)
    assert packages(loaded).isdisjoint(LOADED_BY_EVERY_FUNCTION)


def test_a_frame_of_a_web_socket(environments: Environments, cloud: RunningCloud, tenant: str) -> None:
    event = sample("websocket_default")
    event["requestContext"]["authorizer"] |= {"tenant": tenant, "expires": "4102444800"}
    answer, loaded = environments.first_request("sockets", event)
    assert answer == {"statusCode": 200}
    assert loaded == set()


def test_a_token_of_a_web_socket(environments: Environments, cloud: RunningCloud, tenant: str) -> None:
    event = sample("authorizer_request")
    protocols = [f"baton.v1, {cloud.token(tenant, 'ada')}"]
    event["multiValueHeaders"] = event["multiValueHeaders"] | {"Sec-WebSocket-Protocol": protocols}
    answer, loaded = environments.first_request("authorizer", event)
    assert answer["context"]["tenant"] == tenant
    assert loaded == set()


def test_a_sweep(environments: Environments) -> None:
    _, loaded = environments.first_request("sweeper", sample("schedule_sweeper"))
    assert loaded == set()
