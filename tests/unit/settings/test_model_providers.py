"""Settings of models' providers: what is wrong is named with its place, and no key is shown."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from pydantic import ValidationError

from baton.adapters.aws.secrets import SecretsManager
from baton.composition.models.provider_models import make_deployed_models
from baton.domain.agents.model_providers import OfferedModels, Provider, ProviderKind, Route
from baton.domain.errors import ModelMisconfigured
from baton.ports.agents import chat_model
from baton.ports.documents.files import ThreadFiles
from baton.settings.models import ProviderSettings

ADDRESS = "https://api.openai.com/v1"
SECRET = "baton/prod/models/groq"
GROQ = {"kind": "openai", "baseUrl": "https://api.groq.com/openai/v1", "keySecret": SECRET}


@pytest.fixture(autouse=True)
def minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "BATON_MODEL_KEY_SECRET", "BATON_LIGHT_MODEL", "BATON_STAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", ADDRESS)
    monkeypatch.setenv("BATON_CHAT_MODEL", "gpt-6-sol")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "tokenizer")


def declare_providers(monkeypatch: pytest.MonkeyPatch, providers: Any) -> ProviderSettings:
    text = providers if isinstance(providers, str) else json.dumps(providers)
    monkeypatch.setenv("BATON_MODEL_PROVIDERS", text)
    return ProviderSettings()


def test_the_settings_of_one_endpoint_are_the_default_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_MODEL_KEY_SECRET", "baton/model-key")
    monkeypatch.setenv("BATON_MODEL_METADATA", "true")
    providers = ProviderSettings().providers
    default = providers["default"]
    assert (default.base_url, default.key_secret, default.metadata) == (ADDRESS, "baton/model-key", True)
    assert providers["bedrock"] == Provider(kind=ProviderKind.BEDROCK, metadata=True)
    assert len(providers) == 2


def test_a_key_that_is_given_comes_before_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_MODEL_KEY_SECRET", "baton/model-key")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    default = ProviderSettings().providers["default"]
    assert default.key is not None
    assert (default.key.get_secret_value(), default.key_secret) == ("sk-1", None)


def test_further_providers_are_selected_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = declare_providers(monkeypatch, {"groq": GROQ, "aws": {"signed": True, "region": "eu-west-1"}})
    assert settings.providers["groq"].base_url == "https://api.groq.com/openai/v1"
    assert settings.providers["aws"].signed
    assert settings.route("groq/llama-4") == Route("groq", "llama-4")
    assert settings.route("meta/llama-4") == Route("default", "meta/llama-4")


def test_bedrock_alone_is_a_complete_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("BATON_CHAT_MODEL", "bedrock/eu.anthropic.claude-sonnet-5-5")
    settings = ProviderSettings()
    assert list(settings.providers) == ["bedrock"]
    assert settings.route(settings.chat_model).provider == "bedrock"


@pytest.mark.parametrize("variable", ["BATON_CHAT_MODEL", "BATON_LIGHT_MODEL"])
def test_a_model_without_a_provider_is_refused_by_the_variables_name(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.setenv("BATON_CHAT_MODEL", "bedrock/nova")
    monkeypatch.setenv(variable, "gpt-6-sol")
    with pytest.raises(ValidationError, match=rf"{variable}\n.*'gpt-6-sol' .*OPENAI_BASE_URL"):
        ProviderSettings()


def test_bedrock_may_be_declared_with_a_region_and_models_for_tenants(monkeypatch: pytest.MonkeyPatch) -> None:
    written = {"kind": "bedrock", "region": "eu-central-1", "tenantModels": ["eu.anthropic.*"]}
    bedrock = declare_providers(monkeypatch, {"bedrock": written}).providers["bedrock"]
    assert (bedrock.region, bedrock.tenant_models) == ("eu-central-1", ("eu.anthropic.*",))


def test_bedrock_may_have_a_guardrail_and_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    written = {"kind": "bedrock", "guardrail": "gr1abc:DRAFT", "metadata": True}
    bedrock = declare_providers(monkeypatch, {"bedrock": written}).providers["bedrock"]
    assert (bedrock.guardrail, bedrock.metadata) == ("gr1abc:DRAFT", True)


def test_the_default_provider_takes_an_api_and_models_for_tenants(monkeypatch: pytest.MonkeyPatch) -> None:
    default = declare_providers(monkeypatch, {"default": {"api": "chat", "tenantModels": ["gpt-6-*"]}}).providers[
        "default"
    ]
    assert (default.base_url, default.api, default.tenant_models) == (ADDRESS, "chat", ("gpt-6-*",))


@pytest.mark.parametrize(
    ("written", "location", "what"),
    [
        ('{"a": {', "BATON_MODEL_PROVIDERS\n", "is not JSON: .* at line 1, column 8"),
        ("[]", "BATON_MODEL_PROVIDERS\n", "must be a JSON object"),
        ("[" * 100_000, "BATON_MODEL_PROVIDERS\n", "is nested too deeply"),
        (json.dumps({"a": GROQ})[:-1] + f', "a": {json.dumps(GROQ)}}}', "BATON_MODEL_PROVIDERS\n", "'a' occurs twice"),
        ('{"a": {"region": NaN}}', "BATON_MODEL_PROVIDERS\n", "NaN is no JSON"),
        ({"a": {"kind": "anthropic"}}, r"BATON_MODEL_PROVIDERS\.a\.kind\n", "'openai' or 'bedrock'"),
        ({"a": GROQ | {"url": "x"}}, r"BATON_MODEL_PROVIDERS\.a\.url\n", "not permitted"),
        ({"a": GROQ | {"baseUrl": "api.groq.com"}}, r"BATON_MODEL_PROVIDERS\.a\.baseUrl\n", "match pattern"),
        ({"a": GROQ | {"api": "messages"}}, r"BATON_MODEL_PROVIDERS\.a\.api\n", "'auto', 'chat' or 'responses'"),
        ({"a": GROQ | {"key": "sk-plain"}}, r"BATON_MODEL_PROVIDERS\.a\n", "either `key` or `keySecret`"),
        ({"a": GROQ | {"keySecret": "groq"}}, r"BATON_MODEL_PROVIDERS\.a\.keySecret\n", "match pattern .*/models/"),
        ({"a": {"kind": "openai"}}, "BATON_MODEL_PROVIDERS\n", r"a\.baseUrl: is missing"),
        ({"a": GROQ | {"region": "eu-west-1"}}, r"BATON_MODEL_PROVIDERS\.a\n", "takes no `region`"),
        (
            {"a": {"kind": "bedrock", "keySecret": SECRET}},
            r"BATON_MODEL_PROVIDERS\.a\n",
            "bedrock takes no `keySecret`",
        ),
        ({"a": {"signed": True, "keySecret": SECRET}}, r"BATON_MODEL_PROVIDERS\.a\n", "`signed` takes no `keySecret`"),
        ({"a": GROQ | {"guardrail": "gr:1"}}, r"BATON_MODEL_PROVIDERS\.a\n", "takes no `guardrail`"),
        (
            {"bedrock": {"kind": "bedrock", "guardrail": "gr"}},
            r"BATON_MODEL_PROVIDERS\.bedrock\.guardrail\n",
            "match pattern",
        ),
        ({"bedrock": GROQ}, "BATON_MODEL_PROVIDERS\n", "bedrock: must be of kind bedrock"),
        ({"default": GROQ}, "BATON_MODEL_PROVIDERS\n", "default: takes `api` and `tenantModels` only"),
        ({"A b": GROQ}, r"BATON_MODEL_PROVIDERS\.A b\.\[key\]\n", "match pattern"),
        ({f"a{n}": GROQ for n in range(21)}, "BATON_MODEL_PROVIDERS\n", "at most 20"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    monkeypatch: pytest.MonkeyPatch, written: Any, location: str, what: str
) -> None:
    with pytest.raises(ValidationError, match=rf"{location}.*{what}") as refused:
        declare_providers(monkeypatch, written)
    assert "sk-plain" not in str(refused.value)


def test_a_key_may_stand_in_the_settings_of_the_local_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = declare_providers(monkeypatch, {"a": {"baseUrl": ADDRESS, "key": "sk-plain"}})
    assert "sk-plain" not in repr(settings)
    monkeypatch.setenv("BATON_STAGE", "local")
    make_deployed_models(settings, SecretsManager())


@pytest.mark.parametrize(("stage", "is_shown"), [("local", True), ("prod", False)])
async def test_errors_of_models_have_their_reasons_in_the_local_cloud_only(
    monkeypatch: pytest.MonkeyPatch, stage: str, is_shown: bool
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("BATON_CHAT_MODEL", "a/llama-4")
    monkeypatch.setenv("BATON_STAGE", stage)
    models = make_deployed_models(declare_providers(monkeypatch, {"a": {"baseUrl": ADDRESS}}), SecretsManager())
    asking = chat_model.ModelSettings(model="llama-4")
    with pytest.raises(ModelMisconfigured) as refused:
        await anext(models.stream(asking, [], thread_files=cast("ThreadFiles", None)))
    assert ("The reason: its name begins with no provider's" in refused.value.detail) is is_shown


def test_a_key_may_not_stand_in_the_settings_of_a_deployment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = declare_providers(monkeypatch, {"a": {"baseUrl": ADDRESS, "key": "sk-plain"}})
    monkeypatch.setenv("BATON_STAGE", "prod")
    with pytest.raises(ValueError, match=r"modelProviders: a\.key: .*`keySecret`") as refused:
        make_deployed_models(settings, SecretsManager())
    assert "sk-plain" not in str(refused.value)


def test_profiles_are_an_object_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATON_MODEL_PROFILES", '{"gpt-*": {"maxTools": 20}}')
    assert ProviderSettings().model_profiles == {"gpt-*": {"maxTools": 20}}
    monkeypatch.setenv("BATON_MODEL_PROFILES", '{"gpt-*": 20}')
    with pytest.raises(ValidationError, match=r"BATON_MODEL_PROFILES\.gpt-\*\n"):
        ProviderSettings()


@pytest.mark.parametrize(
    ("name", "is_offered"),
    [
        ("gpt-6-sol", True),
        ("default/gpt-6-sol", True),
        ("gpt-6-astra", False),
        ("groq/llama-4", True),
        ("groq/qwen-3", False),
        ("bedrock/anything", False),
        ("default/groq/llama-4", False),
    ],
)
def test_tenants_may_name_what_the_deployment_uses_and_what_it_offers(name: str, is_offered: bool) -> None:
    providers = {
        "groq": Provider(base_url=ADDRESS, tenant_models=("llama-*",)),
        "bedrock": Provider(kind=ProviderKind.BEDROCK),
    }
    offered = OfferedModels.of(["gpt-6-sol"], providers)
    assert (name in offered) == is_offered
    assert str(offered) == "gpt-6-sol, groq/llama-*"
