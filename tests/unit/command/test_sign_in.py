"""Signing in by the device flow, and where tokens are kept."""

from __future__ import annotations

import stat

import httpx
import pytest
from typer.testing import CliRunner

from baton_client.command.application import SERVER_COMMANDS, add_installed, command_line
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
    ended = issuer.run(*LOGIN)
    assert ended.exit_code == 0, ended.output
    assert "ABCD" in ended.stderr
    assert "fresh" not in ended.output
    [file] = issuer.folder.glob("tokens-*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert issuer.run("threads", "list").exit_code == 0
    assert issuer.requests[-1].headers["authorization"] == "Bearer fresh"
    assert issuer.run("logout").exit_code == 0
    assert issuer.run("threads", "list").exit_code == 3


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
    ended = issuer.run("threads", "list")
    assert ended.exit_code == 3
    assert "baton login" in ended.stderr


def test_a_token_file_that_others_can_read_is_not_used(issuer: ScriptedServer) -> None:
    issuer.answer("POST /token", httpx.Response(200, json=TOKENS))
    assert issuer.run(*LOGIN).exit_code == 0
    [file] = issuer.folder.glob("tokens-*.json")
    file.chmod(0o644)
    ended = issuer.run("threads", "list")
    assert ended.exit_code == 2
    assert "chmod 600" in ended.stderr


def test_tokens_never_travel_unencrypted(issuer: ScriptedServer) -> None:
    ended = issuer.run(*LOGIN, "--issuer", "http://issuer.test")
    assert ended.exit_code == 2
    assert issuer.requests == []


def test_an_absent_command_says_where_it_comes_from() -> None:
    app = command_line()
    add_installed(app, [])
    for name in SERVER_COMMANDS:
        ended = CliRunner().invoke(app, [name, "my-assistant", "--anything"])
        assert ended.exit_code == 2
        assert "pip install 'baton-conversations[local]'" in ended.stderr


def test_a_local_server_that_is_not_there_is_reported_by_its_address(server: ScriptedServer) -> None:
    def refused(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    server.answer("POST /local/token", refused)
    ended = server.run("--url", "http://127.0.0.1:8090", "login", "--local", "--user", "ada")
    assert ended.exit_code == 5
    assert "http://127.0.0.1:8090" in ended.stderr
    assert "--url" in ended.stderr
