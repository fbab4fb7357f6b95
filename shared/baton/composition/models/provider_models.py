"""The clients of the model providers in the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from baton.composition import parts

if TYPE_CHECKING:
    Profiles = Mapping[str, Mapping[str, Any]]


def make_provider_models(
    settings: parts.ProviderSettings, secrets: parts.SecretsManager, *, shows_reasons: bool = False
) -> parts.ProviderModels:
    """Return a model that calls all providers of the settings. Raises ``ValueError`` for invalid model profiles.

    With ``shows_reasons``, errors contain the providers' reasons.
    """
    profiles = parts.read_profile_overrides(settings.model_profiles)
    makers = {
        parts.ProviderKind.OPENAI: partial(make_openai_model, secrets=secrets, profiles=profiles),
        parts.ProviderKind.BEDROCK: partial(make_bedrock_model, profiles=profiles),
    }
    return parts.ProviderModels(
        {name: partial(makers[provider.kind], provider) for name, provider in settings.providers.items()},
        shows_reasons=shows_reasons,
    )


def make_deployed_models(settings: parts.ProviderSettings, secrets: parts.SecretsManager) -> parts.ProviderModels:
    """Return the model of this deployment, see ``make_provider_models``.

    Raises ``ValueError`` also for keys that are not in secrets, except in the local cloud.
    """
    is_local = parts.IdentitySettings().is_local
    if settings.plain_keys and not is_local:
        raise ValueError(
            f"modelProviders: {settings.plain_keys[0]}.key: is for the local cloud only, because everybody who "
            "may read the function's settings would see it. Store the key in a secret, and name that in `keySecret`"
        )
    return make_provider_models(settings, secrets, shows_reasons=is_local)


def make_openai_model(provider: parts.Provider, secrets: parts.SecretsManager, profiles: Profiles) -> parts.ChatModel:
    """Return the client of an OpenAI-compatible endpoint. Raises ``ValueError`` if it is signed without a region."""
    return parts.OpenAIChatModel(
        api_key=make_key_source(provider, secrets),
        base_url=provider.base_url,
        sends_metadata=provider.metadata,
        cache_hints=parts.read_hints(provider.cache_hints),
        profiles=_add_api(provider.api, profiles),
        reader=get_document_reader(),
        signing=_make_signing(provider),
    )


def make_bedrock_model(provider: parts.Provider, profiles: Profiles) -> parts.ChatModel:
    """Return the client of Amazon Bedrock for a provider. Raises ``ValueError`` without a region or its guardrail."""
    from baton.composition.models.bedrock import find_guardrail, make_connection

    return parts.BedrockChatModel(
        make_connection(provider),
        guardrail=find_guardrail(provider),
        sends_metadata=provider.metadata,
        profiles=profiles,
        reader=get_document_reader(),
    )


def _make_signing(provider: parts.Provider) -> parts.AwsSigning | None:
    """Return the signer of the provider's requests; None if they are not signed.

    Raises ``ValueError`` if no region is known.
    """
    if not provider.signed:
        return None
    from baton.composition.models.bedrock import find_region, select_credential_source

    return parts.AwsSigning(select_credential_source(), find_region(provider))


@cache
def get_document_reader() -> parts.DocumentReader:
    """Return this process's reader of attached documents. Only child processes load its libraries."""
    return parts.ChildProcessReader()


def _add_api(api: str, profiles: Profiles) -> Profiles:
    """Return the profiles of a provider with ``api`` as the default API of all models; unchanged if it is "auto"."""
    if api == "auto":
        return profiles
    defaults = {"api": parts.Api(api), **profiles.get("*", {})}
    return {"*": defaults, **{pattern: facts for pattern, facts in profiles.items() if pattern != "*"}}


def make_key_source(provider: parts.Provider, secrets: parts.SecretsManager) -> str | Callable[[], Awaitable[str]]:
    """Return the provider's key, or a function that reads the key from its secret; empty for endpoints without keys."""
    if provider.key is not None:
        return provider.key.get_secret_value()
    if provider.key_secret is not None:
        return partial(asyncio.to_thread, secrets.get, provider.key_secret)
    return ""
