"""The context lengths of a deployment's models, where their profiles declare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton.adapters.models.profile import BEDROCK_HOST
from baton.adapters.models.profiles import declared_profile, host_of
from baton.domain.model_providers import Provider, ProviderKind, route


def context_lengths(
    providers: Mapping[str, Provider], overrides: Mapping[str, Mapping[str, Any]]
) -> Callable[[str], int | None]:
    """Return a function from a model's name to its context length in Baton's tokens; None if none is declared."""

    def length(model: str) -> int | None:
        asked = route(model, providers)
        provider = providers.get(asked.provider)
        is_bedrock = provider is not None and provider.kind is ProviderKind.BEDROCK
        host = BEDROCK_HOST if is_bedrock else host_of(provider.base_url if provider is not None else None)
        profile = declared_profile(host, asked.model, overrides)
        return int(profile.context_tokens / profile.token_ratio) if profile.context_tokens is not None else None

    return length
