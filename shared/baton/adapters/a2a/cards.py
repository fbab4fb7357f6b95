"""Agent cards, which describe how to reach an agent."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
from a2a.client import A2ACardResolver
from a2a.client.errors import AgentCardResolutionError
from a2a.types import AgentCard

CARD_SECONDS = 600.0
"""How long a card is cached."""
WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""RFC 8615 paths: the one of A2A since v0.3, and the one before."""


class AgentCards:
    """Cards by address, cached for ten minutes. ``monotonic`` is the clock, in seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._cards: dict[str, tuple[float, AgentCard]] = {}

    async def get(self, address: str, client: httpx.AsyncClient) -> AgentCard:
        """Return the card at ``address``, which is its own (``.json``) or the base of the well-known paths.

        Raises ``AgentCardResolutionError`` and the errors of parsing untrusted JSON.
        """
        until, card = self._cards.get(address, (0.0, None))
        if card is None or self._monotonic() >= until:
            card = await _fetch(address, client)
            self._cards[address] = (self._monotonic() + CARD_SECONDS, card)
        return card

    def forget(self, address: str) -> None:
        """Remove the card from the cache, because it may have caused a failure."""
        self._cards.pop(address, None)


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
