"""Options of a client's requests, given to the client or to ``with_options``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from baton_client.errors import ConfigurationError
from baton_client.time_zones import find_machine_time_zone


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options that all requests of a client share."""

    base_url: str
    timeout: httpx.Timeout
    """Seconds to connect, to send, and to wait for (the next part of) an answer."""
    max_retries: int
    """Largest number of repeats of a repeatable request: after a lost connection, 408, 429, 502, 503 and 504."""
    headers: Mapping[str, str] = field(default_factory=dict)
    resume_seconds: float = 120.0
    """Seconds for which a stream whose connection is lost is resumed, without any new event in between."""
    silence_seconds: float = 25.0
    """Seconds without a byte after which a stream's connection counts as lost. The server writes every ten seconds."""
    time_zone: str | None = None
    """The user's time zone, sent with every message; None sends none."""
    locale: str | None = None
    """The user's language, sent with every message and request for a desk; None sends none."""


CONNECT_SECONDS = 10.0
"""The longest wait for a connection, if the timeout is a number."""


def choose_time_zone(chosen: str | None) -> str | None:
    """Return the zone to send: this machine's if ``chosen`` is None, and None if it is empty."""
    return find_machine_time_zone() if chosen is None else chosen or None


def check_url(base_url: str) -> str:
    """Return the address without a slash at its end. Raises ``ConfigurationError`` if it is not an HTTP address."""
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError) as problem:
        raise ConfigurationError(f"base_url {base_url!r} is no address, such as http://127.0.0.1:8080.") from problem
    if url.scheme not in {"http", "https"} or not url.host:
        raise ConfigurationError(f"base_url {base_url!r} is no address, such as http://127.0.0.1:8080.")
    return str(url).rstrip("/")


def check_retries(max_retries: int) -> int:
    """Return the number of repeats. Raises ``ConfigurationError`` if it is negative."""
    if max_retries < 0:
        raise ConfigurationError(f"max_retries is {max_retries}; it cannot be negative.")
    return max_retries


def make_timeout(timeout: float | httpx.Timeout) -> httpx.Timeout:
    """Return the timeout for httpx. A number applies to each phase, with at most ``CONNECT_SECONDS`` to connect."""
    if isinstance(timeout, httpx.Timeout):
        return timeout
    return httpx.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
