"""The context lengths that an operator declares bound the prompts of a deployment."""

from __future__ import annotations

import pytest

from baton.adapters.models.profiles.known_profiles import make_context_lengths
from baton.domain.agents.model_providers import Provider, ProviderKind

PROVIDERS = {"default": Provider(base_url="http://127.0.0.1:11434/v1"), "bedrock": Provider(kind=ProviderKind.BEDROCK)}
LENGTHS = make_context_lengths(PROVIDERS, {"llama*": {"context_tokens": 4_000, "token_ratio": 1.25}})


@pytest.mark.parametrize(("model", "tokens"), [("llama3.2", 3_200), ("default/llama3.2", 3_200), ("gpt-6-sol", None)])
def test_a_length_is_found_by_the_models_name_at_its_provider(model: str, tokens: int | None) -> None:
    assert LENGTHS(model) == tokens
