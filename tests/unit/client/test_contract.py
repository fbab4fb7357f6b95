"""The client against the server's own description: nothing is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import jsonschema
import pytest

from baton_client import Answer, Baton, BatonError
from generation.models import make_document
from tests.unit.client.scripted import Script

DAY = datetime(2026, 11, 1, tzinfo=UTC)
FILE = b"# Notes"
EVALUATION: dict[str, Any] = {
    "name": "5d0ad1c6d1b0",
    "label": "my-shop",
    "model": "gpt-6-luna",
    "beganAt": "2026-11-01T10:00:00Z",
    "seconds": 1.5,
    "metrics": [{"name": "passed", "mean": 0.5, "low": 0.1, "high": 0.9, "runs": 2}],
    "cases": [{"name": "Refund", "runs": 2, "judged": 2, "passes": 1}],
}
OF_OTHER_SENDERS = {
    "POST /v1/hooks/{hook_id}",
    "POST /v1/callbacks/{task_id}",
    "POST /v1/callbacks/{task_id}/notifications",
}
"""Operations whose requests other systems sign: a client with a token has no use for them."""
STREAMS: dict[str, Callable[[Baton], Any]] = {
    "POST /v1/runs": lambda b: b.runs.create("Hello", agent_id="a", context={"page": "Settings"}),
    "GET /v1/threads/{thread_id}/events": lambda b: b.runs.follow("t", after=3).result(),
}
CALLS: dict[str, Callable[[Baton], Any]] = {
    "GET /health": lambda b: b.health(),
    "POST /v1/messages": lambda b: b.messages.create("Hello", thread_id="t", agent_id="a"),
    "GET /v1/threads": lambda b: b.threads.list(
        scope="tenant",
        query="x",
        user_id="u",
        state="active",
        has_error=True,
        has_feedback=True,
        min_tokens=1,
        min_cost=0.1,
        since=DAY,
    ).page(),
    "GET /v1/threads/{thread_id}": lambda b: b.threads.get("t"),
    "PUT /v1/threads/{thread_id}/read": lambda b: b.threads.mark_read("t", 3),
    "PATCH /v1/threads/{thread_id}": lambda b: b.threads.rename("t", "Title"),
    "DELETE /v1/threads/{thread_id}": lambda b: b.threads.delete("t"),
    "GET /v1/threads/{thread_id}/messages": lambda b: b.threads.messages("t", roles=["user"], limit=5).page(),
    "POST /v1/threads/{thread_id}/messages/{message_id}/feedback": lambda b: b.threads.rate(
        "t", "m", "up", comment="c"
    ),
    "GET /v1/threads/{thread_id}/turns": lambda b: b.threads.turns("t").page(),
    "GET /v1/threads/{thread_id}/turns/{run_id}/context": lambda b: b.threads.context("t", "r"),
    "POST /v1/threads/{thread_id}/turns/{run_id}/rerun": lambda b: b.threads.rerun("t", "r", model="m", without=["x"]),
    "GET /v1/threads/{thread_id}/tool-calls": lambda b: b.threads.tool_calls("t").page(),
    "GET /v1/threads/{thread_id}/tasks": lambda b: b.threads.tasks.list("t").page(),
    "GET /v1/threads/{thread_id}/tasks/{task_id}": lambda b: b.threads.tasks.get("t", "k"),
    "GET /v1/threads/{thread_id}/handoffs": lambda b: b.threads.handoffs("t").page(),
    "POST /v1/threads/{thread_id}/cancel": lambda b: b.threads.cancel("t", run_id="r"),
    "GET /v1/threads/{thread_id}/background": lambda b: b.threads.background("t"),
    "DELETE /v1/threads/{thread_id}/background/{task_id}": lambda b: b.threads.cancel_background("t", "k"),
    "GET /v1/threads/{thread_id}/queue": lambda b: b.threads.queue("t"),
    "DELETE /v1/threads/{thread_id}/queue/{message_id}": lambda b: b.threads.withdraw("t", "m"),
    "POST /v1/threads/{thread_id}/events": lambda b: b.threads.send_event("t", "e", "x.y", {"n": 1}, user_id="u"),
    "POST /v1/threads/{thread_id}/exit": lambda b: b.threads.exit_specialist("t"),
    "POST /v1/threads/{thread_id}/continue": lambda b: b.threads.continue_workflow("t", "w"),
    "POST /v1/threads/{thread_id}/close": lambda b: b.threads.close("t"),
    "POST /v1/threads/{thread_id}/fork": lambda b: b.threads.fork("t", agent_id="a", messages=3),
    "POST /v1/threads/{thread_id}/sandbox": lambda b: b.threads.sandbox("t", "m", include_turn=True),
    "POST /v1/threads/{thread_id}/merge": lambda b: b.threads.merge("t"),
    "GET /v1/threads/{thread_id}/branches": lambda b: b.threads.branches("t").page(),
    "POST /v1/threads/{thread_id}/branches/{branch_id}/select": lambda b: b.threads.select_branch("t", "b"),
    "POST /v1/threads/{thread_id}/files": lambda b: b.threads.files.upload("t", FILE, name="notes.txt"),
    "GET /v1/threads/{thread_id}/audit": lambda b: b.threads.audit("t").page(),
    "POST /v1/threads/{thread_id}/desk": lambda b: b.desks.ask("t", desk_id="d"),
    "GET /v1/threads/{thread_id}/desk": lambda b: b.desks.get("t"),
    "GET /v1/desk": lambda b: b.desks.list(status="mine", desk_id="d", limit=3).page(),
    "GET /v1/desk/desks": lambda b: b.desks.mine(),
    "GET /v1/desk/events": lambda b: list(b.desks.changes()),
    "POST /v1/threads/{thread_id}/desk/take": lambda b: b.desks.take("t"),
    "POST /v1/threads/{thread_id}/desk/messages": lambda b: b.desks.reply("t", "p1", "Hello"),
    "POST /v1/threads/{thread_id}/desk/notes": lambda b: b.desks.note("t", "n1", "Angry."),
    "POST /v1/threads/{thread_id}/desk/typing": lambda b: b.desks.show_typing("t"),
    "POST /v1/threads/{thread_id}/desk/draft": lambda b: b.desks.draft("t", "summary", instruction="Short."),
    "POST /v1/threads/{thread_id}/desk/return": lambda b: b.desks.hand_back("t", note="Done."),
    "POST /v1/threads/{thread_id}/desk/transfer": lambda b: b.desks.transfer("t", "billing", note="Please."),
    "GET /v1/workflows": lambda b: b.workflows.list(),
    "GET /v1/workflows/completed": lambda b: b.workflows.completed().page(),
    "GET /v1/episodes": lambda b: b.episodes.list().page(),
    "GET /v1/episodes/{episode_id}": lambda b: b.episodes.get("e", limit=3),
    "POST /v1/episodes/search": lambda b: b.episodes.search("x", limit=3, since=DAY, until=DAY),
    "POST /v1/episodes/import": lambda b: b.episodes.import_session(
        "s", [{"role": "user", "content": "Hi", "timestamp": "2026-11-01T10:00:00Z"}], title="Title", ended_at=DAY
    ),
    "GET /v1/audit": lambda b: b.audit.list(since=DAY, until=DAY, action="thread.read", user_id="u").page(),
    "GET /v1/audit/export": lambda b: list(b.audit.export(since=DAY, outcome="allowed")),
    "GET /v1/agents": lambda b: b.agents.list().page(),
    "GET /v1/agents/{agent_id}": lambda b: b.agents.get("a"),
    "PUT /v1/agents/{agent_id}": lambda b: b.agents.put("a", {"name": "A"}, comment="c", dry_run=True, version=3),
    "DELETE /v1/agents/{agent_id}": lambda b: b.agents.delete("a"),
    "GET /v1/agents/{agent_id}/versions": lambda b: b.agents.versions("a").page(),
    "GET /v1/agents/{agent_id}/versions/{number}": lambda b: b.agents.version("a", 3),
    "POST /v1/agents/{agent_id}/rollback": lambda b: b.agents.roll_back("a", 3, comment="c", override="o"),
    "PUT /v1/agents/{agent_id}/share": lambda b: b.agents.share("a", 3, 50, override="o"),
    "POST /v1/agents/{agent_id}/promote": lambda b: b.agents.promote("a", 3, override="o"),
    "DELETE /v1/agents/{agent_id}/candidate": lambda b: b.agents.withdraw("a"),
    "GET /v1/agents/{agent_id}/figures": lambda b: b.agents.figures("a", since=DAY).page(),
    "POST /v1/agents/{agent_id}/documents": lambda b: b.documents.upload("a", FILE, name="notes.txt", title="Notes"),
    "GET /v1/agents/{agent_id}/documents": lambda b: b.documents.list("a").page(),
    "GET /v1/agents/{agent_id}/documents/{document_id}": lambda b: b.documents.get("a", "d"),
    "DELETE /v1/agents/{agent_id}/documents/{document_id}": lambda b: b.documents.delete("a", "d"),
    "GET /v1/agents/{agent_id}/libraries": lambda b: b.documents.libraries("a").page(),
    "GET /v1/agents/{agent_id}/libraries/{library}/documents": lambda b: b.documents.of_library("a", "l").page(),
    "POST /v1/agents/{agent_id}/sources": lambda b: b.documents.sources.create("a", "web", urls=["https://x.test/"]),
    "GET /v1/agents/{agent_id}/sources": lambda b: b.documents.sources.list("a").page(),
    "GET /v1/agents/{agent_id}/sources/{source_id}": lambda b: b.documents.sources.get("a", "s"),
    "DELETE /v1/agents/{agent_id}/sources/{source_id}": lambda b: b.documents.sources.delete("a", "s"),
    "POST /v1/agents/{agent_id}/sources/{source_id}/refresh": lambda b: b.documents.sources.refresh("a", "s"),
    "POST /v1/agents/{agent_id}/knowledge/search": lambda b: b.documents.search("a", "x", limit=3),
    "DELETE /v1/users/{user_id}/memory": lambda b: b.users.forget("me"),
    "GET /v1/forget-requests/{request_id}": lambda b: b.users.forget_request("r"),
    "GET /v1/users/{user_id}/export": lambda b: list(b.users.export("me", only_sessions=True)),
    "GET /v1/users/me": lambda b: b.users.me(),
    "GET /v1/evaluations": lambda b: b.evaluations.list(limit=3).page(),
    "POST /v1/evaluations": lambda b: b.evaluations.publish(EVALUATION),
    "GET /v1/evaluations/{evaluation_id}": lambda b: b.evaluations.get("e"),
    "DELETE /v1/evaluations/{evaluation_id}": lambda b: b.evaluations.delete("e"),
    "GET /v1/retention": lambda b: b.tenant.retention(),
    "PUT /v1/retention": lambda b: b.tenant.set_retention(threads=30),
    "GET /v1/tenant/limits": lambda b: b.tenant.limits(),
    "PUT /v1/tenant/limits": lambda b: b.tenant.set_limits(agents=3, version='"1"'),
    "GET /v1/tenant-export": lambda b: list(b.tenant.export()),
    "GET /v1/tenant/removal": lambda b: b.tenant.removal(),
    "POST /v1/tenant/removal": lambda b: b.tenant.plan_removal(),
    "POST /v1/tenant/removal/confirm": lambda b: b.tenant.confirm_removal("acme", plan_id="p", audit="remove"),
    "POST /v1/schedules": lambda b: b.schedules.create(
        "Water.", at=DAY, rule="FREQ=DAILY", time_zone="user", ends_at=DAY, agent_id="a", thread_id="t", id="s"
    ),
    "GET /v1/schedules": lambda b: b.schedules.list(status="paused", scope="tenant", limit=3).page(),
    "GET /v1/schedules/{schedule_id}": lambda b: b.schedules.get("s", user_id="u"),
    "PATCH /v1/schedules/{schedule_id}": lambda b: b.schedules.change(
        "s", text="Water.", at="2027-03-14T09:00", rule="FREQ=DAILY", paused=True, user_id="u"
    ),
    "DELETE /v1/schedules/{schedule_id}": lambda b: b.schedules.delete("s", user_id="u"),
    "GET /v1/webhooks/deliveries": lambda b: b.webhooks.dead_deliveries(limit=3).page(),
    "POST /v1/webhooks/deliveries/{delivery_id}/redeliver": lambda b: b.webhooks.redeliver("d"),
    "GET /v1/models": lambda b: b.models.list(),
    "POST /v1/models/check": lambda b: b.models.check("m"),
    "GET /v1/overview": lambda b: b.tenant.overview(since=DAY),
    "GET /v1/usage": lambda b: b.tenant.usage(month="2040-03"),
    "GET /v1/procedures": lambda b: b.procedures.list(status="pending").page(),
    "GET /v1/skills": lambda b: b.procedures.skills().page(),
    "GET /v1/agents/{agent_id}/procedures": lambda b: b.procedures.list("a").page(),
    "POST /v1/agents/{agent_id}/procedures": lambda b: b.procedures.create(
        "a", {"name": "N", "description": "D", "triggers": ["t"], "steps": [{"text": "Do it."}]}
    ),
    "POST /v1/agents/{agent_id}/procedures/match": lambda b: b.procedures.match("a", "x"),
    "GET /v1/agents/{agent_id}/procedures/{procedure_id}": lambda b: b.procedures.get("a", "p", version=2),
    "PUT /v1/agents/{agent_id}/procedures/{procedure_id}": lambda b: b.procedures.change("a", "p", "# N", version=2),
    "DELETE /v1/agents/{agent_id}/procedures/{procedure_id}": lambda b: b.procedures.retire("a", "p", version=2),
    "GET /v1/agents/{agent_id}/procedures/{procedure_id}/SKILL.md": lambda b: b.procedures.markdown("a", "p"),
    "POST /v1/agents/{agent_id}/procedures/{procedure_id}/approve": lambda b: b.procedures.approve("a", "p", version=2),
    "POST /v1/agents/{agent_id}/procedures/{procedure_id}/reject": lambda b: b.procedures.reject(
        "a", "p", "No.", version=2
    ),
    "POST /v1/agents/{agent_id}/procedures/{procedure_id}/offer": lambda b: b.procedures.offer("a", "user.p"),
    "DELETE /v1/agents/{agent_id}/procedures/{procedure_id}/offer": lambda b: b.procedures.withdraw_offer(
        "a", "user.p"
    ),
    "POST /v1/agents/{agent_id}/procedures/{procedure_id}/share": lambda b: b.procedures.share(
        "a", "user.p", user_id="u", version=1
    ),
    "POST /v1/agents/{agent_id}/procedures/{procedure_id}/decline": lambda b: b.procedures.decline(
        "a", "user.p", "No.", user_id="u", version=1
    ),
    "GET /v1/agents/{agent_id}/procedures/{procedure_id}/source": lambda b: b.procedures.source("a", "p"),
}


@pytest.fixture(scope="module")
def openapi() -> dict[str, Any]:
    """The server's description."""
    return make_document()


def test_every_operation_has_a_method(openapi: dict[str, Any]) -> None:
    operations = {
        f"{method.upper()} {path}"
        for path, methods in openapi["paths"].items()
        if path.startswith("/v1/") or path == "/health"
        for method in methods
    }
    assert operations == set(STREAMS) | set(CALLS) | OF_OTHER_SENDERS


@pytest.mark.parametrize("operation", [*STREAMS, *CALLS])
def test_a_method_sends_what_the_server_understands(operation: str, openapi: dict[str, Any]) -> None:
    method, _, path = operation.partition(" ")
    described = openapi["paths"][path][method.lower()]
    script = Script()
    script.answer("*", httpx.Response(418, json={}))
    with httpx.Client(transport=script) as http, pytest.raises(BatonError):
        (STREAMS | CALLS)[operation](Baton("http://baton.test", token="t", http_client=http))
    [request] = script.requests
    assert request.method == method
    assert re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), request.url.path)
    names = {
        parameter["name"]: parameter["schema"]
        for parameter in described.get("parameters", [])
        if parameter["in"] == "query"
    }
    components = {"components": openapi["components"]}
    for name, value in request.url.params.items():
        types = {option.get("type") for option in names[name].get("anyOf", [names[name]])}
        sent: Any = json.loads(value) if types & {"integer", "number", "boolean"} else value
        jsonschema.validate(sent, {**names[name], **components})
    if "application/json" in request.headers.get("content-type", ""):
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        jsonschema.validate(json.loads(request.content), {**schema, **components})


def test_answers_to_interrupts_are_as_the_server_takes_them(openapi: dict[str, Any]) -> None:
    script = Script()
    script.answer("*", httpx.Response(418, json={}))
    answers = [Answer.approval("i", approved=True), Answer("j", "cancelled")]
    with httpx.Client(transport=script) as http, pytest.raises(BatonError):
        Baton("http://baton.test", token="t", http_client=http).runs.create(thread_id="t", answers=answers)
    schema = openapi["paths"]["/v1/runs"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    body = json.loads(script.requests[0].content)
    jsonschema.validate(body, {**schema, "components": openapi["components"]})
    assert [entry["interruptId"] for entry in body["resume"]] == ["i", "j"]
