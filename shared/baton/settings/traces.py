"""Settings of traces."""

from __future__ import annotations

from pydantic import Field

from baton.settings.base import Name, Settings, Url


class TraceSettings(Settings):
    """The collector that traces of turns are sent to."""

    endpoint: Url | None = Field(default=None, validation_alias="BATON_TRACES_ENDPOINT")
    """The whole address for OTLP over HTTP, such as ``https://collector.example.com/v1/traces``. Empty: no traces."""
    headers_secret: Name | None = Field(default=None, validation_alias="BATON_TRACES_HEADERS_SECRET")
    """The name of a secret with a JSON object of headers for that address, such as its API key."""
    shows_content: bool = Field(default=False, validation_alias="BATON_TRACES_CONTENT")
    """True if spans have the words of prompts, answers, arguments and results of tools."""


class TracedDeploymentSettings(Settings):
    """The deployment that traces come from."""

    stage: Name = Field(validation_alias="BATON_STAGE")
    stack: Name = Field(default="baton", validation_alias="BATON_STACK")
