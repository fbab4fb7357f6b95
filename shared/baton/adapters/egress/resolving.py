"""Resolving host names and checking the addresses. A connection goes to exactly the address that was checked."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from baton.domain.tenants.egress_policy import EgressPolicy, EgressRefused

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns all addresses of a host for a port, best first. Raises ``OSError``."""

MAX_ADDRESSES = 8
ATTEMPT_SECONDS = 3.0
"""Seconds to wait for one address while others are left."""

S = TypeVar("S")


async def addresses_of(host: str, port: int) -> Sequence[str]:
    """Return the addresses that the system's resolver finds."""
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in addresses))


async def connect(
    policy: EgressPolicy,
    resolve: Resolver,
    host: str,
    port: int,
    timeout: float | None,  # noqa: ASYNC109 - passed on from the backend's interface
    open_to: Callable[[str, float | None], Awaitable[S]],
) -> S:
    """Open a connection to ``host`` with ``open_to(address, seconds)``, at an address that ``policy`` allows.

    If one of several addresses is forbidden, the host is refused: a name with internal and external addresses is an
    attack or a mistake. Raises ``EgressRefused`` then, ``OSError`` for a name without addresses, ``TimeoutError`` for
    a name that resolves too slowly, and otherwise the error of the last address.
    """
    policy.check_host(host)
    end = None if timeout is None else time.monotonic() + timeout
    async with asyncio.timeout(timeout):
        addresses = (await resolve(host, port))[:MAX_ADDRESSES]
    if not addresses:
        raise OSError(f"{host} has no address")
    for address in addresses:
        policy.check_address(host, address)
    for address in addresses[:-1]:
        try:
            return await open_to(address, _at_most(ATTEMPT_SECONDS, end))
        except EgressRefused:
            raise
        except Exception:  # noqa: BLE001, S112 - after any error, another address is left
            continue
    return await open_to(addresses[-1], _at_most(None, end))


def _at_most(seconds: float | None, end: float | None) -> float | None:
    seconds_left = None if end is None else max(0.0, end - time.monotonic())
    return min((limit for limit in (seconds, seconds_left) if limit is not None), default=None)
