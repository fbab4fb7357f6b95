"""The export and the removal of a whole tenant by the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from baton_client.command import tenant
from tests.unit.command.served import ScriptedServer, listing, problem

REMOVAL: dict[str, Any] = {
    "planId": "p-1",
    "tenantId": "acme",
    "status": "planned",
    "audit": "keep",
    "confirmedAt": None,
    "plan": {"messages": 2},
    "counts": {},
    "residue": {},
}


def answer(value: Any) -> httpx.Response:
    return httpx.Response(200, json=value)


def lines(*values: Any) -> httpx.Response:
    text = "".join(json.dumps(value) + "\n" for value in (*values, {"type": "end"}))
    return httpx.Response(200, text=text, headers={"content-type": "application/jsonl"})


@pytest.fixture
def filled(server: ScriptedServer) -> ScriptedServer:
    """A server with a tenant."""
    caller = {"tenantId": "acme", "userId": "operator", "permissions": sorted(tenant.PERMISSIONS)}
    server.answer("GET /v1/users/me", answer(caller))
    server.answer("GET /v1/tenant/limits", answer({"limits": {"agents": 3}}))
    server.answer("GET /v1/retention", answer({"threads": None}))
    server.answer("GET /v1/agents", listing({"id": "orders"}))
    server.answer("GET /v1/agents/orders", answer({"id": "orders", "version": 2}))
    server.answer("GET /v1/agents/orders/versions", listing({"version": 2}, {"version": 1}))
    for number in (1, 2):
        server.answer(f"GET /v1/agents/orders/versions/{number}", answer({"version": number, "agent": {}}))
    for name in ("agents/orders/procedures", "agents/orders/documents", "agents/orders/sources"):
        server.answer(f"GET /v1/{name}", listing({"id": "x"}))
    server.answer("GET /v1/evaluations", listing({"id": "e"}))
    server.answer("GET /v1/evaluations/e", answer({"id": "e", "details": {}}))
    server.answer("GET /v1/schedules", listing({"id": "s", "userId": "../bob"}))
    server.answer("GET /v1/threads", listing({"id": "t", "userId": "ada"}, cursor="next"), listing())
    server.answer("GET /v1/users/ada/export", lines({"type": "thread", "id": "t"}))
    server.answer("GET /v1/users/../bob/export", lines({"type": "schedule", "id": "s"}))
    server.answer("GET /v1/audit/export", lines({"action": "thread.read"}))
    return server


def test_an_export_has_every_user_agent_and_setting(filled: ScriptedServer, tmp_path: Path) -> None:
    folder = tmp_path / "acme"
    result = filled.run("tenant", "export", str(folder), "--json")
    assert result.exit_code == 0, result.stderr
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert files == {
        *("tenant.json", "complete", "threads.jsonl", "schedules.jsonl", "evaluations.jsonl", "audit.jsonl"),
        *("settings/limits.jsonl", "settings/retention.jsonl", "users/ada.jsonl", "users/%2E%2E%2Fbob.jsonl"),
        *(f"agents/orders/{name}.jsonl" for name in ("versions", "procedures", "documents", "sources")),
    }
    versions = (folder / "agents/orders/versions.jsonl").read_text().splitlines()
    assert [json.loads(line)["version"] for line in versions] == [2, 1]


def test_an_interrupted_export_goes_on_with_the_files_that_are_missing(filled: ScriptedServer, tmp_path: Path) -> None:
    folder = tmp_path / "acme"
    whole = filled.answers["GET /v1/users/ada/export"]
    filled.answer("GET /v1/users/ada/export", httpx.Response(200, text='{"type":"thread"}\n'))
    assert filled.run("tenant", "export", str(folder)).exit_code != 0
    assert not (folder / "users/ada.jsonl").exists()
    filled.answer("GET /v1/users/ada/export", *whole)
    asked = len(filled.sent("GET /v1/threads"))
    assert filled.run("tenant", "export", str(folder)).exit_code == 0
    assert len(filled.sent("GET /v1/threads")) == asked
    assert (folder / "complete").exists()


def test_an_export_is_refused_without_a_permission_and_into_a_folder_of_others(
    filled: ScriptedServer, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    assert "not empty" in filled.run("tenant", "export", str(tmp_path)).stderr
    caller = {"tenantId": "acme", "userId": "ada", "permissions": ["user:manage"]}
    filled.answer("GET /v1/users/me", answer(caller))
    assert "pii:read" in filled.run("tenant", "export", str(tmp_path / "new")).stderr


def test_a_removal_is_confirmed_with_the_plan_that_was_shown(server: ScriptedServer) -> None:
    server.answer("GET /v1/tenant/removal", problem(404, "not_found"))
    server.answer("POST /v1/tenant/removal", answer(REMOVAL))
    server.answer("POST /v1/tenant/removal/confirm", answer({**REMOVAL, "status": "removing"}))
    result = server.run("tenant", "remove", "acme", "--confirm", "acme", "--remove-audit")
    assert result.exit_code == 0, result.stderr
    [request] = server.sent("POST /v1/tenant/removal/confirm")
    assert json.loads(request.content) == {"tenantId": "acme", "planId": "p-1", "audit": "remove"}


@pytest.mark.parametrize("status", ["failed", "removing", "completed"])
def test_a_confirmed_removal_goes_on_without_another_plan(server: ScriptedServer, status: str) -> None:
    confirmed = {**REMOVAL, "audit": "remove", "confirmedAt": "2026-03-02T10:00:00Z", "status": status}
    server.answer("GET /v1/tenant/removal", answer(confirmed))
    server.answer("POST /v1/tenant/removal/confirm", answer({**confirmed, "status": "removing"}))
    assert server.run("tenant", "remove", "acme2").exit_code != 0
    assert server.sent("POST /v1/tenant/removal/confirm") == []
    result = server.run("tenant", "remove", "acme")
    assert result.exit_code == 0, result.stderr
    [request] = server.sent("POST /v1/tenant/removal/confirm")
    assert json.loads(request.content) == {"tenantId": "acme", "planId": "p-1", "audit": "remove"}
    assert server.sent("POST /v1/tenant/removal") == []


@pytest.mark.parametrize("arguments", [("acme", "--confirm", "acme2"), ("acme2", "--confirm", "acme2"), ("acme",)])
def test_another_name_or_none_removes_nothing(server: ScriptedServer, arguments: tuple[str, ...]) -> None:
    server.answer("GET /v1/tenant/removal", problem(404, "not_found"))
    server.answer("POST /v1/tenant/removal", answer(REMOVAL))
    assert server.run("tenant", "remove", *arguments).exit_code != 0
    assert server.sent("POST /v1/tenant/removal/confirm") == []


def test_a_removal_can_be_planned_only_and_followed_to_its_end(server: ScriptedServer) -> None:
    server.answer("GET /v1/tenant/removal", problem(404, "not_found"))
    server.answer("POST /v1/tenant/removal", answer(REMOVAL))
    assert "2 messages" in server.run("tenant", "remove", "acme", "--plan").stdout
    server.answer("GET /v1/tenant/removal", answer({**REMOVAL, "status": "completed", "counts": {"messages": 2}}))
    assert "Nothing is left." in server.run("tenant", "removal-status", "--wait").stdout
    server.answer("GET /v1/tenant/removal", answer({**REMOVAL, "status": "failed", "residue": {"messages": 1}}))
    assert server.run("tenant", "removal-status").exit_code != 0
    server.answer("GET /v1/tenant/removal", problem(404, "not_found"))
    assert server.run("tenant", "removal-status").exit_code != 0
