"""Parameters that CloudFormation or the functions would refuse are found before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton_deployment.checks import Check, Outcome
from baton_deployment.preflight.packages import check_python, check_sizes
from baton_deployment.preflight.parameters import check_parameters
from baton_deployment.preflight.stack import check_name
from baton_deployment.template import DeployedTemplate
from baton_local.root import ROOT

SOURCE = DeployedTemplate.read(ROOT / "template.yaml", {}, "any", "eu-central-1").source


def template(stack: str = "baton-dev", **parameters: str) -> DeployedTemplate:
    return DeployedTemplate(SOURCE, parameters, stack, "eu-central-1")


def failures(checks: list[Check]) -> list[str]:
    return [check.detail for check in checks if check.outcome is Outcome.FAILS]


def problems(**parameters: str) -> list[str]:
    return failures(list(check_parameters(template(**parameters))))


def test_the_parameters_of_samconfig_are_fine() -> None:
    parameters = {"Stage": "prod", "HttpDeployment": "Canary10Percent5Minutes", "LogRetentionDays": "90"}
    checks = list(check_parameters(template(**parameters)))
    assert [(check.name, check.outcome) for check in checks] == [
        ("parameters", Outcome.FINE),
        ("settings", Outcome.FINE),
        ("variables", Outcome.FINE),
    ]


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("ChatModle", "gpt", "the template has no parameter ChatModle"),
        ("LogLevel", "TRACE", "'TRACE' is none of DEBUG, INFO, WARN, ERROR"),
        ("Stage", "local", 'not "local"'),
        ("MaximumConcurrentTurns", "many", "is no number"),
        ("MaximumConcurrentTurns", "1", "1 is less than 2"),
        ("MaximumConcurrentTurns", "1001", "1001 is more than 1000"),
        ("ConcurrencyQuota", "5", "5 is less than 10"),
        ("ToolPackages", "acme,", "names of Python packages"),
        ("ChatModel", "m" * 200, "characters"),
        ("TokenIssuers", "[]", "TokenIssuers is now the field tokenIssuers of the settings"),
        ("ServeConsole", "true", "ServeConsole needs ConsoleIssuer"),
        ("OpenSearchEndpoint", "https://search.example", "OpenSearchEndpoint needs OpenSearchDomainName"),
    ],
)
def test_what_cloudformation_refuses_is_found(name: str, value: str, reason: str) -> None:
    assert any(reason in problem for problem in problems(**{name: value})), problems(**{name: value})


def test_what_the_functions_refuse_is_found_by_their_own_settings() -> None:
    [problem] = problems(ModelBaseUrl="")
    assert problem.startswith("ChatModel: ")
    assert "begins with the name of no provider" in problem


def test_variables_beyond_lambdas_limit_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton_deployment.preflight.parameters.ENVIRONMENT_BYTES", 1_000)
    [problem] = problems()
    assert "of 1000 bytes, which Lambda refuses" in problem


@pytest.mark.parametrize(("length", "is_fine"), [(62, True), (63, False)])
def test_a_stack_name_leaves_room_for_names_of_state_machines(length: int, is_fine: bool) -> None:
    [check] = check_name(template("b" * length))
    assert (check.outcome is Outcome.FINE) == is_fine


def test_a_stack_name_with_capitals_cannot_search() -> None:
    assert failures(list(check_name(template("Baton-Dev")))) == []
    assert "capital letters" in failures(list(check_name(template("Baton-Dev", CreateSearchDomain="true"))))[0]


def test_packages_over_lambdas_limit_are_found(tmp_path: Path) -> None:
    layer = tmp_path / "DependenciesLayer"
    layer.mkdir()
    with (layer / "large.so").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    [check] = check_sizes(template(), tmp_path)
    assert check.outcome is Outcome.FINE
    assert "200 of 250 MB" in check.detail
    with (layer / "larger.so").open("wb") as file:
        file.truncate(51 * 1024 * 1024)
    [check] = check_sizes(template(), tmp_path)
    assert (check.outcome, "Lambda refuses AuthorizerFunction" in check.detail) == (Outcome.FAILS, True)
    [check] = check_sizes(template(), tmp_path / "nothing")
    assert check.outcome is Outcome.NOTE


def test_the_python_that_compiles_layers_is_looked_for_as_the_build_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "python"
    own.write_text("#!/bin/sh\necho 3.99\n")
    own.chmod(0o755)
    monkeypatch.setenv("LAYER_PYTHON", str(own))
    [check] = check_python("3.99")
    assert (check.outcome, check.detail) == (Outcome.FINE, f"{own} compiles the layers")
    monkeypatch.delenv("LAYER_PYTHON")
    monkeypatch.setenv("UV", "false")
    [check] = check_python("3.99")
    assert (check.outcome, "uv python install 3.99" in check.advice) == (Outcome.FAILS, True)
