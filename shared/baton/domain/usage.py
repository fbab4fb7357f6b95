"""Token usage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Input and output tokens of one or more model calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    """Those of the input tokens that the provider read from its prompt cache, which costs less."""
    cache_write_tokens: int = 0
    """Input tokens that the provider wrote into its prompt cache; some providers charge more for them."""
    reasoning_tokens: int = 0
    """Output tokens that the model spent on thinking."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The tokens that one model has used."""

    model: str
    """Its name, as the provider gives it."""
    usage: Usage


MAX_MODELS = 8
"""Models that a thread's usage is kept apart for. They are stored with the thread, which each turn reads."""
OTHER_MODELS = ""
"""The name of all models beyond those."""


def by_model(*parts: Iterable[ModelUsage]) -> tuple[ModelUsage, ...]:
    """Return the usage of each model, in the order in which they come first."""
    found: dict[str, Usage] = {}
    for part in parts:
        for each in part:
            model = each.model if each.model in found or len(found) < MAX_MODELS else OTHER_MODELS
            found[model] = found.get(model, Usage()) + each.usage
    return tuple(ModelUsage(model, usage) for model, usage in found.items())
