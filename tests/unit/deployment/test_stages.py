"""A stage's parameters are read as SAM CLI reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from samcli.cli.types import CfnParameterOverridesType

from baton_deployment.errors import DeploymentError
from baton_deployment.stages import parse_overrides, read_stage
from tests.infrastructure.stack import ROOT

ISSUERS = r'''TokenIssuers="[{\"issuer\":\"https://login.example.com/\", \"algorithms\":[\"RS256\"]}]"'''


@pytest.mark.parametrize(
    "overrides",
    [
        ["Stage=dev", "LogLevel=DEBUG"],
        ["Stage=dev LogLevel=DEBUG"],
        [ISSUERS],
        ["AllowedHosts='a.example, b.example'"],
        [r"AllowedHosts=a.example,\ b.example"],
        ["ParameterKey=Stage,ParameterValue=dev"],
        [{"Stage": "dev", "LogRetentionDays": 7, "AllowedOrigins": ["https://a.example", "https://b.example"]}],
        ["ModelBaseUrl=https://models.example/v1?a=b"],
    ],
)
def test_parameters_are_those_that_sam_passes_on(overrides: list[Any]) -> None:
    assert parse_overrides(overrides) == CfnParameterOverridesType().convert(overrides, None, None)


def test_parameters_of_a_table_are_words_for_sam_too(tmp_path: Path) -> None:
    parameters = {"Stage": "dev", "ConsoleScopes": "openid, email", "ConsoleAudience": 'a "b"', "PublicUrl": ""}
    table = "\n".join(f"{name} = '{value}'" for name, value in parameters.items())
    file = tmp_path / "samconfig.toml"
    file.write_text(
        f'[dev.deploy.parameters]\nstack_name = "s"\n[dev.deploy.parameters.parameter_overrides]\n{table}\n'
    )
    stage = read_stage(file, "dev")
    assert stage.parameters == parameters
    assert CfnParameterOverridesType().convert(stage.overrides, None, None) == parameters


@pytest.mark.parametrize("entry", ["AllowedHosts=a.example, b.example", 'TokenIssuers=[{"issuer": "x"}]'])
def test_a_value_of_which_sam_takes_the_beginning_only_is_an_error(entry: str) -> None:
    with pytest.raises(DeploymentError, match=r"SAM would ignore|is no Name=value"):
        parse_overrides([entry])


def test_a_long_value_with_an_open_quotation_mark_is_refused_at_once() -> None:
    with pytest.raises(DeploymentError, match="is no Name=value"):
        parse_overrides([f'ModelBaseUrl="{"a" * 200}'])


def test_the_products_stages_are_read() -> None:
    stage = read_stage(ROOT / "samconfig.toml", "prod")
    assert (stage.stack, stage.prefix) == ("baton-prod", "baton-prod")
    assert stage.parameters["EmbedKeysSecret"] == "baton/prod/embed-keys"


@pytest.mark.parametrize("name", ["staging", "account"])
def test_what_is_no_stage_is_reported_with_the_stages_that_there_are(name: str) -> None:
    with pytest.raises(DeploymentError, match=r"Available: dev, nightly, prod\."):
        read_stage(ROOT / "samconfig.toml", name)


def test_a_broken_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "samconfig.toml").write_text("[dev")
    with pytest.raises(DeploymentError, match="cannot be read"):
        read_stage(tmp_path / "samconfig.toml", "dev")
    (tmp_path / "samconfig.toml").write_bytes(b'[dev.deploy.parameters]\nstack_name = "\xff"\n')
    with pytest.raises(DeploymentError, match="cannot be read"):
        read_stage(tmp_path / "samconfig.toml", "dev")
