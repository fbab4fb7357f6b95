"""A deployment runs its steps in order, and stops at the first that fails."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from samcli.cli.types import CfnParameterOverridesType

from baton_deployment import deployment, sam
from baton_deployment.account import Account
from baton_deployment.deployment import Deployment, deploy, deploy_account
from baton_deployment.errors import DeploymentError
from baton_deployment.settings_put import DeployedSettings, SettingsPlan
from baton_deployment.stages import Stage, parse_overrides, read_stage
from baton_deployment.terminal import agree_to_deploy
from baton_local.root import ROOT

SAM = """#!/bin/sh
echo "$1 $AWS_REGION $AWS_DEFAULT_REGION $BATON_REQUIRE_BYTECODE" >> "$CALLS"
echo "$@" > "$CALLS.$1"
echo "$@" >> "$CALLS.all"
[ "$1" != "$FAILING" ]
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a program in place of ``sam`` writes its calls."""
    program = tmp_path / "bin" / "sam"
    program.parent.mkdir()
    program.write_text(SAM)
    program.chmod(0o755)
    file = tmp_path / "calls"
    file.touch()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(file))
    monkeypatch.setenv("UV", "/usr/bin/uv")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    return file


@pytest.fixture
def planned(tmp_path: Path) -> Deployment:
    return Deployment(Stage("dev", tmp_path, "baton-dev", {}), tmp_path, ("sam", "build"), ("sam", "deploy"))


@pytest.fixture
def steps(calls: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The steps that would ask AWS, in their order, with the calls of SAM so far."""
    taken: list[str] = []

    def step(name: str, result: Any = None) -> Any:
        def take(*_: Any, **__: Any) -> Any:
            taken.append(f"{name} after {len(calls.read_text().splitlines())} calls")
            return result

        return take

    monkeypatch.setattr(deployment, "run_preflight", step("preflight"))
    monkeypatch.setattr(deployment, "_check_sizes", step("sizes"))
    monkeypatch.setattr(deployment, "read_quota", lambda account: 10)
    monkeypatch.setattr(deployment, "is_first", lambda account, stack: False)
    monkeypatch.setattr(deployment, "describe_stack", lambda account, stack: None)
    monkeypatch.setattr(deployment, "record_home", step("record", ""))
    monkeypatch.setattr(deployment, "put_settings", step("settings"))
    monkeypatch.setattr(deployment, "publish_front_ends", step("publish", "published"))
    monkeypatch.setattr(deployment, "try_deployed_stage", step("smoke"))
    monkeypatch.setattr(deployment, "read_outputs", step("outputs", {"RestUrl": "https://api.example/dev"}))
    return taken


def test_a_deployment_is_checked_before_and_tried_after_in_one_region(
    calls: Path, planned: Deployment, steps: list[str]
) -> None:
    lines: list[str] = []
    deploy(planned, lines.append, prepare=lambda: steps.append("prepare"))
    assert steps == [
        *("preflight after 0 calls", "prepare", "sizes after 1 calls"),
        *(
            "record after 2 calls",
            "settings after 2 calls",
            "publish after 2 calls",
            "outputs after 2 calls",
            "smoke after 2 calls",
        ),
    ]
    assert calls.read_text() == "build eu-central-1 eu-central-1 1\ndeploy eu-central-1 eu-central-1 1\n"
    assert "https://api.example/dev" in lines[-1]


@pytest.mark.parametrize(
    ("overrides", "passed_on"),
    [
        ((), "ConcurrencyQuota=10"),
        (("Stage=dev",), "Stage=dev ConcurrencyQuota=10"),
        (("Stage=dev ConcurrencyQuota=50",), "Stage=dev ConcurrencyQuota=50"),
    ],
)
def test_the_alarm_gets_the_accounts_quota_unless_the_stage_names_one(
    calls: Path, planned: Deployment, steps: list[str], overrides: tuple[str, ...], passed_on: str
) -> None:
    deploy(replace(planned, stage=planned.stage.with_overrides(overrides)), lambda line: None)
    words = calls.with_name("calls.deploy").read_text().strip()
    assert words == f"deploy --region eu-central-1 --parameter-overrides {passed_on}"


@pytest.fixture
def first(steps: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no stack yet."""
    monkeypatch.setattr(deployment, "is_first", lambda account, stack: True)


def list_deployed_protection(calls: Path) -> list[str]:
    """The values of DeletionProtection that SAM passes on, one for each deployment."""
    commands = calls.with_name("calls.all").read_text().splitlines()
    overrides = [line.partition("--parameter-overrides ")[2] for line in commands if line.startswith("deploy")]
    values = [CfnParameterOverridesType().convert(tuple(words.split()), None, None) for words in overrides]
    return [value.get("DeletionProtection", "the template's") for value in values]


@pytest.mark.parametrize("overrides", [("Stage=prod",), ("Stage=prod DeletionProtection=true",)])
def test_a_first_deployment_protects_the_table_when_the_stack_is_complete(
    calls: Path, planned: Deployment, steps: list[str], first: None, overrides: tuple[str, ...]
) -> None:
    """CloudFormation cannot roll back the creation of a protected table."""
    deploy(replace(planned, stage=planned.stage.with_overrides(overrides)), lambda line: None)
    values = list_deployed_protection(calls)
    assert values[0] == "false"
    assert values[1:] == [parse_overrides(overrides).get("DeletionProtection", "the template's")]
    assert "--no-confirm-changeset" in calls.with_name("calls.deploy").read_text()
    assert "settings after 3 calls" in steps


def test_a_stage_without_protection_is_deployed_once(
    calls: Path, planned: Deployment, steps: list[str], first: None
) -> None:
    deploy(replace(planned, stage=planned.stage.with_overrides(["DeletionProtection=false"])), lambda line: None)
    assert list_deployed_protection(calls) == ["false"]


def test_a_failed_first_deployment_has_no_protected_table(
    calls: Path, planned: Deployment, steps: list[str], first: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILING", "deploy")
    with pytest.raises(DeploymentError, match="`sam deploy` failed"):
        deploy(planned, lambda line: None)
    assert list_deployed_protection(calls) == ["false"]


def test_a_running_stack_is_never_without_protection(calls: Path, planned: Deployment, steps: list[str]) -> None:
    deploy(replace(planned, stage=planned.stage.with_overrides(["DeletionProtection=true"])), lambda line: None)
    assert list_deployed_protection(calls) == ["true"]


DEPLOYED = {
    "StackStatus": "UPDATE_COMPLETE",
    "Parameters": [
        {"ParameterKey": "LogLevel", "ParameterValue": "INFO"},
        {"ParameterKey": "ConsoleScopes", "ParameterValue": "openid,email"},
        {"ParameterKey": "ModelKeySecret", "ParameterValue": "baton/dev/model-key"},
    ],
}
"""CloudFormation's description of a stack."""
SAME = SettingsPlan("bucket", DeployedSettings("{}", "e1"), {}, ())
OTHER = SettingsPlan("bucket", DeployedSettings("{}", "e1"), {}, ("-issuer", "+another"))


@pytest.mark.parametrize(
    ("overrides", "settings", "visible"),
    [
        (["LogLevel=DEBUG"], SAME, "  LogLevel: INFO -> DEBUG"),
        (["ModelKeySecret=baton/b"], SAME, "  ModelKeySecret: baton/dev/model-key -> baton/b"),
        ([], OTHER, "+another"),
        (["LogLevel=INFO", "ConsoleScopes='openid, email'"], SAME, None),
        (["RestDomain=api.example.com"], SAME, None),  # a new parameter, which no deployed value contradicts
    ],
)
@pytest.mark.parametrize("agrees", [True, False])
def test_what_is_deployed_changes_only_after_a_yes(
    planned: Deployment,
    steps: list[str],
    monkeypatch: pytest.MonkeyPatch,
    overrides: list[str],
    settings: SettingsPlan,
    visible: str | None,
    agrees: bool,
) -> None:
    questions: list[str] = []
    lines: list[str] = []

    def answer(question: str) -> bool:
        questions.append(question)
        return agrees

    monkeypatch.setattr(deployment, "describe_stack", lambda account, stack: DEPLOYED)
    monkeypatch.setattr(deployment, "plan_settings", lambda account, stage, hosts: settings)
    chosen = replace(planned, stage=planned.stage.with_overrides(overrides))
    if visible is None or agrees:
        deploy(chosen, lines.append, confirm=answer)
        assert any(step.startswith("settings") for step in steps)
    else:
        with pytest.raises(DeploymentError, match="Nothing was deployed"):
            deploy(chosen, lines.append, confirm=answer)
        assert steps == ["preflight after 0 calls"]
    assert len(questions) == (0 if visible is None else 1)
    assert (visible is None) or any(visible in line for line in lines)


def test_without_anybody_to_answer_nothing_is_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(DeploymentError, match=r"nothing was deployed\. --yes"):
        agree_to_deploy("?")


def test_a_caller_who_may_not_read_the_quota_deploys_without(
    calls: Path, planned: Deployment, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(account: Account) -> int:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetAccountSettings")

    monkeypatch.setattr(deployment, "read_quota", refuse)
    deploy(planned, lambda line: None)
    assert calls.with_name("calls.deploy").read_text().strip() == "deploy --region eu-central-1"


def test_the_repositorys_stages_are_deployed_with_all_their_parameters() -> None:
    stage = read_stage(ROOT / "samconfig.toml", "dev")
    command = Deployment.of_checkout(stage).make_deploy_command()
    assert parse_overrides(command[command.index("--parameter-overrides") + 1 :]) == stage.parameters


@pytest.mark.parametrize(
    ("role", "stack", "deploys"),
    [(None, None, True), ("arn:of-another-team", None, False), ("arn:ours", DEPLOYED, True)],
    ids=["none", "another team's", "an earlier release's"],
)
def test_the_accounts_logging_role_is_set_unless_another_team_has(
    calls: Path, monkeypatch: pytest.MonkeyPatch, role: str | None, stack: Any, deploys: bool
) -> None:
    monkeypatch.delenv("UV")  # nothing is built, so uv is not needed
    monkeypatch.setenv("PATH", str(calls.parent / "bin"))
    monkeypatch.setattr(sam, "ROOT", calls.parent)
    account = SimpleNamespace(
        region="eu-central-1",
        client=lambda service: SimpleNamespace(get_account=lambda: {"cloudwatchRoleArn": role} if role else {}),
    )
    monkeypatch.setattr(Account, "of_environment", lambda: account)
    monkeypatch.setattr(deployment, "describe_stack", lambda account, stack_name: stack)
    lines: list[str] = []
    if role is None:  # nobody has agreed to SAM's question
        with pytest.raises(DeploymentError, match="has no logging role in eu-central-1, so no stage can be deployed"):
            deploy_account(lines.append)
    else:
        deploy_account(lines.append)
        reason = "" if deploys else "There is nothing to do: "
        assert lines[-1] == f"{reason}API Gateway writes access logs in eu-central-1 as {role}."
    assert calls.read_text().startswith("deploy") is deploys


def test_a_checkouts_own_uv_packs_layers_where_no_other_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sam, "ROOT", tmp_path)
    with pytest.raises(DeploymentError, match="`uv` is not on PATH"):
        sam.make_sam_variables(None)
    private_uv = tmp_path / ".baton" / "tools" / "bin" / "uv"
    private_uv.parent.mkdir(parents=True)
    private_uv.touch()
    assert sam.make_sam_variables(None)["UV"] == str(private_uv)


def test_a_failing_build_is_not_deployed(
    planned: Deployment, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILING", "build")
    with pytest.raises(DeploymentError, match="`sam build` failed with exit code 1"):
        deploy(planned, lambda line: None)
    assert steps == ["preflight after 0 calls"]


def test_a_failing_check_ends_it_before_anything_is_built(
    calls: Path, planned: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(DeploymentError, match="nothing was deployed"):
        deploy(planned, lambda line: None)
    assert calls.read_text() == ""
