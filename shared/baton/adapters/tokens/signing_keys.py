"""The keys of a deployment: a key for JWTs (ES256), which is derived from a secret, and the keys for agent cards.

CloudFormation makes random text but no keys. Deriving the key from such a text saves operators from making a key.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, derive_private_key
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from jwt.algorithms import ECAlgorithm

from baton.adapters.cached_value import ParsedText
from baton.domain.errors import BatonError, InternalError
from baton.domain.tenants.identity import SIGNATURE_ALGORITHMS
from baton.ports.tenants.identity import Secrets

ALGORITHM = "ES256"
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the group of P-256 (FIPS 186-5)."""
PURPOSE = b"baton push notifications ES256"
MIN_SECRET = 32
"""The minimum length of the secret, in characters, so that it cannot be guessed."""


class DerivedSigningKey:
    """``SigningKey`` from the text of the secret ``name``. If the text changes, so does the key within five minutes."""

    def __init__(self, secrets: Secrets, name: str, *, accepts_short_secret: bool = False) -> None:
        """``accepts_short_secret`` is for the local cloud, whose secrets protect nothing."""
        self._secrets = secrets
        self._name = name
        self._accepts_short = accepts_short_secret

    async def sign(self, claims: Mapping[str, Any]) -> str:
        key = await self._read_key()
        return jwt.encode(dict(claims), key, algorithm=ALGORITHM, headers={"kid": _to_public_jwk(key)["kid"]})

    async def read_public_keys(self) -> Mapping[str, Any]:
        return {"keys": [_to_public_jwk(await self._read_key())]}

    async def _read_key(self) -> EllipticCurvePrivateKey:
        """Return the key that is derived from the secret. Raises ``InternalError``."""
        try:
            secret = await asyncio.to_thread(self._secrets.get, self._name)
        except BatonError as error:
            raise InternalError(f"The key for signatures cannot be read: {error.detail}") from error
        if len(secret) < MIN_SECRET and not self._accepts_short:
            raise InternalError(f"The secret {self._name} must have at least {MIN_SECRET} random characters.")
        return _derive_key(secret)


@lru_cache(maxsize=4)
def _derive_key(secret: str) -> EllipticCurvePrivateKey:
    """Return the key that is derived from ``secret``.

    48 bytes are reduced to a group of 32, so that the bias of the remainder is negligible (FIPS 186-5, A.2.1).
    """
    material = HKDF(hashes.SHA256(), 48, salt=None, info=PURPOSE).derive(secret.encode())
    return derive_private_key(int.from_bytes(material, "big") % (ORDER - 1) + 1, SECP256R1())


def _to_public_jwk(key: EllipticCurvePrivateKey) -> dict[str, Any]:
    """Return the public key as a JWK. Its id is its thumbprint (RFC 7638)."""
    jwk = ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    members = {name: jwk[name] for name in ("crv", "kty", "x", "y")}
    digest = hashlib.sha256(json.dumps(members, separators=(",", ":"), sort_keys=True).encode()).digest()
    thumbprint = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return {**members, "use": "sig", "alg": ALGORITHM, "kid": thumbprint}


_PRIVATE_KEYS = (ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey, rsa.RSAPrivateKey)


class JwkCardSigner:
    """``CardSigner`` with the JWK set that ``read`` returns as JSON. ``read`` may block.

    The first key signs. The others, private or public, are only published: clients check older cards with them while a
    key is replaced.
    """

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._parsed = ParsedText(parse_card_keys)

    async def find_key_id(self) -> str:
        """Return the id of the first key."""
        return str((await self._read_keys())[0].key_id)

    async def sign_card(self, card: Mapping[str, Any], keys_url: str) -> list[dict[str, str]]:
        """Return the signatures of the card by the first key."""
        # Only deployments that sign load the SDK for a card.
        from baton.adapters.a2a.signatures import sign_card

        [key, *_] = await self._read_keys()
        return await asyncio.to_thread(sign_card, card, key, keys_url)

    async def read_public_keys(self) -> Mapping[str, Any]:
        """Return the public part of every key."""
        return {"keys": [_to_public_card_key(key) for key in await self._read_keys()]}

    async def _read_keys(self) -> list[jwt.PyJWK]:
        return self._parsed.parse(await asyncio.to_thread(self._read))


def parse_card_keys(text: str) -> list[jwt.PyJWK]:
    """Return the keys of a JWK set. Raises ``InternalError``, whose message does not quote the text."""
    try:
        entries = json.loads(text)["keys"]
        keys = [jwt.PyJWK(entry) for entry in entries]
    except (ValueError, KeyError, TypeError, AttributeError, jwt.PyJWTError) as error:
        raise InternalError(f"The keys of agent cards are not a JWK set ({type(error).__name__}).") from None
    if not keys or not isinstance(keys[0].key, _PRIVATE_KEYS):
        raise InternalError("The first key of agent cards must be a private key.")
    if not all(key.key_id and key.algorithm_name in SIGNATURE_ALGORITHMS for key in keys):
        raise InternalError("Each key of agent cards needs a kid, and an algorithm with public keys.")
    return keys


def _to_public_card_key(key: jwt.PyJWK) -> dict[str, Any]:
    """Return the public part of a key as a JWK."""
    public = key.key.public_key() if isinstance(key.key, _PRIVATE_KEYS) else key.key
    jwk: dict[str, Any] = key.Algorithm.to_jwk(public, as_dict=True)
    return {
        **{name: value for name, value in jwk.items() if name != "key_ops"},
        "use": "sig",
        "alg": key.algorithm_name,
        "kid": key.key_id,
    }
