"""Errors of calls of models that are refused because of their cost."""

from __future__ import annotations

from datetime import datetime

from baton.domain.errors.dependencies import ModelError


class SpendingRefusal(ModelError):
    """A refused call of a model. Code that continues after a failure of the model also continues after a refusal."""


class SpendingLimitReached(
    SpendingRefusal, code="spending_limit_reached", status=429, title="A spending limit is reached", retryable=False
):
    """The tenant, the user or the agent has spent what models may cost in this day or month."""

    detail = "A spending limit is reached. Ask your administrators, or wait until it is reset."

    def __init__(
        self,
        detail: str | None = None,
        *,
        resets_at: datetime | None = None,
        retry_after: int | None = None,
        can_continue: bool = False,
    ) -> None:
        """``resets_at`` is the end of the limit's period, in ``retry_after`` seconds."""
        super().__init__(detail)
        self.can_continue = can_continue
        self.resets_at = resets_at
        self.retry_after = retry_after


class SpendingReserved(
    SpendingRefusal, code="spending_reserved", status=429, title="Answers in progress need the rest", retryable=True
):
    """Calls in progress have reserved the rest of a spending limit. Most likely they cost less."""

    detail = "Answers in progress have reserved what is left of a spending limit. Please try again in a moment."
    retry_after = 5


class ModelsStopped(
    SpendingRefusal, code="models_stopped", status=409, title="Stopped by administrators", retryable=False
):
    """Administrators have stopped the calls of models for the tenant or the agent."""

    detail = "Your administrators have stopped this for now. Please ask them."


class PriceUnknown(
    SpendingRefusal, code="price_unknown", status=409, title="The model's price is not known", retryable=False
):
    """A model without a price, under a spending limit that refuses such models."""

    detail = (
        "The model's price is not known, and a spending limit holds. Ask the operator to add it to modelPrices, or "
        "to set unknownPrices to tokens."
    )
