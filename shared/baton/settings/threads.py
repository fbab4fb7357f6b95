"""Settings of threads: leases, titles and limits."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Json
from pydantic_settings import NoDecode

from baton.domain.tenant_limits import DeploymentLimits
from baton.domain.thread import DEFAULT_LEASE_SECONDS, LeaseTimes
from baton.domain.thread_title import TitleSource
from baton.settings.base import Settings


class LeaseSettings(Settings):
    """How long workers keep what they do not finish."""

    lease_seconds: int = Field(default=DEFAULT_LEASE_SECONDS, ge=6, le=300, validation_alias="BATON_LEASE_SECONDS")

    @property
    def times(self) -> LeaseTimes:
        return LeaseTimes.of(self.lease_seconds)


class TitleSettings(Settings):
    """Titles of threads that users have not named."""

    source: TitleSource = Field(default=TitleSource.MODEL, validation_alias="BATON_THREAD_TITLES")
    """``model``: the light model writes them. ``beginning``: they are the beginning of the first message."""


class LimitSettings(Settings):
    """What a tenant may have."""

    tenants: Annotated[Json[DeploymentLimits], NoDecode] = Field(
        default_factory=DeploymentLimits, validate_default=False, validation_alias="BATON_TENANT_LIMITS"
    )
    """JSON: ``{"agents"?, "documentsPerAgent"?, "capturesPerDay"?, "threadTokens"?}``. Tenants may choose less."""
