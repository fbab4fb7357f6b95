"""Settings of conversations: leases, titles, memory and personal data."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from baton.domain.memory.inspection import InspectionPolicy, InspectorMode
from baton.domain.threads.thread import DEFAULT_LEASE_SECONDS, LeaseTimes
from baton.domain.threads.thread_title import TitleSource
from baton.settings.base import Regions, Settings


class LeaseSettings(Settings):
    """The time for which workers keep leases that they do not release."""

    lease_seconds: int = Field(default=DEFAULT_LEASE_SECONDS, ge=6, le=300, validation_alias="BATON_LEASE_SECONDS")

    @property
    def times(self) -> LeaseTimes:
        """All times of leases, made of the one that is set."""
        return LeaseTimes.of(self.lease_seconds)


class TitleSettings(Settings):
    """Titles of threads that users have not named."""

    source: TitleSource = Field(default=TitleSource.MODEL, validation_alias="BATON_THREAD_TITLES")
    """``model``: by the light model. ``beginning``: the beginning of the first message. ``none``: no titles."""


class RecallSettings(Settings):
    """Retrieval before an answer."""

    deadline_ms: int = Field(default=800, ge=50, le=10_000, validation_alias="BATON_RECALL_DEADLINE_MS")
    """Milliseconds that a turn waits for retrieval. It continues without searches that take longer."""

    @property
    def deadline(self) -> timedelta:
        """The time that a turn waits for retrieval."""
        return timedelta(milliseconds=self.deadline_ms)


class InspectorSettings(Settings):
    """The Context Inspector."""

    mode: InspectorMode = Field(default=InspectorMode.ALL, validation_alias="BATON_INSPECTOR")
    """The recorded turns: ``all``, a ``sample``, or none (``off``)."""
    rate: float = Field(default=0.1, ge=0, le=1, validation_alias="BATON_INSPECTOR_RATE")
    """The share of turns in a sample, from 0 to 1."""
    redacts: bool = Field(default=False, validation_alias="BATON_INSPECTOR_REDACT")
    """True if personal data is removed from the records."""

    @property
    def policy(self) -> InspectionPolicy:
        """The choice of the runs that are recorded."""
        return InspectionPolicy(self.mode, self.rate, self.redacts)


class EpisodeSettings(Settings):
    """The contents of episodes of ended sessions."""

    facts: bool = Field(default=True, validation_alias="BATON_EPISODE_FACTS")
    """True if the light model writes a summary and key facts of each episode."""


class ProcedureSettings(Settings):
    """The capture of procedures."""

    learning: bool = Field(default=True, validation_alias="BATON_LEARNING")
    """False: no agent's completed tasks become procedures. Captured procedures stay."""


class PrivacySettings(Settings):
    """The recognition of personal data."""

    phone_regions: Regions = Field(default="US,GB,DE,FR,CH", validation_alias="BATON_PHONE_REGIONS")
    """Comma-separated countries whose phone numbers are recognised without their country code."""

    @property
    def regions(self) -> tuple[str, ...]:
        """The countries; empty if none are set."""
        return tuple(self.phone_regions.split(",")) if self.phone_regions else ()
