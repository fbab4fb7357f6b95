"""The clients of models' providers, as the settings name them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baton.adapters.aws.secrets import SecretsManager
    from baton.adapters.models.openai.aws_signing import AwsSigning
    from baton.adapters.models.provider_models import ProviderModels
    from baton.domain.agents.model_providers import Provider
    from baton.ports.agents.chat_model import ChatModel
    from baton.ports.documents.documents import DocumentReader
    from baton.settings.models import ModelSettings

    Profiles = Mapping[str, Mapping[str, Any]]


def provider_models(settings: ModelSettings, secrets: SecretsManager, *, shows_reasons: bool = False) -> ProviderModels:
    """Return one model over all providers of the settings. Raises ``ValueError`` for facts of models that are wrong."""
    from baton.adapters.models.profiles.profile_overrides import profile_overrides
    from baton.adapters.models.provider_models import ProviderModels
    from baton.domain.agents.model_providers import ProviderKind

    profiles = profile_overrides(settings.model_profiles)
    makers = {
        ProviderKind.OPENAI: partial(openai_model, secrets=secrets, profiles=profiles),
        ProviderKind.BEDROCK: partial(bedrock_model, profiles=profiles),
    }
    return ProviderModels(
        {name: partial(makers[provider.kind], provider) for name, provider in settings.providers.items()},
        shows_reasons=shows_reasons,
    )


def deployed_models(settings: ModelSettings, secrets: SecretsManager) -> ProviderModels:
    """Return ``provider_models``. Raises ``ValueError`` for keys in the settings of a deployment too."""
    from baton.settings.identity import IdentitySettings

    is_local = IdentitySettings().is_local
    if settings.plain_keys and not is_local:
        raise ValueError(
            f"modelProviders: {settings.plain_keys[0]}.key: is for the local cloud only, because everybody who "
            "may read the function's settings would see it. Store the key in a secret, and name that in `keySecret`"
        )
    return provider_models(settings, secrets, shows_reasons=is_local)


def openai_model(provider: Provider, secrets: SecretsManager, profiles: Profiles) -> ChatModel:
    """Return the client of an OpenAI-compatible endpoint."""
    from baton.adapters.models.openai import OpenAIChatModel
    from baton.adapters.models.openai.cache_hints import hints_of_setting

    return OpenAIChatModel(
        api_key=key_of(provider, secrets),
        base_url=provider.base_url,
        sends_metadata=provider.metadata,
        cache_hints=hints_of_setting(provider.cache_hints),
        profiles=_with_api(provider.api, profiles),
        reader=document_reader(),
        signing=_signing(provider),
    )


def bedrock_model(provider: Provider, profiles: Profiles) -> ChatModel:
    """Return the client of Amazon Bedrock for a provider. Raises ``ValueError`` for settings that do not fit."""
    from baton.adapters.models.bedrock.chat_model import BedrockChatModel
    from baton.composition.bedrock import connection, guardrail

    return BedrockChatModel(
        connection(provider),
        guardrail=guardrail(provider),
        sends_metadata=provider.metadata,
        profiles=profiles,
        reader=document_reader(),
    )


def _signing(provider: Provider) -> AwsSigning | None:
    """Return the signer of the provider's requests, with this function's role; None if they are not signed."""
    if not provider.signed:
        return None
    from baton.adapters.models.openai.aws_signing import AwsSigning
    from baton.composition.bedrock import aws_session, region_of

    return AwsSigning(aws_session(), region_of(provider))


@cache
def document_reader() -> DocumentReader:
    """Return this process's reader of attached documents. Its libraries are loaded in child processes only."""
    from baton.adapters.documents.document_reader import ChildProcessReader

    return ChildProcessReader()


def _with_api(api: str, profiles: Profiles) -> Profiles:
    """Return the profiles of a provider that speaks one API with all its models, unless a profile says otherwise."""
    from baton.adapters.models.profiles.profile import Api

    if api == "auto":
        return profiles
    everywhere = {"api": Api(api), **profiles.get("*", {})}
    return {"*": everywhere, **{pattern: facts for pattern, facts in profiles.items() if pattern != "*"}}


def key_of(provider: Provider, secrets: SecretsManager) -> str | Callable[[], Awaitable[str]]:
    """Return the provider's key, or a function that reads it from the secret; empty for endpoints without keys."""
    if provider.key is not None:
        return provider.key.get_secret_value()
    if provider.key_secret is not None:
        return partial(asyncio.to_thread, secrets.get, provider.key_secret)
    return ""
