"""The rules of a tenant for the cost of models: limits in money, a switch, and the effect of a reached limit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator
from pydantic.alias_generators import to_camel

from baton.domain.definition import AGENT_ID
from baton.domain.tenants.self_started_runs import choose_lower

MAX_MONEY = 1_000_000_000.0
MAX_AGENTS = 100
"""Agents with a separate limit, and as many agents that are stopped."""
ALL_AGENTS = "*"
"""The key in ``agents`` for all agents without a separate limit."""
OUTPUT_TOKENS = 8_192
"""The most output tokens of a call under a limit, for agents that set no maximum."""

Money = Annotated[float, Field(strict=True, ge=0, le=MAX_MONEY, allow_inf_nan=False)]
AgentId = Annotated[str, StringConstraints(pattern=f"^{AGENT_ID}$")]
_AGENT = re.compile(rf"\*|{AGENT_ID}")


class AtLimit(StrEnum):
    """The effect of a limit that is reached, the stricter first."""

    STOP = "stop"
    """No model is asked until the period ends."""
    ASK = "ask"
    """A user may continue by sending a message with ``overSpending``. Runs that begin by themselves stop."""


class UnknownPrices(StrEnum):
    """The treatment of calls of models without a price, the stricter first."""

    REFUSE = "refuse"
    """They are refused."""
    TOKENS = "tokens"
    """They count as free of charge. Only limits of tokens count them."""


class _Rules(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, from_attributes=True
    )


class SpendingLimit(_Rules):
    """The most that calls of models may cost, in the currency of the prices. Null: no limit."""

    per_day: Money | None = Field(default=None, description="In a day of UTC.", examples=[25.0])
    per_month: Money | None = Field(default=None, description="In a month of UTC.", examples=[400.0])

    def __bool__(self) -> bool:
        return self.per_day is not None or self.per_month is not None

    def within(self, deployment: SpendingLimit) -> SpendingLimit:
        """Return the lower of both."""
        return SpendingLimit(
            per_day=choose_lower(self.per_day, deployment.per_day),
            per_month=choose_lower(self.per_month, deployment.per_month),
        )


class SpendingRules(_Rules):
    """The rules for what models may cost. What is null is not limited, or as deployed."""

    enabled: bool = Field(default=True, strict=True, description="False: no model is asked for the tenant.")
    stopped_agents: tuple[AgentId, ...] = Field(
        default=(), max_length=MAX_AGENTS, description="Agents for which no model is asked.", examples=[["research"]]
    )
    tenant: SpendingLimit = Field(default=SpendingLimit(), description="Of all calls together.")
    user: SpendingLimit = Field(default=SpendingLimit(), description="Of the calls for one user.")
    agents: Mapping[str, SpendingLimit] = Field(
        default={}, max_length=MAX_AGENTS, description="Of the calls of one agent, by its id; `*`: of each other agent."
    )
    at_limit: AtLimit | None = Field(
        default=None, description="`stop` or `ask`; null: as deployed, which is `stop` by default.", examples=["stop"]
    )
    unknown_prices: UnknownPrices | None = Field(
        default=None,
        description="`refuse` or `tokens` for models without a price; null: as deployed, `refuse` by default.",
        examples=["refuse"],
    )
    output_tokens: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="Output tokens of a call whose agent names no maximum; null: as deployed, 8,192 by default.",
        examples=[8_192],
    )

    @field_validator("agents")
    @classmethod
    def _check_names(cls, agents: Mapping[str, SpendingLimit]) -> Mapping[str, SpendingLimit]:
        """Raise ``ValueError`` for a name that no agent can have."""
        for name in agents:
            if _AGENT.fullmatch(name) is None:
                raise ValueError(f"{name[:50]!r} is neither the id of an agent nor *")
        return agents

    def __bool__(self) -> bool:
        """Return whether any rule must be checked before a call."""
        return not self.enabled or bool(self.stopped_agents) or self.has_limits

    @property
    def has_limits(self) -> bool:
        """True if any limit in money is set."""
        return bool(self.tenant) or bool(self.user) or any(self.agents.values())

    @property
    def may_ask(self) -> bool:
        """True if a user may continue beyond a limit."""
        return self.at_limit is AtLimit.ASK

    @property
    def refuses_unknown_prices(self) -> bool:
        """True unless calls of models without a price are free of charge."""
        return self.unknown_prices is not UnknownPrices.TOKENS

    @property
    def most_output_tokens(self) -> int:
        """The most output tokens of a call whose agent sets no maximum."""
        return self.output_tokens or OUTPUT_TOKENS

    def of_agent(self, agent_id: str) -> SpendingLimit:
        """Return the limit of an agent: its own, or else that of ``ALL_AGENTS``."""
        return self.agents.get(agent_id, self.agents.get(ALL_AGENTS, SpendingLimit()))

    def stops(self, agent_id: str) -> bool:
        """Return whether no model may be asked for an agent."""
        return not self.enabled or agent_id in self.stopped_agents

    def within(self, deployment: SpendingRules) -> SpendingRules:
        """Return the rules that apply in a deployment: the stricter of each."""
        names = {*self.agents, *deployment.agents}
        # ``model_copy`` does not validate, because both lists together may exceed ``MAX_AGENTS``.
        return deployment.model_copy(
            update={
                "enabled": self.enabled and deployment.enabled,
                "stopped_agents": tuple(sorted({*self.stopped_agents, *deployment.stopped_agents})),
                "tenant": self.tenant.within(deployment.tenant),
                "user": self.user.within(deployment.user),
                "agents": {name: self.of_agent(name).within(deployment.of_agent(name)) for name in sorted(names)},
                "at_limit": _choose_strictest(AtLimit, (self.at_limit, deployment.at_limit)),
                "unknown_prices": _choose_strictest(UnknownPrices, (self.unknown_prices, deployment.unknown_prices)),
                "output_tokens": choose_lower(self.output_tokens, deployment.output_tokens),
            }
        )


def _choose_strictest(kind: type[StrEnum], choices: Iterable[StrEnum | None]) -> StrEnum | None:
    """Return the choice that comes first in its enumeration; None if nothing was chosen."""
    chosen = set(choices)
    return next((member for member in kind if member in chosen), None)
