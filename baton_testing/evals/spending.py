"""The money that an evaluation spends."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from baton.domain.runs.usage import NO_PRICES, Price, Prices
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
