"""POST /local/token."""

import json
import stat
from pathlib import Path

import boto3
import httpx
import jwt
import pytest

from baton.adapters.tokens.embed_keys import EmbedKeys
from baton.adapters.tokens.verifier import JwtVerifier
from baton_local.cloud import LocalCloud
from baton_local.errors import LocalCloudError
from baton_local.tokens import EmbedKey, TokenRequest
from tests.unit.identity.signing import OneSecret

WANTED = {"tenant": "demo", "user": "mia"}
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
ACME = {"tenant": "acme", "algorithm": "HS256", "key": "a developer's own key of more than 32 bytes"}


def test_a_token_is_signed_by_the_key_in_the_secret(cloud: LocalCloud) -> None:
    claims = {"tenant": "demo", "user": "mia", "permissions": ["thread:read_all"]}
    token = httpx.post(f"{cloud.url}/local/token", json=claims).json()["token"]
    secrets = boto3.client("secretsmanager")
    keys = json.loads(secrets.get_secret_value(SecretId=cloud.environment["BATON_EMBED_KEYS_SECRET"])["SecretString"])
    secrets.close()
    assert jwt.get_unverified_header(token)["kid"] == "local"
    assert keys["local"]["tenant"] == "*"
    claims = jwt.decode(token, keys["local"]["key"], algorithms=[keys["local"]["algorithm"]], issuer="baton-embed")
    assert (claims["sub"], claims["tenant"], claims["permissions"]) == ("mia", "demo", ["thread:read_all"])
    assert claims["exp"] - claims["iat"] == 8 * 3600


def test_permissions_may_be_one_string(cloud: LocalCloud) -> None:
    claims = {"tenant": "demo", "user": "mia", "permissions": "a:b c:d"}
    token = httpx.post(f"{cloud.url}/local/token", json=claims).json()["token"]
    assert jwt.decode(token, options={"verify_signature": False})["permissions"] == ["a:b", "c:d"]


def test_a_token_says_who_the_person_is_as_its_verifier_reads_it() -> None:
    key = EmbedKey.load_or_make(None)
    about = {"name": "Anna Gruber", "picture": "https://example.com/anna.png", "locale": "de-AT"}
    token = key.sign(TokenRequest.model_validate(WANTED | about))
    keys = EmbedKeys(OneSecret(json.loads(key.as_secret())), "embed-keys", allow_any_tenant=True)
    scope = JwtVerifier(tuple, keys).verify(token).scope
    assert (scope.name, scope.picture, scope.locale) == tuple(about.values())


@pytest.mark.parametrize("about", [{"name": ""}, {"picture": "http://example.com/anna.png"}, {"locale": "German"}])
def test_what_a_verifier_would_leave_out_is_refused(about: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(about))):
        TokenRequest.model_validate(WANTED | about)


@pytest.mark.parametrize(
    "body", ["", "no json", "[]", "{}", '{"tenant": "UPPER", "user": "mia"}', '{"tenant": "a", "user": ""}', "\x00"]
)
def test_a_bad_request_is_a_problem(cloud: LocalCloud, body: str) -> None:
    response = httpx.post(f"{cloud.url}/local/token", content=body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "invalid_request"


def test_the_key_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    key = EmbedKey.load_or_make(tmp_path / "data")
    assert EmbedKey.load_or_make(tmp_path / "data") == key
    assert stat.S_IMODE((tmp_path / "data" / "embed-key").stat().st_mode) == 0o600
    assert EmbedKey.load_or_make(None) != EmbedKey.load_or_make(None)


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:3000",
        "http://127.0.0.1:5173",
        "http://[::1]:8000",
        "http://localhost",
        "https://localhost:8443",
    ],
)
def test_pages_of_this_machine_may_ask_for_tokens(cloud: LocalCloud, origin: str) -> None:
    request = httpx.options(f"{cloud.url}/local/token", headers={"Origin": origin, **PREFLIGHT})
    assert request.status_code == 200
    assert request.headers["access-control-allow-origin"] == origin
    assert request.headers["access-control-allow-methods"] == "POST"
    assert "content-type" in request.headers["access-control-allow-headers"].lower()

    options = httpx.post(f"{cloud.url}/local/token", headers={"Origin": origin}, json=WANTED)
    assert options.headers["access-control-allow-origin"] == origin
    assert options.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in options.headers


@pytest.mark.parametrize(
    "origin",
    [
        "https://example.com",
        "http://localhost.example.com",
        "http://localhost:3000.example.com",
        "http://example.com:8080",
        "http://127.0.0.1.example.com:8080",
        "http://127.0.0.2:8080",
        "http://user@localhost:3000",
        "http://notlocalhost:3000",
        "file://localhost",
        "null",
    ],
)
def test_no_other_page_may_read_a_token(cloud: LocalCloud, origin: str) -> None:
    request = httpx.options(f"{cloud.url}/local/token", headers={"Origin": origin, **PREFLIGHT})
    assert request.status_code == 400
    for answer in (request, httpx.post(f"{cloud.url}/local/token", headers={"Origin": origin}, json=WANTED)):
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_tokens_are_given_by_post_only(cloud: LocalCloud, method: str) -> None:
    assert httpx.request(method, f"{cloud.url}/local/token").status_code == 405


def test_keys_of_a_developers_own_stand_beside_the_local_one() -> None:
    local = EmbedKey.load_or_make(None)
    stored = json.loads(local.as_secret(json.dumps({"acme-1": ACME})))
    assert stored["acme-1"] == ACME
    assert stored["local"] == json.loads(local.as_secret())["local"]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("{", "BATON_EMBED_KEYS must be a JSON object"),
        ("[]", "BATON_EMBED_KEYS must be a JSON object"),
        (json.dumps({"acme-1": ACME | {"key": "short"}}), "the key acme-1: "),
        (json.dumps({"acme-1": {"tenant": "acme", "key": ACME["key"]}}), "the key acme-1: algorithm is missing"),
        (json.dumps({"acme-1": ACME | {"tenant": "*"}}), "the key acme-1: the tenant * is for the local cloud only"),
        (json.dumps({"local": ACME}), "the key local: this key id is the local cloud's own"),
    ],
)
def test_a_key_that_cannot_be_used_is_reported_at_start(keys: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_EMBED_KEYS", keys)
    with pytest.raises(LocalCloudError) as problem:
        LocalCloud(port=0)
    assert text in str(problem.value)
    assert ACME["key"] not in str(problem.value)
