"""Applying a folder to a server."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.unit.command.served import ScriptedServer, listing, problem

AGENT = "id: shop\nname: Shop\n"
CHANGE = {"field": "name", "before": "Stall", "after": "Shop"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one agent."""
    (tmp_path / "mine" / "agents").mkdir(parents=True)
    (tmp_path / "mine" / "agents" / "shop.yaml").write_text(AGENT)
    return tmp_path / "mine"


def make_change_answer(*changes: dict[str, str], is_new: bool = False) -> httpx.Response:
    """The answer to a PUT of the agent."""
    return httpx.Response(200, json={"version": 4, "isNew": is_new, "changes": list(changes), "warnings": []})


def serve_third_version(server: ScriptedServer) -> None:
    """Serve the agent's third version."""
    server.answer("GET /v1/agents/shop", httpx.Response(200, json={"id": "shop", "version": 3}))


def test_only_the_version_that_was_shown_is_replaced(server: ScriptedServer, folder: Path) -> None:
    serve_third_version(server)
    server.answer("PUT /v1/agents/shop", make_change_answer(CHANGE))
    result = server.run("apply", str(folder), "--yes")
    assert result.exit_code == 0, result.output
    assert "- name: Stall" in result.stdout
    tried, sent = server.sent("PUT /v1/agents/shop")
    assert tried.url.params["dryRun"] == "true"
    assert sent.headers["if-match"] == '"3"'
    assert sent.content == AGENT.encode()


def test_a_change_of_somebody_else_is_reported_and_kept(server: ScriptedServer, folder: Path) -> None:
    serve_third_version(server)
    server.answer(
        "PUT /v1/agents/shop", make_change_answer(CHANGE), problem(412, "agent_version_mismatch", "It is version 4.")
    )
    result = server.run("apply", str(folder), "--yes")
    assert result.exit_code == 6
    assert "agent shop: agent_version_mismatch: It is version 4." in result.stderr


def test_changed_agents_become_candidates_and_new_ones_do_not(server: ScriptedServer, folder: Path) -> None:
    (folder / "agents" / "tutor.yaml").write_text("id: tutor\nname: Tutor\n")
    serve_third_version(server)
    shared = httpx.Response(200, json={"version": 4, "isNew": False, "changes": [CHANGE], "warnings": [], "share": 10})
    server.answer("PUT /v1/agents/shop", shared)
    server.answer("GET /v1/agents/tutor", problem(404, "unknown_agent", "There is no such agent."))
    server.answer("PUT /v1/agents/tutor", make_change_answer(CHANGE, is_new=True))
    result = server.run("apply", str(folder), "--share", "10", "--override", "It is urgent.", "--yes")
    assert result.exit_code == 0, result.output
    assert "agent shop: version 4, used by 10 % of new sessions" in result.stdout
    for request in server.sent("PUT /v1/agents/shop"):
        assert (request.url.params["share"], request.url.params["override"]) == ("10", "It is urgent.")
    for request in server.sent("PUT /v1/agents/tutor"):
        assert "share" not in request.url.params


def test_an_agent_that_needs_an_evaluation_is_named(server: ScriptedServer, folder: Path) -> None:
    server.answer("PUT /v1/agents/shop", problem(409, "evaluation_required", "Send share=10 or less."))
    result = server.run("apply", str(folder), "--yes")
    assert result.exit_code == 6
    assert "shop.yaml: evaluation_required: Send share=10 or less. Nothing was sent." in result.stderr


def test_libraries_are_left_to_deployments(server: ScriptedServer, folder: Path) -> None:
    (folder / "libraries" / "manual").mkdir(parents=True)
    (folder / "libraries" / "manual" / "pump.md").write_text("# Pump")
    serve_third_version(server)
    server.answer("PUT /v1/agents/shop", make_change_answer(CHANGE))
    result = server.run("apply", str(folder), "--dry-run")
    assert "`baton deploy` deploys it" in result.stderr
    assert {request.url.path for request in server.requests} == {"/v1/agents/shop"}


@pytest.mark.parametrize("options", [("--dry-run",), ("--dry-run", "--json"), ()])
def test_nothing_is_sent_unless_it_is_wanted(server: ScriptedServer, folder: Path, options: tuple[str, ...]) -> None:
    server.answer("PUT /v1/agents/shop", make_change_answer(is_new=True))
    result = server.run("apply", str(folder), *options)
    assert result.exit_code == (0 if options else 2)
    assert [request.url.params.get("dryRun") for request in server.requests] == ["true"]


def test_a_folder_that_is_applied_already_changes_nothing(server: ScriptedServer, folder: Path) -> None:
    serve_third_version(server)
    server.answer("PUT /v1/agents/shop", make_change_answer())
    result = server.run("apply", str(folder), "--json")
    assert [step["action"] for step in json.loads(result.stdout)["items"]] == ["none"]
    assert result.exit_code == 0


def test_broken_files_are_named_before_anything_is_sent(server: ScriptedServer, folder: Path) -> None:
    (folder / "agents" / "broken.yaml").write_text("id: [\nname: x")
    (folder / "agents" / "twin.yaml").write_text(AGENT)
    result = server.run("apply", str(folder), "--yes")
    assert result.exit_code == 2
    assert "broken.yaml line 2" in result.stderr
    assert "the same id 'shop'" in result.stderr
    assert server.requests == []


def test_changed_content_is_a_version_of_the_same_document(server: ScriptedServer, folder: Path) -> None:
    serve_third_version(server)
    server.answer("PUT /v1/agents/shop", make_change_answer())
    (folder / "documents" / "shop").mkdir(parents=True)
    file = folder / "documents" / "shop" / "returns.md"
    server.answer("GET /v1/agents/shop/documents", listing())
    answer = {"document": {"id": "d", "version": 1}, "upload": None}
    server.answer("POST /v1/agents/shop/documents", httpx.Response(201, json=answer))
    for text in ("Thirty days.", "Sixty days!!"):
        file.write_text(text)
        assert server.run("apply", str(folder), "--yes").exit_code == 0
    first, second = (json.loads(request.content) for request in server.sent("POST /v1/agents/shop/documents"))
    assert first["documentId"] == second["documentId"]
    assert first["sha256"] != second["sha256"]


def test_agents_that_ship_are_left_to_deployments_and_their_documents_are_applied(
    server: ScriptedServer, folder: Path
) -> None:
    (folder / "documents" / "shop").mkdir(parents=True)
    (folder / "documents" / "shop" / "returns.md").write_text("# Returns")
    server.answer("PUT /v1/agents/shop", problem(409, "agent_id_taken", "It ships with the deployment."))
    server.answer("GET /v1/agents/shop/documents", listing())
    document = {"id": "d", "version": 1, "status": "waiting"}
    server.answer("POST /v1/agents/shop/documents", httpx.Response(200, json={"document": document, "upload": None}))
    result = server.run("apply", str(folder), "--yes")
    assert result.exit_code == 0, result.output
    assert "agent shop (ships with the deployment" in result.stdout
    assert "document shop/returns.md: version 1" in result.stdout
    assert len(server.sent("PUT /v1/agents/shop")) == 1


def test_a_procedure_that_is_no_text_is_named(server: ScriptedServer, folder: Path) -> None:
    (folder / "procedures" / "shop").mkdir(parents=True)
    (folder / "procedures" / "shop" / "alert.md").write_bytes(b"\xff\xfe")
    serve_third_version(server)
    server.answer("PUT /v1/agents/shop", make_change_answer())
    result = server.run("apply", str(folder), "--yes")
    assert result.exit_code == 2
    assert "alert.md is not UTF-8" in result.stderr
