"""Settings of a deployment's resources: table, bucket, queues, search, state machines, agents and their hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, Field

from baton.domain.documents.pipelines import PipelineLimits
from baton.domain.threads.thread import ZOMBIE_SECONDS
from baton.settings.base import Name, Packages, Prefixes, Settings, StageSettings, Url


class PipelineSettings(Settings):
    """The engine of the state machines."""

    since: AwareDatetime | None = Field(default=None, validation_alias="BATON_PIPELINES_SINCE")
    """The time of the engine's start. Only the local cloud sets it, because its executions end with its process."""
    at_once: int = Field(default=20, ge=1, le=1000, validation_alias="BATON_PIPELINES_AT_ONCE")
    """The largest number of runs of each pipeline at the same time."""
    of_tenant: int = Field(default=15, ge=1, le=1000, validation_alias="BATON_PIPELINES_OF_TENANT")
    """The largest number of runs of one tenant among them."""

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
    """The time for which forgetting waits before its second sweep."""

    wait_seconds: int = Field(default=ZOMBIE_SECONDS, ge=0, le=86_400, validation_alias="BATON_FORGET_WAIT_SECONDS")
    """The wait in seconds. No worker may live longer, so only the local cloud may set less than the default."""


class PushQueueSettings(Settings):
    """The queue of push notifications."""

    push_queue_url: Url = Field(validation_alias="BATON_PUSH_QUEUE_URL")


class PushKeySettings(StageSettings):
    """The secret from which the keys of push notifications are derived."""

    stack: Name = Field(default="baton", validation_alias="BATON_STACK")
    own_secret: Name | None = Field(default=None, validation_alias="BATON_PUSH_KEY_SECRET")

    @property
    def secret(self) -> str:
        """The secret's name: the given one, or else the stack's, because a function's variables have at most 4 KB."""
        return self.own_secret or f"{self.stack}/push-key"


class PushIssuerSettings(Settings):
    """The issuer that push notifications name."""

    issuer: Url = Field(validation_alias="BATON_PUSH_ISSUER")
    """The address of the API, whose keys are at ``/.well-known/jwks.json``."""


class AgentSettings(Settings):
    """The agents' files and the default agent."""

    agents_dir: Path = Field(validation_alias="BATON_AGENTS_DIR")
    default_agent: str | None = Field(default=None, validation_alias="BATON_DEFAULT_AGENT")
    """The main agent of conversations that name none. Required only if several files have ``main: true``."""


class OutsideSettings(StageSettings):
    """The packages from which Python tools may come, and the stage whose secrets tools may use."""

    tool_packages: Packages = Field(default="", validation_alias="BATON_TOOL_PACKAGES")
    """Comma-separated Python packages from which ``python`` tools may come."""

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages; empty if none are set."""
        return tuple(self.tool_packages.split(",")) if self.tool_packages else ()


class SourceSettings(Settings):
    """The places in S3 that sources of documents may read."""

    source_prefixes: Prefixes = Field(default="", validation_alias="BATON_SOURCE_PREFIXES")
    """Comma-separated ``bucket/path/{tenant}/``. A tenant reads below those with its own id. Empty: none."""

    @property
    def allowed_prefixes(self) -> tuple[str, ...]:
        """The prefixes; empty if none are set."""
        return tuple(self.source_prefixes.split(",")) if self.source_prefixes else ()


SearchUrl = Annotated[str, Field(pattern=r"^(https?://.+)?$")]


class DocumentSettings(Settings):
    """The bucket of the settings document, and the time for which a copy of it is used."""

    stage: str = Field(default="", validation_alias="BATON_STAGE")
    bucket: Name | None = Field(default=None, validation_alias="BATON_BUCKET")
    """The bucket. Without a bucket, only the variables of ``settings.document`` count."""
    seconds: float = Field(default=300, gt=0, le=3_600, validation_alias="BATON_SETTINGS_SECONDS")
    """Seconds for which a copy is used without a read. Only the local cloud sets this variable."""

    @property
    def is_local(self) -> bool:
        """True in the local cloud, where this machine may be called."""
        return self.stage == "local"


class StoreSettings(Settings):
    """The table and the bucket."""

    table: Name = Field(validation_alias="BATON_TABLE")
    bucket: Name = Field(validation_alias="BATON_BUCKET")


class SearchSettings(Settings):
    """The search engines: OpenSearch if it has an address, and the embedded index if it has a bucket.

    With both, owners of documents move from the embedded index to OpenSearch. Without both, search is off.
    """

    url: SearchUrl = Field(default="", validation_alias="BATON_SEARCH_URL")
    """The address of an OpenSearch; empty: none."""
    bucket: Name | None = Field(default=None, validation_alias="BATON_SEARCH_BUCKET")
    """The bucket of the embedded index, whose objects have no versions."""
    stack: Name = Field(default="baton", validation_alias="BATON_STACK")
    own_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$", max_length=128)] | None = Field(
        default=None, validation_alias="BATON_SEARCH_PREFIX"
    )
    shards: int = Field(default=1, ge=1, le=64, validation_alias="BATON_SEARCH_SHARDS")
    """Shards of a new index. A tenant's documents are in one of them."""
    replicas: int = Field(default=0, ge=0, le=4, validation_alias="BATON_SEARCH_REPLICAS")
    """Copies of each shard of a new index, each on another node."""

    @property
    def prefix(self) -> str:
        """The prefix of the names of indices in OpenSearch: by default the stack, so that stacks can share a domain.

        The template does not repeat the stack's name, because variables of a function have at most 4 KB.
        """
        return self.own_prefix or self.stack


class QueueSettings(Settings):
    """The queue of turns."""

    turns_queue_url: Url = Field(validation_alias="BATON_TURNS_QUEUE_URL")


class DueQueueSettings(QueueSettings):
    """The queue of items that are due within minutes."""

    stack: Name = Field(default="baton", validation_alias="BATON_STACK")

    @property
    def due_queue_url(self) -> str:
        """The queue's address, made of the stack's name, because variables have no room for another address."""
        account, _, _ = self.turns_queue_url.rpartition("/")
        return f"{account}/{self.stack}-due"


class SocketSettings(Settings):
    """The endpoint for posts to WebSocket connections."""

    connections_url: Url = Field(validation_alias="BATON_CONNECTIONS_URL")


class AnnouncementSettings(Settings):
    """The destination of events for other systems."""

    event_bus: Name = Field(default="default", validation_alias="BATON_EVENT_BUS")
    """The name or ARN of an EventBridge bus."""


class TraceSettings(Settings):
    """The collector to which traces of turns are sent."""

    endpoint: Url | None = Field(default=None, validation_alias="BATON_TRACES_ENDPOINT")
    """The whole address for OTLP over HTTP, such as ``https://collector.example.com/v1/traces``. Empty: no traces."""
    headers_secret: Name | None = Field(default=None, validation_alias="BATON_TRACES_HEADERS_SECRET")
    """The name of a secret with a JSON object of headers for that address, such as its API key."""
    shows_content: bool = Field(default=False, validation_alias="BATON_TRACES_CONTENT")
    """True if spans have the words of prompts, answers, arguments and results of tools."""


class TracedDeploymentSettings(StageSettings):
    """The deployment whose turns are traced."""

    stack: Name = Field(default="baton", validation_alias="BATON_STACK")
