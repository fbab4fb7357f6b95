"""POST /local/token."""

import json
import stat
from pathlib import Path

import boto3
import httpx
import jwt
import pytest

from local.cloud import LocalCloud
from local.tokens import EmbedKey


def test_a_token_is_signed_by_the_key_in_the_secret(cloud: LocalCloud) -> None:
    wanted = {"tenant": "demo", "user": "me", "permissions": ["thread:read_all"]}
    token = httpx.post(f"{cloud.url}/local/token", json=wanted).json()["token"]
    secrets = boto3.client("secretsmanager")
    keys = json.loads(secrets.get_secret_value(SecretId=cloud.environment["BATON_EMBED_KEYS_SECRET"])["SecretString"])
    secrets.close()
    assert jwt.get_unverified_header(token)["kid"] == "local"
    assert keys["local"]["tenant"] == "*"
    claims = jwt.decode(token, keys["local"]["key"], algorithms=[keys["local"]["algorithm"]], issuer="baton-embed")
    assert (claims["sub"], claims["tenant"], claims["permissions"]) == ("me", "demo", ["thread:read_all"])
    assert claims["exp"] - claims["iat"] == 8 * 3600


def test_permissions_may_be_one_string(cloud: LocalCloud) -> None:
    wanted = {"tenant": "demo", "user": "me", "permissions": "a:b c:d"}
    token = httpx.post(f"{cloud.url}/local/token", json=wanted).json()["token"]
    assert jwt.decode(token, options={"verify_signature": False})["permissions"] == ["a:b", "c:d"]


@pytest.mark.parametrize(
    "body", ["", "no json", "[]", "{}", '{"tenant": "UPPER", "user": "me"}', '{"tenant": "a", "user": ""}', "\x00"]
)
def test_a_bad_request_is_a_problem(cloud: LocalCloud, body: str) -> None:
    response = httpx.post(f"{cloud.url}/local/token", content=body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "invalid_request"


def test_the_key_is_kept_for_its_owner_only(tmp_path: Path) -> None:
    key = EmbedKey.kept_in(tmp_path / "data")
    assert EmbedKey.kept_in(tmp_path / "data") == key
    assert stat.S_IMODE((tmp_path / "data" / "embed-key").stat().st_mode) == 0o600
    assert EmbedKey.kept_in(None) != EmbedKey.kept_in(None)
