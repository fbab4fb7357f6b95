"""The money that an evaluation spends."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError

from baton.domain.usage import NO_PRICES, ModelUsage, Price, Prices, Usage
from baton.ports.chat_model import ChatModel, Finished, ModelChunk, ModelSettings, Prompt, ToolSpec
from baton.ports.files import ThreadFiles
from baton_testing.errors import CannotRun

PRICES = "BATON_MODEL_PRICES"
_PRICES = TypeAdapter(dict[str, Price])


def read_prices(text: str | None) -> Prices:
    """Return the prices of models of a million tokens, as ``BATON_MODEL_PRICES`` has them. Raises ``CannotRun``."""
    if not text:
        return NO_PRICES
    try:
        return Prices(_PRICES.validate_python(json.loads(text)))
    except (ValueError, ValidationError):
        example = '{"gpt-6-luna": {"input": 0.25, "output": 2}}'
        raise CannotRun(f"{PRICES} has to be JSON with a price for each model's name, such as {example}.") from None


@dataclass
class Budget:
    """The money that may be spent, and what was."""

    most: float | None = None
    """USD; None: no limit."""
    spent: float = 0.0
    unknown: bool = False
    """True if the cost of a run is not known."""

    def add(self, usd: float | None) -> None:
        """Count the cost of a run; None: it is not known."""
        self.unknown = self.unknown or usd is None
        self.spent += usd or 0.0

    @property
    def ended(self) -> str | None:
        """The reason that nothing more may be spent; None as long as there is none."""
        if self.most is None:
            return None
        if self.unknown:
            return "--max-usd: the cost of a run is not known, because a model has no price. Set BATON_MODEL_PRICES."
        return f"--max-usd: {self.spent:.4f} USD are spent." if self.spent >= self.most else None


@dataclass
class MeteredModel:
    """``ports.chat_model.ChatModel`` that notes the tokens of another one by model."""

    model: ChatModel
    prices: Prices = NO_PRICES
    spent: list[ModelUsage] = field(default_factory=list)
    is_complete: bool = True
    """False if a call reported no usage."""

    async def stream(
        self,
        settings: ModelSettings,
        prompts: Sequence[Prompt],
        *,
        thread_files: ThreadFiles,
        tools: Sequence[ToolSpec] = (),
    ) -> AsyncGenerator[ModelChunk, None]:
        """Yield the model's chunks."""
        async with aclosing(self.model.stream(settings, prompts, thread_files=thread_files, tools=tools)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Finished):
                    self.is_complete = self.is_complete and chunk.usage is not None
                    self.spent.append(ModelUsage(settings.model, chunk.usage or Usage()))
                yield chunk

    @property
    def tokens(self) -> int:
        """All tokens so far."""
        return sum(each.usage.total_tokens for each in self.spent)

    @property
    def usd(self) -> float | None:
        """The cost so far; None if a price or a usage is not known."""
        if not self.is_complete:
            return None
        return self.prices.cost(self.spent, Usage(self.tokens)) if self.prices else None
