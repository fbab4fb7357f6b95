"""Settings of models and their endpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, SecretStr, ValidationInfo, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from baton.domain.agents.model_providers import (
    BEDROCK_PROVIDER,
    DEFAULT_PROVIDER,
    MAX_PROVIDERS,
    BedrockRegion,
    GuardrailName,
    Provider,
    ProviderKind,
    ProviderName,
    Route,
    route,
)
from baton.domain.web_url import WithoutCredentials
from baton.settings.base import JsonObject, Name, Settings, Url


class BedrockSettings(Settings):
    """The region and the credentials for models on Amazon Bedrock: the function's, or a profile's."""

    region: BedrockRegion | None = Field(default=None, validation_alias="BATON_BEDROCK_REGION")
    """The region of providers that name none. Default: the function's own."""
    endpoint: Url | None = Field(default=None, validation_alias="BATON_BEDROCK_ENDPOINT")
    """The address in place of the region's, for providers that name none."""
    guardrail: GuardrailName | None = Field(default=None, validation_alias="BATON_BEDROCK_GUARDRAIL")
    """The guardrail that checks all questions and answers, as ``<id or ARN>:<version>``."""
    profile: Name | None = Field(default=None, validation_alias="BATON_BEDROCK_PROFILE")
    """The profile of the developer's own AWS configuration, for the local cloud."""
    config_file: Path = Field(default=Path("~/.aws/config"), validation_alias="BATON_BEDROCK_CONFIG_FILE")
    """The path of that profile's file."""
    credentials_file: Path = Field(
        default=Path("~/.aws/credentials"), validation_alias="BATON_BEDROCK_CREDENTIALS_FILE"
    )
    """The path of its keys, if they are kept in a file."""


MAX_PROFILES = 100
"""Patterns of models whose facts an operator overrides."""


def _check_addresses(providers: dict[str, Provider]) -> dict[str, Provider]:
    """Return the providers. Raise ``ValueError`` for a provider without an address, or a misused reserved name."""
    for name, provider in providers.items():
        if name == DEFAULT_PROVIDER:
            unsupported = provider.model_fields_set - {"kind", "api", "tenant_models"}
            if unsupported or provider.kind is not ProviderKind.OPENAI:
                raise ValueError(
                    f"{name}: takes `api` and `tenantModels` only. OPENAI_BASE_URL, its key and the other settings "
                    "of the default provider are variables of their own"
                )
        elif name == BEDROCK_PROVIDER and provider.kind is not ProviderKind.BEDROCK:
            raise ValueError(f"{name}: must be of kind bedrock. Choose another name for this provider")
        elif provider.kind is ProviderKind.OPENAI and provider.base_url is None and not provider.signed:
            raise ValueError(f"{name}.baseUrl: is missing. A provider of kind openai needs an address")
    return providers


ProvidersWithAddresses = Annotated[
    dict[ProviderName, Provider], Field(max_length=MAX_PROVIDERS), AfterValidator(_check_addresses)
]


class ModelVariables(Settings):
    """Variables that replace the providers and profiles of the settings document. Providers may have keys here."""

    # An error must not quote the keys of providers.
    model_config = SettingsConfigDict(hide_input_in_errors=True)

    model_providers: Annotated[ProvidersWithAddresses, NoDecode, JsonObject] = Field(
        default_factory=dict, validation_alias="BATON_MODEL_PROVIDERS"
    )
    """JSON: further providers by name. ``<name>/<model>`` selects one."""
    model_profiles: Annotated[dict[Name, dict[Name, JsonValue]], NoDecode, JsonObject] = Field(
        default_factory=dict, max_length=MAX_PROFILES, validation_alias="BATON_MODEL_PROFILES"
    )
    """JSON: patterns of models to facts that replace Baton's own facts about them."""


class ModelNameSettings(Settings):
    """The names of the models, for functions that do not call them. ``ProviderSettings`` checks the names."""

    chat_model: Name = Field(validation_alias="BATON_CHAT_MODEL")
    light_model: Name | None = Field(default=None, validation_alias="BATON_LIGHT_MODEL")


class TokenizerSettings(Settings):
    """The tokenizer's vocabulary."""

    tokenizer_dir: Path = Field(validation_alias="TIKTOKEN_CACHE_DIR")


class ProviderSettings(ModelVariables):
    """The model endpoints. Keys are read from secrets unless they are given (as the local cloud does)."""

    base_url: Url | None = Field(default=None, validation_alias="OPENAI_BASE_URL")
    """The address of the default provider, which serves models that name none."""
    key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    key_secret: str | None = Field(default=None, validation_alias="BATON_MODEL_KEY_SECRET")
    sends_metadata: bool = Field(default=False, validation_alias="BATON_MODEL_METADATA")
    """True if each request names the agent and the state of its workflow to the endpoint."""
    cache_hints: Literal["auto", "key", "breakpoints", "none"] = Field(
        default="auto", validation_alias="BATON_MODEL_CACHE_HINTS"
    )
    """The hints of requests to the endpoint's prompt cache. ``auto``: a key if the endpoint is OpenAI's own."""
    # These fields are last, because their validator reads the fields above.
    chat_model: Name = Field(validation_alias="BATON_CHAT_MODEL")
    light_model: Name | None = Field(default=None, validation_alias="BATON_LIGHT_MODEL")
    """The model for fast, simple tasks such as the summary of a handoff. Default: the chat model."""

    @field_validator("chat_model", "light_model")
    @classmethod
    def _check_provider(cls, name: str | None, info: ValidationInfo) -> str | None:
        declared = info.data.get("model_providers")
        if name is None or declared is None or info.data.get("base_url") is not None:
            return name
        providers = {BEDROCK_PROVIDER, *declared} - {DEFAULT_PROVIDER}
        if route(name, dict.fromkeys(providers)).provider == DEFAULT_PROVIDER:
            raise ValueError(
                f"{name!r} begins with the name of no provider ({', '.join(sorted(providers))}), and OPENAI_BASE_URL, "
                "the address of the default provider, is not set. Set it, or name the provider, as in bedrock/<model>"
            )
        return name

    @property
    def providers(self) -> dict[str, Provider]:
        """All providers by name: the declared ones, Amazon Bedrock, and the default provider if it has an address."""
        providers = {
            BEDROCK_PROVIDER: Provider(kind=ProviderKind.BEDROCK, metadata=self.sends_metadata),
            **self.model_providers,
        }
        declared = providers.pop(DEFAULT_PROVIDER, Provider())
        if self.base_url is not None:
            own = {
                "base_url": self.base_url,
                "key": self.key,
                "key_secret": self.key_secret if self.key is None else None,
                "metadata": self.sends_metadata,
                "cache_hints": self.cache_hints,
            }
            providers[DEFAULT_PROVIDER] = declared.model_copy(update=own)
        return providers

    @property
    def plain_keys(self) -> list[str]:
        """The names of the providers whose keys are in the setting itself, which only the local cloud accepts."""
        return [name for name, provider in self.model_providers.items() if provider.key is not None]

    def is_on_bedrock(self, name: str) -> bool:
        """Return whether the model ``name`` is served by Amazon Bedrock's own API."""
        provider = self.providers.get(self.route(name).provider)
        return provider is not None and provider.kind is ProviderKind.BEDROCK

    def route(self, name: str) -> Route:
        """Return the route to the model ``name``."""
        return route(name, self.providers)


EmbeddingUrl = Annotated[str, Field(pattern=r"^(https?://|encoder:///.)"), WithoutCredentials]


class EmbeddingSettings(Settings):
    """The embedding model. Its key is that of the default provider."""

    model: Name | None = Field(default=None, validation_alias="BATON_EMBEDDING_MODEL")
    """The name of the model. Without a model, texts are searched by their words only."""
    dimensions: int = Field(default=1536, ge=1, le=4096, validation_alias="BATON_EMBEDDING_DIMENSIONS")
    """The length of its vectors."""
    base_url: EmbeddingUrl | None = Field(default=None, validation_alias="BATON_EMBEDDING_BASE_URL")
    """Its endpoint. Default: the default provider's. ``encoder:///folder`` is the local cloud's own encoder."""
