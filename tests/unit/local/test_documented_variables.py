"""Functions of the local cloud compute their settings from the variables that a developer sets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from baton.settings.document import DocumentVariables, SettingsDocument, apply_variables
from baton_local.environment import DEVELOPERS_CHOICE, applied, list_local_names, make_variables
from baton_local.execution import as_deployed
from baton_local.functions import running
from baton_local.lambda_runtime.build import BuiltFunctions
from baton_local.settings import import_families, read_settings
from baton_local.stack.declarations import Stack, read_stack
from baton_local.stack.template import Endpoints
from tests.unit.docs.pages import ROOT, table

PAGE = ROOT / "docs" / "reference" / "settings.md"
SAMPLES = {
    "BATON_AGENTS_DIR": str(ROOT / "tests" / "agents"),
    "BATON_ALLOWED_HOSTS": "api.example.com",
    "BATON_ALLOWED_ORIGINS": "https://app.example.com",
    "BATON_BEDROCK_CONFIG_FILE": "/home/ada/config",
    "BATON_BEDROCK_CREDENTIALS_FILE": "/home/ada/credentials",
    "BATON_BEDROCK_ENDPOINT": "http://127.0.0.1:9000",
    "BATON_BEDROCK_GUARDRAIL": "gr1abc:3",
    "BATON_BEDROCK_PROFILE": "work",
    "BATON_BEDROCK_REGION": "eu-west-1",
    "BATON_CARD_KEYS": '{"keys": [{"kid": "a"}]}',
    "BATON_CHAT_MODEL": "groq/llama",
    "BATON_DEFAULT_AGENT": "assistant",
    "BATON_DELEGATION_KEYS": "a-key",
    "BATON_EMBEDDING_BASE_URL": "http://127.0.0.1:9001/v1",
    "BATON_EMBEDDING_DIMENSIONS": "512",
    "BATON_EMBEDDING_MODEL": "bge",
    "BATON_EPISODE_FACTS": "0",
    "BATON_FORGET_WAIT_SECONDS": "7",
    "BATON_INSPECTOR": "sample",
    "BATON_INSPECTOR_RATE": "0.7",
    "BATON_INSPECTOR_REDACT": "true",
    "BATON_LEARNING": "0",
    "BATON_LEASE_SECONDS": "12",
    "BATON_LIGHT_MODEL": "groq/small",
    "BATON_HOOKS": (
        '[{"id": "shop", "tenant": "demo", "type": "order.shipped", "secret": "baton/local/hooks/shop", '
        '"user": "/user", "thread": "/order"}]'
    ),
    "BATON_LOCAL_OPEN_A2A": "1",
    "BATON_MODEL_CACHE_HINTS": "none",
    "BATON_MODEL_METADATA": "true",
    "BATON_MODEL_PRICES": '{"llama": {"input": 2, "output": 8}}',
    "BATON_MODEL_PROFILES": '{"my-qwen*": {"system": "first"}}',
    "BATON_MODEL_PROVIDERS": '{"groq": {"baseUrl": "https://api.groq.com/openai/v1"}}',
    "BATON_PHONE_REGIONS": "NL",
    "BATON_PIPELINES_AT_ONCE": "11",
    "BATON_PIPELINES_OF_TENANT": "9",
    "BATON_PUBLIC_URL": "https://baton.example.com",
    "BATON_PUSH_HOSTS": "hooks.example.com",
    "BATON_WEBHOOKS": (
        '[{"id": "crm", "url": "http://127.0.0.1:9/hook", "events": ["thread.closed"], '
        '"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}]'
    ),
    "BATON_RECALL_DEADLINE_MS": "999",
    "BATON_SEARCH_PREFIX": "mine",
    "BATON_SEARCH_REPLICAS": "2",
    "BATON_SEARCH_SHARDS": "3",
    "BATON_SETTINGS_SECONDS": "17",
    "BATON_TENANT_LIMITS": '{"agents": 3}',
    "BATON_THREAD_TITLES": "none",
    "BATON_TOKEN_ISSUERS": '[{"issuer": "https://login.example.com/", "audience": "baton"}]',
    "BATON_TOOL_PACKAGES": "mytools",
    "BATON_TRACES_CONTENT": "true",
    "BATON_TRACES_ENDPOINT": "http://127.0.0.1:9002/v1/traces",
    "BATON_TRACES_HEADERS_SECRET": "baton/local/traces",
    "OPENAI_API_KEY": "sk-mine",
    "OPENAI_BASE_URL": "http://127.0.0.1:9003/v1",
    "POWERTOOLS_LOG_LEVEL": "DEBUG",
}
"""A value of each variable that developers may choose, other than the local cloud's own."""
NO_SETTING = {"POWERTOOLS_LOG_LEVEL"}
"""Variables that libraries read."""


@pytest.fixture(scope="module")
def stack() -> Stack:
    endpoints = Endpoints(gateway="http://g", sockets="ws://g", connections="http://g", queues="http://q")
    return read_stack(ROOT / "template.yaml", {"Stage": "local"}, endpoints, read_settings().cache_dir)


def settings() -> dict[str, Any]:
    """Every setting that the present variables give, by the name of its variable; none that lacks a required one."""
    results: dict[str, Any] = {}
    for family in import_families():
        try:
            values = family()
        except ValidationError:
            continue
        for name, field in family.model_fields.items():
            results[str(field.validation_alias)] = getattr(values, name)
    return results


@dataclass(frozen=True)
class Seen:
    """The local cloud of a developer who has set all that may be set."""

    environment: Mapping[str, str]
    """The variables that it gives its functions."""
    outside: dict[str, Any]
    """The settings as its checks at the start see them."""
    inside: dict[str, tuple[dict[str, str], dict[str, Any]]]
    """The variables and settings of each function."""
    documents: list[SettingsDocument]
    """The settings documents: outside, and of each function."""


@pytest.fixture(scope="module")
def seen(stack: Stack) -> Seen:
    engines = dict.fromkeys(("table", "files", "queues", "other"), "http://127.0.0.1:1")
    inside, documents = {}, []
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in SAMPLES.items():
            monkeypatch.setenv(name, value)
        environment = make_variables(
            stack.functions,
            gateway="http://127.0.0.1:1",
            search_url="",
            **{f"{name}_endpoint": url for name, url in engines.items()},  # type: ignore[arg-type]
        )
        with applied(environment):
            outside = settings()
            documents.append(apply_variables(SettingsDocument()))
            with as_deployed(stack, read_settings()):
                for function in stack.functions:
                    with running(function):
                        inside[function] = (dict(os.environ), settings())
                        documents.append(apply_variables(SettingsDocument()))
    return Seen(environment, outside, inside, documents)


def receivers(stack: Stack, name: str) -> set[str]:
    """The functions that the template gives the variable, or all of them."""
    options = {function.name for function in stack.functions.values() if name in function.variables}
    return options or set(stack.functions)


def test_every_documented_variable_may_be_chosen_or_is_the_local_clouds_own() -> None:
    documented = set(table(PAGE, "variable"))
    own = set(table(PAGE, "variable that the local cloud sets"))
    assert own == documented - set(DEVELOPERS_CHOICE)


def test_every_variable_of_the_settings_document_may_be_chosen() -> None:
    """They are there for the local cloud, and the template sets none of them."""
    named = {row[1].strip("`") for row in table(PAGE, "field of the document").values()} - {""}
    assert {str(field.validation_alias) for field in DocumentVariables.model_fields.values()} <= named
    assert named <= set(DEVELOPERS_CHOICE)


@pytest.mark.parametrize("name", DEVELOPERS_CHOICE)
def test_a_chosen_value_is_in_use_in_every_function_that_has_the_setting(name: str, stack: Stack, seen: Seen) -> None:
    assert seen.environment[name] == SAMPLES[name]
    if name == "OPENAI_API_KEY":  # functions read the secret that has it
        return
    for function in sorted(receivers(stack, name)):
        variables_of_it, settings_of_it = seen.inside[function]
        assert variables_of_it[name] == SAMPLES[name], function
        if name not in NO_SETTING:
            assert settings_of_it[name] == seen.outside[name], function


def test_the_document_of_each_function_has_what_the_variables_say(seen: Seen) -> None:
    outside, *inside = seen.documents
    assert outside.model_dump(exclude_defaults=True).keys() == SettingsDocument.model_fields.keys() - {"version"}
    assert [item for item in inside if item != outside] == []


def test_built_functions_have_the_variables_that_the_template_gives_to_none(
    stack: Stack, seen: Seen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for needed in ("find_namespace", "find_python", "find_runtime_client"):
        monkeypatch.setattr(f"baton_local.lambda_runtime.host.{needed}", lambda *_: tmp_path)
    local = list_local_names(stack.functions)
    functions = BuiltFunctions(tmp_path, tmp_path, print, local)
    for definition in stack.functions.values():
        variables_of_it = functions._make_variables(definition, seen.environment)
        assert {name: variables_of_it.get(name) for name in local} == {
            name: seen.environment.get(name) for name in local
        }
        assert "OPENAI_API_KEY" not in variables_of_it
