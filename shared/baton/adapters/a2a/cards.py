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
MAX_CARD_BYTES = 1024 * 1024
MAX_CARD_VALUES = 10_000
"""JSON values of a card, which is copied and parsed on the event loop. One with a hundred skills has a thousand."""
WELL_KNOWN = ("/.well-known/agent-card.json", "/.well-known/agent.json")
"""RFC 8615 paths: the one of A2A since v0.3, and the previous one."""
_ENTITY_TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{1,200}"', re.ASCII)
"""An entity tag as RFC 9110 has it, of ASCII only: it comes from a stranger and goes into a header."""


@dataclass(frozen=True, slots=True)
class _CachedCard:
    card: AgentCard
    source: Mapping[str, Any]
    """The card as it was received, with what the SDK's type does not know."""
    url: str
    """The address that it was read from."""
    entity_tag: str | None
    """Its ``ETag``; None if there is none that can be sent back."""
    until: float = 0.0


class AgentCards:
    """Cards by address, cached for ten minutes. Then one with an ``ETag`` is sent again only if it has changed.

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
        """Return the card at ``address``, which is its own (``.json``) or the base of the well-known paths.

        With ``tenant_id`` the card is cached for that tenant only: its agent's headers were sent.

        With ``signature`` the card must be signed by one of its keys. It is checked each time the card is asked for
        again, so that a key that is withdrawn counts no longer than the card.

        Raises ``AgentCardResolutionError``, ``UntrustedCard`` and the errors of parsing untrusted JSON.
        """
        key = _key(address, tenant_id, signature)
        cached = self._cards.get(key)
        if cached is None or self._monotonic() >= cached.until:
            card = await _find(address, client, cached)
            if signature is not None:
                await self._keys.verify(card.source, signature, client, tenant_id=tenant_id)
            cached = replace(card, until=self._monotonic() + CARD_SECONDS)
            self._cards[key] = cached
        return cached.card

    def forget(self, address: str, *, tenant_id: str | None = None, signature: CardSignature | None = None) -> None:
        """Remove the card from the cache, because it may have caused a failure."""
        self._cards.pop(_key(address, tenant_id, signature), None)


def _key(address: str, tenant_id: str | None, signature: CardSignature | None) -> tuple[str, str | None, str]:
    return address, tenant_id, signature.model_dump_json() if signature is not None else ""


async def _find(address: str, client: httpx.AsyncClient, card: _CachedCard | None) -> _CachedCard:
    if address.endswith(".json"):
        return await _fetch(address, client, card)
    current, older = (address.rstrip("/") + path for path in WELL_KNOWN)
    try:
        return await _fetch(current, client, card)
    except AgentCardResolutionError as error:
        if error.status_code != httpx.codes.NOT_FOUND:
            raise
        return await _fetch(older, client, card)


async def _fetch(url: str, client: httpx.AsyncClient, cached_card: _CachedCard | None) -> _CachedCard:
    """Return the card at ``url``: ``cached_card`` if it is from there and the agent says that it has not changed."""
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
        raise AgentCardResolutionError(f"The card is larger than {MAX_CARD_BYTES} bytes or {MAX_CARD_VALUES} values.")
    source = response.json()
    card = _parse(source)
    tag = response.headers.get("ETag", "")
    return _CachedCard(card, source, url, tag if _ENTITY_TAG.fullmatch(tag) else None)


def _parse(source: Any) -> AgentCard:
    """Return the card, without members of the wrong form: the others may say enough. Raises ``ParseError``."""
    try:
        return parse_agent_card(copy.deepcopy(source))  # it changes what it reads
    except ParseError:
        if not isinstance(source, dict):
            raise
    fitting = {}
    for name, member in source.items():
        with suppress(ParseError):
            parse_agent_card({name: copy.deepcopy(member)})
            fitting[name] = copy.deepcopy(member)
    return parse_agent_card(fitting)
