"""A tenant with something of every kind, and requests of outsiders for it.

The operations and what they take come from the application itself. A path parameter without a value, and a body without
an example, are errors that say so: nobody adds an address that is not probed.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx

from baton.adapters.tokens.hook_signatures import SignatureVerifier
from baton.api.runs.sse import Timing
from baton.domain.agents.agent import AgentDefinition
from baton.domain.tenants.identity import Permission, Scope
from baton.domain.tenants.inbound_hook import HookSettings, InboundHook
from tests.contracts.dead_deliveries import dead_delivery
from tests.contracts.evaluations import make_evaluation
from tests.contracts.schedules import new_background_task, new_schedule
from tests.harness.desks import desk
from tests.harness.events import SHIPPED, TAKES
from tests.harness.harness import ASSISTANT, Harness
from tests.harness.sessions import close, make_episode
from tests.unit.api.a2a_client import blocking, message
from tests.unit.api.noted_calls import THREAD_BODIES
from tests.unit.api.run_inputs import run_input
from tests.unit.api.served import Served, list_described_operations, openapi

Json = dict[str, Any]
Ids = dict[str, str]
Caller = tuple[str, ...] | None
"""Tenant, user and permissions; None: without a token."""

SECRET = "secret-"
HOOK_KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ADA, ANNA = ("acme", "ada"), ("acme", "anna", "desk:answer", "desk:helpers")
MANAGER = ("acme", "boss", *Permission, "desk:helpers", "vault")
OUTSIDERS: dict[str, Caller] = {
    "nobody": None,
    "another user": ("acme", "eve-*"),
    "a person of another desk": ("acme", "ben-*", "desk:answer", "desk:billing"),
    "the manager of another tenant": ("other-*", "ada", *Permission, "desk:helpers", "vault"),
}
"""Callers by what they are. ``*`` is another number in each probe."""
OPEN = re.compile(r"/health$|/\.well-known/|/v1/(callbacks|hooks)/|/a2a(/\{agent_id\}(/\.well-known/.*)?)?$")
"""Paths that take no user's token to read: public documents, and those of requests with other credentials."""
DIFFERENT = {
    ("POST", "/v1/hooks/{hook_id}", None): "hooks are named in addresses that other systems know",
    ("POST", "/v1/episodes/import", None): "an id that nothing has is free to import under, one that is taken is not",
    ("GET", "/v1/desk", "deskId"): "the desks of the deployment are known",
}
"""Operations whose answers may differ between something that exists and something that does not, and why."""
STEPS: Json = {"name": "Post", "description": "Posts.", "triggers": ["post it"], "steps": [{"text": "Post it."}]}
RPC: Json = {"jsonrpc": "2.0", "id": 1}
OWN_AGENT: Json = {"name": "Secretary", "description": "Keeps.", "main": True, "system_prompt": "Keep secret-prompt."}
ID_QUERIES = {
    "userId": "user_id",
    "threadId": "thread_id",
    "parentThreadId": "thread_id",
    "agentId": "agent_id",
    "deskId": "desk_id",
}
"""The kinds of ids that query parameters have."""
UNKNOWN: Ids = {
    "thread_id": "6b1f0c7e-1111-5222-8333-444455556666",
    "message_id": "m-unknown",
    "run_id": "6b1f0c7e-2222-4222-8333-444455556666",
    "task_id": "6b1f0c7e-3333-5222-8333-444455556666",
    "branch_id": "b7",
    "schedule_id": "unknown-schedule",
    "delivery_id": "6b1f0c7e-1111-5222-8333-444455556666.9f86d081884c7d659a2feaa0c55ad015",
    "hook_id": "unknown-hook",
    "request_id": "6b1f0c7e-4444-4222-8333-444455556666",
    "evaluation_id": f"{7:015d}-{7:012x}",
    "episode_id": "6b1f0c7e-5555-4222-8333-444455556666",
    "user_id": "nobody",
    "agent_id": "unknown-agent",
    "desk_id": "unknown-desk",
    "number": "7",
    "library": "unknown-library",
    "document_id": f"doc_{7:032x}",
    "source_id": f"src_{7:032x}",
    "procedure_id": f"proc_{7:032x}",
    "push_id": "p7",
    "id": "6b1f0c7e-1111-5222-8333-444455556666.m1",
}
"""An id of each kind that nothing has."""


PRIVATE = ("thread_id", "run_id", "task_id", "schedule_id", "delivery_id", "request_id", "evaluation_id", "episode_id")
"""Kinds of ids that nobody learns by asking for something else."""


def body_of(served: Served, method: str, path: str, ids: Ids) -> Json | None:
    """Return a body that the operation takes, which names what ``ids`` have wherever it can name something."""
    if "requestBody" not in openapi()["paths"][path][method.lower()]:
        return None
    last = path.rpartition("/")[2]
    sent_message = message("Hello", "m-1", taskId=ids["id"], contextId=ids["thread_id"])
    imported = {"role": "user", "content": "Hi", "timestamp": "2026-03-01T10:00:00Z"}
    evaluation = {"name": "00000000000a", "label": "l", "model": "m", "beganAt": "2040-03-01T10:00:00Z", "seconds": 1}
    metric = {"name": "passed", "mean": 1, "low": 1, "high": 1, "runs": 1, "notJudged": 0, "isRate": True}
    case = {"name": "c", "runs": 1, "judged": 1, "passes": 1, "metrics": {}, "reasons": [], "tags": []}
    bodies: dict[str, Json] = {
        "/v1/runs": run_input(served, threadId=ids["thread_id"]),
        "/v1/messages": {"message": "Hello", "sessionId": ids["thread_id"]},
        "/v1/schedules": {"text": "Water.", "at": "2040-03-02T10:00:00", "threadId": ids["thread_id"]},
        "/v1/schedules/{schedule_id}": {"paused": True},
        "/v1/callbacks/{task_id}": {"status": "completed", "result": "Forged"},
        "/v1/hooks/{hook_id}": {"kind": SHIPPED, "customer": "ada", "order": ids["thread_id"]},
        "/v1/episodes/import": {"sessionId": ids["thread_id"], "messages": [imported]},
        "/v1/episodes/search": {"query": "secret"},
        "/v1/evaluations": {**evaluation, "metrics": [metric], "cases": [case]},
        "/v1/retention": {"audit": 3650},
        "/v1/tenant/limits": {},
        "/v1/tenant/removal/confirm": {"tenantId": "globex", "planId": "p"},
        "/v1/models/check": {"model": "demo"},
        "/v1/agents/{agent_id}": {**OWN_AGENT, "system_prompt": "Keep."},
        "/v1/agents/{agent_id}/share": {"version": 1, "share": 50},
        "/v1/agents/{agent_id}/procedures": STEPS,
        "/v1/agents/{agent_id}/procedures/{procedure_id}": {**STEPS, "version": 1},
        "/v1/threads/{thread_id}/desk": {},
        "/v1/threads/{thread_id}/events": {"eventId": "e1", "type": SHIPPED, "userId": ids["user_id"]},
        "/mcp": {
            **RPC,
            "method": "tools/call",
            "params": {"name": "assistant", "arguments": {"message": "Hi", "thread_id": ids["thread_id"]}},
        },
    }
    ends: dict[str, Json] = {
        **THREAD_BODIES,
        "cancel": {},
        "merge": {},
        "return": {},
        "approve": {},
        "offer": {"version": 1},
        "rollback": {"version": 1},
        "promote": {"version": 1},
        "documents": {"name": "a.txt", "contentType": "text/plain", "size": 3},
        "sources": {"kind": "urls", "urls": ["https://h.example/"]},
        "search": {"query": "secret"},
        "match": {"query": "secret"},
        "reject": {"reason": "No."},
        "share": {"version": 1, "userId": ids["user_id"]},
        "decline": {"version": 1, "userId": ids["user_id"], "reason": "No."},
        "message:send": {"message": sent_message},
        "message:stream": {"message": sent_message},
        "pushNotificationConfigs": {"url": "https://h.example/"},
    }
    if path in bodies:
        return bodies[path]
    if path in ("/a2a", "/a2a/{agent_id}"):
        return {**RPC, "method": "message/send", "params": blocking(sent_message)}
    if last not in ends:
        raise AssertionError(f"{method} {path} takes a body of a new kind: tell the probes an example.")
    return ends[last]


class ProbedTenant:
    """Ada's conversation at a desk and all that hangs on it, and what else her tenant has."""

    def __init__(self) -> None:
        handoffs = {"handoffs": [{"to": "helpers"}, {"to": "billing"}], "mcp": True}
        rules = {"schedules": {"allowed": True, "min_interval_minutes": 60}, **TAKES, **handoffs}
        assistant = AgentDefinition.model_validate(ASSISTANT.model_dump(exclude_unset=True) | rules)
        helpers = desk("helpers", triggers=["talk to a human"], desk={"permission": "desk:helpers"})
        self.harness = Harness(assistant=assistant, others=(helpers, desk("billing")))
        where = {"type": "/kind", "user": "/customer", "thread": "/order"}
        hook = {"id": "shop", "tenant": "acme", "secret": "baton/dev/hooks/shop", **where}
        self.harness.hook_settings = HookSettings((InboundHook.model_validate(hook, by_alias=True),))
        self.harness.hook_verifier = SignatureVerifier(lambda name: HOOK_KEY)
        self.served = Served(self.harness, Timing(follow_seconds=0.0))
        transport = httpx.ASGITransport(self.served.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://baton.test", trust_env=False)
        self.ids: Ids = {}
        self.probes = 0

    async def begin(self) -> None:
        """Fill the tenant."""
        harness, ada, now = self.harness, self.harness.ada, self.harness.clock.now()
        harness.model.script("Noted, secret-before.")
        await harness.say("m0", "About secret-before")
        episode_id = await close(harness)
        assert episode_id is not None
        await make_episode(harness)
        harness.model.script("Ada wants secret-summary.")
        await harness.say("m1", "I want to talk to a human about secret-said")
        at = f"/v1/threads/{harness.thread_id}"
        for path, body in {
            "take": {},
            "messages": {"messageId": "p1", "content": "Hello, secret-answer"},
            "notes": {"messageId": "n1", "text": "secret-note"},
        }.items():
            (await self.ask("POST", f"{at}/desk/{path}", ANNA, body)).raise_for_status()
        task = new_background_task(now, str(uuid.uuid4()), message="Find secret-task.", progress="secret-progress")
        await harness.background_tasks.add(ada, harness.thread_id, task)
        reminder = new_schedule(now, "secret-schedule", thread_id=harness.thread_id, text="secret-text")
        await harness.schedules.add(ada, reminder)
        dead = dead_delivery(ada, now, thread_id=harness.thread_id)
        await harness.dead_deliveries.put(dead)
        evaluation = make_evaluation(harness.clock)
        await harness.evaluations.put(ada, evaluation)
        values = OWN_AGENT | {"required_permissions": ["vault"]}
        editor = Scope("acme", "author", frozenset({"agent:write", "vault"}))
        await harness.app.agent_editing.put(editor, "secretary", values, as_served=False)
        forgetting = await self.ask("DELETE", "/v1/users/me/memory", ("acme", "zoe"))
        turns = (await self.ask("GET", f"{at}/turns", ADA)).json()["items"]
        self.ids = UNKNOWN | {
            "thread_id": harness.thread_id,
            "message_id": "m1",
            "run_id": turns[0]["runId"],
            "task_id": task.id,
            "branch_id": "b0",
            "schedule_id": reminder.id,
            "delivery_id": dead.id,
            "hook_id": "shop",
            "request_id": forgetting.json()["requestId"],
            "evaluation_id": evaluation.entry.id,
            "episode_id": episode_id,
            "user_id": "ada",
            "agent_id": "secretary",
            "desk_id": "helpers",
            "number": "1",
            "id": f"{harness.thread_id}.m1",
        }

    async def ask(self, method: str, path: str, caller: Caller, body: Any = None, **query: str) -> httpx.Response:
        """Make a request."""
        headers = {"Authorization": f"Bearer {','.join(caller)}"} if caller else {}
        return await self._client.request(method, path, json=body, params=query, headers=headers)

    async def probe(
        self, method: str, path: str, caller: Caller, ids: Ids, query: str | None = None
    ) -> tuple[int, str]:
        """Ask for what ``ids`` name. Return the status, and the body with every id replaced by its kind.

        The body begins with ``SECRET`` if it shows an id that the caller has not asked for.
        """
        self.probes += 1
        self.harness.clock.advance(5)  # nobody is kept from asking by a rate
        # Each probe has another caller, who has left nothing behind by earlier ones.
        who = tuple(part.replace("*", str(self.probes)) for part in caller) if caller else None
        filled = re.sub(r"\{(\w+)\}", lambda match: quote(ids[match[1]], safe=""), path)
        request = dict.fromkeys(list_required_queries(method, path), "1")
        if query:
            request[query] = ids[ID_QUERIES[query]]
            if "scope" in queries_of(path) and query != "parentThreadId":
                request["scope"] = "tenant"
        answer = await self.ask(method, filled, who, body_of(self.served, method, path, ids), **request)
        if ids is UNKNOWN and any(self.ids[kind] in answer.text for kind in PRIVATE):
            return answer.status_code, f"{SECRET} {answer.text}"
        text = answer.text.replace(who[0], "<tenant>").replace(who[1], "<user_id>") if who else answer.text
        return answer.status_code, normalise(normalise(text, ids), self.ids)

    async def read_visible_texts(self) -> str:
        """Return every text of the seeded data that Ada and the managers of her tenant can read.

        The audit and the counts of the whole tenant are left out, because they contain permitted acts of other users.
        """
        texts = []
        for method, path in list_described_operations():
            if method == "GET" and not path.startswith("/a2a") and not TENANT_COUNTS.search(path):
                filled = re.sub(r"\{(\w+)\}", lambda match: quote(self.ids[match[1]], safe=""), path)
                answers = [await self.ask("GET", filled, caller) for caller in (ADA, MANAGER)]
                texts += [f"{path}: {normalise(answer.text, {})}" for answer in answers]
        return "\n".join(texts)


TENANT_COUNTS = re.compile(r"audit|/overview|/usage$")
"""Paths of reads that count what everybody in a tenant does."""


def queries_of(path: str) -> list[str]:
    """Return the names of the query parameters of a GET operation."""
    parameters = openapi()["paths"][path]["get"].get("parameters", [])
    return [parameter["name"] for parameter in parameters if parameter["in"] == "query"]


def list_required_queries(method: str, path: str) -> list[str]:
    """Return the names of the query parameters that an operation needs."""
    parameters = openapi()["paths"][path][method.lower()].get("parameters", [])
    return [parameter["name"] for parameter in parameters if parameter["in"] == "query" and parameter["required"]]


def list_probed_operations() -> Iterator[tuple[str, str, str | None]]:
    """Yield the method and path of every operation: once, and with each query parameter that names something."""
    for method, path in list_described_operations():
        yield method, path, None
        if method == "GET":
            yield from ((method, path, query) for query in queries_of(path) if query in ID_QUERIES)


def normalise(text: str, ids: Ids) -> str:
    """Return an answer without what differs from request to request."""
    text = re.sub(r'("requestId": ?)"[^"]*"', r"\1<id>", text)
    for kind, value in sorted(ids.items(), key=lambda item: -len(item[1])):
        if len(value) > 2:
            for written in {re.escape(value), re.escape(quote(value, safe=""))}:
                text = re.sub(rf"(?<![a-z0-9-]){written}(?![a-z0-9-])", f"<{kind}>", text)
    text = re.sub(r'\{"type": "audit".*\n', "", text)  # an export has what its reading has written
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![0-9a-f])[0-9a-f]{32,}", "<id>", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z?", "<time>", text)
