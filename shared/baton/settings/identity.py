"""Settings of who callers are, and of the keys that sign cards and seal users' tokens."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Json, SecretStr
from pydantic_settings import NoDecode

from baton.domain.token_issuer import OidcIssuer
from baton.settings.base import Name, Settings


class IdentitySettings(Settings):
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


class CardSettings(Settings):
    """The keys that sign agent cards. Without any, cards are not signed."""

    keys: SecretStr | None = Field(default=None, validation_alias="BATON_CARD_KEYS")
    """A JWK set, for the local cloud and other places without Secrets Manager."""
    keys_secret: str | None = Field(default=None, validation_alias="BATON_CARD_KEYS_SECRET")
    """The name of a secret with the JWK set. Its first key signs, the others are published only."""


class DelegationSettings(Settings):
    """The keys that seal users' tokens for calls that act for them. Without any, such calls fail."""

    keys: SecretStr | None = Field(default=None, validation_alias="BATON_DELEGATION_KEYS")
    """Fernet keys, parted by commas, for the local cloud and other places without Secrets Manager."""
    keys_secret: str | None = Field(default=None, validation_alias="BATON_DELEGATION_KEYS_SECRET")
    """The name of a secret with the keys. The first seals, all of them open."""
