"""The settings file of a stage: what is wrong in it is named by its line, before anything is put."""

from __future__ import annotations

from pathlib import Path

import pytest

from baton.settings.document import check_document
from baton_deployment.checks import Outcome
from baton_deployment.errors import DeploymentError
from baton_deployment.settings_file import (
    check_settings_file,
    convert_parameters,
    find_settings_file,
    read_settings_file,
)
from baton_deployment.stages import Stage

GOOD = """\
version: 1
# Acme's own directory
tokenIssuers:
  - issuer: https://login.acme.example/
    audience: baton
allowedHosts: [api.example.com, "*.example.org"]
modelPrices:
  gpt-6-sol: {input: 2, output: 8}
"""


def stage(folder: Path) -> Stage:
    return Stage("dev", folder / "samconfig.toml", "baton-dev", {})


def test_a_file_is_yaml_with_comments(tmp_path: Path) -> None:
    path = find_settings_file(stage(tmp_path))
    assert path.name == "settings.dev.yaml"
    path.write_text(GOOD)
    settings_file = read_settings_file(path)
    assert settings_file is not None
    assert [issuer.audience for issuer in settings_file.document.token_issuers] == ["baton"]
    [check] = check_settings_file(stage(tmp_path))
    assert (check.outcome, "1 issuer" in check.detail) == (Outcome.FINE, True)


def test_without_a_file_there_is_nothing_to_put(tmp_path: Path) -> None:
    assert read_settings_file(find_settings_file(stage(tmp_path))) is None
    [check] = check_settings_file(stage(tmp_path))
    assert check.outcome is Outcome.NOTE


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            ("audience: baton", "audienze: baton"),
            r":5: tokenIssuers\.0\.audienze: is an unknown field: is audience meant",
        ),
        (("input: 2", "input: much"), r":8: modelPrices\.gpt-6-sol\.input: "),
        (("api.example.com", "https://api.example.com"), r":6: allowedHosts\.0: "),
        (("https://login.acme", "http://login.acme"), r":4: tokenIssuers\.0\.issuer: is no https address"),
        (("https://login.acme.example/", "login"), r":4: tokenIssuers\.0\.issuer: is no https address"),
        (
            ("audience: baton", "audience: baton\n    jwksUrl: http://keys.acme.example/"),
            r":6: tokenIssuers\.0\.jwksUrl: is no https address",
        ),
        (("version: 1", "version: 7"), r":1: version: "),
        (("input: 2", "input: 2026-01-01"), "put it in quotes"),
        (("tokenIssuers:", "allowedHosts: []\ntokenIssuers:"), "allowedHosts"),
        (("version: 1", 'version: 1\nmodelProfiles: {"gpt*": {maxTool: 3}}'), "there is no such fact"),
        (("version: 1", "version: ["), r":\d+: "),
    ],
)
def test_what_is_wrong_is_named_by_its_line(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    path = find_settings_file(stage(tmp_path))
    path.write_text(GOOD.replace(*change, 1))
    with pytest.raises(DeploymentError, match=complaint):
        read_settings_file(path)
    assert {check.outcome for check in check_settings_file(stage(tmp_path))} == {Outcome.FAILS}


def test_problems_are_in_the_order_of_the_lines(tmp_path: Path) -> None:
    path = find_settings_file(stage(tmp_path))
    path.write_text("version: 1\nallowedHost: []\npushHosts: 7\nallowedOrigins: [https://a.example/]\n")
    with pytest.raises(DeploymentError) as raised:
        read_settings_file(path)
    assert [line.split(": ")[0].split(":")[-1] for line in str(raised.value).splitlines()] == ["2", "3", "4"]


def test_an_issuer_with_an_address_of_its_keys_may_have_any_name(tmp_path: Path) -> None:
    path = find_settings_file(stage(tmp_path))
    path.write_text(
        GOOD.replace("issuer: https://login.acme.example/", "issuer: acme\n    jwksUrl: https://a.example/k")
    )
    assert read_settings_file(path) is not None


def test_what_were_parameters_becomes_a_file(tmp_path: Path) -> None:
    parameters = {
        "Stage": "dev",
        "TokenIssuers": '[{"issuer": "https://login.acme.example/", "audience": "baton"}]',
        "ModelPrices": '{"gpt-6-sol": {"input": 2, "output": 8}}',
        "AllowedOrigins": "https://app.example.com, https://b.example.com",
        "PushHosts": "",
        "ModelProviders": '{"groq": {"baseUrl": "https://api.groq.com/openai/v1"}}',
    }
    path = find_settings_file(stage(tmp_path))
    path.write_text(convert_parameters(parameters))
    settings_file = read_settings_file(path)
    assert settings_file is not None
    assert settings_file.document == check_document(
        {
            "version": 1,
            "tokenIssuers": [{"issuer": "https://login.acme.example/", "audience": "baton"}],
            "modelPrices": {"gpt-6-sol": {"input": 2, "output": 8}},
            "allowedOrigins": ["https://app.example.com", "https://b.example.com"],
            "modelProviders": {"groq": {"baseUrl": "https://api.groq.com/openai/v1"}},
        }
    )
    with pytest.raises(DeploymentError, match=r"tokenIssuers\.0\.audience"):
        convert_parameters({"TokenIssuers": '[{"issuer": "https://login.acme.example/"}]'})
