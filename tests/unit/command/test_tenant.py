"""The export and the removal of a whole tenant by the command."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from baton_client.command.exits import ExitCode
from tests.unit.command.served import ScriptedServer, problem

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


def page(*lines: Any, cursor: str | None = None, tenant_id: str = "acme") -> httpx.Response:
    """A page of an export."""
    begin = {"type": "begin", "format": 1, "tenantId": tenant_id, "beganAt": "2026-03-02T10:00:00Z"}
    end = {"type": "end", "counts": {"messages": len(lines)}, "leftOut": {"piecesOfTheLog": 1}, "nextCursor": cursor}
    text = "".join(json.dumps(line) + "\n" for line in (begin, *lines, end))
    return httpx.Response(200, text=text, headers={"content-type": "application/jsonl"})


def record(number: int) -> dict[str, Any]:
    return {"type": "record", "kind": "messages", "partition": "acme#t", "key": f"MSG#{number}", "values": {}}


def file(name: str) -> dict[str, Any]:
    return {
        "type": "file",
        "name": name,
        "bytes": 5,
        "storedAt": "2026-03-02T10:00:00Z",
        "url": "http://s3.test/signed",
    }


@pytest.fixture
def filled(server: ScriptedServer) -> ScriptedServer:
    """A server with an export of three pages: one has records, one nothing, and one a file."""
    named = {"x-amz-meta-name": "a%20b.pdf", "content-type": "application/pdf"}
    server.answer("GET /signed", httpx.Response(200, content=b"bytes", headers=named))
    pages = (page(record(1), record(2), cursor="c1"), page(cursor="c2"), page(file("t/files/../file_1")))
    server.answer("GET /v1/tenant-export", *pages)
    return server


def read_lines(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The lines of an export, by their files."""
    return {
        file.name: [json.loads(line) for line in file.read_text().splitlines()]
        for file in sorted((folder / "records").iterdir())
    }


def test_an_export_has_a_file_of_lines_for_each_page_and_the_bytes_of_files(
    filled: ScriptedServer, tmp_path: Path
) -> None:
    folder = tmp_path / "acme"
    result = filled.run("tenant", "export", str(folder))
    assert result.exit_code == 0, result.stderr
    assert "exported: 3 messages" in result.stdout
    assert "left out: 3 pieces of the log" in result.stdout
    assert [request.url.params.get("cursor") for request in filled.sent("GET /v1/tenant-export")] == [None, "c1", "c2"]
    assert "authorization" not in filled.sent("GET /signed")[0].headers
    pages = read_lines(folder)
    assert pages["000001.jsonl"] == [record(1), record(2)]
    [stored] = pages["000002.jsonl"]
    assert stored["path"] == "files/t/files/%2E%2E/file_1.bin"
    assert (stored["fileName"], stored["contentType"]) == ("a%20b.pdf", "application/pdf")
    assert "url" not in stored
    assert (folder / stored["path"]).read_bytes() == b"bytes"
    state = json.loads((folder / "export.json").read_text())
    assert (state["complete"], state["tenantId"], state["beganAt"]) == (True, "acme", "2026-03-02T10:00:00Z")


def test_an_interrupted_export_goes_on_with_the_page_that_was_not_complete(
    filled: ScriptedServer, tmp_path: Path
) -> None:
    folder = tmp_path / "acme"
    whole = [*filled.answers["GET /v1/tenant-export"]]
    cut = httpx.Response(200, text=json.dumps(record(1)) + "\n")
    filled.answer("GET /v1/tenant-export", cut, *whole)
    assert filled.run("tenant", "export", str(folder)).exit_code != 0
    file_1 = filled.answers.pop("GET /signed")
    assert filled.run("tenant", "export", str(folder)).exit_code != 0  # at the file of the last page
    filled.answer("GET /signed", *file_1)
    filled.answer("GET /v1/tenant-export", whole[-1])
    result = filled.run("tenant", "export", str(folder), "--json")
    assert result.exit_code == 0, result.stderr
    assert [request.url.params.get("cursor") for request in filled.sent("GET /v1/tenant-export")] == [
        *(None, None, "c1", "c2"),
        "c2",
    ]
    assert list(read_lines(folder)) == ["000001.jsonl", "000002.jsonl"]
    assert json.loads(result.stdout)["counts"] == {"messages": 3}


def test_a_complete_export_is_not_repeated_in_its_folder(filled: ScriptedServer, tmp_path: Path) -> None:
    folder = tmp_path / "acme"
    assert filled.run("tenant", "export", str(folder)).exit_code == 0
    requests = len(filled.sent("GET /v1/tenant-export"))
    filled.answer("GET /v1/tenant-export", page(tenant_id="globex"))
    result = filled.run("tenant", "export", str(folder))
    assert (result.exit_code, "is complete. Choose another folder" in result.stderr) == (ExitCode.CONFLICT, True)
    assert len(filled.sent("GET /v1/tenant-export")) == requests


def test_files_are_downloaded_after_the_page_and_only_if_they_are_missing(
    server: ScriptedServer, tmp_path: Path
) -> None:
    folder = tmp_path / "acme"
    cut = page(file("t/files/file_1"))
    cut = httpx.Response(200, text=cut.text.rsplit("{", 2)[0])  # without its end
    server.answer("GET /v1/tenant-export", cut)
    assert server.run("tenant", "export", str(folder)).exit_code != 0
    assert server.sent("GET /signed") == []

    named = {"x-amz-meta-name": "a.pdf"}
    first, gone = httpx.Response(200, content=b"bytes", headers=named), httpx.Response(404)
    server.answer("GET /v1/tenant-export", page(file("t/files/file_1"), file("t/files/file_2")))
    server.answer("GET /signed", first, gone)
    assert server.run("tenant", "export", str(folder)).exit_code != 0

    unread, read = (httpx.Response(200, content=content, headers=named) for content in (b"other", b"third"))
    changed = {**file("t/files/file_2"), "storedAt": "2026-03-03T10:00:00Z"}
    server.answer("GET /v1/tenant-export", page(file("t/files/file_1"), changed))
    server.answer("GET /signed", unread, read)
    assert server.run("tenant", "export", str(folder)).exit_code == 0
    assert [(folder / f"files/t/files/file_{number}.bin").read_bytes() for number in (1, 2)] == [b"bytes", b"third"]
    assert [line["fileName"] for line in read_lines(folder)["000001.jsonl"]] == ["a.pdf", "a.pdf"]


def test_an_export_is_refused_into_a_folder_of_something_else(filled: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "not empty" in filled.run("tenant", "export", str(tmp_path)).stderr
    folder = tmp_path / "acme"
    filled.answer("GET /v1/tenant-export", page(cursor="c1"), problem(503, "store_unavailable"))
    assert filled.run("tenant", "export", str(folder)).exit_code != 0
    filled.answer("GET /v1/tenant-export", page(tenant_id="globex"))
    assert "another tenant" in filled.run("tenant", "export", str(folder)).stderr


def test_a_removal_is_confirmed_with_the_plan_that_was_shown(server: ScriptedServer) -> None:
    server.answer("GET /v1/tenant/removal", problem(404, "not_found"))
    server.answer("POST /v1/tenant/removal", answer(REMOVAL))
    server.answer("POST /v1/tenant/removal/confirm", answer({**REMOVAL, "status": "removing"}))
    result = server.run("tenant", "remove", "acme", "--confirm", "acme", "--remove-audit")
    assert result.exit_code == 0, result.stderr
    [request] = server.sent("POST /v1/tenant/removal/confirm")
    assert json.loads(request.content) == {"tenantId": "acme", "planId": "p-1", "audit": "remove"}


@pytest.mark.parametrize(("hours", "plans"), [(1, 0), (30, 1)])
def test_a_plan_that_waits_is_confirmed_and_an_old_one_is_made_again(
    server: ScriptedServer, hours: int, plans: int
) -> None:
    planned_at = datetime.now(UTC) - timedelta(hours=hours)
    server.answer("GET /v1/tenant/removal", answer({**REMOVAL, "plannedAt": planned_at.isoformat()}))
    server.answer("POST /v1/tenant/removal", answer({**REMOVAL, "planId": "p-2"}))
    server.answer("POST /v1/tenant/removal/confirm", answer({**REMOVAL, "status": "removing"}))
    result = server.run("tenant", "remove", "acme", "--confirm", "acme")
    assert result.exit_code == 0, result.stderr
    assert len(server.sent("POST /v1/tenant/removal")) == plans
    [request] = server.sent("POST /v1/tenant/removal/confirm")
    assert json.loads(request.content)["planId"] == ("p-2" if plans else "p-1")


def test_a_count_that_was_lost_is_asked_for_again(server: ScriptedServer) -> None:
    server.answer("GET /v1/tenant/removal", answer({**REMOVAL, "status": "counting", "plannedAt": None}))
    server.answer("POST /v1/tenant/removal", answer(REMOVAL))
    result = server.run("tenant", "remove", "acme", "--plan")
    assert result.exit_code == 0, result.stderr
    server.answer("POST /v1/tenant/removal/confirm", answer({**REMOVAL, "status": "removing"}))
    result = server.run("tenant", "remove", "acme", "--confirm", "acme")
    assert result.exit_code == 0, result.stderr
    assert len(server.sent("POST /v1/tenant/removal")) == 2


@pytest.mark.parametrize(
    ("confirmed_at", "says"),
    [(None, "nothing was removed. Repeat `baton tenant remove acme`"), ("2026-03-02T10:00:00Z", "acme`: it goes on")],
)
def test_a_failure_says_whether_anything_was_removed(
    server: ScriptedServer, confirmed_at: str | None, says: str
) -> None:
    failed = {**REMOVAL, "status": "failed", "confirmedAt": confirmed_at}
    server.answer("GET /v1/tenant/removal", answer(failed))
    result = server.run("tenant", "removal-status")
    assert result.exit_code != 0
    assert says in result.stderr


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
    result = server.run("tenant", "remove", *arguments)
    assert result.exit_code != 0
    assert server.sent("POST /v1/tenant/removal/confirm") == []
    if len(arguments) == 1:
        assert "remove all of this. Say so by --confirm" in result.stderr


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
