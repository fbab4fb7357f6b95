"""A cache of the tools that sources offer. After the first request, lists are refreshed in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache

from baton.adapters.tools.tool_source import SourceTool, ToolSource
from baton.concurrency.tasks import gather_all
from baton.domain.agents.tool import ToolDefinition
from baton.failures.reports import in_background
from baton.ports.agents.tools import MissingTools

RETRY_SECONDS = 30.0
"""The minimum seconds between two requests to a source that failed."""

MAX_LISTINGS = 2_000
"""The number of definitions whose tools are cached. Tenants may make agents, and so definitions."""

Offer = Sequence[SourceTool] | MissingTools


@dataclass(slots=True)
class _Listing:
    definition: ToolDefinition
    """Kept alive, so that no other object can get the same ``id()``."""
    offer: Offer
    tried_at: float
    """The time (of ``monotonic``) of the last request."""
    attempt: asyncio.Task[None] | None = None
    """The last request in the background."""


class _ListingCache(LRUCache[int, _Listing]):
    """Listings by the ``id()`` of their definitions. ``forget`` is called with each definition that is dropped."""

    def __init__(self, capacity: int, forget: Callable[[ToolDefinition], object]) -> None:
        super().__init__(capacity)
        self._forget = forget

    def popitem(self) -> tuple[int, _Listing]:
        key, dropped = super().popitem()
        self._forget(dropped.definition)
        return key, dropped


class Listings:
    """The cached tools of each definition object. A definition never changes, so its identity is the key.

    Callers wait for the source until it has been asked once. Later callers get the cached tools or failure. If these
    are old, a background task asks the source again, but only during turns, and a failed source at most every
    ``RETRY_SECONDS``. If Lambda freezes the environment meanwhile, the request fails later and the next turn starts
    another. A permanent failure (a function that does not exist) is not retried.
    """

    def __init__(
        self,
        ask: Callable[[ToolDefinition], Awaitable[Offer]],
        *,
        forget: Callable[[ToolDefinition], object] = lambda definition: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """``ask`` requests the tools. It raises nothing, and returns ``MissingTools`` for a failure.

        ``forget`` is called with the least recently used definition when it is dropped.
        """
        self._ask = ask
        self._monotonic = monotonic
        self._cache = _ListingCache(MAX_LISTINGS, forget)

    async def read(self, definition: ToolDefinition, source: ToolSource[Any]) -> Offer:
        """Return the tools of ``definition``, or ``MissingTools``."""
        listing = self._cache.get(id(definition))
        if listing is None:
            tried_at = self._monotonic()
            listing = _Listing(definition, await self._ask(definition), tried_at)
            self._cache[id(definition)] = listing
            return listing.offer
        self.renew_if_old(definition, source)
        return listing.offer

    def renew_if_old(self, definition: ToolDefinition, source: ToolSource[Any]) -> None:
        """Ask the source again in the background, if its cached list is too old."""
        listing = self._cache.get(id(definition))
        if listing is not None and self._is_due(listing, source):
            listing.tried_at = self._monotonic()
            listing.attempt = in_background(self._refresh(listing), "listing of tools")

    async def wait_for_refreshes(self) -> None:
        """Wait for the background requests in progress."""
        attempts = [listing.attempt for listing in self._cache.values() if listing.attempt is not None]
        await gather_all(*attempts)

    def _is_due(self, listing: _Listing, source: ToolSource[Any]) -> bool:
        """Return whether the source should be asked again now."""
        is_long_ago = self._monotonic() - listing.tried_at >= RETRY_SECONDS
        if isinstance(listing.offer, MissingTools):
            return is_long_ago and source.may_recover(listing.definition)
        # A request whose event loop has ended is never done.
        is_idle = listing.attempt is None or listing.attempt.done() or is_long_ago
        return is_idle and source.must_ask(listing.definition)

    async def _refresh(self, listing: _Listing) -> None:
        listing.offer = await self._ask(listing.definition)
