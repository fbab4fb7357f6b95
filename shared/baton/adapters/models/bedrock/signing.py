"""Sign requests to Amazon Bedrock with the credentials that AWS gives the function (Signature Version 4)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from urllib.parse import quote, urlsplit

from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials
from botocore.exceptions import BotoCoreError

from baton.adapters.aws.blocking_calls import start
from baton.adapters.aws.session import CredentialSource
from baton.adapters.aws.signature import AwsSignature
from baton.concurrency.tasks import off_loop

SERVICE = "bedrock"
"""The name in the signature. The host's is ``bedrock-runtime``."""


class NoCredentials(ValueError):
    """There are no credentials, or they cannot be renewed. The message says why."""


def model_url(endpoint: str, model: str, action: str) -> str:
    """Return the URL for a model's id or ARN. Its ``:`` and ``/`` are percent-encoded, as boto3 sends them."""
    return f"{endpoint.rstrip('/')}/model/{quote(model, safe='')}/{action}"


class Signer:
    """A signer of requests to an endpoint. ``make_session`` is called with the first one, and after ``forget``."""

    def __init__(self, region: str, endpoint: str, make_session: Callable[[], CredentialSource]) -> None:
        self._signature = AwsSignature(region, SERVICE, endpoint)
        self._make_session = make_session
        self._credentials: Credentials | None = None
        self._lock = threading.Lock()

    async def headers(self, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
        """Return ``headers`` with those that sign a POST of ``body``. Raises ``NoCredentials``.

        ``url`` is exactly the one that is requested: the signature encodes its path a second time.
        """
        frozen = await self._frozen()
        return await off_loop(len(body), self._signature.sign, "POST", urlsplit(url).path, headers, body, frozen)

    def forget(self) -> None:
        """Forget the credentials, because AWS says that they have expired."""
        self._credentials = None

    async def _frozen(self) -> ReadOnlyCredentials:
        credentials = self._credentials
        try:
            if credentials is None or (
                isinstance(credentials, RefreshableCredentials) and credentials.refresh_needed()
            ):
                return await start(self._find)
            return credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise NoCredentials(str(error)) from None

    def _find(self) -> ReadOnlyCredentials:
        """Return credentials, found or renewed. Blocks."""
        with self._lock:
            if self._credentials is None:
                self._credentials = self._make_session().get_credentials()
            if self._credentials is None:
                raise NoCredentials("There are no AWS credentials.")
            return self._credentials.get_frozen_credentials()
