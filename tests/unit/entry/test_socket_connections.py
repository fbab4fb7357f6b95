"""The WebSocket function counts connections, and refuses those over a limit at the handshake."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from baton import composition
from baton.domain.tenants.tenant_limits import DeploymentLimits
from baton.ports.clock import read_machine_time
from tests.harness.harness import Harness
from tests.harness.local_clock import run_ahead

APP = Path(__file__).parents[3] / "functions" / "sockets" / "app.py"
CONTEXT = SimpleNamespace(
    function_name="sockets", memory_limit_in_mb=512, invoked_function_arn="arn:sockets", aws_request_id="r"
)


def function(monkeypatch: pytest.MonkeyPatch, harness: Harness | None = None, **limits: int) -> ModuleType:
    """The function's module over fakes."""
    harness = harness or Harness()
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


@pytest.mark.parametrize(
    ("minutes", "answers"), [(0, ["PONG"]), (109, ["PONG"]), (111, ["PONG", "reconnect"]), (130, ["token_expired"])]
)
def test_connections_and_tokens_age_by_the_machine_when_the_local_clock_is_ahead(
    monkeypatch: pytest.MonkeyPatch, minutes: int, answers: list[str]
) -> None:
    harness = Harness()
    app = function(monkeypatch, harness)
    frame = event("MESSAGE", "a") | {"body": '{"action": "ping"}'}
    connected = read_machine_time(harness.clock).timestamp()
    frame["requestContext"]["connectedAt"] = int(connected * 1000)
    frame["requestContext"]["authorizer"]["expires"] = str(int(connected) + 125 * 60)
    run_ahead(harness, monkeypatch)
    harness.clock.advance(minutes * 60)
    app.handler(frame, CONTEXT)
    received = [json.loads(text) for text in harness.connections.frames["a"]]
    assert [event.get("name") or event.get("code") or event["type"] for event in received] == answers
