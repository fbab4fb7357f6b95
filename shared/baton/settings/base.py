"""What families of settings are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from baton.domain.web_url import WithoutCredentials

Name = Annotated[str, Field(min_length=1)]
Url = Annotated[str, Field(pattern=r"^https?://"), WithoutCredentials]


class Settings(BaseSettings):
    """What all families have in common."""

    # A family reads only the variables it uses.
    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)
