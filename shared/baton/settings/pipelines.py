"""Settings of the state machines."""

from __future__ import annotations

from pydantic import AwareDatetime, Field

from baton.domain.pipelines import PipelineLimits
from baton.domain.thread import ZOMBIE_SECONDS
from baton.settings.base import Name, Settings


class PipelineSettings(Settings):
    """The engine of the state machines."""

    since: AwareDatetime | None = Field(default=None, validation_alias="BATON_PIPELINES_SINCE")
    """When it began. Only the local cloud sets it, whose executions end with its process."""
    at_once: int = Field(default=20, ge=1, le=1000, validation_alias="BATON_PIPELINES_AT_ONCE")
    """The most runs of each pipeline at the same time."""
    of_tenant: int = Field(default=15, ge=1, le=1000, validation_alias="BATON_PIPELINES_OF_TENANT")
    """The most of one tenant."""

    @property
    def limits(self) -> PipelineLimits:
        """The limits, for the admission of runs."""
        return PipelineLimits(self.at_once, self.of_tenant)


class ClosingSettings(Settings):
    """The state machine that closes sessions."""

    close_session_arn: Name = Field(validation_alias="BATON_CLOSE_SESSION_ARN")


class CaptureSettings(Settings):
    """The state machine that captures procedures."""

    capture_procedure_arn: Name = Field(validation_alias="BATON_CAPTURE_PROCEDURE_ARN")


class IngestionSettings(Settings):
    """The state machine that ingests documents."""

    ingest_document_arn: Name = Field(validation_alias="BATON_INGEST_DOCUMENT_ARN")


class ForgettingSettings(Settings):
    """The state machine that forgets users and threads."""

    forget_user_arn: Name = Field(validation_alias="BATON_FORGET_USER_ARN")


class ForgettingWaitSettings(Settings):
    """How long forgetting waits before its second sweep."""

    wait_seconds: int = Field(default=ZOMBIE_SECONDS, ge=0, le=86_400, validation_alias="BATON_FORGET_WAIT_SECONDS")
    """Seconds. No worker may live longer, so only the local cloud, where none does, may set less than the default."""
