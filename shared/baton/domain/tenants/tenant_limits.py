"""The limits of a tenant: those of the deployment, and stricter ones that the tenant's administrators set."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from baton.domain.tenants.self_started_runs import SelfStartedRuns, choose_lower
from baton.domain.tenants.spending_rules import SpendingRules

MAX_AGENTS = 50
"""Agents of a tenant. Every worker that serves the tenant keeps them in memory."""
MAX_LIMIT = 10**12
"""The highest limit of any kind."""

MAX_AT_ONCE = 1_000
"""The highest limit of runs, connections or streams at once, whose ids are all in one item."""

Amount = Annotated[int, Field(ge=0, le=MAX_LIMIT)]
AtOnce = Annotated[int, Field(ge=0, le=MAX_AT_ONCE)]


class LimitFields(BaseModel):
    """The limits of a tenant. None: no limit, or the deployment's."""

    model_config = ConfigDict(
        frozen=True, strict=True, alias_generator=to_camel, populate_by_name=True, from_attributes=True
    )

    agents: Amount | None = Field(default=None, description="Agents that the tenant has made.", examples=[20])
    documents_per_agent: Amount | None = Field(default=None, description="Documents of one agent.", examples=[500])
    captures_per_day: Amount | None = Field(
        default=None, description="Procedures captured in a day of UTC, of all agents together.", examples=[100]
    )
    """Agents' own limits remain."""
    thread_tokens: Amount | None = Field(
        default=None, description="Tokens of one conversation, of all its models.", examples=[500_000]
    )
    """A turn that has begun may exceed it."""
    runs_at_once: AtOnce | None = Field(default=None, description="Runs in progress at the same time.", examples=[50])
    user_runs_at_once: AtOnce | None = Field(
        default=None, description="Runs of one user in progress at the same time.", examples=[3]
    )
    messages_per_minute: Amount | None = Field(
        default=None, description="Messages in one minute of the clock.", examples=[300]
    )
    """Only those that begin a run count."""
    user_messages_per_minute: Amount | None = Field(
        default=None, description="Messages of one user in one minute of the clock.", examples=[20]
    )
    tokens_per_day: Amount | None = Field(
        default=None, description="Tokens in a day of UTC, of all conversations and models.", examples=[20_000_000]
    )
    """A turn that has begun may exceed it."""
    user_tokens_per_day: Amount | None = Field(
        default=None, description="Tokens of one user in a day of UTC.", examples=[1_000_000]
    )
    connections: AtOnce | None = Field(default=None, description="Open WebSocket connections.", examples=[400])
    user_connections: AtOnce | None = Field(
        default=None, description="Open WebSocket connections of one user.", examples=[10]
    )
    follow_streams: AtOnce | None = Field(
        default=None,
        description="Open streams of `GET /v1/threads/{id}/events` and of subscriptions to A2A tasks.",
        examples=[100],
    )
    user_follow_streams: AtOnce | None = Field(
        default=None, description="Open streams of one user, as for `followStreams`.", examples=[5]
    )

    self_started_runs: SelfStartedRuns | None = Field(
        default=None, description="The rules for runs that schedules, events and tasks begin."
    )
    spending: SpendingRules | None = Field(
        default=None, description="The rules for what models may cost, in the currency of the prices."
    )


RULES = ("self_started_runs", "spending")
"""The limits that are rules of several fields."""
LIMITS = tuple(name for name in LimitFields.model_fields if name not in RULES)
"""The limits that are numbers."""
TALKING_LIMITS = LIMITS[LIMITS.index("thread_tokens") :]
"""The limits that must not be 0, because then nobody could send a message."""


class DeploymentLimits(LimitFields):
    """The limits of every tenant, as an operator writes them in ``tenantLimits`` of the settings. None: no limit."""

    model_config = ConfigDict(extra="forbid")

    agents: Annotated[int, Field(ge=0, le=MAX_AGENTS)] = MAX_AGENTS
    agent_evaluation: Annotated[float, Field(ge=0, le=1, strict=False)] | None = None
    """The share of runs that must have passed in the last evaluation of a version of a tenant's agent.

    Without it, the version gets at most a tenth of the new sessions. None: no evaluation is needed.
    """


class OperatorLimits(DeploymentLimits):
    """The limits of every tenant, unless an operator sets others. Null removes a limit.

    One user alone must not occupy all workers. A service that acts for many users under one id needs higher limits.
    """

    user_runs_at_once: AtOnce | None = 20
    user_messages_per_minute: Amount | None = 300
    user_follow_streams: AtOnce | None = 50
    self_started_runs: SelfStartedRuns | None = SelfStartedRuns(per_conversation_per_day=100, per_user_per_day=500)
    """These limits end endless loops of events that cause each other."""


class TenantLimits(LimitFields):
    """The limits that a tenant has chosen. None: the deployment's."""

    revision: int = 0
    """The number of changes."""
    changed_by: str = ""
    """The user who changed them last; empty if nobody has."""
    changed_at: datetime | None = None

    def within(self, deployment: DeploymentLimits) -> DeploymentLimits:
        """Return the limits that apply: the lower of each, because the deployment's may have been lowered since."""
        lowest = {name: choose_lower(getattr(self, name), getattr(deployment, name)) for name in LIMITS}
        rules = (self.self_started_runs or SelfStartedRuns()).within(deployment.self_started_runs or SelfStartedRuns())
        spending = (self.spending or SpendingRules()).within(deployment.spending or SpendingRules())
        return deployment.model_copy(update={**lowest, "self_started_runs": rules, "spending": spending})

    def find_excess(self, deployment: DeploymentLimits) -> str | None:
        """Return the first name in ``LIMITS`` whose limit is above the deployment's; None if none is."""
        for name in LIMITS:
            own, most = getattr(self, name), getattr(deployment, name)
            if own is not None and most is not None and own > most:
                return name
        return None
