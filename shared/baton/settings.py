"""Settings from environment variables: one frozen model a function family.

Each is read when it is needed. An invalid variable fails at once and is named in the error. ``template.yaml`` sets the
variables, and the local cloud sets them from the same template.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, Json, SecretStr, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from baton.domain.egress_policy import HOST_ENTRY, EgressPolicy
from baton.domain.inspection_policy import InspectionPolicy, InspectorMode
from baton.domain.lease_times import DEFAULT_LEASE_SECONDS, ZOMBIE_SECONDS, LeaseTimes
from baton.domain.prices import Price, Prices
from baton.domain.source_rules import PREFIX_ENTRY
from baton.domain.tenant_limits import DeploymentLimits
from baton.domain.title_source import TitleSource
from baton.domain.token_issuer import OidcIssuer

Name = Annotated[str, Field(min_length=1)]
Url = Annotated[str, Field(pattern=r"^https?://")]
SearchUrl = Annotated[str, Field(pattern=r"^(https?://.+|sqlite:///.+)?$")]

PACKAGE = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*"
ORIGIN = r"\*|https?://[A-Za-z0-9._-]+(:[0-9]{1,5})?|https?://\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?"
"""A browser's ``Origin``: scheme, host, and the port if it is not the scheme's default; no path, no slash."""


def _list_of(entry: str, wanted: str) -> AfterValidator:
    """Return a validator of a comma-separated list of ``entry``. It drops white space around entries.

    An empty or invalid entry is an error. A shell makes ``"a,"`` of ``a, b`` without quotes, and half a list that is
    taken for the whole list would be noticed too late.
    """

    def check(text: str) -> str:
        entries = [each.strip() for each in text.split(",")]
        if entries == [""]:
            return ""
        for each in entries:
            if re.fullmatch(entry, each) is None:
                what = f"{each!r} is none of them" if each else "an entry is empty; is a list with spaces in quotes?"
                raise ValueError(f"must be {wanted}, separated by commas: {what}")
        return ",".join(entries)

    return AfterValidator(check)


Hosts = Annotated[
    str, _list_of(HOST_ENTRY, "hosts (api.example.com, *.example.com for subdomains, * for every public host)")
]
Regions = Annotated[str, _list_of(r"[A-Z]{2}", "ISO codes of countries (DE)")]
Prefixes = Annotated[str, _list_of(PREFIX_ENTRY, "prefixes with the tenant in them (bucket/handbooks/{tenant}/)")]
Packages = Annotated[str, _list_of(PACKAGE, "names of Python packages")]
Origins = Annotated[str, _list_of(ORIGIN, "origins of web pages (https://app.example.com, without a path; * for any)")]


class _Settings(BaseSettings):
    # A family reads only the variables it uses.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)


class IdentitySettings(_Settings):
    """Trusted issuers and keys."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    token_issuers: Annotated[Json[tuple[OidcIssuer, ...]], NoDecode] = Field(
        default=(), validate_default=False, validation_alias="BATON_TOKEN_ISSUERS"
    )
    embed_keys_secret: str | None = Field(default=None, validation_alias="BATON_EMBED_KEYS_SECRET")

    @property
    def is_local(self) -> bool:
        """Whether this is the local cloud. Only there may a key be valid for any tenant and be fetched over http."""
        return self.stage == "local"


class CardSettings(_Settings):
    """The keys that sign agent cards. Without any, cards are not signed."""

    keys: SecretStr | None = Field(default=None, validation_alias="BATON_CARD_KEYS")
    """A JWK set, for the local cloud and other places without Secrets Manager."""
    keys_secret: str | None = Field(default=None, validation_alias="BATON_CARD_KEYS_SECRET")
    """The name of a secret with the JWK set. Its first key signs, the others are published only."""


class DelegationSettings(_Settings):
    """The keys that seal users' tokens for calls that act for them. Without any, such calls fail."""

    keys: SecretStr | None = Field(default=None, validation_alias="BATON_DELEGATION_KEYS")
    """Fernet keys, parted by commas, for the local cloud and other places without Secrets Manager."""
    keys_secret: str | None = Field(default=None, validation_alias="BATON_DELEGATION_KEYS_SECRET")
    """The name of a secret with the keys. The first seals, all of them open."""


class StoreSettings(_Settings):
    """The table and the bucket."""

    table: Name = Field(validation_alias="BATON_TABLE")
    bucket: Name = Field(validation_alias="BATON_BUCKET")


class AgentSettings(_Settings):
    """The agents' files and the default agent."""

    agents_dir: Path = Field(validation_alias="BATON_AGENTS_DIR")
    default_agent: str | None = Field(default=None, validation_alias="BATON_DEFAULT_AGENT")
    """The main agent of conversations that name none. Required only if several files have ``main: true``."""


class OutsideSettings(_Settings):
    """The hosts that tools and remote agents may use, and the packages that Python tools may come from."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    allowed_hosts: Hosts = Field(default="", validation_alias="BATON_ALLOWED_HOSTS")
    """Comma-separated hosts, ``*.example.com`` for a domain's subdomains, ``*`` for every public host."""
    tool_packages: Packages = Field(default="", validation_alias="BATON_TOOL_PACKAGES")
    """Comma-separated Python packages from which ``python`` tools may come."""

    @property
    def egress(self) -> EgressPolicy:
        return EgressPolicy.of(self.allowed_hosts.split(","), allow_local=self.stage == "local")

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(self.tool_packages.split(",")) if self.tool_packages else ()


class SourceSettings(_Settings):
    """The places in S3 that sources of documents may read."""

    source_prefixes: Prefixes = Field(default="", validation_alias="BATON_SOURCE_PREFIXES")
    """Comma-separated ``bucket/path/{tenant}/``: a tenant reads below those with its own id. Empty: none."""

    @property
    def allowed_prefixes(self) -> tuple[str, ...]:
        return tuple(self.source_prefixes.split(",")) if self.source_prefixes else ()


class PushSettings(_Settings):
    """Push notifications of A2A tasks: where they may go."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    hosts: Hosts = Field(default="", validation_alias="BATON_PUSH_HOSTS")
    """Hosts that clients may be notified at, written like ``BATON_ALLOWED_HOSTS``. Empty: nobody is notified."""

    @property
    def egress(self) -> EgressPolicy:
        return EgressPolicy.of(self.hosts.split(","), allow_local=self.stage == "local")


class PushQueueSettings(_Settings):
    """The queue of push notifications."""

    push_queue_url: Url = Field(validation_alias="BATON_PUSH_QUEUE_URL")


class PushKeySettings(_Settings):
    """The key that signs push notifications."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    secret: Name = Field(validation_alias="BATON_PUSH_KEY_SECRET")

    @property
    def is_local(self) -> bool:
        return self.stage == "local"


class PushIssuerSettings(_Settings):
    """Who push notifications say they are from."""

    issuer: Url = Field(validation_alias="BATON_PUSH_ISSUER")
    """The address of the API, below which ``/.well-known/jwks.json`` is."""


class LeaseSettings(_Settings):
    """How long workers keep what they do not finish."""

    lease_seconds: int = Field(default=DEFAULT_LEASE_SECONDS, ge=6, le=300, validation_alias="BATON_LEASE_SECONDS")

    @property
    def times(self) -> LeaseTimes:
        return LeaseTimes.of(self.lease_seconds)


class SocketSettings(_Settings):
    """The endpoint for posts to WebSocket connections."""

    connections_url: Url = Field(validation_alias="BATON_CONNECTIONS_URL")


class QueueSettings(_Settings):
    """The queue of turns."""

    turns_queue_url: Url = Field(validation_alias="BATON_TURNS_QUEUE_URL")


class ClosingSettings(_Settings):
    """The state machine that closes sessions."""

    close_session_arn: Name = Field(validation_alias="BATON_CLOSE_SESSION_ARN")


class CaptureSettings(_Settings):
    """The state machine that captures procedures."""

    capture_procedure_arn: Name = Field(validation_alias="BATON_CAPTURE_PROCEDURE_ARN")


class LearningSettings(_Settings):
    """Whether procedures are captured."""

    learning: bool = Field(default=True, validation_alias="BATON_LEARNING")
    """Off: no agent's completed tasks become procedures. What was captured stays."""


class AnnouncementSettings(_Settings):
    """Where events for other systems go."""

    event_bus: Name = Field(default="default", validation_alias="BATON_EVENT_BUS")
    """The name or ARN of an EventBridge bus."""


class IngestionSettings(_Settings):
    """The state machine that ingests documents."""

    ingest_document_arn: Name = Field(validation_alias="BATON_INGEST_DOCUMENT_ARN")


class ForgettingSettings(_Settings):
    """The state machine that forgets users and threads."""

    forget_user_arn: Name = Field(validation_alias="BATON_FORGET_USER_ARN")


class ForgettingWaitSettings(_Settings):
    """How long forgetting waits before its second sweep."""

    wait_seconds: int = Field(default=ZOMBIE_SECONDS, ge=0, le=86_400, validation_alias="BATON_FORGET_WAIT_SECONDS")
    """Seconds. No worker may live longer, so only the local cloud, where none does, may set less than the default."""


class PipelineSettings(_Settings):
    """The engine of the state machines."""

    since: AwareDatetime | None = Field(default=None, validation_alias="BATON_PIPELINES_SINCE")
    """When it began. Only the local cloud sets it, whose executions end with its process."""


class ModelSettings(_Settings):
    """The model endpoint. The key is read from a secret unless it is given (as the local cloud does)."""

    base_url: Url = Field(validation_alias="OPENAI_BASE_URL")
    key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    key_secret: str | None = Field(default=None, validation_alias="BATON_MODEL_KEY_SECRET")
    chat_model: Name = Field(validation_alias="BATON_CHAT_MODEL")
    light_model: Name | None = Field(default=None, validation_alias="BATON_LIGHT_MODEL")
    """For fast, simple tasks such as the summary of a handoff. The chat model if absent."""
    sends_metadata: bool = Field(default=False, validation_alias="BATON_MODEL_METADATA")
    """Whether each request tells the endpoint which agent asks and where its workflow stands."""
    cache_hints: Literal["auto", "key", "breakpoints", "none"] = Field(
        default="auto", validation_alias="BATON_MODEL_CACHE_HINTS"
    )
    """What requests tell the endpoint's prompt cache. ``auto``: a key where the endpoint is OpenAI's own."""
    tokenizer_dir: Path = Field(validation_alias="TIKTOKEN_CACHE_DIR")


class PriceSettings(_Settings):
    """What models cost."""

    models: Annotated[Json[dict[Name, Price]], NoDecode] = Field(
        default_factory=dict, validate_default=False, validation_alias="BATON_MODEL_PRICES"
    )
    """JSON: a model's name to its prices for a million tokens, ``{"input", "cachedInput"?, "output"}``."""

    @property
    def prices(self) -> Prices:
        return Prices(self.models)


class LimitSettings(_Settings):
    """What a tenant may have."""

    tenants: Annotated[Json[DeploymentLimits], NoDecode] = Field(
        default_factory=DeploymentLimits, validate_default=False, validation_alias="BATON_TENANT_LIMITS"
    )
    """JSON: ``{"agents"?, "documentsPerAgent"?, "capturesPerDay"?, "threadTokens"?}``. Tenants may choose less."""


class EmbeddingSettings(_Settings):
    """The embedding model. Its key is the model's."""

    model: Name | None = Field(default=None, validation_alias="BATON_EMBEDDING_MODEL")
    """If absent, texts are searched by their words only."""
    dimensions: int = Field(default=1536, ge=1, le=4096, validation_alias="BATON_EMBEDDING_DIMENSIONS")
    """The length of its vectors."""
    base_url: Url | None = Field(default=None, validation_alias="BATON_EMBEDDING_BASE_URL")
    """Its endpoint. The model's if absent."""


class SearchSettings(_Settings):
    """The search engine."""

    url: SearchUrl = Field(default="", validation_alias="BATON_SEARCH_URL")
    """An OpenSearch (``https://...``) or a folder of the embedded index (``sqlite:///path``). Empty: search is off."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*$", max_length=128)] = Field(
        default="baton", validation_alias="BATON_SEARCH_PREFIX"
    )
    """The beginning of the names of indices in OpenSearch, so that several deployments can share one."""
    shards: int = Field(default=1, ge=1, le=64, validation_alias="BATON_SEARCH_SHARDS")
    """Shards of a new index. A tenant's documents are in one of them."""
    replicas: int = Field(default=0, ge=0, le=4, validation_alias="BATON_SEARCH_REPLICAS")
    """Copies of each shard of a new index, each on another node."""


class EpisodeSettings(_Settings):
    """What is made of ended sessions."""

    facts: bool = Field(default=True, validation_alias="BATON_EPISODE_FACTS")
    """Whether the light model writes a summary and key facts."""


class TitleSettings(_Settings):
    """Titles of threads that users have not named."""

    source: TitleSource = Field(default=TitleSource.MODEL, validation_alias="BATON_THREAD_TITLES")
    """``model``: the light model writes them. ``beginning``: they are the beginning of the first message."""


class PrivacySettings(_Settings):
    """How personal data is recognised."""

    pii_detector: Literal["local", "comprehend"] = Field(default="local", validation_alias="BATON_PII_DETECTOR")
    """``comprehend``: Amazon Comprehend in addition to the detector in the process."""
    language: Literal["en", "es"] = Field(default="en", validation_alias="BATON_PII_LANGUAGE")
    """The language that Amazon Comprehend reads texts in."""
    phone_regions: Regions = Field(default="US,GB,DE,FR,CH", validation_alias="BATON_PHONE_REGIONS")
    """Comma-separated countries whose phone numbers are known without their country code."""

    @property
    def regions(self) -> tuple[str, ...]:
        return tuple(self.phone_regions.split(",")) if self.phone_regions else ()


class RecallSettings(_Settings):
    """Retrieval before an answer."""

    deadline_ms: int = Field(default=800, ge=50, le=10_000, validation_alias="BATON_RECALL_DEADLINE_MS")
    """Milliseconds that a turn waits for what it recalls. It goes on without the rest."""

    @property
    def deadline(self) -> timedelta:
        return timedelta(milliseconds=self.deadline_ms)


class InspectorSettings(_Settings):
    """The Context Inspector."""

    mode: InspectorMode = Field(default=InspectorMode.ALL, validation_alias="BATON_INSPECTOR")
    """``all`` turns are recorded, a ``sample``, or none (``off``)."""
    rate: float = Field(default=0.1, ge=0, le=1, validation_alias="BATON_INSPECTOR_RATE")
    """The share of turns in a sample."""
    redacts: bool = Field(default=False, validation_alias="BATON_INSPECTOR_REDACT")
    """Whether personal data is removed from what is recorded."""

    @property
    def policy(self) -> InspectionPolicy:
        return InspectionPolicy(self.mode, self.rate, self.redacts)


class MetricSettings(_Settings):
    """The dimensions of metrics."""

    stack: Name = Field(default="baton", validation_alias="BATON_STACK")


class ApiSettings(_Settings):
    """Settings of the HTTP API."""

    allowed_origins: Origins = Field(default="*", validation_alias="BATON_ALLOWED_ORIGINS")
    """Comma-separated origins of web pages that may call the API."""
    public_url: Url | None = Field(default=None, validation_alias="BATON_PUBLIC_URL")
    """The API's own address, which agent cards name. Default: the one of API Gateway's stage or custom domain."""
    stage: Name = Field(validation_alias="BATON_STAGE")
    open_a2a: bool = Field(default=False, validation_alias="BATON_LOCAL_OPEN_A2A")
    """Whether A2A calls without a token act as the user ``a2a`` of the tenant ``demo``. Only in the local cloud."""

    @model_validator(mode="after")
    def _open_to_this_machine_only(self) -> ApiSettings:
        if self.open_a2a and not self.is_local:
            raise ValueError("BATON_LOCAL_OPEN_A2A is for the local cloud: every A2A call needs a token here")
        return self

    @property
    def is_local(self) -> bool:
        """Whether this is the local cloud."""
        return self.stage == "local"

    @property
    def origins(self) -> list[str]:
        return self.allowed_origins.split(",") if self.allowed_origins else []
