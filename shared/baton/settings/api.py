"""Settings of the HTTP API."""

from __future__ import annotations

from pydantic import Field, model_validator

from baton.settings.base import Name, Settings, Url
from baton.settings.lists import Origins


class ApiSettings(Settings):
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
