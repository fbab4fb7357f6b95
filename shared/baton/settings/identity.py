"""Settings of callers' identities, the HTTP API, and the keys that sign cards and encrypt users' tokens."""

from __future__ import annotations

from pydantic import Field, SecretStr, model_validator

from baton.settings.base import Settings, StageSettings, Url


class IdentitySettings(StageSettings):
    """The secret with the keys of host applications, which sign embed tokens."""

    embed_keys_secret: str | None = Field(default=None, validation_alias="BATON_EMBED_KEYS_SECRET")


class CardSettings(Settings):
    """The keys that sign agent cards. Without keys, cards are not signed."""

    keys: SecretStr | None = Field(default=None, validation_alias="BATON_CARD_KEYS")
    """A JWK set, for the local cloud and other places without Secrets Manager."""
    keys_secret: str | None = Field(default=None, validation_alias="BATON_CARD_KEYS_SECRET")
    """The name of a secret with the JWK set. Its first key signs, the others are published only."""


class DelegationSettings(Settings):
    """The keys that encrypt users' tokens for calls that act for users. Without keys, such calls fail."""

    keys: SecretStr | None = Field(default=None, validation_alias="BATON_DELEGATION_KEYS")
    """Fernet keys, separated by commas, for the local cloud and other places without Secrets Manager."""
    keys_secret: str | None = Field(default=None, validation_alias="BATON_DELEGATION_KEYS_SECRET")
    """The name of a secret with the keys. The first key encrypts, and all keys decrypt."""


class ApiSettings(StageSettings):
    """Settings of the HTTP API."""

    public_url: Url | None = Field(default=None, validation_alias="BATON_PUBLIC_URL")
    """The API's own address, which agent cards name. Default: that of API Gateway's stage or custom domain."""
    open_a2a: bool = Field(default=False, validation_alias="BATON_LOCAL_OPEN_A2A")
    """True if A2A calls without a token act as the user ``a2a`` of the tenant ``demo``. Only in the local cloud."""

    @model_validator(mode="after")
    def _check_open_a2a(self) -> ApiSettings:
        if self.open_a2a and not self.is_local:
            raise ValueError("BATON_LOCAL_OPEN_A2A is for the local cloud: every A2A call needs a token here")
        return self
