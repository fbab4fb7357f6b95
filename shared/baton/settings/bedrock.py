"""Settings of Amazon Bedrock."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from baton.domain.model_providers import BedrockRegion, GuardrailName
from baton.settings.base import Name, Settings, Url


class BedrockSettings(Settings):
    """Region and credentials of models on Amazon Bedrock: the function's, or a profile's."""

    region: BedrockRegion | None = Field(default=None, validation_alias="BATON_BEDROCK_REGION")
    """The region of providers that name none. The function's own if absent."""
    endpoint: Url | None = Field(default=None, validation_alias="BATON_BEDROCK_ENDPOINT")
    """The address that is asked instead of the region's, for providers that name none."""
    guardrail: GuardrailName | None = Field(default=None, validation_alias="BATON_BEDROCK_GUARDRAIL")
    """The guardrail that judges all questions and answers, as ``<id or ARN>:<version>``."""
    profile: Name | None = Field(default=None, validation_alias="BATON_BEDROCK_PROFILE")
    """The profile of the developer's own AWS configuration, for the local cloud."""
    config_file: Path = Field(default=Path("~/.aws/config"), validation_alias="BATON_BEDROCK_CONFIG_FILE")
    """The path of that profile's file."""
    credentials_file: Path = Field(
        default=Path("~/.aws/credentials"), validation_alias="BATON_BEDROCK_CREDENTIALS_FILE"
    )
    """The path of its keys, if they are kept in a file."""
