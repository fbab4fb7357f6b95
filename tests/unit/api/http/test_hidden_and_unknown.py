"""Hidden and unknown things cost the same requests to storage: the time of an answer reveals nothing.

Counted are the calls of ports, by their names, which no load of the machine changes.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from baton.domain.tenants.identity import Permission, Scope, resolve_thread_ref
from tests.harness.harness import Harness
from tests.harness.sessions import close, make_episode
from tests.unit.api.a2a_client import A2AServed, blocking, message
from tests.unit.api.noted_calls import THREAD_BODIES, count_calls, operations_with
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served

Json = dict[str, Any]
UNKNOWN = "nobody"
HIDDEN = {"an agent that ships": "librarian", "an agent of the tenant": "secretary"}
OWN: Json = {"name": "Secretary", "description": "Keeps.", "main": True, "system_prompt": "Keep."}
STEPS: Json = {"name": "Post", "description": "Posts.", "triggers": ["post it"], "steps": [{"text": "Post it."}]}
BODIES: dict[str, Json] = {
    "rollback": {"version": 1},
    "promote": {"version": 1},
    "share": {"version": 1, "share": 50},
    "documents": {"name": "a.txt", "contentType": "text/plain", "size": 3},
    "sources": {"kind": "urls", "urls": ["https://h.example/"]},
    "search": {"query": "what", "limit": 3},
    "match": {"query": "what"},
    "procedures": STEPS,
    "{procedure_id}": STEPS,
    "reject": {"reason": "No."},
}
MAKES_ONE = {("PUT", "/v1/agents/{agent_id}")}
"""Requests that make an agent of an unknown id. Authors may learn of taken ids, so their time does not matter."""
TAKEN = {
    ("DELETE", "/v1/agents/{agent_id}"),
    ("POST", "/v1/agents/{agent_id}/rollback"),
    ("POST", "/v1/agents/{agent_id}/promote"),
    ("PUT", "/v1/agents/{agent_id}/share"),
    ("DELETE", "/v1/agents/{agent_id}/candidate"),
}
"""Answers to authors about ids that agents of the deployment have."""


async def serve_with_agents(make: Callable[[], Served] = Served) -> Served:
    """Return the API of a tenant with a separate agent that most may not see."""
    served = make()
    for required in ([], ["archive:read"]):
        values = OWN | {"required_permissions": required}
        editor = Scope("acme", "author", frozenset({"agent:write", "archive:read"}))
        await served.harness.app.agent_editing.put(editor, "secretary", values, as_served=False)
    return served


async def request(served: Served, method: str, path: str, body: Json | None) -> httpx.Response:
    """Return the answer to a user with every permission but that for the archive's agents."""
    async with served._client("eve", *Permission) as client:
        return await client.request(method, f"http://baton.test{path}", json=body)


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize(
    ("method", "path"), [operation for operation in operations_with("{agent_id}") if operation not in MAKES_ONE]
)
async def test_below_an_agent(method: str, path: str, kind: str) -> None:
    if HIDDEN[kind] == "librarian" and (method, path) in TAKEN:
        return
    last = path.rstrip("/").rpartition("/")[2]
    body = BODIES.get(last)
    if "/a2a/" in path:
        body = {"message": message("Hello", "m-1")} if method == "POST" else None
    reported = []
    for agent_id in (HIDDEN[kind], UNKNOWN):
        served = await serve_with_agents(A2AServed if "/a2a/" in path else Served)
        calls = count_calls(served)
        filled = re.sub(r"\{\w+\}", "1", path.replace("{agent_id}", agent_id))
        answer = await request(served, method, filled, body if method in ("POST", "PUT") else None)
        assert answer.status_code == 404, answer.text
        reported.append((answer.text.replace(agent_id, "X").split('"requestId"')[0], calls))
    assert reported[0] == reported[1]


@pytest.mark.parametrize("kind", HIDDEN)
@pytest.mark.parametrize("where", ["messages", "runs", "import", "fork", "a2a", "mcp"])
async def test_where_an_agent_is_named(where: str, kind: str) -> None:
    reported = []
    thread_id = str(uuid.uuid4())
    for agent_id in (HIDDEN[kind], UNKNOWN):
        served = await serve_with_agents(A2AServed if where == "a2a" else Served)
        served.harness.thread_id = thread_id
        if where == "fork":
            await served.harness.say(scope=Scope("acme", "eve"))
        calls = count_calls(served)
        sent_message = {"role": "user", "content": "Hi", "timestamp": "2026-03-01T10:00:00Z"}
        requests: dict[str, tuple[str, Json]] = {
            "messages": ("/v1/messages", {"sessionId": thread_id, "message": "Hi", "agentId": agent_id}),
            "runs": ("/v1/runs", run_input(served, runId="r-1", forwardedProps={"agentId": agent_id})),
            "import": ("/v1/episodes/import", {"sessionId": "s-1", "agentId": agent_id, "messages": [sent_message]}),
            "fork": (f"/v1/threads/{thread_id}/fork", {"agentId": agent_id}),
            "a2a": (
                f"/a2a/{agent_id}",
                {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": blocking(message("Hello", "m-1"))},
            ),
            "mcp": (
                "/mcp",
                {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": agent_id, "arguments": {}}},
            ),
        }
        path, body = requests[where]
        answer = await request(served, "POST", path, body)
        reported.append((answer.status_code, calls))
    assert reported[0] == reported[1]
    assert reported[0][0] != 500


@pytest.mark.parametrize(("method", "path"), operations_with("{thread_id}"))
async def test_below_a_conversation(method: str, path: str) -> None:
    """Mapped ids, which nobody can begin a conversation under. They can be computed from the user's and the host's."""
    body = THREAD_BODIES.get(path.rpartition("/")[2], {}) if method in ("POST", "PUT", "PATCH") else None
    reported = []
    for value in ("order-1", "never-begun"):
        served = Served(Harness())
        await served.post("/messages", {"sessionId": "order-1", "message": "Hello", "messageId": "m1"})
        thread_id = resolve_thread_ref(Scope("acme", "ada"), value).id
        calls = count_calls(served)
        filled = re.sub(r"\{\w+\}", "m1", path.replace("{thread_id}", thread_id))
        async with served._client(
            "eve", *(permission for permission in Permission if permission != "thread:read_all")
        ) as client:
            answer = await client.request(method, f"http://baton.test{filled}", json=body)
        reported.append((answer.status_code, re.sub(r'"requestId":"[^"]*"', "", answer.text), calls))
        if answer.status_code == 422:
            pytest.fail(answer.text)
    assert reported[0] == reported[1]


async def test_episodes_of_others() -> None:
    reported = []
    for is_known in (True, False):
        served = Served()
        await served.harness.say()
        episode_id = await close(served.harness)
        await make_episode(served.harness)
        assert episode_id is not None
        calls = count_calls(served)
        answer = await served.get(f"/episodes/{episode_id if is_known else uuid.uuid4()}", user="eve")
        reported.append((answer.status_code, calls))
    assert reported[0] == reported[1]


@pytest.mark.parametrize("where", ["messages", "runs", "answers", "mcp", "task"])
async def test_where_a_conversation_is_named(where: str) -> None:
    reported = []
    for value in ("order-1", "never-begun"):
        served = A2AServed()
        await served.post("/messages", {"sessionId": "order-1", "message": "Hello", "messageId": "m1"})
        thread_id = served.harness.thread_id = resolve_thread_ref(Scope("acme", "ada"), value).id
        calls = count_calls(served)
        resume = [{"interruptId": f"{'0' * 32}.1", "status": "resolved", "payload": {"approved": True}}]
        requests: dict[str, tuple[str, Json]] = {
            "messages": ("/v1/messages", {"sessionId": thread_id, "message": "Hi", "messageId": "m2"}),
            "runs": ("/v1/runs", run_input(served, runId="r-1")),
            "answers": ("/v1/runs", run_input(served, runId="r-1", resume=resume)),
            "mcp": (
                "/mcp",
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "tools/call",
                    "params": {"name": "assistant", "arguments": {"message": "Hi", "thread_id": thread_id}},
                },
            ),
            "task": ("/a2a", {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": f"{thread_id}.m1"}}),
        }
        path, body = requests[where]
        async with served._client("eve") as client:
            answer = await client.post(f"http://baton.test{path}", json=body)
        reported.append((answer.status_code, re.sub(r'"requestId":"[^"]*"|' + thread_id, "", answer.text), calls))
    assert reported[0] == reported[1]
