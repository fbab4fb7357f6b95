"""The client of a Baton server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

import httpx

from baton_client.asynchronous.resources.agents import AsyncAgents
from baton_client.asynchronous.resources.audit import AsyncAudit
from baton_client.asynchronous.resources.desks import AsyncDesks
from baton_client.asynchronous.resources.documents import AsyncDocuments
from baton_client.asynchronous.resources.episodes import AsyncEpisodes
from baton_client.asynchronous.resources.evaluations import AsyncEvaluations
from baton_client.asynchronous.resources.messages import AsyncMessages
from baton_client.asynchronous.resources.models import AsyncModels
from baton_client.asynchronous.resources.procedures import AsyncProcedures
from baton_client.asynchronous.resources.runs import AsyncRuns
from baton_client.asynchronous.resources.schedules import AsyncSchedules
from baton_client.asynchronous.resources.tenant import AsyncTenant
from baton_client.asynchronous.resources.threads import AsyncThreads
from baton_client.asynchronous.resources.users import AsyncUsers
from baton_client.asynchronous.resources.webhooks import AsyncWebhooks
from baton_client.asynchronous.resources.workflows import AsyncWorkflows
from baton_client.asynchronous.tokens import AsyncTokens, TokenSource
from baton_client.asynchronous.transport import AsyncTransport, Request
from baton_client.models import Health
from baton_client.options import Options, check_retries, check_url, choose_time_zone, make_timeout
from baton_client.version import VERSION

LOCAL = "http://127.0.0.1:8080"
TIMEOUT_SECONDS = 60.0
MAX_RETRIES = 2


class AsyncBaton:
    """A client of one Baton server, which is safe to share. Use it as a context manager, or ``aclose`` it.

    Nothing is sent before the first request.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        token: TokenSource = None,
        timeout: float | httpx.Timeout = TIMEOUT_SECONDS,
        max_retries: int = MAX_RETRIES,
        headers: Mapping[str, str] | None = None,
        resume_seconds: float = 120.0,
        time_zone: str | None = None,
        locale: str | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Connect to ``base_url``, or ``BATON_URL``, or a local server.

        Args:
            base_url: the server's address, without ``/v1``.
            token: a JWT, or a function that returns one and is asked again when it has expired; else ``BATON_TOKEN``.
            timeout: seconds to wait for an answer, or for its next part.
            max_retries: how often a request that is safe to repeat is sent again, after a lost connection, 408, 429, or
                502 to 504.
            headers: headers of every request.
            resume_seconds: for how many seconds a stream tries to resume without a new event.
            time_zone: the IANA name of the user's time zone, which is sent with messages. Default: the zone of this
                machine, if it is known and not UTC. An empty name sends none, for programs whose users are elsewhere.
            locale: the user's language, such as ``de-AT``, which is sent with messages. It counts where the token has
                no claim ``locale``.
            http_client: your own client, for proxies and certificates. You close it.

        Raises ``ConfigurationError`` if an argument cannot be used.
        """
        options = Options(
            base_url=check_url(base_url or os.environ.get("BATON_URL") or LOCAL),
            timeout=make_timeout(timeout),
            max_retries=check_retries(max_retries),
            headers={"User-Agent": f"baton-client-python/{VERSION}", **(headers or {})},
            resume_seconds=resume_seconds,
            time_zone=choose_time_zone(time_zone),
            locale=locale or None,
        )
        self._http = http_client or httpx.AsyncClient()
        self._owns_http = http_client is None
        tokens = AsyncTokens(token if token is not None else os.environ.get("BATON_TOKEN"))
        self._use(AsyncTransport(self._http, tokens, options))

    def _use(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self.agents = AsyncAgents(transport)
        self.audit = AsyncAudit(transport)
        self.desks = AsyncDesks(transport)
        self.documents = AsyncDocuments(transport)
        self.episodes = AsyncEpisodes(transport)
        self.evaluations = AsyncEvaluations(transport)
        self.messages = AsyncMessages(transport)
        self.models = AsyncModels(transport)
        self.procedures = AsyncProcedures(transport)
        self.runs = AsyncRuns(transport)
        self.schedules = AsyncSchedules(transport)
        self.tenant = AsyncTenant(transport)
        self.threads = AsyncThreads(transport)
        self.users = AsyncUsers(transport)
        self.webhooks = AsyncWebhooks(transport)
        self.workflows = AsyncWorkflows(transport)

    @property
    def base_url(self) -> str:
        """The server's address."""
        return self._transport.options.base_url

    def with_options(
        self,
        *,
        token: TokenSource = None,
        timeout: float | httpx.Timeout | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        resume_seconds: float | None = None,
        time_zone: str | None = None,
        locale: str | None = None,
    ) -> AsyncBaton:
        """Return a client with other options, such as another user's token, over the same connections.

        ``headers`` are added to those of this client. Closing the original client closes the connections of all.
        Raises ``ConfigurationError`` if an argument cannot be used.
        """
        current = self._transport.options
        options = replace(
            current,
            timeout=current.timeout if timeout is None else make_timeout(timeout),
            max_retries=current.max_retries if max_retries is None else check_retries(max_retries),
            headers={**current.headers, **(headers or {})},
            resume_seconds=current.resume_seconds if resume_seconds is None else resume_seconds,
            time_zone=current.time_zone if time_zone is None else choose_time_zone(time_zone),
            locale=current.locale if locale is None else locale or None,
        )
        tokens = self._transport.tokens if token is None else AsyncTokens(token)
        other = object.__new__(type(self))
        other._http, other._owns_http = self._http, False
        other._use(AsyncTransport(self._http, tokens, options))
        return other

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        is_repeatable: bool | None = None,
    ) -> httpx.Response:
        """Send any request with the token, retries and typed errors. Return the raw response after reading its body.

        ``is_repeatable`` says whether the request may be sent again. By default, GET, HEAD, PUT and DELETE may.
        """
        repeats = method.upper() in {"GET", "HEAD", "PUT", "DELETE"} if is_repeatable is None else is_repeatable
        request = Request(
            method=method.upper(),
            path=path,
            params=params or {},
            json=json,
            content=content,
            headers=headers or {},
            is_repeatable=repeats,
        )
        async with self._transport.open(request) as response:
            await response.aread()
            return response

    async def health(self) -> Health:
        """Return the server's health. Needs no token."""
        health: Health = await self._transport.read_value(Request(method="GET", path="/health"), Health)
        return health

    async def aclose(self) -> None:
        """Close the connections, unless the caller has passed an ``http_client``."""
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> AsyncBaton:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
