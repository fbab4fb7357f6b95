"""Posts to addresses that clients have named, through the guarded way out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx

from baton import __version__
from baton.adapters.egress import EgressPolicy, EgressRefused
from baton.ports.agents.a2a import WebhookRefused, WebhookUnreachable

SECONDS = 10.0
"""The time limit of one request, until the answer's status."""
USER_AGENT = f"Baton/{__version__}"


@dataclass(frozen=True, slots=True)
class HttpWebhooks:
    """``Webhooks`` over clients of ``adapters.egress``, which refuse private addresses."""

    policy: Callable[[], EgressPolicy]
    """Returns the hosts that may be notified at now."""
    make_client: Callable[[float], httpx.AsyncClient]
    """Returns a guarded client, given its timeout in seconds."""

    @property
    def is_on(self) -> bool:
        policy = self.policy()
        return bool(policy.hosts) or policy.allow_local

    def refusal(self, url: str) -> str | None:
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
            return f"url: this deployment sends no push notifications to {host[:100]} (pushHosts of the settings)."
        return None

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        try:
            async with (
                asyncio.timeout(SECONDS),
                self.make_client(SECONDS) as client,
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
