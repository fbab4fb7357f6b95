"""The token of the user who tries a stage is signed with a key that the functions accept."""

from __future__ import annotations

import json
from typing import Any

import jwt
import pytest

from baton_deployment.errors import DeploymentError
from baton_deployment.smoke.target import sign_token

KEY = "0123456789abcdef0123456789abcdef"


def entry(tenant: str, algorithm: str = "HS256", key: str = KEY) -> dict[str, str]:
    return {"tenant": tenant, "algorithm": algorithm, "key": key}


def test_the_tenant_for_trials_is_preferred() -> None:
    token = sign_token(json.dumps({"a": entry("acme"), "s": entry("smoke")}), "document:read")
    assert jwt.get_unverified_header(token)["kid"] == "s"
    claims: dict[str, Any] = jwt.decode(token, KEY, algorithms=["HS256"])
    assert (claims["iss"], claims["tenant"]) == ("baton-embed", "smoke")
    assert claims["permissions"] == ["document:write", "document:read"]


@pytest.mark.parametrize(
    "unusable", [entry("acme", "HS512"), entry("acme", key="short"), {"tenant": "acme"}, {"algorithm": "HS256"}, "key"]
)
def test_keys_that_functions_refuse_sign_nothing(unusable: object) -> None:
    with pytest.raises(DeploymentError, match="no usable key for HS256"):
        sign_token(json.dumps({"a": unusable}))
    assert jwt.get_unverified_header(sign_token(json.dumps({"a": unusable, "b": entry("acme")})))["kid"] == "b"


@pytest.mark.parametrize("text", ["", "sk-key", "[]"])
def test_a_secret_of_another_form_is_reported(text: str) -> None:
    with pytest.raises(DeploymentError, match="no JSON object of keys"):
        sign_token(text)
