# Generated from ``baton_client.asynchronous`` by ``make client``; do not edit.

"""The client: where the server is, who asks, and how."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any

import httpx

from baton_client.errors import ConfigurationError
from baton_client.models import Health
from baton_client.options import Options, checked_timeout, checked_url, time_zone_of
from baton_client.synchronous.resources.agents import Agents
from baton_client.synchronous.resources.audit import Audit
from baton_client.synchronous.resources.documents import Documents
from baton_client.synchronous.resources.episodes import Episodes
from baton_client.synchronous.resources.evaluations import Evaluations
from baton_client.synchronous.resources.messages import Messages
from baton_client.synchronous.resources.models import Models
from baton_client.synchronous.resources.procedures import Procedures
from baton_client.synchronous.resources.runs import Runs
from baton_client.synchronous.resources.tenant import Tenant
from baton_client.synchronous.resources.threads import Threads
from baton_client.synchronous.resources.users import Users
from baton_client.synchronous.resources.workflows import Workflows
from baton_client.synchronous.tokens import Tokens, TokenSource
from baton_client.synchronous.transport import Request, Transport
from baton_client.version import VERSION

LOCAL = "http://127.0.0.1:8080"
TIMEOUT_SECONDS = 60.0
MAX_RETRIES = 2


class Baton:
    """A client of one Baton server. Use it in an ``with`` block, or ``close`` it. It is safe to share.

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
        http_client: httpx.Client | None = None,
    ) -> None:
        """Connect to ``base_url``, or ``BATON_URL``, or a local server.

        Args:
            base_url: the server's address, without ``/v1``.
            token: a JWT, or a function that returns one and is asked again when it has expired; else ``BATON_TOKEN``.
            timeout: seconds to wait for (the next part of) an answer.
            max_retries: how often a request is sent again that may be, after a lost connection or 429, 502, 503, 504.
            headers: for every request.
            resume_seconds: how long a stream tries to come back without anything new.
            time_zone: IANA's name of the user's time zone, sent with messages; without it that of this machine, if it
                is known and not UTC's. An empty one sends none: for programs that speak for users elsewhere.
            http_client: used instead of an own one, for proxies and certificates; it stays the caller's to close.

        Raises ``ConfigurationError`` if one of them cannot be used.
        """
        if max_retries < 0:
            raise ConfigurationError(f"max_retries is {max_retries}; it cannot be negative.")
        options = Options(
            base_url=checked_url(base_url or os.environ.get("BATON_URL") or LOCAL),
            timeout=checked_timeout(timeout),
            max_retries=max_retries,
            headers={"User-Agent": f"baton-client-python/{VERSION}", **(headers or {})},
            resume_seconds=resume_seconds,
            time_zone=time_zone_of(time_zone),
        )
        self._http = http_client or httpx.Client()
        self._owns_http = http_client is None
        tokens = Tokens(token if token is not None else os.environ.get("BATON_TOKEN"))
        self._use(Transport(self._http, tokens, options))

    def _use(self, transport: Transport) -> None:
        self._transport = transport
        self.agents = Agents(transport)
        self.audit = Audit(transport)
        self.documents = Documents(transport)
        self.episodes = Episodes(transport)
        self.evaluations = Evaluations(transport)
        self.messages = Messages(transport)
        self.models = Models(transport)
        self.procedures = Procedures(transport)
        self.runs = Runs(transport)
        self.tenant = Tenant(transport)
        self.threads = Threads(transport)
        self.users = Users(transport)
        self.workflows = Workflows(transport)

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
    ) -> Baton:
        """Return a client over the same connections with other options: another user's token, for example.

        ``headers`` are added. Closing the first client closes them all.
        """
        known = self._transport.options
        options = replace(
            known,
            timeout=known.timeout if timeout is None else checked_timeout(timeout),
            max_retries=known.max_retries if max_retries is None else max_retries,
            headers={**known.headers, **(headers or {})},
            resume_seconds=known.resume_seconds if resume_seconds is None else resume_seconds,
            time_zone=known.time_zone if time_zone is None else time_zone_of(time_zone),
        )
        tokens = self._transport.tokens if token is None else Tokens(token)
        other = object.__new__(type(self))
        other._http, other._owns_http = self._http, False
        other._use(Transport(self._http, tokens, options))
        return other

    def request(
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
        """Send any request with the token, retries and typed errors, and return the raw response, read.

        ``is_repeatable``: whether it may be sent again; without it, GET, PUT and DELETE may.
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
        with self._transport.opened(request) as response:
            response.read()
            return response

    def health(self) -> Health:
        """Return whether the server is well. Needs no token."""
        found: Health = self._transport.value(Request(method="GET", path="/health"), Health)
        return found

    def close(self) -> None:
        """Close the connections, unless they are those of an ``http_client``."""
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Baton:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
