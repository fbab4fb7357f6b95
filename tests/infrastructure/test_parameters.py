"""Parameters that are lists: what a deployment tool makes of a list without quotes is refused, not taken for all."""

from __future__ import annotations

import json
import re

import httpx
import pytest
from pydantic import ValidationError
from samcli.cli.types import CfnParameterOverridesType  # type: ignore[import-untyped]

from baton.adapters.webhooks import HttpWebhooks
from baton.settings.conversations import PrivacySettings
from baton.settings.identity import ApiSettings, IdentitySettings
from baton.settings.models import ModelSettings
from baton.settings.resources import OutsideSettings, PushSettings
from baton_local.root import ROOT
from baton_local.settings import default_cache_dir
from baton_local.stack import read_stack
from baton_local.template import Endpoints
from tests.infrastructure.stack import Stack, text

LISTS = {
    "AllowedHosts": ("BATON_ALLOWED_HOSTS", ["a.example", "*.b.example", "*"]),
    "PushHosts": ("BATON_PUSH_HOSTS", ["a.example", "*.b.example", "*"]),
    "ToolPackages": ("BATON_TOOL_PACKAGES", ["acme_tools", "shop.tools"]),
    "PhoneRegions": ("BATON_PHONE_REGIONS", ["US", "GB", "DE"]),
    "AllowedOrigins": ("BATON_ALLOWED_ORIGINS", ["https://a.example", "http://localhost:3000", "https://[::1]:8443"]),
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
    ]
}
"""The same for what only roles hold. CloudFormation checks each entry, and an empty list has one that is empty."""
BROKEN = ["{0},", ",{0}", "{0},,{1}", "{0} {1}", "{0};{1}", "{0}, ,{1}", "https://a.example/chat"]


def deployable(source: Stack, name: str, value: str) -> bool:
    """Whether CloudFormation takes the parameter: a pattern is for the text, that of a list for each of its entries."""
    parameter = source.template["Parameters"][name]
    entries = [each.strip() for each in value.split(",")] if parameter["Type"] == "CommaDelimitedList" else [value]
    return all(re.fullmatch(parameter["AllowedPattern"], entry) for entry in entries)


def usable(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> bool:
    """Whether the functions start with it."""
    monkeypatch.setenv("BATON_STAGE", "dev")
    monkeypatch.setenv(variable, value)
    try:
        OutsideSettings()
        ApiSettings()
        PrivacySettings()
        PushSettings()
    except ValidationError:
        return False
    return True


def test_nobody_is_notified_until_hosts_are_named(source: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    assert source.template["Parameters"]["PushHosts"]["Default"] == ""
    monkeypatch.delenv("BATON_PUSH_HOSTS", raising=False)
    for stage, hosts, is_on in (("dev", "", False), ("dev", "*", True), ("local", "", True)):
        monkeypatch.setenv("BATON_STAGE", stage)
        monkeypatch.setenv("BATON_PUSH_HOSTS", hosts)
        assert PushSettings().is_on is is_on
        webhooks = HttpWebhooks(PushSettings().egress, lambda seconds: httpx.AsyncClient(timeout=seconds))
        assert webhooks.is_on is is_on
        assert (webhooks.refusal("https://client.example/") is None) is (hosts == "*")
        assert (webhooks.refusal("http://127.0.0.1:9000/hook") is None) is (stage == "local")


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


def test_issuers_cut_off_at_a_space_do_not_deploy(source: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    issuers = json.dumps([{"issuer": "https://login.example", "audience": ["chat"]}], indent=1)
    assert deployable(source, "TokenIssuers", issuers)
    assert deployable(source, "TokenIssuers", source.template["Parameters"]["TokenIssuers"]["Default"])
    monkeypatch.setenv("BATON_STAGE", "dev")
    monkeypatch.setenv("BATON_TOKEN_ISSUERS", issuers)
    assert len(IdentitySettings().token_issuers) == 1
    assert not deployable(source, "TokenIssuers", issuers.split(" ")[0])


ENVIRONMENT = 4_096
"""Bytes of all variables of a function, names included, that Lambda allows."""
PROVIDERS = {"groq": {"baseUrl": "https://api.groq.com/openai/v1", "keySecret": "baton/dev/models/groq"}}


def test_providers_of_models_are_deployed_and_read(source: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    written = json.dumps(PROVIDERS, indent=1)
    assert deployable(source, "ModelProviders", written)
    assert not deployable(source, "ModelProviders", written.split(" ")[0])
    monkeypatch.setenv("BATON_CHAT_MODEL", "groq/llama-4")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "tokenizer")
    for providers in (source.template["Parameters"]["ModelProviders"]["Default"], written):
        assert deployable(source, "ModelProviders", providers)
        monkeypatch.setenv("OPENAI_BASE_URL", source.template["Parameters"]["ModelBaseUrl"]["Default"])
        monkeypatch.setenv("BATON_MODEL_PROVIDERS", providers)
        monkeypatch.setenv("BATON_MODEL_PROFILES", source.template["Parameters"]["ModelProfiles"]["Default"])
        assert {"default", "bedrock"} <= set(ModelSettings().providers)


def test_the_longest_providers_leave_room_in_the_environment_of_every_function(source: Stack) -> None:
    api = "https://abcdefghij.execute-api.eu-central-1.amazonaws.com/prod"
    endpoints = Endpoints(api, api, api, "https://sqs.eu-central-1.amazonaws.com/123456789012")
    parameters = source.template["Parameters"]
    longest = sum(parameters[name]["MaxLength"] for name in ("ModelProviders", "ModelProfiles"))
    for function in read_stack(
        ROOT / "template.yaml", {"Stage": "prod"}, endpoints, default_cache_dir()
    ).functions.values():
        taken = sum(len(name) + len(value) for name, value in function.variables.items())
        assert taken + longest < ENVIRONMENT - 750


def test_the_key_of_a_provider_is_not_deployed_in_plain_text(source: Stack) -> None:
    written = json.dumps({"groq": {"baseUrl": "https://api.groq.com/openai/v1", "key": "gsk_1"}}, indent=1)
    assert not deployable(source, "ModelProviders", written)


def test_all_models_may_name_a_provider(source: Stack) -> None:
    assert deployable(source, "ModelBaseUrl", "")


def test_every_constraint_says_what_is_wanted(source: Stack) -> None:
    for name in (*LISTS, "TokenIssuers"):
        assert "quotes" in text(source.template["Parameters"][name]["ConstraintDescription"])


@pytest.mark.parametrize("name", LISTS)
def test_what_the_deployment_tool_leaves_of_a_list_without_quotes_does_not_deploy(source: Stack, name: str) -> None:
    _, entries = LISTS[name]
    whole = ", ".join(entries)
    assert deployable(source, name, passed_on(f'{name}="{whole}"')[name])
    assert passed_on(f"{name}={whole}")[name] != whole
    assert not deployable(source, name, passed_on(f"{name}={whole}")[name])


def passed_on(override: str) -> dict[str, str]:
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
