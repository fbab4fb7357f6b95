"""Signatures of the agent cards that a deployment serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class CardSigner(Protocol):
    """The keys of a deployment's cards. Every method raises ``InternalError`` and ``StoreUnavailable`` without them."""

    async def key_id(self) -> str:
        """Return the id of the key that signs."""
        ...

    async def signatures(self, card: Mapping[str, Any], keys_url: str) -> list[dict[str, str]]:
        """Return the signatures of ``card``, each with ``protected`` and ``signature`` (RFC 7515).

        ``keys_url``: where ``public_keys`` are served.
        """
        ...

    async def public_keys(self) -> Mapping[str, Any]:
        """Return the JWK set (RFC 7517) with which clients check the signatures."""
        ...
