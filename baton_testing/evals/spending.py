"""The money that an evaluation spends."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import TypeAdapter

from baton.domain.runs.usage import NO_PRICES, Price, Prices
from baton_testing.errors import CannotRun

PRICES = "BATON_MODEL_PRICES"
_PRICES = TypeAdapter(dict[str, Price])


def read_prices(text: str | None) -> Prices:
    """Return the prices of models in USD for a million tokens, from ``BATON_MODEL_PRICES``.

    There are none if ``text`` is None or empty. Raises ``CannotRun`` for invalid text.
    """
    if not text:
        return NO_PRICES
    try:
        return Prices(_PRICES.validate_python(json.loads(text)))
    except ValueError:
        example = '{"gpt-6-luna": {"input": 0.25, "output": 2}}'
        raise CannotRun(f"{PRICES} has to be JSON with a price for each model's name, such as {example}.") from None


@dataclass
class Budget:
    """The money that may be spent, and that was spent."""

    most: float | None = None
    """USD; None for no limit."""
    spent: float = 0.0
    """USD."""
    unknown: bool = False
    """Whether the cost of a run is unknown."""

    def add(self, usd: float | None) -> None:
        """Count the cost of a run, in USD; None if it is unknown."""
        self.unknown = self.unknown or usd is None
        self.spent += usd or 0.0

    @property
    def end_reason(self) -> str | None:
        """The reason why nothing may be spent any longer; None if money is left."""
        if self.most is None:
            return None
        if self.unknown:
            return (
                "--max-usd: the cost of a run is not known, because the run failed or a model has no price "
                "(BATON_MODEL_PRICES, or modelPrices of a server)."
            )
        return f"--max-usd: {self.spent:.4f} USD are spent." if self.spent >= self.most else None
