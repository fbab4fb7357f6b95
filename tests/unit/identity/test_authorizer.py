"""The WebSocket authorizer, called as API Gateway calls it."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import jwt
import pytest
from cryptography.fernet import Fernet

from baton import composition
from baton.adapters.tokens.embed_keys import EmbedKeys
from baton.adapters.tokens.subject_tokens import SubjectTokens
from baton.adapters.tokens.verifier import JwtVerifier
from baton.domain.tenants.identity import Scope
from tests.fakes.ports import FakePorts
from tests.unit.identity.signing import SECRET, OneSecret, seconds_from_now, token

APP = Path(__file__).parents[3] / "functions" / "authorizer" / "app.py"
ARN = "arn:aws:execute-api:eu-central-1:123456789012:abcdef1234/prod/$connect"


@dataclass
class Context:
    function_name: str = "authorizer"
    memory_limit_in_mb: int = 256
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:authorizer"
    aws_request_id: str = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The function's module, with a verifier that trusts one host of acme."""
    secret = OneSecret({"host": {"tenant": "acme", "algorithm": "HS256", "key": SECRET}})
    ports = FakePorts(verifier=JwtVerifier(tuple, EmbedKeys(secret, "embed-keys")))
    monkeypatch.setattr(composition, "deployed_ports", lambda: ports)
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "baton")
    monkeypatch.setenv("POWERTOOLS_LOGGER_LOG_EVENT", "true")
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "DEBUG")
    spec = importlib.util.spec_from_file_location("authorizer_app", APP)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_connect_event(offered: str | None, *, header: str = "Sec-WebSocket-Protocol") -> dict[str, Any]:
    """A $connect event as API Gateway sends it to a REQUEST authorizer."""
    headers = {"Host": "abcdef1234.execute-api.eu-central-1.amazonaws.com", "Sec-WebSocket-Version": "13"}
    if offered is not None:
        headers[header] = offered
    return {
        "type": "REQUEST",
        "methodArn": ARN,
        "headers": headers,
        "multiValueHeaders": {name: [value] for name, value in headers.items()},
        "requestContext": {"routeKey": "$connect", "eventType": "CONNECT", "connectionId": "abc=", "stage": "prod"},
    }


def test_a_good_token_may_connect_and_nothing_else(app: ModuleType) -> None:
    expiry = seconds_from_now(600)
    good = token(SECRET, permissions=["skill:create", "audit:read"], exp=expiry)

    answer = app.handler(make_connect_event(f"baton.v1, {good}"), Context())

    assert answer == {
        "principalId": "ada",
        "policyDocument": {
            "Version": "2012-10-17",
            "Statement": [{"Action": "execute-api:Invoke", "Effect": "Allow", "Resource": ARN}],
        },
        "context": {"tenant": "acme", "user": "ada", "permissions": "audit:read skill:create", "expires": str(expiry)},
    }


def test_the_name_and_the_language_of_the_user_go_with_the_connection(app: ModuleType) -> None:
    named = app.handler(
        make_connect_event(f"baton.v1, {token(SECRET, name='Ada Łovelace', locale='de_AT')}"), Context()
    )
    assert (named["context"]["name"], named["context"]["locale"]) == ("Ada Łovelace", "de-AT")


@pytest.mark.parametrize("claim", ["", "german", "de-AT-<b>", "de;q=1", "x" * 40, 5, None, ["de"], "de-x-a"])
def test_a_claim_that_is_no_language_counts_as_none(app: ModuleType, claim: object) -> None:
    assert (
        "locale"
        not in app.handler(make_connect_event(f"baton.v1, {token(SECRET, locale=claim)}"), Context())["context"]
    )


@pytest.mark.parametrize("header", ["sec-websocket-protocol", "SEC-WEBSOCKET-PROTOCOL"])
def test_the_header_is_found_in_any_case(app: ModuleType, header: str) -> None:
    assert app.handler(make_connect_event(f"baton.v1,{token(SECRET)}", header=header), Context())


def test_the_header_may_come_in_two_lines_or_in_headers_alone(app: ModuleType) -> None:
    event = make_connect_event(None)
    event["multiValueHeaders"]["Sec-WebSocket-Protocol"] = ["baton.v1", token(SECRET)]
    assert app.handler(event, Context())

    event = make_connect_event(f"baton.v1, {token(SECRET)}")
    del event["multiValueHeaders"]
    assert app.handler(event, Context())


def test_what_is_passed_on_fits_api_gateways_8_kb(app: ModuleType) -> None:
    claims = {"iss": "baton-embed", "sub": "😀" * 256, "tenant": "acme", "exp": seconds_from_now(60)}
    claims["name"] = "😀" * 100
    claims["permissions"] = [str(index).rjust(64, "x") for index in range(64)]
    longest = jwt.PyJWS().encode(json.dumps(claims, ensure_ascii=False).encode(), SECRET, "HS256", {"kid": "host"})

    context = app.handler(make_connect_event(f"baton.v1, {longest}"), Context())["context"]

    assert len(context["permissions"]) == 64 * 65 - 1
    assert all(isinstance(value, str) for value in context.values())
    assert len(json.dumps(context, ensure_ascii=False).encode()) <= 8192


@pytest.mark.parametrize(
    "offered",
    [
        None,
        "",
        "baton.v1",
        "baton.v1,",
        "baton.v1, not-a-token",
        "baton.v1, baton.v1",
        "baton.v2, {token}",
        "{token}",
        "{token}, {token}",
        "baton.v1, {token}, {token}",
        "baton.v1 {token}",
        "BATON.V1, {token}",
        "baton.v1, {expired}",
        "baton.v1, {forged}",
    ],
)
def test_everything_else_is_a_401(app: ModuleType, offered: str | None) -> None:
    tokens = {
        "token": token(SECRET),
        "expired": token(SECRET, exp=seconds_from_now(-60)),
        "forged": token(SECRET + "!"),
    }
    with pytest.raises(Exception, match=r"^Unauthorized$") as refused:
        app.handler(make_connect_event(offered and offered.format(**tokens)), Context())
    # The runtime reports the class and text of what is raised: neither may be one of ours.
    assert type(refused.value) is Exception


def test_an_event_without_headers_is_a_401(app: ModuleType) -> None:
    for event in ({"methodArn": ARN}, {"methodArn": ARN, "headers": None, "multiValueHeaders": None}):
        with pytest.raises(Exception, match=r"^Unauthorized$"):
            app.handler(event, Context())


def test_no_token_reaches_the_log(app: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = token(SECRET), token(SECRET + "!")
    app.handler(make_connect_event(f"baton.v1, {good}"), Context())
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        app.handler(make_connect_event(f"baton.v1, {bad}"), Context())

    written = "".join(str(vars(record)) for record in caplog.records)
    assert "Connection refused" in written
    for value in (good, bad):
        assert value.split(".")[1] not in written


@pytest.mark.parametrize(
    ("offered", "reason"),
    [
        ("baton.v1, {expired}", "it has expired"),
        (
            "baton.v1, {forged}",
            "it was signed with another key than the one that its kid names; get a new token, or sign with that key",
        ),
        ("{token}", "the subprotocols offered are not baton.v1 and one token"),
    ],
)
def test_why_a_connection_is_refused_is_in_the_log(
    app: ModuleType, offered: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    tokens = {
        "token": token(SECRET),
        "expired": token(SECRET, exp=seconds_from_now(-60)),
        "forged": token(SECRET + "!"),
    }
    with pytest.raises(Exception, match=r"^Unauthorized$"):
        app.handler(make_connect_event(offered.format(**tokens)), Context())
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line == f"Token refused: {reason}."


def test_the_sealed_token_goes_with_the_connection(app: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    key = Fernet.generate_key().decode()
    secret = OneSecret({"host": {"tenant": "acme", "algorithm": "HS256", "key": SECRET}})
    verifier = JwtVerifier(tuple, EmbedKeys(secret, "embed-keys"), subject_tokens=SubjectTokens(lambda: key))
    monkeypatch.setattr(app, "verifier", verifier)
    good = token(SECRET)
    subject = app.handler(make_connect_event(f"baton.v1, {good}"), Context())["context"]["subject"]
    assert good not in subject
    assert SubjectTokens(lambda: key).open(Scope("acme", "ada", subject_token=subject))[0] == good


def test_a_token_that_is_too_long_for_the_context_stays_behind(
    app: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = Fernet.generate_key().decode()
    secret = OneSecret({"host": {"tenant": "acme", "algorithm": "HS256", "key": SECRET}})
    verifier = JwtVerifier(tuple, EmbedKeys(secret, "embed-keys"), subject_tokens=SubjectTokens(lambda: key))
    monkeypatch.setattr(app, "verifier", verifier)
    answer = app.handler(make_connect_event(f"baton.v1, {token(SECRET, note='x' * 5_000)}"), Context())
    assert "subject" not in answer["context"]
