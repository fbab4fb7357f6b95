"""Agent cards, which describe how to reach an agent."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import httpx
from a2a.client.card_resolver import parse_agent_card
from a2a.client.errors import AgentCardResolutionError
from a2a.types import AgentCard
from cachetools import LRUCache
from google.protobuf.json_format import ParseError  # type: ignore[import-untyped]

from baton.adapters.a2a.signatures import TrustedKeys
from baton.domain.agents.agent_settings import CardSignature
from baton.domain.json_values import count_values

CARD_SECONDS = 600.0
"""Seconds for which a card is used without asking for a newer one."""
MAX_CARDS = 1_000
"""The number of cached cards."""
MAX_CARD_BYTES = 1024 * 1024
MAX_CARD_VALUES = 10_000
"""The maximum number of JSON values of a card, which is parsed on the event loop. A hundred skills have a thousand."""
WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""The paths of the card (RFC 8615): since A2A 0.3, and in earlier versions."""
_ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{1,200}"', re.ASCII)
"""An entity tag (RFC 9110), limited to ASCII and 200 characters: a foreign server chooses it, and it is sent back."""


@dataclass(frozen=True, slots=True)
class _CachedCard:
    card: AgentCard
    source: Mapping[str, Any]
    """The card as it was received, with the members that the SDK's type lacks."""
    url: str
    """The address from which the card was read."""
    entity_tag: str | None
    """The card's ``ETag``; None without one that can be sent back."""
    until: float = 0.0
    """The time (of ``monotonic``) at which the agent is asked again."""


class AgentCards:
    """Cards by address, cached for ``CARD_SECONDS``. After that, a request with the card's ``ETag`` asks for changes.

    ``monotonic`` is the clock, in seconds.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._cards: LRUCache[tuple[str, str | None, str], _CachedCard] = LRUCache(MAX_CARDS)
        self._keys = TrustedKeys(monotonic)

    async def get(
        self,
        address: str,
        client: httpx.AsyncClient,
        *,
        tenant_id: str | None = None,
        signature: CardSignature | None = None,
    ) -> AgentCard:
        """Return the agent's card. ``address`` leads to the card (``.json``), or is the base of the well-known paths.

        ``client`` sends the headers of the agent's definition, so with ``tenant_id`` the card is cached for that tenant
        only. With ``signature`` the card must be signed by one of the keys that ``signature`` names. Its signatures are
        checked whenever it is requested again. A key that is withdrawn at its ``jwks_url`` is therefore trusted for at
        most ``CARD_SECONDS`` and ``signatures.KEY_SECONDS`` together.

        Raises ``AgentCardResolutionError``, ``UntrustedCard`` and the errors of parsing untrusted JSON.
        """
        key = _make_key(address, tenant_id, signature)
        cached = self._cards.get(key)
        if cached is None or self._monotonic() >= cached.until:
            card = await _find_card(address, client, cached)
            if signature is not None:
                await self._keys.verify(card.source, signature, client, tenant_id=tenant_id)
            cached = replace(card, until=self._monotonic() + CARD_SECONDS)
            self._cards[key] = cached
        return cached.card

    def forget(self, address: str, *, tenant_id: str | None = None, signature: CardSignature | None = None) -> None:
        """Remove the card from the cache, because it may have caused a failure."""
        self._cards.pop(_make_key(address, tenant_id, signature), None)


def _make_key(address: str, tenant_id: str | None, signature: CardSignature | None) -> tuple[str, str | None, str]:
    return address, tenant_id, signature.model_dump_json() if signature is not None else ""


async def _find_card(address: str, client: httpx.AsyncClient, cached_card: _CachedCard | None) -> _CachedCard:
    """Return the card at ``address``, or at one of the well-known paths below it. Raises as ``AgentCards.get``."""
    if address.endswith(".json"):
        return await _fetch_card(address, client, cached_card)
    current, older = (address.rstrip("/") + path for path in WELL_KNOWN)
    try:
        return await _fetch_card(current, client, cached_card)
    except AgentCardResolutionError as error:
        if error.status_code != httpx.codes.NOT_FOUND:
            raise
        return await _fetch_card(older, client, cached_card)


async def _fetch_card(url: str, client: httpx.AsyncClient, cached_card: _CachedCard | None) -> _CachedCard:
    """Return the card at ``url``, which is ``cached_card`` if that was read there and has not changed since.

    Raises ``AgentCardResolutionError`` and the errors of parsing untrusted JSON.
    """
    headers = {}
    if cached_card is not None and cached_card.url == url and cached_card.entity_tag is not None:
        headers["If-None-Match"] = cached_card.entity_tag
    try:
        response = await client.get(url, headers=headers)
        if headers and cached_card is not None and response.status_code == httpx.codes.NOT_MODIFIED:
            return cached_card
        response.raise_for_status()
    except httpx.HTTPStatusError as error:
        raise AgentCardResolutionError(str(error), status_code=error.response.status_code) from error
    except httpx.RequestError as error:
        raise AgentCardResolutionError(f"The card cannot be read: {error}") from error
    if len(response.content) > MAX_CARD_BYTES or count_values(response.content) > MAX_CARD_VALUES:
        raise AgentCardResolutionError(f"The card has more than {MAX_CARD_BYTES} bytes or {MAX_CARD_VALUES} values.")
    source = response.json()
    card = _parse_card(source)
    tag = response.headers.get("ETag", "")
    return _CachedCard(card, source, url, tag if _ENTITY_TAG.fullmatch(tag) else None)


def _parse_card(source: Any) -> AgentCard:
    """Parse a card. Members of the wrong form are left out, because they may not be needed. Raises ``ParseError``."""
    try:
        return parse_agent_card(copy.deepcopy(source))  # a copy, because the SDK changes its argument
    except ParseError:
        if not isinstance(source, dict):
            raise
    valid_members = {}
    for name, member in source.items():
        with suppress(ParseError):
            parse_agent_card({name: copy.deepcopy(member)})
            valid_members[name] = copy.deepcopy(member)
    return parse_agent_card(valid_members)
