"""Parameters that are lists: what a deployment tool makes of a list without quotes is refused, not taken for all."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError
from samcli.cli.types import CfnParameterOverridesType  # type: ignore[import-untyped]

from baton.settings.conversations import PrivacySettings
from baton.settings.resources import OutsideSettings
from tests.infrastructure.stack import Stack, text

LISTS = {
    "ToolPackages": ("BATON_TOOL_PACKAGES", ["acme_tools", "shop.tools"]),
    "PhoneRegions": ("BATON_PHONE_REGIONS", ["US", "GB", "DE"]),
}
"""Parameter -> its variable, and entries that it takes."""
CONSOLE_LISTS = {
    "ConsoleScopes": ["openid", "offline_access", "https://api.example/admin"],
    "ConsoleSignInOrigins": ["https://login.example", "https://b.example:8443", "https://c.example"],
}
"""The same for what no function reads."""
GRANTED_LISTS = {
    "BedrockModelArns": [
        "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0",
        "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/ab12cd34ef56",
        "arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/amazon.nova-micro-v1:0",
        "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/*",
    ]
}
"""The same for what only roles hold. CloudFormation checks each entry, and an empty list has one that is empty."""
BROKEN = ["{0},", ",{0}", "{0},,{1}", "{0} {1}", "{0};{1}", "{0}, ,{1}", "https://a.example/chat"]


def deployable(source: Stack, name: str, value: str) -> bool:
    """Whether CloudFormation takes the parameter: a pattern is for the text, that of a list for each of its entries."""
    parameter = source.template["Parameters"][name]
    entries = [part.strip() for part in value.split(",")] if parameter["Type"] == "CommaDelimitedList" else [value]
    return all(re.fullmatch(parameter["AllowedPattern"], entry) for entry in entries)


def usable(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> bool:
    """Return whether the functions start with the value."""
    monkeypatch.setenv("BATON_STAGE", "dev")
    monkeypatch.setenv(variable, value)
    try:
        OutsideSettings()
        PrivacySettings()
    except ValidationError:
        return False
    return True


def test_every_list_is_known_here(source: Stack) -> None:
    described = {
        name
        for name, parameter in source.template["Parameters"].items()
        if parameter["Type"] == "CommaDelimitedList" or "comma" in parameter["Description"]
    }
    assert described == {*LISTS, *CONSOLE_LISTS, *GRANTED_LISTS}


@pytest.mark.parametrize("name", CONSOLE_LISTS)
@pytest.mark.parametrize("between", [",", ", ", " , "])
def test_a_whole_list_of_the_console_is_deployed(source: Stack, name: str, between: str) -> None:
    assert deployable(source, name, between.join(CONSOLE_LISTS[name]))


@pytest.mark.parametrize("name", CONSOLE_LISTS)
@pytest.mark.parametrize("broken", [*BROKEN[:-1], "{0},'none'; script-src *", '{0},"'])
def test_a_broken_list_of_the_console_is_not_deployed(source: Stack, name: str, broken: str) -> None:
    assert not deployable(source, name, broken.format(*CONSOLE_LISTS[name]))


@pytest.mark.parametrize("name", GRANTED_LISTS)
def test_a_list_of_resources_takes_such_and_nothing_wider(source: Stack, name: str) -> None:
    entries = GRANTED_LISTS[name]
    assert deployable(source, name, ", ".join(entries))
    assert deployable(source, name, source.template["Parameters"][name]["Default"])
    for wider in (
        "*",
        entries[0].replace("eu.amazon", "*"),
        entries[2].replace("bedrock", "s3"),
        entries[0][:-20] + "?",
    ):
        assert not deployable(source, name, f"{entries[0]},{wider}")


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("between", [",", ", ", " , "])
def test_a_whole_list_is_deployed_and_read(
    source: Stack, monkeypatch: pytest.MonkeyPatch, name: str, between: str
) -> None:
    variable, entries = LISTS[name]
    assert deployable(source, name, between.join(entries))
    assert usable(monkeypatch, variable, between.join(entries))


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_list_that_is_not_whole_neither_deploys_nor_starts(
    source: Stack, monkeypatch: pytest.MonkeyPatch, name: str, broken: str
) -> None:
    variable, entries = LISTS[name]
    value = broken.format(*entries)
    assert not deployable(source, name, value)
    assert not usable(monkeypatch, variable, value)


@pytest.mark.parametrize("name", LISTS)
def test_the_default_is_deployable(source: Stack, name: str) -> None:
    assert deployable(source, name, source.template["Parameters"][name]["Default"])


def test_all_models_may_name_a_provider(source: Stack) -> None:
    assert deployable(source, "ModelBaseUrl", "")


def test_every_constraint_says_what_is_wanted(source: Stack) -> None:
    for name in LISTS:
        assert "quotes" in text(source.template["Parameters"][name]["ConstraintDescription"])


@pytest.mark.parametrize("name", LISTS)
def test_what_the_deployment_tool_leaves_of_a_list_without_quotes_does_not_deploy(source: Stack, name: str) -> None:
    _, entries = LISTS[name]
    whole = ", ".join(entries)
    assert deployable(source, name, parse_override(f'{name}="{whole}"')[name])
    assert parse_override(f"{name}={whole}")[name] != whole
    assert not deployable(source, name, parse_override(f"{name}={whole}")[name])


def parse_override(override: str) -> dict[str, str]:
    """SAM CLI's reading of one of ``parameter_overrides``."""
    parsed: dict[str, str] = CfnParameterOverridesType().convert((override,), None, None)
    return parsed


@pytest.mark.parametrize("name", ["PublicUrl", "ModelBaseUrl", "EmbeddingBaseUrl"])
def test_addresses_hold_no_user_name_and_no_password(source: Stack, name: str) -> None:
    for good in ("", "https://api.example.com", "https://api.example.com:8443/v1/@models?a=b@c"):
        assert deployable(source, name, good)
    for bad in (
        "https://ann:secret@api.example.com/v1",
        "https://ann@api.example.com",
        "https://@a.example",
        "http://a",
    ):
        assert not deployable(source, name, bad)
