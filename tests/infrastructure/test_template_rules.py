"""The template, translated as AWS does it, has no findings of cfn-lint."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.infrastructure.stack import ROOT, TOOLS, Stack, read_template, run, translate

pytestmark = pytest.mark.follows_processes

CANARY = "Canary10Percent5Minutes"


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """cfn-lint's findings in what a deployment uses by default, by the template's name."""
    templates = {"default": translate(read_template()), "account": read_template("account.yaml")}
    return check_templates(templates, tmp_path_factory.mktemp("translated"), "us-east-1")


@pytest.fixture(scope="module")
def other_findings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """cfn-lint's findings in another region, with other parameters, and in a template with a circle."""
    circular = translate(read_template())
    variables = circular["Resources"]["HttpFunction"]["Properties"]["Environment"]["Variables"]
    variables["REST_API"] = {"Ref": "RestApi"}
    for name, resource in circular["Resources"].items():
        if not name.startswith(("HttpFunction", "RestApi")):
            resource.pop("Properties", None)  # it takes cfn-lint long to check what is not part of the circle
    templates = {
        "default": translate(read_template()),
        "canary": translate(read_template(), HttpDeployment=CANARY, Stage="test"),
        "circular": circular,
    }
    return check_templates(templates, tmp_path_factory.mktemp("translated"), "eu-central-1")


def check_templates(templates: dict[str, dict[str, Any]], folder: Path, region: str) -> dict[str, list[str]]:
    """Return cfn-lint's findings by the name of the template.

    One process checks them all, for it takes longer to load its rules than to apply them. W2001 aside: parameters that
    the translator resolves are no longer used.
    """
    files = {name: folder / f"{name}.json" for name in templates}
    for name, template in templates.items():
        files[name].write_text(json.dumps(template))
    result = run(
        *(TOOLS / "cfn-lint", "--format", "json", "--ignore-checks", "W2001"),
        *("--regions", region, "--", *files.values()),
    )
    assert result.stdout, result.stderr
    by_template: dict[str, list[str]] = {name: [] for name in templates}
    names = {str(path): name for name, path in files.items()}
    for finding in json.loads(result.stdout):
        by_template[names[finding["Filename"]]].append(f"{finding['Rule']['Id']} {finding['Message']}")
    return by_template


def test_the_template_is_valid_as_it_is_deployed_by_default(findings: dict[str, list[str]]) -> None:
    assert findings["default"] == []


@pytest.mark.nightly
@pytest.mark.parametrize("template", ["default", "canary"])
def test_the_template_is_valid_in_another_region_and_has_no_circles(
    template: str, other_findings: dict[str, list[str]]
) -> None:
    assert other_findings[template] == []


@pytest.mark.nightly
def test_circles_would_be_found(other_findings: dict[str, list[str]]) -> None:
    assert "E3004" in {finding.split()[0] for finding in other_findings["circular"]}


def test_the_accounts_logging_role_has_a_stack_of_its_own_and_outlives_it(findings: dict[str, list[str]]) -> None:
    """API Gateway writes no access logs without it; no stage may take it away from another."""
    assert findings["account"] == []
    account = Stack(read_template("account.yaml"))
    assert {item["Type"] for item in account.resources.values()} == {"AWS::ApiGateway::Account", "AWS::IAM::Role"}
    for item in account.resources.values():
        assert (item["DeletionPolicy"], item["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())
    assert config["account"]["deploy"]["parameters"]["template_file"] == "account.yaml"
