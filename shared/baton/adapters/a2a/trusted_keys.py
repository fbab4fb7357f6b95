"""The keys that may sign the cards of remote agents."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import jwt
from cachetools import LRUCache

from baton.adapters.a2a.signatures import UntrustedCard, public_keys, signing_key_id, verify_card
from baton.domain.agents.remote_agent import CardSignature

KEY_SECONDS = 600.0
"""Seconds for which keys are used without reading them again."""
MIN_KEY_SECONDS = 30.0
"""The least age, in seconds, at which a card with an unknown key lets keys be read again."""
MAX_KEY_SETS = 1_000
MAX_KEY_SET_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class _ReadKeys:
    keys: tuple[jwt.PyJWK, ...]
    at: float


class TrustedKeys:
    """The keys that sign trusted cards: those of a definition, or those at its address."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._sets: LRUCache[tuple[str, str | None], _ReadKeys] = LRUCache(MAX_KEY_SETS)

    async def verify(
        self, card: Mapping[str, Any], signature: CardSignature, client: httpx.AsyncClient, *, tenant_id: str | None
    ) -> None:
        """Check that a trusted key has signed ``card``. Raises ``UntrustedCard``."""
        if signature.jwks_url is not None:
            verify_card(card, await self._read(signature.jwks_url, card, client, tenant_id))
        else:
            verify_card(card, public_keys({"keys": list(signature.keys)}))

    async def _read(
        self, url: str, card: Mapping[str, Any], client: httpx.AsyncClient, tenant_id: str | None
    ) -> tuple[jwt.PyJWK, ...]:
        read, now = self._sets.get((url, tenant_id)), self._monotonic()
        if read is None or now >= read.at + (MIN_KEY_SECONDS if _is_rotated(card, read) else KEY_SECONDS):
            read = _ReadKeys(await _fetch(url, client), now)
            self._sets[url, tenant_id] = read
        return read.keys


def _is_rotated(card: Mapping[str, Any], read: _ReadKeys) -> bool:
    """Return whether the card names no key that was read, as after a rotation."""
    signatures = card.get("signatures")
    named = {signing_key_id(signature) for signature in signatures} if isinstance(signatures, list) else set()
    return not named & {key.key_id for key in read.keys}


async def _fetch(url: str, client: httpx.AsyncClient) -> tuple[jwt.PyJWK, ...]:
    try:
        response = await client.get(url)
        response.raise_for_status()
        if len(response.content) > MAX_KEY_SET_BYTES:
            raise ValueError("the set of keys is too long")
        return tuple(public_keys(response.json()))
    except (httpx.HTTPError, ValueError, RecursionError):
        raise UntrustedCard("the keys that it must be signed with cannot be read") from None
