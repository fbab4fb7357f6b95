"""The trial after a deployment, against the running product over real sockets."""

from __future__ import annotations

import secrets
from dataclasses import replace

import httpx
import pytest

from baton_deployment.checks import Outcome
from baton_deployment.smoke import Trial, run_smoke
from baton_deployment.smoke.target import Target, sign_token
from baton_local.engines.clients import client
from tests.command_line import run_baton
from tests.e2e.cloud import RunningCloud
from tests.fault_model import FaultModel, unauthorized

TENANT = "smoke"
PERMISSION = f"smoke:{secrets.token_hex(4)}"


def target_in(cloud: RunningCloud) -> Target:
    """The cloud as a deployed stage is, with a token signed by its embed keys' secret."""
    manager = client("secretsmanager", cloud.environment["AWS_ENDPOINT_URL"])
    keys = manager.get_secret_value(SecretId=cloud.environment["BATON_EMBED_KEYS_SECRET"])["SecretString"]
    manager.close()
    return Target(
        cloud.url,
        cloud.socket_url,
        sign_token(keys, PERMISSION),
        has_search=True,
        is_own_user=True,
        document_permission=PERMISSION,
    )


def outcomes(trial: Trial) -> dict[str, Outcome]:
    return {check.name: check.outcome for check in trial.checks}


def test_a_working_stage_passes_and_keeps_nothing(demo_cloud: RunningCloud) -> None:
    lines: list[str] = []
    trial = run_smoke(target_in(demo_cloud), lines.append)
    assert outcomes(trial) == dict.fromkeys(
        ("health", "token", "HTTP", "WebSocket", "resume", "document", "forget"), Outcome.FINE
    ), lines
    assert lines[-1] == "\n7 fine"
    stored = {item["SK"].partition("#")[0] for item in demo_cloud.items(TENANT)}
    assert not stored & {"MESSAGE", "TURN", "LOG", "EPISODE"}, stored


def test_a_wrong_key_of_the_model_fails_with_its_reason(cloud: RunningCloud, model: FaultModel) -> None:
    model.otherwise = unauthorized()
    lines: list[str] = []
    trial = run_smoke(replace(target_in(cloud), has_search=False), lines.append)
    result = outcomes(trial)
    assert (result["HTTP"], result["WebSocket"]) == (Outcome.FAILS, Outcome.FAILS)
    assert (result["token"], result["document"], result["forget"]) == (Outcome.FINE, Outcome.UNKNOWN, Outcome.FINE)
    [http] = [check for check in trial.checks if check.name == "HTTP"]
    assert "model_misconfigured" in http.detail
    assert "baton deploy STAGE --check --model" in http.advice


def test_a_pipeline_gets_the_exit_code_of_a_token_that_is_refused(
    cloud: RunningCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "bad")
    process = run_baton("smoke", "--url", cloud.url, "--socket-url", cloud.socket_url)
    assert (process.exit_code, process.stderr) == (1, "A step fails.\n")
    printed = process.stdout
    rows = {line[13:].split()[0]: line for line in printed.splitlines() if line[:1].strip()}
    assert rows["token"].startswith("FAILS")
    assert rows["HTTP"] == "not checked  HTTP          the token is not accepted"
    assert rows["token"].count("unauthorized") == 1
    assert "TOKEN must be signed by" in printed


def test_a_given_token_of_a_user_costs_that_user_no_memory(
    cloud: RunningCloud, model: FaultModel, monkeypatch: pytest.MonkeyPatch, tenant: str
) -> None:
    token = cloud.token(tenant, "ada")
    with httpx.Client(base_url=cloud.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False) as ada:
        mine = ada.post("/v1/messages", json={"messageId": "m-1", "message": "Remember me"}).json()["sessionId"]
        monkeypatch.setenv("TOKEN", token)
        tried = run_baton("smoke", "--url", cloud.url, "--socket-url", cloud.socket_url).stdout
        assert "not checked  document      add --document" in tried
        remaining = [thread["id"] for thread in ada.get("/v1/threads").json()["items"]]
    assert remaining == [mine]


def test_a_server_that_is_not_there_is_one_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    nowhere = Target("http://127.0.0.1:9", "ws://127.0.0.1:9/ws", "token")
    result = outcomes(run_smoke(nowhere, lines.append, step_seconds=20))
    assert result.pop("health") is Outcome.FAILS
    assert set(result.values()) == {Outcome.UNKNOWN}
