"""Posts to addresses that clients have named, by guarded clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from baton import __version__
from baton.adapters.egress import EgressPolicy, EgressRefused
from baton.adapters.egress.circuit_breaker import CircuitBreakers, CircuitOpen
from baton.ports.agents.a2a import WebhookRefused, WebhookUnreachable

POST_SECONDS = 10.0
"""The time limit of one request, until the answer's status."""
USER_AGENT = f"Baton/{__version__}"


@dataclass(frozen=True, slots=True)
class HttpWebhooks:
    """``Webhooks`` over clients of ``adapters.egress``, which refuse private addresses."""

    policy: Callable[[], EgressPolicy]
    """Returns the hosts to which posts may be sent now."""
    make_client: Callable[[float], httpx.AsyncClient]
    """Returns a guarded client. Its argument is the timeout in seconds."""
    hosts_field: str = "pushHosts"
    """The field of the settings with these hosts, which errors name."""
    breakers: CircuitBreakers | None = None
    """Circuits by address, so that no delivery waits for an address that does not answer; None for none."""

    @property
    def is_on(self) -> bool:
        policy = self.policy()
        return bool(policy.hosts) or policy.allow_local

    def find_refusal(self, url: str) -> str | None:
        policy = self.policy()
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            policy.check_scheme(parts.scheme, host)
        except (ValueError, EgressRefused):
            return "url must be an https address."
        try:
            policy.check_host(host)
        except EgressRefused:
            return f"url: this deployment sends no notifications to {host[:100]} ({self.hosts_field} of the settings)."
        return None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        if self.breakers is None:
            return await self._post(url, body, headers)
        try:
            async with self.breakers.guard(url, is_failure=lambda error: isinstance(error, WebhookUnreachable)):
                return await self._post(url, body, headers)
        except CircuitOpen as error:
            seconds = error.retry_after_seconds
            raise WebhookUnreachable(f"not tried for another {seconds:.0f} s, because it has not answered") from None

    async def _post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Post once, and return the status. Raises ``WebhookRefused`` and ``WebhookUnreachable``."""
        try:
            async with (
                asyncio.timeout(POST_SECONDS),
                self.make_client(POST_SECONDS) as client,
                client.stream(
                    "POST", url, content=body, headers={"User-Agent": USER_AGENT, **headers}, follow_redirects=False
                ) as response,
            ):
                return response.status_code
        except EgressRefused as error:
            raise WebhookRefused(str(error)) from None
        except (httpx.InvalidURL, httpx.LocalProtocolError, httpx.UnsupportedProtocol, ValueError):
            raise WebhookRefused("The request cannot be sent.") from None
        except (httpx.HTTPError, TimeoutError) as error:
            raise WebhookUnreachable(type(error).__name__) from None
