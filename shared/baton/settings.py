"""What a function is configured with: one frozen model a function family, read lazily, failing at once and by name.

The variables themselves are set by ``template.yaml``, and by the local cloud from the same template.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, Json, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from baton.adapters.egress.policy import HOST_ENTRY, EgressPolicy
from baton.adapters.tokens import OidcIssuer

Name = Annotated[str, Field(min_length=1)]
Url = Annotated[str, Field(pattern=r"^https?://")]


class _Settings(BaseSettings):
    # Lambda shows every variable to every function: what a family does not use it does not read.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)


class IdentitySettings(_Settings):
    """Whose tokens are trusted."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    token_issuers: Annotated[Json[tuple[OidcIssuer, ...]], NoDecode] = Field(
        default=(), validate_default=False, validation_alias="BATON_TOKEN_ISSUERS"
    )
    embed_keys_secret: str | None = Field(default=None, validation_alias="BATON_EMBED_KEYS_SECRET")

    @property
    def is_local(self) -> bool:
        """Whether this is the local cloud: only there may a key speak for any tenant, and keys come over http."""
        return self.stage == "local"


class StoreSettings(_Settings):
    """Where conversations are kept."""

    table: Name = Field(validation_alias="BATON_TABLE")
    bucket: Name = Field(validation_alias="BATON_BUCKET")


class AgentSettings(_Settings):
    """Which agents there are."""

    agents_dir: Path = Field(validation_alias="BATON_AGENTS_DIR")
    default_agent: str | None = Field(default=None, validation_alias="BATON_DEFAULT_AGENT")
    """The main agent of conversations that name none; needed only when several files say ``main: true``."""


class OutsideSettings(_Settings):
    """What agents may reach and load outside Baton: hosts of tools and remote agents, packages with functions."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    allowed_hosts: str = Field(
        default="", validation_alias="BATON_ALLOWED_HOSTS", pattern=rf"^\s*({HOST_ENTRY})?(\s*,\s*({HOST_ENTRY}))*\s*$"
    )
    """Comma-separated hosts, ``*.example.com`` for a domain's subdomains, ``*`` for every public host."""
    tool_packages: str = Field(
        default="",
        validation_alias="BATON_TOOL_PACKAGES",
        pattern=r"^\s*([a-zA-Z_][\w.]*)?(\s*,\s*[a-zA-Z_][\w.]*)*\s*$",
    )
    """Comma-separated Python packages from which ``python`` tools may come."""

    @property
    def egress(self) -> EgressPolicy:
        return EgressPolicy.of(self.allowed_hosts.split(","), allow_local=self.stage == "local")

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.tool_packages.split(",") if name.strip())


class SocketSettings(_Settings):
    """How WebSocket clients are reached."""

    connections_url: Url = Field(validation_alias="BATON_CONNECTIONS_URL")


class QueueSettings(_Settings):
    """Where messages wait for their turn."""

    turns_queue_url: Url = Field(validation_alias="BATON_TURNS_QUEUE_URL")


class ClosingSettings(_Settings):
    """What makes an episode of an ended session."""

    close_session_arn: Name = Field(validation_alias="BATON_CLOSE_SESSION_ARN")


class ModelSettings(_Settings):
    """The model endpoint. The key is read from a secret unless it is given (as the local cloud does)."""

    base_url: Url = Field(validation_alias="OPENAI_BASE_URL")
    key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    key_secret: str | None = Field(default=None, validation_alias="BATON_MODEL_KEY_SECRET")
    chat_model: Name = Field(validation_alias="BATON_CHAT_MODEL")
    light_model: Name | None = Field(default=None, validation_alias="BATON_LIGHT_MODEL")
    """For what must be quick rather than clever, such as summing up at a handoff; absent: the chat model."""
    tokenizer_dir: Path = Field(validation_alias="TIKTOKEN_CACHE_DIR")


class ApiSettings(_Settings):
    """The HTTP API's own."""

    allowed_origins: Annotated[str, Field(validation_alias="BATON_ALLOWED_ORIGINS")] = "*"
    """Comma-separated origins of web pages that may call the API."""

    @property
    def origins(self) -> list[str]:
        return [origin.strip() for origin in self.allowed_origins.split(",") if origin.strip()]
