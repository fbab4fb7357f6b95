"""The token of the user who tries a stage is signed with a key that the functions accept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import jwt
import pytest

from baton_deployment.account import Account
from baton_deployment.errors import DeploymentError
from baton_deployment.smoke import target
from baton_deployment.smoke.target import find_target, sign_token
from baton_deployment.stages import Stage

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


def test_the_user_of_a_given_token_may_read_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"RestUrl": "https://api.example.com/dev/", "WebSocketUrl": "wss://api.example.com/dev"}
    monkeypatch.setattr(target, "read_outputs", lambda account, stack: outputs)
    result = find_target(cast("Account", None), Stage("dev", Path(), "baton-dev", {}), token="theirs")
    assert (result.token, result.is_own_user, result.document_permission) == ("theirs", False, "")
