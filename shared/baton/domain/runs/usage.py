"""Token usage and its cost. Costs are computed when they are shown, so that nothing stored depends on a price."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


@dataclass(frozen=True, slots=True)
class Usage:
    """Input and output tokens of one or more model calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    """Input tokens that the provider read from its prompt cache, which costs less. Part of ``input_tokens``."""
    cache_write_tokens: int = 0
    """Input tokens that the provider wrote into its prompt cache; some charge more. Part of ``input_tokens``."""
    reasoning_tokens: int = 0
    """Output tokens that the model spent on thinking. Part of ``output_tokens``."""

    @property
    def total_tokens(self) -> int:
        """The input and output tokens together."""
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


MAX_TOKENS = 10**12
"""A limit above the tokens of any call. Larger numbers are mistakes that stores and browsers cannot hold exactly."""


def parse_token_count(value: object) -> int | None:
    """Return a number of tokens that a provider reports; None if ``value`` is no such number.

    Some gateways send whole numbers as text, or as floats such as 12.0.
    """
    if isinstance(value, str) and value.isdecimal() and len(value) <= len(str(MAX_TOKENS)):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS else None


MAX_MODELS = 8
"""Models whose usage a thread stores separately. They are few because each turn reads the thread."""
OTHER_MODELS = ""
"""The name under which the usage of all further models is stored."""


def add_up_by_model(*parts: Iterable[ModelUsage]) -> tuple[ModelUsage, ...]:
    """Add usages up by model. All models after the first ``MAX_MODELS`` are counted as ``OTHER_MODELS``."""
    usages: dict[str, Usage] = {}
    for part in parts:
        for model_usage in part:
            model = model_usage.model if model_usage.model in usages or len(usages) < MAX_MODELS else OTHER_MODELS
            usages[model] = usages.get(model, Usage()) + model_usage.usage
    return tuple(ModelUsage(model, usage) for model, usage in usages.items())


PRICED_TOKENS = 1_000_000
"""The number of tokens to which a price refers."""
MAX_PRICE = 1_000_000.0
_Money = Annotated[float, Field(ge=0, le=MAX_PRICE, allow_inf_nan=False)]
_VERSION = re.compile(r"-\d{4}[\d-]*")
"""The date or number that providers append to the name of a model to show which version has answered."""


class Price(BaseModel):
    """The prices of a million tokens of a model, as an operator writes them in ``modelPrices``, in any currency."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    input: _Money
    output: _Money
    cached_input: _Money | None = None
    """The price of input tokens that the provider reads from its prompt cache; None if they cost as much as others."""
    cache_write: _Money | None = None
    """The price of input tokens that the provider writes into its prompt cache; None if they cost as much as others."""

    def compute_cost(self, usage: Usage) -> float:
        """Return the cost of the tokens. Input tokens read from or written to a cache may have other prices."""
        cached_tokens = min(usage.cached_input_tokens, usage.input_tokens)
        written_tokens = min(usage.cache_write_tokens, usage.input_tokens - cached_tokens)
        cached_input = self.input if self.cached_input is None else self.cached_input
        cache_write = self.input if self.cache_write is None else self.cache_write
        fresh_tokens = usage.input_tokens - cached_tokens - written_tokens
        input_cost = fresh_tokens * self.input + cached_tokens * cached_input + written_tokens * cache_write
        return (input_cost + usage.output_tokens * self.output) / PRICED_TOKENS

    def compute_most(self, input_tokens: int, output_tokens: int) -> float:
        """Return the most that a call with these tokens costs, whatever the provider reads from its cache."""
        dearest = max(self.input, self.cached_input or 0.0, self.cache_write or 0.0)
        return (input_tokens * dearest + output_tokens * self.output) / PRICED_TOKENS


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of models, by name. A version of a model has the model's price unless it has its own."""

    models: Mapping[str, Price] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.models)

    def of(self, model: str) -> Price | None:
        """Return the price of a model; None if it has none."""
        if model in self.models:
            return self.models[model]
        names = [name for name in self.models if model.startswith(name) and _VERSION.fullmatch(model[len(name) :])]
        return self.models[max(names, key=len)] if names else None

    def of_setting(self, model: str) -> Price | None:
        """Return the price of a model by its name in settings, which may begin with its provider's."""
        return self.of(model) or self.of(model.partition("/")[2])

    def compute_cost(self, spent: Sequence[ModelUsage], usage: Usage) -> float | None:
        """Return the cost of ``spent``; None without prices, or if a part of ``usage`` has no known price.

        ``usage`` is the total usage. It exceeds ``spent`` where the model is not known: remote agents do not report it,
        and old conversations do not have it.
        """
        if not self.models or sum(model_usage.usage.total_tokens for model_usage in spent) != usage.total_tokens:
            return None
        total = 0.0
        for model_usage in spent:
            price = self.of(model_usage.model)
            if price is not None:
                total += price.compute_cost(model_usage.usage)
            elif model_usage.usage.total_tokens:
                return None
        return round(total, 9)


NO_PRICES = Prices()
"""An empty price list, with which every cost is unknown."""
