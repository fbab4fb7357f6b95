"""Agent cards, which describe how to reach an agent."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
from a2a.client import A2ACardResolver
from a2a.client.errors import AgentCardResolutionError
from a2a.types import AgentCard

from baton.adapters.bounded import Bounded

CARD_SECONDS = 600.0
"""How long a card is cached."""
MAX_CARDS = 1_000
WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""RFC 8615 paths: the one of A2A since v0.3, and the one before."""


class AgentCards:
    """Cards by address, cached for ten minutes. ``monotonic`` is the clock, in seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._cards: dict[tuple[str, str | None], tuple[float, AgentCard]] = Bounded(MAX_CARDS)

    async def get(self, address: str, client: httpx.AsyncClient, *, tenant_id: str | None = None) -> AgentCard:
        """Return the card at ``address``, which is its own (``.json``) or the base of the well-known paths.

        What a tenant's own agent was given, with the headers of its definition, is that tenant's (``tenant_id``).

        Raises ``AgentCardResolutionError`` and the errors of parsing untrusted JSON.
        """
        until, card = self._cards.get((address, tenant_id), (0.0, None))
        if card is None or self._monotonic() >= until:
            card = await _fetch(address, client)
            self._cards[address, tenant_id] = (self._monotonic() + CARD_SECONDS, card)
        return card

    def forget(self, address: str, *, tenant_id: str | None = None) -> None:
        """Remove the card from the cache, because it may have caused a failure."""
        self._cards.pop((address, tenant_id), None)


async def _fetch(address: str, client: httpx.AsyncClient) -> AgentCard:
    if address.endswith(".json"):
        return await A2ACardResolver(client, address, "").get_agent_card()
    current, older = (A2ACardResolver(client, address, path) for path in WELL_KNOWN)
    try:
        return await current.get_agent_card()
    except AgentCardResolutionError as error:
        if error.status_code != 404:
            raise
        return await older.get_agent_card()
