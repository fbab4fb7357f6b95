"""Characters that Unicode takes for line ends, in event streams and JSON Lines. Many clients split lines at them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from tests.harness.harness import Harness
from tests.unit.api.a2a_client import A2AServed, message
from tests.unit.api.mcp_client import McpServed, open_to_mcp, request
from tests.unit.api.run_inputs import run_input

TEXT = "One\u2028two\u2029three\x85four\x0bfive\x1csix."
Ask = Callable[[], Awaitable[httpx.Response]]


async def run() -> httpx.Response:
    served = A2AServed(harness())
    return await served.post("/runs", run_input(served))


async def replay() -> httpx.Response:
    served = A2AServed(harness())
    await served.post("/runs", run_input(served))
    return await served.get(f"/threads/{served.harness.thread_id}/events", after=0)


async def stream_of_a2a() -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": message("Hello", "m-1")}}
    return await A2AServed(harness()).post_a2a(json.dumps(body).encode())


async def stream_of_a2a_over_http() -> httpx.Response:
    sent_message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}
    body = json.dumps({"message": sent_message}).encode()
    return await A2AServed(harness()).post_a2a(body, path="/a2a/v1/message:stream", headers={"A2A-Version": "1.0"})


async def call_over_mcp() -> httpx.Response:
    served = McpServed.over(harness(open_to_mcp()))
    return await served.send(request("tools/call", name="assistant", arguments={"message": "Hello"}))


async def export_of_a_user() -> httpx.Response:
    served = A2AServed(harness())
    await served.post("/runs", run_input(served))
    return await served.get("/users/me/export")


def harness(*agent: Any) -> Harness:
    instance = Harness(assistant=agent[0]) if agent else Harness()
    instance.model.script(TEXT)
    return instance


@pytest.mark.parametrize("ask", [run, replay, stream_of_a2a, stream_of_a2a_over_http, call_over_mcp, export_of_a_user])
async def test_a_line_stays_whole_for_clients_that_split_at_line_ends_of_unicode(ask: Ask) -> None:
    answer = await ask()
    assert answer.status_code == 200, answer.text
    strict = [line.removesuffix("\r") for line in answer.text.split("\n") if line.strip()]
    assert [line for line in answer.text.splitlines() if line.strip()] == strict
    texts: list[str] = []
    for line in strict:
        data = line.removeprefix("data: ") if line.startswith("data: ") else line
        if data.startswith("{"):
            collect(json.loads(data), texts)
    assert TEXT in "".join(texts)


def collect(value: Any, texts: list[str]) -> None:
    """Add all texts in JSON, also in JSON within a text."""
    if isinstance(value, dict):
        for item in value.values():
            collect(item, texts)
    elif isinstance(value, list):
        for item in value:
            collect(item, texts)
    elif isinstance(value, str):
        texts.append(json.loads(value)["message"] if value.startswith('{"thread_id"') else value)


async def test_audit_records_are_lines() -> None:
    served = A2AServed(harness())
    await served.harness.audit.record(
        served.harness.ada, "thread.read", thread_id=None, outcome="allowed", detail={"note": TEXT}
    )
    answer = await served.get("/audit/export", "audit:read")
    assert len(answer.text.splitlines()) == len(answer.text.rstrip("\n").split("\n"))
    assert TEXT in [json.loads(line).get("detail", {}).get("note") for line in answer.text.splitlines()]
