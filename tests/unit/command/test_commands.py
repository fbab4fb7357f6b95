"""Output and exit codes of commands."""

from __future__ import annotations

import email.utils
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.main import get_command

from baton_client.command.application import make_command_line
from tests.unit.command.served import ScriptedServer, listing, problem

THREAD = {"id": "t-1", "title": "Lisbon", "status": "active", "lastActivityAt": "2026-11-23T12:00:00Z", "lastSeq": 0}


def test_a_list_is_read_page_by_page(server: ScriptedServer) -> None:
    server.answer("GET /v1/threads", listing(THREAD, cursor="next"), listing({**THREAD, "id": "t-2"}))
    result = server.run("threads", "list", "--json")
    assert [item["id"] for item in json.loads(result.stdout)["items"]] == ["t-1", "t-2"]
    assert [request.url.params.get("cursor") for request in server.requests] == [None, "next"]
    assert result.exit_code == 0


def test_a_list_without_a_terminal_has_tabs(server: ScriptedServer) -> None:
    server.answer("GET /v1/threads", listing(THREAD))
    assert server.run("threads", "list").stdout == "t-1\tLisbon\tactive\t2026-11-23T12:00:00Z\t-\n"
    server.answer("GET /v1/threads", listing({**THREAD, "unread": 2}))
    assert server.run("threads", "list").stdout.endswith("\t2\n")


def test_the_audit_is_listed_with_agent_version_and_reason(server: ScriptedServer) -> None:
    detail = {"agentId": "coach", "version": 4, "override": "It is urgent."}
    item = {"timestamp": "2026-11-23T12:00:00Z", "userId": "ada", "action": "agent.write", "outcome": "promoted"}
    server.answer("GET /v1/audit", listing({**item, "threadId": None, "detail": detail}))
    line = "2026-11-23T12:00:00Z\tada\tagent.write\tpromoted\tcoach\t\tversion=4 override=It is urgent.\n"
    assert server.run("audit", "list").stdout == line


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({"run": {"status": "running"}}, "running"),
        ({"run": {"status": "interrupted"}}, "interrupted"),
        ({"run": None, "interrupts": [{"id": "i-1", "message": "Book it?"}]}, "waiting"),
        ({"run": None, "interrupts": [], "status": "closed"}, "closed"),
    ],
)
def test_conversations_have_the_states_that_they_are_listed_by(
    server: ScriptedServer, more: dict[str, Any], state: str
) -> None:
    server.answer("GET /v1/threads", listing({**THREAD, **more}))
    assert server.run("threads", "list").stdout.split("\t")[2] == state
    server.answer("GET /v1/threads/t-1", httpx.Response(200, json={**THREAD, **more}))
    server.answer("GET /v1/threads/t-1/messages", listing())
    assert server.run("threads", "show", "t-1").stdout.startswith(f"Lisbon (t-1, {state})\n")


def test_a_conversation_is_shown_with_as_many_messages_as_asked_for(server: ScriptedServer) -> None:
    texts = [str(number) for number in range(130)]
    messages = [{"role": "user", "content": text} for text in texts]
    server.answer("GET /v1/threads/t-1", httpx.Response(200, json=THREAD))
    pages = (listing(*messages[30:], cursor="older"), listing(cursor="oldest"), listing(*messages[10:30], cursor="end"))
    server.answer("GET /v1/threads/t-1/messages", *pages)
    visible = json.loads(server.run("threads", "show", "t-1", "--limit", "120", "--json").stdout)["messages"]
    assert [message["content"] for message in visible] == texts[10:]
    requests = [dict(request.url.params) for request in server.sent("GET /v1/threads/t-1/messages")]
    assert requests == [{"limit": "100"}, {"limit": "20", "cursor": "older"}, {"limit": "20", "cursor": "oldest"}]


def test_the_usage_of_a_month_is_added_up_over_all_pages(server: ScriptedServer) -> None:
    counts = {"turns": 2, "failures": 1, "inputTokens": 10, "outputTokens": 4, "cachedInputTokens": 1, "unpriced": 0}
    page = {
        **counts,
        "month": "2027-03",
        "cost": 0.1,
        "threads": 1,
        "agents": [{"agentId": "assistant", "cost": 0.1, **counts}],
        "models": [],
        "storage": {"objects": 1, "bytes": 100},
        "meteredCost": 3.0,
    }
    server.answer(
        "GET /v1/usage",
        httpx.Response(200, json={**page, "nextCursor": "next"}),
        httpx.Response(200, json={**page, "cost": 0.2, "meteredCost": None, "nextCursor": None}),
    )
    result = server.run("usage", "2027-03", "--json")
    usage = json.loads(result.stdout)
    assert (usage["turns"], usage["cost"], usage["meteredCost"], usage["storage"]["bytes"]) == (4, 0.3, 3.0, 200)
    sums = {"turns": 4, "failures": 2, "inputTokens": 20, "outputTokens": 8, "cachedInputTokens": 2, "cost": 0.2}
    assert usage["agents"] == [{"agentId": "assistant", "unpriced": 0, **sums}]
    assert [dict(request.url.params) for request in server.requests] == [{"month": "2027-03"}, {"cursor": "next"}]


def test_completed_workflows_are_listed_with_their_data(server: ScriptedServer) -> None:
    completed = {
        "id": "w-1",
        "threadId": "t-1",
        "userId": "ada",
        "agentId": "rental",
        "name": "your bike",
        "state": "DONE",
        "data": {"DAYS": {"first": "2027-05-02"}},
        "result": "B-1",
        "completedAt": "2026-11-23T12:00:00Z",
    }
    server.answer("GET /v1/workflows/completed", listing(completed))
    output = server.run("workflows", "list", "--everybody", "--user", "ada").stdout
    assert output == '2026-11-23T12:00:00Z\trental\tada\tyour bike\t{"DAYS": {"first": "2027-05-02"}}\tB-1\n'
    assert dict(server.requests[-1].url.params) == {"scope": "tenant", "userId": "ada", "limit": "20"}


def test_schedules_are_made_listed_paused_and_cancelled(server: ScriptedServer) -> None:
    schedule = {
        "id": "s-1",
        "text": "Water the plants.",
        "rule": None,
        "status": "active",
        "nextAt": "2027-03-14T09:00",
    }
    line = "s-1\t2027-03-14T09:00\t-\t-\tWater the plants.\n"
    server.answer("POST /v1/schedules", httpx.Response(201, json=schedule))
    instance = server.run("schedules", "create", "Water the plants.", "--at", "2027-03-14T09:00", "--time-zone", "user")
    assert instance.stdout == line
    sent = json.loads(server.requests[-1].content)
    assert len(sent.pop("id")) == 36
    assert sent == {"text": "Water the plants.", "at": "2027-03-14T09:00", "timeZone": "user"}
    server.answer("GET /v1/schedules", listing(schedule))
    assert server.run("schedules", "list", "--everybody").stdout == line
    paused = schedule | {"status": "paused", "nextAt": None, "userId": "ada"}
    server.answer("PATCH /v1/schedules/s-1", httpx.Response(200, json=paused))
    assert server.run("schedules", "pause", "s-1", "--user", "ada").stdout.startswith("s-1\tpaused\t-\tada\t")
    assert json.loads(server.requests[-1].content) == {"paused": True}
    assert server.requests[-1].url.params["userId"] == "ada"
    server.run("schedules", "resume", "s-1")
    assert json.loads(server.requests[-1].content) == {"paused": False}
    server.answer("GET /v1/schedules/s-1", httpx.Response(200, json=schedule))
    server.answer("DELETE /v1/schedules/s-1", httpx.Response(204))
    server.run("schedules", "cancel", "s-1", "--yes")
    assert server.requests[-1].method == "DELETE"


def test_a_schedule_is_shown_and_changed(server: ScriptedServer) -> None:
    schedule = {"id": "s-1", "text": "Water the plants.", "rule": "FREQ=DAILY", "status": "active", "runs": 3}
    server.answer("GET /v1/schedules/s-1", httpx.Response(200, json=schedule))
    output = server.run("schedules", "show", "s-1", "--user", "ada").stdout
    assert output == "Water the plants.\nStatus: active\nRule: FREQ=DAILY\nRuns: 3\n"
    assert server.requests[-1].url.params["userId"] == "ada"
    server.answer("PATCH /v1/schedules/s-1", httpx.Response(200, json=schedule))
    server.run("schedules", "change", "s-1", "--at", "2027-03-14T10:00", "--text", "Only the fern.")
    assert json.loads(server.requests[-1].content) == {"at": "2027-03-14T10:00", "text": "Only the fern."}
    nothing = server.run("schedules", "change", "s-1")
    assert (nothing.exit_code, "--rule" in nothing.stderr) == (2, True)


def test_tasks_in_the_background_are_listed_and_cancelled(server: ScriptedServer) -> None:
    task = {
        "taskId": "b-1",
        "name": "researcher",
        "status": "working",
        "startedAt": "2027-03-14T09:00",
        "progress": None,
    }
    server.answer("GET /v1/threads/t-1/background", httpx.Response(200, json={"items": [task]}))
    assert server.run("threads", "background", "t-1").stdout == "b-1\tresearcher\tworking\t2027-03-14T09:00\t-\n"
    cancelled = httpx.Response(202, json=task | {"status": "cancelled"})
    server.answer("DELETE /v1/threads/t-1/background/b-1", cancelled)
    assert server.run("threads", "cancel-background", "t-1", "b-1").exit_code == 2, "nobody is asked without a terminal"
    assert "\tcancelled\t" in server.run("threads", "cancel-background", "t-1", "b-1", "--yes").stdout


def test_an_event_is_sent_with_data_that_is_json(server: ScriptedServer) -> None:
    queued = httpx.Response(202, json={"threadId": "t-1", "runId": "r-1"})
    server.answer("POST /v1/threads/t-1/events", queued)
    event = ("threads", "send-event", "t-1", "e-1", "order.shipped", "--user", "ada", "--data")
    assert server.run(*event, '{"carrier": "DHL"}').stdout == "Queued as the run r-1.\n"
    sent = {"eventId": "e-1", "type": "order.shipped", "data": {"carrier": "DHL"}, "userId": "ada"}
    assert json.loads(server.requests[-1].content) == sent
    wrong = server.run(*event, "{carrier")
    assert (wrong.exit_code, wrong.stderr.startswith("baton: --data is not JSON")) == (2, True)


def test_a_conversation_is_marked_as_read_up_to_its_last_message(server: ScriptedServer) -> None:
    message = {"role": "assistant", "metadata": {"ordinal": 7}}
    # The newest page may be empty, because messages of other roles are skipped.
    server.answer("GET /v1/threads/t-1/messages", listing(cursor="older"), listing(message), listing())
    server.answer("PUT /v1/threads/t-1/read", httpx.Response(204))
    for options, ordinal in (([], 7), ([], 0), (["--ordinal", "3"], 3)):
        assert server.run("threads", "mark-read", "t-1", *options).stdout == "Read.\n"
        assert json.loads(server.requests[-1].content) == {"ordinal": ordinal}


def test_what_a_server_says_does_not_control_the_terminal(server: ScriptedServer) -> None:
    title = "\x1b]0;owned\x07[bold red]x\u202e\x9b31m\r\n:smile:"
    server.answer("GET /v1/threads", listing({**THREAD, "title": title}))
    output = server.run("threads", "list").stdout
    assert output.split("\t")[1] == "]0;owned[bold red]x31m :smile:"
    server.answer("GET /v1/threads/t-1", httpx.Response(200, json={**THREAD, "title": title}))
    server.answer("GET /v1/threads/t-1/messages", listing({"role": "user", "content": title}))
    output = server.run("threads", "show", "t-1").stdout
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(output)
    assert "[bold red]" in output
    assert ":smile:" in output


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (problem(401, "unauthorized"), 3),
        (problem(403, "permission_denied"), 3),
        (problem(404, "thread_unavailable"), 4),
        (problem(409, "message_id_conflict"), 6),
        (problem(410, "tenant_removed"), 1),
        (problem(422, "invalid_request"), 2),
        (problem(500, "internal_error"), 1),
        (httpx.Response(200, text="<html>"), 1),
    ],
)
def test_an_error_is_one_line_and_a_code(server: ScriptedServer, answer: httpx.Response, code: int) -> None:
    server.answer("GET /v1/threads/t-1", answer)
    result = server.run("threads", "show", "t-1")
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("baton: ")
    assert result.stderr.count("\n") == 1


def test_a_server_that_is_not_there_is_code_5(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton_client.command.session.MAX_RETRIES", 0)

    def refuse_connection(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    server.answer("GET /v1/threads", refuse_connection)
    result = server.run("threads", "list")
    assert result.exit_code == 5
    assert "baton doctor" in result.stderr


def test_nobody_is_asked_without_a_terminal(server: ScriptedServer) -> None:
    result = server.run("threads", "delete", "t-1")
    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert server.requests == []


def test_a_decision_is_on_the_version_that_was_read(server: ScriptedServer) -> None:
    address = "/v1/agents/a/procedures/p"
    procedure = {"id": "p", "name": "P", "version": 2, "status": "pending"}
    server.answer(f"GET {address}", httpx.Response(200, json=procedure))
    server.answer(f"POST {address}/approve", problem(412, "procedure_version_mismatch"))
    result = server.run("procedures", "approve", "a", "p", "--yes")
    assert result.exit_code == 6
    [sent] = server.sent(f"POST {address}/approve")
    assert sent.headers["if-match"] == '"2-pending"'


def test_an_export_that_ends_early_leaves_no_file(server: ScriptedServer, tmp_path: Path) -> None:
    goal = tmp_path / "me.jsonl"
    server.answer("GET /v1/users/me/export", httpx.Response(200, text='{"type":"message"}\n'))
    assert server.run("users", "export", "me", str(goal)).exit_code == 1
    assert list(tmp_path.glob("me*")) == []
    server.answer("GET /v1/users/me/export", httpx.Response(200, text='{"type":"message"}\n{"type":"end"}\n'))
    assert server.run("users", "export", "me", str(goal)).exit_code == 0
    assert goal.read_text() == '{"type": "message"}\n'
    assert server.run("users", "export", "me", str(goal)).exit_code == 6


def test_sessions_are_exported_without_a_last_line(server: ScriptedServer, tmp_path: Path) -> None:
    goal = tmp_path / "sessions.jsonl"
    server.answer("GET /v1/users/me/export", httpx.Response(200, text='{"sessionId":"s","messages":[]}\n'))
    assert server.run("users", "export", "me", str(goal), "--content", "sessions").exit_code == 0
    assert json.loads(goal.read_text()) == {"sessionId": "s", "messages": []}


def test_what_is_left_of_a_forgotten_user_is_reported(server: ScriptedServer) -> None:
    request = {"requestId": "r", "status": "failed", "counts": {"messages": 3}, "residue": {"episodes": 1}}
    server.answer("DELETE /v1/users/ada/memory", httpx.Response(202, json=request))
    result = server.run("users", "forget", "ada", "--yes")
    assert "left: 1 episodes" in result.stdout
    assert result.exit_code == 1


def test_doctor_says_what_to_do(server: ScriptedServer) -> None:
    old = {"date": "Mon, 01 Jan 2024 00:00:00 GMT"}
    server.answer("GET /health", httpx.Response(200, json={"status": "ok", "version": "99.0.0"}, headers=old))
    server.answer("GET /v1/users/me", problem(401, "unauthorized"))
    result = server.run("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert {name for name, check in checks.items() if not check["ok"]} == {"clock", "versions", "token"}
    assert all(check["advice"] for check in checks.values() if not check["ok"])
    assert "secret" not in result.output


def test_a_clock_that_differs_by_the_way_of_the_answer_is_that_of_the_server(server: ScriptedServer) -> None:
    serve_health(server)
    date = email.utils.formatdate(time.time() - 2, usegmt=True)
    health = {"status": "ok", "version": version("baton-client")}
    server.answer("GET /health", httpx.Response(200, json=health, headers={"date": date}))
    assert "clock: that of the server\n" in server.run("doctor").stdout


def test_a_state_that_conversations_do_not_have_is_refused_with_those_that_they_have(server: ScriptedServer) -> None:
    result = server.run("threads", "list", "--state", "foo")
    assert result.exit_code == 2
    assert "waiting" in result.stderr
    assert server.requests == []


def test_the_version_is_printed(server: ScriptedServer) -> None:
    assert server.run("version").stdout == server.run("--version").stdout == f"{version('baton-client')}\n"


def test_an_upload_waits_until_documents_are_read(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton_client.command.documents.POLL_SECONDS", 0)
    (tmp_path / "returns.md").write_text("# Returns")
    document = {"id": "d", "title": "Returns", "version": 1, "progress": 0, "status": "waiting"}
    states: list[dict[str, Any]] = [document, {**document, "status": "processing"}, {**document, "status": "ready"}]
    server.answer("POST /v1/agents/shop/documents", httpx.Response(200, json={"document": document, "upload": None}))
    server.answer("GET /v1/agents/shop/documents/d", *(httpx.Response(200, json=state) for state in states))
    result = server.run("documents", "upload", "shop", str(tmp_path / "returns.md"), "--wait", "--json")
    assert result.exit_code == 0, result.output
    assert [item["status"] for item in json.loads(result.stdout)["items"]] == ["ready"]
    broken = {**document, "status": "failed", "error": {"message": "It is encrypted."}}
    server.answer("GET /v1/agents/shop/documents/d", httpx.Response(200, json=broken))
    result = server.run("documents", "upload", "shop", str(tmp_path / "returns.md"), "--wait")
    assert result.exit_code == 1
    assert "It is encrypted." in result.stdout


def test_a_document_that_the_server_refuses_is_named(server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "setup.exe").write_bytes(b"MZ")
    refused = problem(422, "unsupported_document", "Documents are PDF (.pdf) files.")
    server.answer("POST /v1/agents/shop/documents", refused)
    result = server.run("documents", "upload", "shop", str(tmp_path / "setup.exe"))
    assert result.exit_code == 2
    assert f"{tmp_path / 'setup.exe'}: unsupported_document: Documents are PDF (.pdf) files." in result.stderr


def test_doctor_tries_each_model_and_fails_if_agents_cannot_work_with_one(server: ScriptedServer) -> None:
    models = [make_model("big", agents=["assistant"]), make_model("small", uses=["light"])]
    serve_health(server, *models)
    server.answer("POST /v1/models/check", lambda request: make_report(models, request, works=True))
    fine = server.run("doctor", "--models")
    assert fine.exit_code == 0
    assert "big (agents assistant)\n  text               yes\n" in fine.stdout
    assert [json.loads(request.content) for request in server.sent("POST /v1/models/check")] == [
        {"model": "big"},
        {"model": "small"},
    ]
    server.answer("POST /v1/models/check", lambda request: make_report(models, request, works=False))
    failed = server.run("doctor", "--models")
    assert failed.exit_code == 1
    assert "  tool call          no  model_refused: no tools; not sent: top_p\n" in failed.stdout
    assert "-> Choose another." in failed.stdout
    assert "Not usable as they are: big." in failed.stderr
    answered = json.loads(server.run("doctor", "--models", "--json").stdout)
    assert [(model["name"], model["ok"]) for model in answered["models"]] == [("big", False), ("small", True)]
    assert answered["ok"] is False


def test_doctor_says_who_may_check_models(server: ScriptedServer) -> None:
    serve_health(server)
    server.answer("GET /v1/models", problem(403, "forbidden"))
    result = server.run("doctor", "--models")
    assert result.exit_code == 3
    assert "tenant:manage" in result.stdout
    assert server.sent("POST /v1/models/check") == []


def test_doctor_goes_on_after_a_model_that_could_not_be_checked(server: ScriptedServer) -> None:
    models = [make_model("big", agents=["assistant"]), make_model("small", uses=["light"])]
    serve_health(server, *models)
    answers = iter([problem(429, "rate_limited", "Another check is running.")])
    server.answer(
        "POST /v1/models/check", lambda request: next(answers, None) or make_report(models, request, works=True)
    )
    result = server.run("doctor", "--models")
    assert result.exit_code == 1
    assert "big: not checked." in result.stdout
    assert "Another check is running." in result.stdout
    assert "small (titles and summaries)" in result.stdout


def test_doctor_tries_no_model_without_being_asked_or_without_a_token(server: ScriptedServer) -> None:
    serve_health(server)
    assert server.run("doctor").exit_code == 0
    server.answer("GET /v1/users/me", problem(401, "unauthorized"))
    assert server.run("doctor", "--models").exit_code == 3
    assert server.sent("GET /v1/models") == []


def serve_health(server: ScriptedServer, *models: dict[str, Any]) -> None:
    """Serve the health of this release with models."""
    server.answer("GET /health", httpx.Response(200, json={"status": "ok", "version": version("baton-client")}))
    server.answer("GET /v1/users/me", httpx.Response(200, json={"userId": "boss", "tenantId": "acme"}))
    server.answer("GET /v1/models", listing(*models))


def make_model(name: str, **used: list[str]) -> dict[str, Any]:
    return {"name": name, "kind": "chat", "uses": [], "agents": [], "fallbackOf": [], **used}


def make_report(models: list[dict[str, Any]], request: httpx.Request, *, works: bool) -> httpx.Response:
    """A report of one of the models, whose tool calls work or not."""
    [model] = [model for model in models if model["name"] == json.loads(request.content)["model"]]
    nothing: dict[str, Any] = {
        "works": True,
        "remark": None,
        "error": None,
        "reason": None,
        "advice": None,
        "dropped": [],
    }
    refused = {"works": False, "error": "model_refused", "reason": "no tools", "advice": "Choose another."}
    call = nothing if works else nothing | refused | {"dropped": ["top_p"]}
    checks = [{"ability": "text", **nothing}, {"ability": "tool_call", **call}]
    report = {"model": model, "works": works, "checks": checks, "learned": {}, "advice": []}
    return httpx.Response(200, json=report)


def test_a_broken_configuration_is_reported(server: ScriptedServer) -> None:
    server.folder.mkdir()
    (server.folder / "config.toml").write_text("profiles = [")
    result = server.run("threads", "list")
    assert result.exit_code == 2
    assert "config.toml" in result.stderr


def test_options_that_take_no_value_show_none_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    command = get_command(make_command_line())
    command.main(["threads", "list", "--help"], standalone_mode=False)
    output = capsys.readouterr().out
    assert "--everybody" in output
    assert "--agent" in output
    assert "<bool>" not in output
    assert "<str>" in output


def test_versions_of_an_agent_stand_beside_each_other_with_their_figures(server: ScriptedServer) -> None:
    counts = {"turns": 2, "failures": 1, "inputTokens": 10, "outputTokens": 4, "cachedInputTokens": 1, "unpriced": 0}
    figures = {"version": 2, **counts, "cost": 0.1, "ups": 3, "downs": 1}
    passed = {"id": "e", "beganAt": "2027-03-01T00:00:00Z", "runs": 30, "passed": 0.9}
    newer = {"version": 2, "state": "candidate", "share": 10, "evaluation": passed, "restores": None}
    older = {"version": 1, "state": "in_force", "share": None, "evaluation": None, "restores": 7}
    server.answer("GET /v1/agents/tutor/versions", listing(newer, older))
    server.answer("GET /v1/agents/tutor/figures", listing(figures, cursor="next"), listing(figures))
    assert server.run("agents", "versions", "tutor").stdout == (
        "2\tcandidate\t10 %\t4\t2\t28\t0.2000\t6\t2\t90.0% of 30\n1\tin force, repeats 7\t\t0\t0\t0\t-\t0\t0\t\n"
    )


@pytest.mark.parametrize(
    ("arguments", "request_line", "body"),
    [
        (("share", "tutor", "2", "50"), "PUT /v1/agents/tutor/share", {"version": 2, "share": 50}),
        (
            ("promote", "tutor", "2", "--override", "Urgent"),
            "POST /v1/agents/tutor/promote",
            {"version": 2, "override": "Urgent"},
        ),
    ],
)
def test_a_version_is_shared_promoted_and_rolled_back(
    server: ScriptedServer, arguments: tuple[str, ...], request_line: str, body: Any
) -> None:
    rollout = {"version": 2, "candidate": None, "share": None}
    server.answer(request_line, httpx.Response(200, json=rollout))
    assert server.run("agents", *arguments).stdout == "tutor: version 2 is in force.\n"
    assert json.loads(server.requests[-1].content) == body


def test_a_rollback_says_which_version_the_new_one_repeats(server: ScriptedServer) -> None:
    change = {"version": 3, "restores": 1, "isStored": True}
    server.answer("POST /v1/agents/tutor/rollback", httpx.Response(200, json=change))
    rolled_back = server.run("agents", "rollback", "tutor", "1", "--override", "Urgent")
    assert rolled_back.stdout == "tutor: version 3 is in force. It repeats version 1.\n"
    assert json.loads(server.requests[-1].content) == {"version": 1, "override": "Urgent"}


def test_a_candidate_ends_and_without_one_a_rollback_asks_for_a_version(server: ScriptedServer) -> None:
    rollout = {"version": 1, "candidate": None, "share": None}
    server.answer("DELETE /v1/agents/tutor/candidate", httpx.Response(200, json=rollout))
    server.answer(
        "GET /v1/agents/tutor/versions",
        listing({"version": 2, "state": "candidate"}),
        listing({"version": 2, "state": "in_force"}),
    )
    assert server.run("agents", "rollback", "tutor").stdout == "tutor: version 1 is in force.\n"
    refused = server.run("agents", "rollback", "tutor")
    assert refused.exit_code == 1
    assert "tutor has no candidate. Name the version" in refused.stderr
