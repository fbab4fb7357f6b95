"""Settings of models: where they are, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, Json, SecretStr
from pydantic_settings import NoDecode

from baton.domain.prices import Price, Prices
from baton.settings.base import Name, Settings, Url


class ModelSettings(Settings):
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


class EmbeddingSettings(Settings):
    """The embedding model. Its key is the model's."""

    model: Name | None = Field(default=None, validation_alias="BATON_EMBEDDING_MODEL")
    """If absent, texts are searched by their words only."""
    dimensions: int = Field(default=1536, ge=1, le=4096, validation_alias="BATON_EMBEDDING_DIMENSIONS")
    """The length of its vectors."""
    base_url: Url | None = Field(default=None, validation_alias="BATON_EMBEDDING_BASE_URL")
    """Its endpoint. The model's if absent."""


class PriceSettings(Settings):
    """What models cost."""

    models: Annotated[Json[dict[Name, Price]], NoDecode] = Field(
        default_factory=dict, validate_default=False, validation_alias="BATON_MODEL_PRICES"
    )
    """JSON: a model's name to its prices for a million tokens, ``{"input", "cachedInput"?, "output"}``."""

    @property
    def prices(self) -> Prices:
        return Prices(self.models)
