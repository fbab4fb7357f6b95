"""The WebSocket function counts connections, and refuses those over a limit at the handshake."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from baton import composition
from baton.domain.tenants.tenant_limits import DeploymentLimits
from tests.harness.harness import Harness

APP = Path(__file__).parents[3] / "functions" / "sockets" / "app.py"
CONTEXT = SimpleNamespace(
    function_name="sockets", memory_limit_in_mb=512, invoked_function_arn="arn:sockets", aws_request_id="r"
)


def function(monkeypatch: pytest.MonkeyPatch, **limits: int) -> ModuleType:
    """The function's module over fakes."""
    harness = Harness()
    harness.deployment_limits = DeploymentLimits(**limits)
    monkeypatch.setattr(composition, "deployed", lambda: harness.app)
    spec = importlib.util.spec_from_file_location("sockets_app", APP)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def event(kind: str, connection_id: str, user: str = "ada", tenant: str = "acme") -> dict[str, Any]:
    identity = {"tenant": tenant, "user": user, "permissions": "", "expires": "4000000000"}
    about = {"connectionId": connection_id, "requestId": "r", "eventType": kind, "authorizer": identity}
    return {"requestContext": about}


def test_connections_over_a_limit_are_refused_until_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    app = function(monkeypatch, connections=2, user_connections=1)

    def connect(connection_id: str, **whose: str) -> int:
        return int(app.handler(event("CONNECT", connection_id, **whose), CONTEXT)["statusCode"])

    assert connect("a") == 200
    assert connect("b") == 429
    assert connect("c", user="bob") == 200
    assert connect("d", user="cleo") == 429
    assert connect("e", tenant="other") == 200
    refused = app.handler(event("CONNECT", "f"), CONTEXT)
    assert refused["headers"] == {"Retry-After": "60"}
    assert app.handler(event("DISCONNECT", "a"), CONTEXT)["statusCode"] == 200
    assert connect("g") == 200
