"""Limits of a tenant: what the deployment allows, and what the tenant's administrators allow of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

MAX_AGENTS = 50
"""Agents of a tenant. Every worker that serves the tenant keeps them."""
MAX_LIMIT = 10**12

MAX_AT_ONCE = 1_000
"""The highest limit of what is counted in one item by its ids."""

Amount = Annotated[int, Field(ge=0, le=MAX_LIMIT)]
AtOnce = Annotated[int, Field(ge=0, le=MAX_AT_ONCE)]


class DeploymentLimits(BaseModel):
    """The limits of every tenant, as an operator writes them in ``tenantLimits`` of the settings. None: no limit."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True, from_attributes=True
    )

    agents: Annotated[int, Field(ge=0, le=MAX_AGENTS)] = MAX_AGENTS
    """Agents that the tenant has made."""
    documents_per_agent: Amount | None = None
    """Documents of one agent."""
    captures_per_day: Amount | None = None
    """Procedures captured in a day of UTC, of all agents together. Agents' own limits remain."""
    thread_tokens: Amount | None = None
    """Tokens of one conversation, of all its models. A turn that has begun may exceed it."""
    runs_at_once: AtOnce | None = None
    """Runs of the tenant that are in progress at the same time."""
    user_runs_at_once: AtOnce | None = None
    """The same of one user."""
    messages_per_minute: Amount | None = None
    """Messages of the tenant that begin a run, in a minute of the clock."""
    user_messages_per_minute: Amount | None = None
    """The same of one user."""
    tokens_per_day: Amount | None = None
    """Tokens of the tenant's conversations in a day of UTC, of all models. A turn that has begun may exceed it."""
    user_tokens_per_day: Amount | None = None
    """The same of one user."""
    connections: AtOnce | None = None
    """Open WebSocket connections of the tenant."""
    user_connections: AtOnce | None = None
    """The same of one user."""
    follow_streams: AtOnce | None = None
    """Open streams of ``GET /v1/threads/{id}/events`` and of subscriptions to A2A tasks, of the tenant."""
    user_follow_streams: AtOnce | None = None
    """The same of one user."""


@dataclass(frozen=True, slots=True)
class TenantLimits:
    """The limits that a tenant has chosen. None: the deployment's."""

    agents: int | None = None
    documents_per_agent: int | None = None
    captures_per_day: int | None = None
    thread_tokens: int | None = None
    runs_at_once: int | None = None
    user_runs_at_once: int | None = None
    messages_per_minute: int | None = None
    user_messages_per_minute: int | None = None
    tokens_per_day: int | None = None
    user_tokens_per_day: int | None = None
    connections: int | None = None
    user_connections: int | None = None
    follow_streams: int | None = None
    user_follow_streams: int | None = None
    revision: int = 0
    """The number of changes."""
    changed_by: str = ""
    """The user who changed them last; empty if nobody has."""
    changed_at: datetime | None = None

    def within(self, deployment: DeploymentLimits) -> DeploymentLimits:
        """Return what holds: the lower of each limit, because the deployment's may have been lowered since."""
        return deployment.model_copy(
            update={name: _lower(getattr(self, name), getattr(deployment, name)) for name in LIMITS}
        )

    def excess(self, deployment: DeploymentLimits) -> str | None:
        """Return the name of a limit that is above the deployment's; None if none is."""
        for name in LIMITS:
            own, most = getattr(self, name), getattr(deployment, name)
            if own is not None and most is not None and own > most:
                return name
        return None


LIMITS = tuple(DeploymentLimits.model_fields)


def _lower(own: int | None, most: int | None) -> int | None:
    given = [each for each in (own, most) if each is not None]
    return min(given, default=None)
