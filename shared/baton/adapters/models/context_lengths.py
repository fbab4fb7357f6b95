"""How many tokens a deployment's models read at once, where their profiles declare it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton.adapters.models.profiles import declared_profile, host_of
from baton.domain.model_providers import Provider, ProviderKind, route

BEDROCK_HOST = "bedrock"
"""The host by which the table names Amazon Bedrock's Converse."""


def context_lengths(
    providers: Mapping[str, Provider], overrides: Mapping[str, Mapping[str, Any]]
) -> Callable[[str], int | None]:
    """Return what finds the context length of a model, in tokens as Baton counts them; None if none is declared."""

    def length(model: str) -> int | None:
        asked = route(model, providers)
        provider = providers.get(asked.provider)
        is_bedrock = provider is not None and provider.kind is ProviderKind.BEDROCK
        host = BEDROCK_HOST if is_bedrock else host_of(provider.base_url if provider is not None else None)
        profile = declared_profile(host, asked.model, overrides)
        return int(profile.context_tokens / profile.token_ratio) if profile.context_tokens is not None else None

    return length
