"""Signing in by the device flow, and where tokens are kept."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import httpx
import jwt
import keyring
import pytest
from typer.testing import CliRunner

from baton_client.command.application import SERVER_COMMANDS, make_command_line
from baton_client.command.configuration import Profile
from baton_client.command.session import Environment
from baton_client.command.token_store import TokenStore
from tests.unit.command.served import ScriptedServer, listing, problem

ISSUER = "https://issuer.test"
METADATA = {"device_authorization_endpoint": f"{ISSUER}/device", "token_endpoint": f"{ISSUER}/token"}
CODE = {"device_code": "d", "user_code": "ABCD", "verification_uri": f"{ISSUER}/go", "interval": 0, "expires_in": 60}
TOKENS = {"access_token": "fresh", "refresh_token": "again", "expires_in": 3600}
LOGIN = ("login", "--client-id", "baton-cli", "--token-file")


@pytest.fixture
def issuer(server: ScriptedServer) -> ScriptedServer:
    """A server that names an issuer with the device flow; ``BATON_TOKEN`` is not set."""
    del server.variables["BATON_TOKEN"]
    protected = {"authorization_servers": [ISSUER]}
    server.answer("GET /.well-known/oauth-protected-resource", httpx.Response(200, json=protected))
    server.answer("GET /.well-known/openid-configuration", httpx.Response(200, json=METADATA))
    server.answer("POST /device", httpx.Response(200, json=CODE))
    server.answer("GET /v1/threads", listing())
    return server


def test_signing_in_waits_for_the_user_and_keeps_the_token(issuer: ScriptedServer) -> None:
    pending = httpx.Response(400, json={"error": "authorization_pending"})
    issuer.answer("POST /token", pending, pending, httpx.Response(200, json=TOKENS))
    result = issuer.run(*LOGIN)
    assert result.exit_code == 0, result.output
    assert "ABCD" in result.stderr
    assert "fresh" not in result.output
    [file] = issuer.folder.glob("tokens-*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert issuer.run("threads", "list").exit_code == 0
    assert issuer.requests[-1].headers["authorization"] == "Bearer fresh"
    assert issuer.run("logout").exit_code == 0
    assert issuer.run("threads", "list").exit_code == 3


def test_signing_out_says_where_commands_still_go_and_forgets_the_address_if_asked(issuer: ScriptedServer) -> None:
    issuer.answer("POST /token", httpx.Response(200, json=TOKENS))
    assert issuer.run(*LOGIN).exit_code == 0
    remaining = issuer.run("logout")
    assert "`baton logout --forget`" in remaining.stderr
    forgotten = issuer.run("logout", "--forget")
    assert forgotten.exit_code == 0
    assert "The address and the issuer of the profile default are removed." in forgotten.stderr
    assert "[profiles" not in (issuer.folder / "config.toml").read_text()


@pytest.mark.parametrize(
    ("url", "command"),
    [("http://127.0.0.1:8080", "`baton login --local`"), ("https://baton.test", "`baton login`")],
    ids=["local cloud", "deployment"],
)
def test_a_command_without_a_sign_in_names_the_one_for_the_server(
    issuer: ScriptedServer, url: str, command: str
) -> None:
    issuer.folder.mkdir(exist_ok=True)
    (issuer.folder / "config.toml").write_text(f'[profiles.default]\nurl = "{url}"\ntoken_file = true\n')
    del issuer.variables["BATON_URL"]
    assert command in issuer.run("threads", "list").stderr


def test_a_refused_sign_in_is_reported(issuer: ScriptedServer) -> None:
    issuer.answer("POST /token", httpx.Response(400, json={"error": "access_denied"}))
    assert issuer.run(*LOGIN).exit_code == 3


def test_a_token_that_the_server_refuses_is_renewed_once(issuer: ScriptedServer) -> None:
    issuer.answer("POST /token", httpx.Response(200, json=TOKENS))
    assert issuer.run(*LOGIN).exit_code == 0
    issuer.answer("POST /token", httpx.Response(200, json={**TOKENS, "access_token": "newer"}))
    issuer.answer("GET /v1/threads", problem(401, "unauthorized"), listing())
    assert issuer.run("threads", "list").exit_code == 0
    assert issuer.requests[-1].headers["authorization"] == "Bearer newer"


def test_an_ended_sign_in_asks_for_another_one(issuer: ScriptedServer) -> None:
    issuer.answer("POST /token", httpx.Response(200, json={"access_token": "short", "expires_in": 1}))
    assert issuer.run(*LOGIN).exit_code == 0
    result = issuer.run("threads", "list")
    assert result.exit_code == 3
    assert "baton login" in result.stderr


def test_another_error_of_a_renewal_is_not_the_end_of_the_sign_in(issuer: ScriptedServer) -> None:
    issuer.answer("POST /token", httpx.Response(200, json={**TOKENS, "expires_in": 1}))
    assert issuer.run(*LOGIN).exit_code == 0
    issuer.answer("POST /token", httpx.Response(400, json={"error": "temporarily_unavailable"}))
    result = issuer.run("threads", "list")
    assert result.exit_code == 1
    assert "temporarily_unavailable" in result.stderr


def test_signing_out_removes_an_entry_of_the_keyring_that_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    entries = {"default http://127.0.0.1:8080": "no JSON"}
    monkeypatch.setattr(keyring, "get_password", lambda _, account: entries.get(account))
    monkeypatch.setattr(keyring, "delete_password", lambda _, account: entries.pop(account))
    assert TokenStore(Profile(), tmp_path).delete()
    assert entries == {}


def test_a_token_file_that_others_can_read_is_not_used(issuer: ScriptedServer) -> None:
    issuer.answer("POST /token", httpx.Response(200, json=TOKENS))
    assert issuer.run(*LOGIN).exit_code == 0
    [file] = issuer.folder.glob("tokens-*.json")
    file.chmod(0o644)
    result = issuer.run("threads", "list")
    assert result.exit_code == 2
    assert "chmod 600" in result.stderr


def test_signing_out_removes_a_token_file_that_others_can_read(issuer: ScriptedServer) -> None:
    issuer.answer("POST /token", httpx.Response(200, json=TOKENS))
    assert issuer.run(*LOGIN).exit_code == 0
    [file] = issuer.folder.glob("tokens-*.json")
    file.chmod(0o644)
    assert issuer.run("logout").exit_code == 0
    assert not file.exists()


def test_tokens_never_travel_unencrypted(issuer: ScriptedServer) -> None:
    result = issuer.run(*LOGIN, "--issuer", "http://issuer.test")
    assert result.exit_code == 2
    assert issuer.requests == []


def test_an_absent_command_says_where_it_comes_from() -> None:
    app = make_command_line(list)
    for name in SERVER_COMMANDS:
        result = CliRunner().invoke(app, [name, "my-assistant", "--anything"])
        assert result.exit_code == 2
        extra = "test" if name in {"test", "eval"} else "local"
        assert f"pip install 'baton-conversations[{extra}]'" in result.stderr


def test_a_local_server_that_is_not_there_is_reported_by_its_address(server: ScriptedServer) -> None:
    def refuse_connection(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    server.answer("POST /local/token", refuse_connection)
    result = server.run("--url", "http://127.0.0.1:8090", "login", "--local", "--user", "ada")
    assert result.exit_code == 5
    assert "http://127.0.0.1:8090" in result.stderr
    assert "--url" in result.stderr


def serve_local_tokens(server: ScriptedServer, *lifetimes: float) -> None:
    """Serve numbered tokens of a local cloud, with their ``lifetimes`` in seconds, and unset ``BATON_TOKEN``."""
    del server.variables["BATON_TOKEN"]
    tokens = [
        jwt.encode({"exp": time.time() + seconds, "number": number}, "k" * 32)
        for number, seconds in enumerate(lifetimes)
    ]
    server.answer("POST /local/token", *(httpx.Response(200, json={"token": token}) for token in tokens))
    server.answer("GET /v1/threads", listing())


def number_of(request: httpx.Request) -> int:
    """Return the number of the token in a request."""
    token = request.headers["authorization"].removeprefix("Bearer ")
    return int(jwt.decode(token, options={"verify_signature": False})["number"])


LOCAL = ("login", "--local", "--user", "grace", "--permission", "agent:write", "--token-file")


def test_a_local_sign_in_lasts_as_long_as_its_token_says_and_is_renewed_for_the_same_user(
    server: ScriptedServer,
) -> None:
    serve_local_tokens(server, 8 * 3600, 30, 3600)
    assert server.run(*LOCAL).exit_code == 0
    [file] = server.folder.glob("tokens-*.json")
    stored = json.loads(file.read_text())
    assert stored["expires_at"] == pytest.approx(time.time() + 8 * 3600, abs=600)
    file.write_text(json.dumps({**stored, "expires_at": 0}))
    assert server.run("threads", "list").exit_code == 0
    assert number_of(server.requests[-1]) == 1
    first, second = (json.loads(request.content) for request in server.sent("POST /local/token"))
    assert first == second == {"tenant": "demo", "user": "grace", "permissions": ["agent:write"]}


def test_a_local_sign_in_says_who_the_person_is(server: ScriptedServer) -> None:
    serve_local_tokens(server, 3600)
    about = {"name": "Grace Hopper", "picture": "https://example.com/grace.png", "locale": "en-US"}
    options = [part for claim, value in about.items() for part in (f"--{claim}", value)]
    assert server.run(*LOCAL, *options).exit_code == 0
    [request] = server.sent("POST /local/token")
    assert {claim: json.loads(request.content)[claim] for claim in about} == about


def test_another_local_cloud_at_the_same_address_is_signed_in_at_as_well(server: ScriptedServer) -> None:
    serve_local_tokens(server, 3600, 3600)
    assert server.run(*LOCAL).exit_code == 0
    assert server.run("threads", "list").exit_code == 0
    assert list(map(number_of, server.sent("GET /v1/threads"))) == [1], "the other cloud would log a refused token"


def test_a_local_sign_in_at_what_is_no_local_cloud_any_more_says_so(server: ScriptedServer) -> None:
    serve_local_tokens(server, 1)
    assert server.run(*LOCAL).exit_code == 0
    server.answer("POST /local/token", problem(404, "not_found"))
    result = server.run("threads", "list")
    assert result.exit_code == 3
    assert "`baton login --local`" in result.stderr


def test_signing_in_without_a_client_id_names_the_way_of_a_local_cloud(server: ScriptedServer) -> None:
    result = server.run("login")
    assert result.exit_code == 2
    assert "`baton login --local`" in result.stderr


def test_a_token_that_a_local_cloud_does_not_sign_says_why(server: ScriptedServer) -> None:
    server.answer("POST /local/token", problem(422, "invalid_request", "user: this id is reserved"))
    result = server.run("login", "--local", "--user", "system")
    assert result.exit_code == 2
    assert "this id is reserved" in result.stderr


def test_the_token_of_one_server_is_not_sent_to_another_one(server: ScriptedServer) -> None:
    serve_local_tokens(server, 3600)
    assert server.run(*LOCAL).exit_code == 0
    result = server.run("--url", "http://another.test", "threads", "list")
    assert result.exit_code == 3
    assert [request.url.host for request in server.requests] == ["baton.test"]


def test_a_project_names_the_server_and_the_token_in_its_env_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.baton]\n")
    (tmp_path / ".env").write_text("BATON_URL=http://of-the-project.test\nBATON_TOKEN=t\nPATH=/nowhere\n")
    (tmp_path / "agents").mkdir()
    monkeypatch.chdir(tmp_path / "agents")
    monkeypatch.delenv("BATON_TOKEN", raising=False)
    monkeypatch.setenv("BATON_URL", "http://set.test")
    variables = Environment.of_process().variables
    assert (variables["BATON_URL"], variables["BATON_TOKEN"]) == ("http://set.test", "t")
    assert variables["PATH"] != "/nowhere"
    monkeypatch.delenv("BATON_URL")
    assert Environment.of_process().variables["BATON_URL"] == "http://of-the-project.test"


def test_the_env_file_of_a_folder_that_is_no_project_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("BATON_URL=http://of-nobody.test\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BATON_URL", raising=False)
    assert "BATON_URL" not in Environment.of_process().variables
