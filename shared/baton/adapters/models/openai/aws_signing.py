"""Sign requests to the OpenAI-compatible APIs of Amazon Bedrock with the role of the function."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from openai.providers.bedrock import bedrock

from baton.adapters.aws.session import CredentialSource


class AwsSigning:
    """The signature of requests to one region, Version 4, with credentials that are renewed as AWS renews them."""

    def __init__(self, session: CredentialSource, region: str) -> None:
        self._session = session
        self.region = region

    @property
    def address(self) -> str:
        """The address of the region's endpoint that serves most models."""
        return f"https://bedrock-runtime.{self.region}.amazonaws.com/openai/v1"

    def provider(self, base_url: str) -> Any:
        """Return what the SDK signs with: its provider for this address."""
        is_mantle = (urlsplit(base_url).hostname or "").startswith("bedrock-mantle.")
        return bedrock(
            endpoint="mantle" if is_mantle else "runtime",
            region=self.region,
            base_url=base_url,
            credential_provider=self._session.get_credentials,
        )
