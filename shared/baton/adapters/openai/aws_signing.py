"""Sign requests to the OpenAI-compatible APIs of Amazon Bedrock with the role of the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

from openai.providers.bedrock import bedrock


class Session(Protocol):
    """A source of credentials and a region, such as ``boto3.Session``."""

    @property
    def region_name(self) -> str | None:
        """The region of this place; None if it has none."""
        ...

    def get_credentials(self) -> Any:
        """Return the credentials of this place; None if it has none. Blocks."""
        ...


class AwsSigning:
    """The signature of requests to one region, Version 4, with credentials that are renewed as AWS renews them."""

    def __init__(self, make_session: Callable[[], Session], *, region: str | None = None) -> None:
        """Find the credentials. Blocks. Raises ``ValueError`` if neither argument nor session names a region."""
        self._session = make_session()
        found = region or self._session.region_name
        if found is None:
            raise ValueError("There is no region of Amazon Bedrock. Set `region` of the provider, or AWS_REGION")
        self.region = found

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
