"""Requests to Amazon Bedrock over async HTTP, and the credentials that sign them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Never
from urllib.parse import quote, urlsplit
from weakref import WeakKeyDictionary

import botocore.session
import httpx2 as httpx
from botocore.credentials import Credentials, ReadOnlyCredentials, RefreshableCredentials
from botocore.exceptions import BotoCoreError

from baton.adapters.aws.blocking_calls import start
from baton.adapters.aws.connections import make_certificate_context
from baton.adapters.aws.session import CredentialSource
from baton.adapters.aws.signature import AwsSignature
from baton.adapters.models.bedrock.failures import NoCredentials, is_expired, make_broken_failure, read_response_failure
from baton.adapters.models.failures.failure import FailureKind, ProviderFailure
from baton.concurrency.tasks import off_loop

SERVICE = "bedrock"
"""The service's name in the signature. In the host's name it is ``bedrock-runtime``."""
MAX_ERROR_BYTES = 64 * 1024
"""The maximum number of bytes of an error's body that are read."""
CONNECT_SECONDS = 5.0
_CONNECTIONS = httpx.Limits(max_connections=1000, max_keepalive_connections=100)


def make_profile_session(profile: str, config_file: Path, credentials_file: Path) -> botocore.session.Session:
    """Return the session of a profile of the developer's AWS configuration.

    It ignores the credentials and endpoints in this process's variables, which are those of the local cloud.
    """
    session = botocore.session.Session(profile=profile)
    for name, value in (
        ("config_file", str(config_file.expanduser())),
        ("credentials_file", str(credentials_file.expanduser())),
        ("ignore_configured_endpoint_urls", True),
    ):
        session.set_config_variable(name, value)
    return session


class NoSession:
    """The session of the local cloud as long as no developer names a profile. Its own credentials are invented."""

    def get_credentials(self) -> Never:
        """Raise ``NoCredentials``."""
        raise NoCredentials(
            "The local cloud has no credentials for Amazon Bedrock. Set BATON_BEDROCK_PROFILE to a profile of your AWS "
            "configuration"
        )


def make_model_url(endpoint: str, model: str, action: str) -> str:
    """Return the URL for an action of the model with this id or ARN, percent-encoded as boto3 sends it."""
    return f"{endpoint.rstrip('/')}/model/{quote(model, safe='')}/{action}"


class Signer:
    """A signer of requests to an endpoint. ``make_session`` is called for the first request, and after ``forget``."""

    def __init__(self, region: str, endpoint: str, make_session: Callable[[], CredentialSource]) -> None:
        self._signature = AwsSignature(region, SERVICE, endpoint)
        self._make_session = make_session
        self._credentials: Credentials | None = None
        self._lock = threading.Lock()

    async def sign(self, url: str, headers: dict[str, str], body: bytes) -> dict[str, str]:
        """Return ``headers`` and the headers that sign a POST of ``body``. Raises ``NoCredentials``.

        ``url`` is exactly the requested URL. The signature encodes its path a second time.
        """
        credentials = await self._get_credentials()
        return await off_loop(len(body), self._signature.sign, "POST", urlsplit(url).path, headers, body, credentials)

    def forget(self) -> None:
        """Forget the credentials, because AWS says that they have expired."""
        self._credentials = None

    async def _get_credentials(self) -> ReadOnlyCredentials:
        """Return the credentials; find or renew them in a thread if necessary. Raises ``NoCredentials``."""
        credentials = self._credentials
        try:
            if credentials is None or (
                isinstance(credentials, RefreshableCredentials) and credentials.refresh_needed()
            ):
                return await start(self._find_credentials)
            return credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise NoCredentials(str(error)) from None

    def _find_credentials(self) -> ReadOnlyCredentials:
        """Return the credentials, and find or renew them if necessary. Blocks. Raises ``NoCredentials``."""
        with self._lock:
            if self._credentials is None:
                self._credentials = self._make_session().get_credentials()
            if self._credentials is None:
                raise NoCredentials("There are no AWS credentials.")
            return self._credentials.get_frozen_credentials()


class BedrockConnection:
    """A connection to the models of one region. Its HTTP client is created with an event loop's first request.

    ``make_session`` finds the AWS credentials. ``endpoint`` replaces the address of the region, and ``transport``
    carries the requests in place of the network.
    """

    def __init__(
        self,
        region: str,
        make_session: Callable[[], CredentialSource],
        *,
        endpoint: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.endpoint = endpoint or f"https://bedrock-runtime.{region}.amazonaws.com"
        self._signer = Signer(region, self.endpoint, make_session)
        self._transport = transport
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()

    async def post(self, model: str, action: str, body: bytes, accept: str) -> httpx.Response:
        """Return the answer of ``action``, such as ``converse-stream``. Its body is not read: read and close it.

        Only connecting has a timeout. Raises ``ProviderFailure`` for everything but an answer with status 200. If the
        credentials have expired, they are read again and the request is repeated once.
        """
        try:
            return await self._post(model, action, body, accept)
        except ProviderFailure as failure:
            if not is_expired(failure):
                raise
        self._signer.forget()
        return await self._post(model, action, body, accept)

    async def aclose(self) -> None:
        """Close this event loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _post(self, model: str, action: str, body: bytes, accept: str) -> httpx.Response:
        url = make_model_url(self.endpoint, model, action)
        # A compressed answer may be a thousand times larger than its counted bytes.
        plain = {"Accept": accept, "Accept-Encoding": "identity", "Content-Type": "application/json"}
        try:
            headers = await self._signer.sign(url, plain, body)
            client = self._get_client()
            request = client.build_request("POST", url, headers=headers, content=body)
            response = await client.send(request, stream=True)
        except (httpx.HTTPError, NoCredentials) as error:
            raise make_broken_failure(error) from None
        if response.status_code == 200 and response.headers.get("content-encoding", "identity").lower() == "identity":
            return response
        try:
            if response.status_code == 200:
                raise ProviderFailure("DecodingError", FailureKind.PROTOCOL, text="The answer is compressed.")
            raise read_response_failure(response.status_code, response.headers, await _read_beginning(response))
        finally:
            await response.aclose()

    def _get_client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = httpx.AsyncClient(
                timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
                limits=_CONNECTIONS,
                follow_redirects=False,
                transport=self._transport,
                verify=make_certificate_context(),
            )
        return client


async def _read_beginning(response: httpx.Response) -> bytes:
    """Return the first ``MAX_ERROR_BYTES`` of a body, or fewer if the connection breaks."""
    read = bytearray()
    try:
        async for piece in response.aiter_raw():
            read += piece
            if len(read) >= MAX_ERROR_BYTES:
                break
    except httpx.HTTPError:
        pass  # the status says enough
    return bytes(read[:MAX_ERROR_BYTES])
