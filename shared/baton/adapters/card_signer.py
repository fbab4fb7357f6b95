"""The keys that sign a deployment's agent cards: a JWK set, given or in a secret. Its first key signs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from baton.adapters.parsed_text import ParsedText
from baton.domain.errors import InternalError
from baton.domain.token_issuer import SIGNATURE_ALGORITHMS

_PRIVATE = (
    ec.EllipticCurvePrivateKey,
    ed25519.Ed25519PrivateKey,
    ed448.Ed448PrivateKey,
    rsa.RSAPrivateKey,
)


class JwkCardSigner:
    """``CardSigner`` with the keys that ``read`` returns as JSON. It may block, as for a cached secret.

    Keys after the first, private or public, are published only: clients check older cards with them while a key is
    replaced.
    """

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._parsed = ParsedText(_parse)

    async def key_id(self) -> str:
        """Return the id of the first key."""
        return str((await self._keys())[0].key_id)

    async def signatures(self, card: Mapping[str, Any], keys_url: str) -> list[dict[str, str]]:
        """Return the signatures of the card by the first key."""
        # Only deployments that sign load the SDK for a card.
        from baton.adapters.a2a.signatures import card_signatures

        [key, *_] = await self._keys()
        return await asyncio.to_thread(card_signatures, card, key, keys_url)

    async def public_keys(self) -> Mapping[str, Any]:
        """Return the public part of every key."""
        return {"keys": [_public(key) for key in await self._keys()]}

    async def _keys(self) -> list[jwt.PyJWK]:
        return self._parsed.of(await asyncio.to_thread(self._read))


def _parse(text: str) -> list[jwt.PyJWK]:
    """Return the keys. Raises ``InternalError``, without the text."""
    try:
        entries = json.loads(text)["keys"]
        keys = [jwt.PyJWK(entry) for entry in entries]
    except (ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
        raise InternalError(f"The keys of agent cards are no JWK set ({type(error).__name__}).") from None
    if not keys or not isinstance(keys[0].key, _PRIVATE):
        raise InternalError("The first key of agent cards must be a private key.")
    if not all(key.key_id and key.algorithm_name in SIGNATURE_ALGORITHMS for key in keys):
        raise InternalError("Each key of agent cards needs a kid, and an algorithm with public keys.")
    return keys


def _public(key: jwt.PyJWK) -> dict[str, Any]:
    public = key.key.public_key() if isinstance(key.key, _PRIVATE) else key.key
    jwk: dict[str, Any] = key.Algorithm.to_jwk(public, as_dict=True)
    return {
        **{name: value for name, value in jwk.items() if name != "key_ops"},
        "use": "sig",
        "alg": key.algorithm_name,
        "kid": key.key_id,
    }
