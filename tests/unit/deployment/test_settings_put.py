"""A stage's settings are compared with what is deployed, and put only over what was compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from baton.adapters.aws.s3_settings import SETTINGS_KEY
from baton_deployment import settings_put
from baton_deployment.account import Account
from baton_deployment.errors import DeploymentError
from baton_deployment.regions import VARIABLES
from baton_deployment.settings_put import compare_settings, plan_settings, put_settings, show_settings
from baton_deployment.stages import Stage
from tests.command_line import make_project, run_baton

BUCKET = "baton-dev-bucket"
REGION = "us-east-1"


class Operator:
    """An operator of a deployed stage, with what is printed."""

    def __init__(self, folder: Path) -> None:
        self.stage = Stage("dev", folder / "samconfig.toml", "baton-dev", {})
        self.file = folder / "settings.dev.yaml"
        self.s3: Any = boto3.client("s3", region_name=REGION)
        self.printed: list[str] = []

    def put(self, **options: Any) -> str:
        self.printed.clear()
        put_settings(Account(REGION), self.stage, self.printed.append, **options)
        return "\n".join(self.printed)

    @property
    def deployed(self) -> Any:
        return json.loads(self.s3.get_object(Bucket=BUCKET, Key=SETTINGS_KEY)["Body"].read())


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Operator]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setattr(settings_put, "read_outputs", lambda account, stack: {"BucketName": BUCKET})
    with mock_aws():
        operator = Operator(tmp_path)
        operator.s3.create_bucket(Bucket=BUCKET)
        yield operator


def test_without_a_file_a_first_deployment_has_the_defaults(operator: Operator) -> None:
    assert operator.put() == "There is no settings.dev.yaml: the defaults hold."
    with pytest.raises(DeploymentError, match="has no settings"):
        show_settings(Account(REGION), operator.stage)


def test_the_difference_is_shown_and_put(operator: Operator) -> None:
    operator.file.write_text("version: 1\nallowedHosts: [a.example]\n")
    assert '+    "a.example"' in operator.put()
    assert operator.deployed == {"version": 1, "allowedHosts": ["a.example"]}
    assert "stay as they are" in operator.put()
    operator.file.write_text("version: 1\nallowedHosts: [b.example]\n")
    assert '-    "a.example"' in operator.put(confirm=lambda question: False)
    assert operator.deployed["allowedHosts"] == ["a.example"]
    operator.put()
    assert '"b.example"' in show_settings(Account(REGION), operator.stage)


def test_settings_that_others_put_during_a_deployment_are_not_replaced(operator: Operator) -> None:
    operator.file.write_text("version: 1\nallowedHosts: [a.example]\n")
    operator.put()
    operator.file.write_text("version: 1\nallowedHosts: [b.example]\n")
    agreed = plan_settings(Account(REGION), operator.stage)
    assert agreed.replaces
    operator.s3.put_object(Bucket=BUCKET, Key=SETTINGS_KEY, Body=b'{"version": 1}')
    with pytest.raises(DeploymentError, match="changed by somebody else during this deployment"):
        operator.put(agreed=agreed)
    assert operator.deployed == {"version": 1}
    operator.put(agreed=plan_settings(Account(REGION), operator.stage))
    assert operator.deployed["allowedHosts"] == ["b.example"]


def test_a_file_is_checked_before_there_is_a_deployment(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*VARIABLES, "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    compare_settings(operator.stage, operator.printed.append)
    assert operator.printed == ["There is no settings.dev.yaml, so there is nothing to check."]
    operator.printed.clear()
    operator.file.write_text("version: 1\nallowedHosts: [a.example]\n")
    compare_settings(operator.stage, operator.printed.append)
    valid, compared = operator.printed
    assert valid == "settings.dev.yaml is valid."
    assert compared.startswith("It is not compared with what is deployed: There is no region")
    operator.file.write_text("version: 1\nallowedHostz: []\n")
    with pytest.raises(DeploymentError, match="allowedHostz"):
        compare_settings(operator.stage, operator.printed.append)


def test_a_deployed_stage_is_compared_and_left_as_it_is(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", REGION)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    operator.file.write_text("version: 1\nallowedHosts: [a.example]\n")
    operator.put()
    operator.file.write_text("version: 1\nallowedHosts: [b.example]\n")
    operator.printed.clear()
    compare_settings(operator.stage, operator.printed.append)
    assert '+    "b.example"' in "\n".join(operator.printed)
    assert operator.deployed["allowedHosts"] == ["a.example"]


def test_a_wrong_file_puts_nothing(operator: Operator) -> None:
    operator.file.write_text("version: 1\nallowedHosts: [a.example]\n")
    operator.put()
    operator.file.write_text("version: 1\nallowedHostz: []\n")
    with pytest.raises(DeploymentError, match=r"settings\.dev\.yaml:2: allowedHostz"):
        operator.put()
    assert operator.deployed["allowedHosts"] == ["a.example"]


def test_a_projects_hosts_hold_unless_the_file_names_some(operator: Operator) -> None:
    operator.put(allowed_hosts=("project.example",))
    assert operator.deployed == {"version": 1, "allowedHosts": ["project.example"]}
    operator.file.write_text("version: 1\npushHosts: [a.example]\n")
    operator.put(allowed_hosts=("project.example",))
    assert operator.deployed == {"version": 1, "allowedHosts": ["project.example"], "pushHosts": ["a.example"]}
    operator.file.write_text("version: 1\nallowedHosts: []\n")
    operator.put(allowed_hosts=("project.example",))
    assert operator.deployed == {"version": 1, "allowedHosts": []}


def test_settings_that_somebody_else_has_put_meanwhile_are_not_replaced(operator: Operator) -> None:
    operator.file.write_text("version: 1\nallowedHosts: [a.example]\n")

    def put_by_another(question: str) -> bool:
        operator.s3.put_object(Bucket=BUCKET, Key=SETTINGS_KEY, Body=b'{"version": 1, "pushHosts": ["b.example"]}')
        return True

    with pytest.raises(DeploymentError, match="changed meanwhile"):
        operator.put(confirm=put_by_another)
    assert operator.deployed["pushHosts"] == ["b.example"]


@pytest.fixture
def project(operator: Operator, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the operator's stage."""
    for name in VARIABLES:
        monkeypatch.setenv(name, REGION)
    return make_project(operator.stage.file.parent, '[dev.deploy.parameters]\nstack_name = "baton-dev"\n')


def test_where_nobody_can_answer_nothing_is_put_without_yes(operator: Operator, project: Path) -> None:
    operator.file.write_text("version: 1\nallowedHosts: [a.example]\n")
    unanswered = run_baton("settings", "dev", "--folder", project)
    assert (unanswered.exit_code, "so nothing was put. --yes answers." in unanswered.stderr) == (1, True)
    for answer, hosts in (("n", None), ("y", ["a.example"])):
        assert run_baton("settings", "dev", "--folder", project, answers=f"{answer}\n").exit_code == 0
        assert (operator.s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0) is (hosts is None)
    assert operator.deployed == {"version": 1, "allowedHosts": ["a.example"]}
    assert json.loads(run_baton("settings", "dev", "--show", "--folder", project).stdout) == operator.deployed


def test_settings_of_a_project_have_its_hosts(operator: Operator, project: Path) -> None:
    """`baton deploy` puts them too: a change of other settings must not take them back."""
    with (project / "pyproject.toml").open("a") as file:
        file.write('allowed_hosts = ["project.example"]\n')
    operator.file.write_text("version: 1\npushHosts: [a.example]\n")
    visible = run_baton("settings", "dev", "--check", "--folder", project)
    assert '+    "project.example"' in visible.stdout
    assert run_baton("settings", "dev", "--yes", "--folder", project).exit_code == 0
    assert operator.deployed == {"version": 1, "allowedHosts": ["project.example"], "pushHosts": ["a.example"]}


def test_parameters_of_an_earlier_release_become_a_settings_file(operator: Operator, project: Path) -> None:
    (project / "samconfig.toml").write_text(
        '[dev.deploy.parameters]\nstack_name = "baton-dev"\nparameter_overrides = "AllowedHosts=a.example"\n'
    )
    assert run_baton("settings", "dev", "--from-parameters", "--folder", project).exit_code == 0
    assert operator.file.read_text() == "version: 1\nallowedHosts:\n- a.example\n"
    second_run = run_baton("settings", "dev", "--from-parameters", "--folder", project)
    assert (second_run.exit_code, "was not replaced" in second_run.stderr) == (1, True)


def test_without_parameters_of_an_earlier_release_no_settings_file_is_written(
    operator: Operator, project: Path
) -> None:
    (project / "samconfig.toml").write_text('[dev.deploy.parameters]\nstack_name = "baton-dev"\n')
    refused = run_baton("settings", "dev", "--from-parameters", "--folder", project)
    assert (refused.exit_code, "nothing was written" in refused.stderr) == (1, True)
    assert not operator.file.exists()
