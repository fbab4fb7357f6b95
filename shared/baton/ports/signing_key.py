"""The key with which a deployment signs what it sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class SigningKey(Protocol):
    """One private key. Both methods raise ``InternalError`` if the key cannot be read."""

    async def sign(self, claims: Mapping[str, Any]) -> str:
        """Return ``claims`` as a JWT, which names its key."""
        ...

    async def public_keys(self) -> Mapping[str, Any]:
        """Return the JWK set (RFC 7517) with which receivers check what was signed."""
        ...
