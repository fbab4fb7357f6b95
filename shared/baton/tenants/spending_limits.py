"""Limits on what models cost: a call reserves the most that it may cost before it is made, and settles its cost after.

A limit is checked and reserved in one step. A call may begin as long as something is left, so the last call may
exceed the limit, by its own price at most. What a dead worker has reserved counts until ``HOLD_SECONDS`` have passed.
Unlike rates, these limits fail closed: a call that cannot be counted is not made.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from aws_lambda_powertools import Logger

from baton.domain.errors import (
    BatonError,
    ModelsStopped,
    ModelUnavailable,
    PriceUnknown,
    SpendingLimitReached,
    SpendingReserved,
    StoreUnavailable,
)
from baton.domain.metrics import Metric, count
from baton.domain.runs.usage import Price, Prices, Usage
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.overview import to_nano
from baton.domain.tenants.spending import (
    HOLD_SECONDS,
    Account,
    AccountKind,
    Hold,
    SpendingCounts,
    SpendingPeriod,
    SpendingWarning,
    compute_nano_limits,
    find_day_number,
)
from baton.domain.tenants.spending_rules import SpendingLimit, SpendingRules
from baton.domain.times import to_iso
from baton.failures.reports import in_background
from baton.ports.agents.chat_model import ModelCaller
from baton.ports.clock import Clock
from baton.ports.tenants.audit import AuditLog
from baton.ports.tenants.spending import SpendingStore
from baton.tenants.tenant_copies import CurrentLimits

logger = Logger(child=True)

INPUT_MARGIN = 1.25
"""The factor for tokens of a prompt, because models count differently from Baton."""
PAUSES_SECONDS = (0.2, 0.4, 0.8, 1.6, 3.0, 4.0)
"""The pauses of a call that waits until calls in progress have given back their unused reservations."""
WHO = {AccountKind.TENANT: "Your organisation has", AccountKind.AGENT: "This agent has", AccountKind.USER: "You have"}
"""The beginnings of errors, by the account whose limit is reached."""


@dataclass(frozen=True, slots=True)
class CallSize:
    """The size of a call before it is made."""

    models: Sequence[str]
    """The model and its fallbacks, by their names in settings."""
    input_tokens: int
    output_tokens: int
    """The most tokens that the answer may have."""


@dataclass(frozen=True, slots=True)
class AccountLimit:
    """An account whose spending is limited."""

    account: Account
    limit: SpendingLimit


@dataclass(frozen=True, slots=True)
class ReservedCall:
    """A call that may be made, with its reservations."""

    scope: Scope
    name: str
    price: Price
    """The price of the requested model."""
    holds: Sequence[tuple[AccountLimit, Hold]]
    warning: SpendingWarning | None = None
    """A warning of the account that has spent the largest share of its limit; None if none is near its limit."""


@dataclass(frozen=True, slots=True)
class _CallReservation:
    """The reservation of a call in each account. Costs are in billionths of the currency's unit."""

    name: str
    max_cost: int
    min_cost: int
    is_limited: bool
    rules: SpendingRules


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """The spending limits of tenants, their agents and users."""

    store: SpendingStore
    limits: CurrentLimits
    prices: Callable[[], Prices]
    """A function that returns the current prices of models."""
    clock: Clock
    audit: AuditLog

    async def read_rules(self, scope: Scope) -> SpendingRules | None:
        """Return the rules of the tenant; None if there is nothing to check."""
        return (await self.limits.of(scope)).spending or None

    async def check(self, scope: Scope, *, may_overspend: bool = False) -> None:
        """Check that the user may begin a run, before anything is written.

        ``may_overspend`` is True if the user has agreed to exceed the limits. In an outage nothing is refused here.
        Raises ``SpendingLimitReached`` and ``ModelsStopped``.
        """
        rules = await self.read_rules(scope)
        if rules is None:
            return
        if not rules.enabled:
            raise ModelsStopped
        if may_overspend and rules.may_ask:
            return
        await self._check_accounts(scope, _find_accounts(rules, scope, None), rules)

    async def check_agent(self, scope: Scope, agent_id: str) -> None:
        """Check that an agent may ask a model now, in a run that begins by itself: nobody can agree to overspend there.

        Raises ``SpendingLimitReached`` and ``ModelsStopped``.
        """
        rules = await self.read_rules(scope)
        if rules is None:
            return
        if rules.stops(agent_id):
            raise ModelsStopped
        await self._check_accounts(scope, _find_accounts(rules, scope, agent_id), rules)

    async def reserve(self, caller: ModelCaller, rules: SpendingRules, call: CallSize) -> ReservedCall | None:
        """Reserve what a call may cost; return None if its cost is not limited.

        Raises ``SpendingLimitReached``, ``SpendingReserved``, ``ModelsStopped``, ``PriceUnknown`` and
        ``ModelUnavailable``.
        """
        if rules.stops(caller.agent_id or ""):
            raise ModelsStopped
        scope = Scope(caller.tenant_id, caller.user_id)
        accounts = _find_accounts(rules, scope, caller.agent_id)
        if not accounts:
            return None
        prices = [self.prices().of_setting(model) for model in call.models]
        known_prices = [price for price in prices if price is not None]
        if len(known_prices) < len(prices):
            if rules.refuses_unknown_prices:
                unpriced = [model for model, price in zip(call.models, prices, strict=True) if price is None]
                logger.warning("a model without a price was not asked", models=unpriced, tenant_id=scope.tenant_id)
                raise PriceUnknown
            if not known_prices:
                return None
        input_tokens = int(call.input_tokens * INPUT_MARGIN)
        max_cost = max(price.compute_most(input_tokens, call.output_tokens) for price in known_prices)
        min_cost = known_prices[0].compute_cost(Usage(call.input_tokens))
        is_limited = not (caller.may_overspend and rules.may_ask)
        reservation = _CallReservation(
            f"c{secrets.token_hex(6)}", to_nano(max_cost), to_nano(min_cost), is_limited=is_limited, rules=rules
        )
        holds: list[tuple[AccountLimit, Hold]] = []
        warnings: list[SpendingWarning] = []
        reserved = ReservedCall(scope, reservation.name, known_prices[0], holds)
        try:
            for account_limit in accounts:
                counts, hold = await self._reserve(scope, account_limit, reservation)
                holds.append((account_limit, hold))
                warnings += _list_warnings(account_limit, counts)
        except StoreUnavailable:
            logger.warning("a call of a model cannot be counted, and is not made", tenant_id=scope.tenant_id)
            count(Metric.SPENDING_NOT_COUNTED)
            await self._settle(reserved, 0)
            raise ModelUnavailable from None
        except BaseException:
            await asyncio.shield(in_background(self._settle(reserved, 0), "spending of a call"))
            raise
        return replace(reserved, warning=max(warnings, key=lambda warning: warning.percent, default=None))

    async def settle(self, reserved: ReservedCall, model: str | None, usage: Usage) -> None:
        """Count the cost of a call that has ended. ``model`` is the model that answered; None: the requested model."""
        price = (self.prices().of(model) if model is not None else None) or reserved.price
        await self._settle(reserved, to_nano(price.compute_cost(usage)))

    async def _check_accounts(self, scope: Scope, accounts: Sequence[AccountLimit], rules: SpendingRules) -> None:
        """Raise ``SpendingLimitReached`` if one of the accounts has spent its limit."""
        try:
            for account_limit in accounts:
                counts = (await self.store.get(scope, account_limit.account)).at(find_day_number(self.clock.now()))
                period = counts.find_spent(compute_nano_limits(account_limit.limit))
                if period is not None:
                    raise self._make_refusal(account_limit, counts, period, rules, next_step="Send the message again")
        except StoreUnavailable:  # the turn's other requests report the outage, and each call is checked again
            return

    async def _reserve(
        self, scope: Scope, account_limit: AccountLimit, reservation: _CallReservation
    ) -> tuple[SpendingCounts, Hold]:
        """Reserve the cost in one account. Return the account's counts and the reservation.

        Waits a while for calls in progress that have reserved what is left.
        """
        limits = compute_nano_limits(account_limit.limit) if reservation.is_limited else {}
        for pause in (*PAUSES_SECONDS, None):
            now = self.clock.now()
            until = int(now.timestamp()) + HOLD_SECONDS
            hold = Hold(reservation.max_cost, reservation.min_cost, until=until, day=find_day_number(now))
            result = await self.store.reserve(scope, account_limit.account, reservation.name, hold, limits)
            if result.hold is not None:
                return result.counts, result.hold
            period = result.counts.find_spent(limits)
            if period is not None:
                # This limit may have ended a run; sending the same message again would only return that run.
                raise self._make_refusal(
                    account_limit, result.counts, period, reservation.rules, next_step="Send a new message"
                )
            if pause is not None:
                await asyncio.sleep(pause)
        raise SpendingReserved

    async def _settle(self, reserved: ReservedCall, cost: int) -> None:
        for account_limit, hold in reserved.holds:
            try:
                counts = await self.store.settle(reserved.scope, account_limit.account, reserved.name, hold, cost)
                if counts is not None:
                    await self._warn(reserved.scope, account_limit, counts)
            except BatonError as failure:  # the reservation ends by itself
                logger.warning("a cost is not counted", tenant_id=reserved.scope.tenant_id, code=failure.code)
                count(Metric.SPENDING_NOT_COUNTED)

    async def _warn(self, scope: Scope, account_limit: AccountLimit, counts: SpendingCounts) -> None:
        """Audit and count once in each period that most of a limit is spent."""
        for warning in _list_warnings(account_limit, counts):
            number = warning.period.find_number(counts.day)
            if counts.warned.get(warning.period) == number:
                continue
            if await self.store.note_warning(scope, account_limit.account, warning.period, number):
                count(Metric.SPENDING_WARNINGS)
                detail = {
                    "account": warning.account.value.lower(),
                    "agentId": account_limit.account.name if warning.account is AccountKind.AGENT else None,
                    "period": warning.period.value,
                    "percent": str(warning.percent),
                    "resetsAt": to_iso(warning.resets_at),
                }
                known_detail = {name: value for name, value in detail.items() if value is not None}
                await self.audit.record(scope, "spending.warn", thread_id=None, outcome="reached", detail=known_detail)

    def _make_refusal(
        self,
        account_limit: AccountLimit,
        counts: SpendingCounts,
        period: SpendingPeriod,
        rules: SpendingRules,
        *,
        next_step: str,
    ) -> SpendingLimitReached:
        """Return the error of a limit. ``next_step`` is what users who may overspend can do."""
        resets_at, now = period.end(counts.day), self.clock.now()
        time = "today" if period is SpendingPeriod.DAY else "this month"
        asks = f" {next_step} with overSpending to go on." if rules.may_ask else ""
        return SpendingLimitReached(
            f"{WHO[account_limit.account.kind]} spent what models may cost {time} (UTC). The limit is reset on "
            f"{resets_at:%Y-%m-%d} at 00:00 UTC.{asks}",
            resets_at=resets_at,
            retry_after=_count_seconds_until(resets_at, now),
            can_continue=rules.may_ask,
        )


def _find_accounts(rules: SpendingRules, scope: Scope, agent_id: str | None) -> Sequence[AccountLimit]:
    """Return the accounts whose limits a call must keep, those with the fewest calls first: user, agent, tenant."""
    listed = [AccountLimit(Account.of_user(scope.user_id), rules.user)]
    if agent_id is not None:
        listed.append(AccountLimit(Account(AccountKind.AGENT, agent_id), rules.of_agent(agent_id)))
    listed.append(AccountLimit(Account(AccountKind.TENANT), rules.tenant))
    return [account_limit for account_limit in listed if account_limit.limit]


def _list_warnings(account_limit: AccountLimit, counts: SpendingCounts) -> Sequence[SpendingWarning]:
    high = counts.list_high(compute_nano_limits(account_limit.limit))
    return [
        SpendingWarning(account_limit.account.kind, period, share, period.end(counts.day)) for period, share in high
    ]


def _count_seconds_until(time: datetime, now: datetime) -> int:
    return max(1, int((time - now).total_seconds()) + 1)
