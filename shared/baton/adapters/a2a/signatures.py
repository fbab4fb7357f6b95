"""Signatures of agent cards, and the keys that may sign them.

They are detached JWS (RFC 7515) over canonical JSON (RFC 8785), as A2A 1.0, section 8.4, defines them.

The signed text has two forms. A client that reads a card by the types of A2A 1.0, as the reference SDK does, checks the
fields of these types, without empty ones. A client that works on the JSON itself checks the object as it was served.
A card for several versions of the protocol has a signature of each form.
"""

from __future__ import annotations

import base64
import binascii
import copy
import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import httpx
import jwt
from a2a.client.card_resolver import parse_agent_card
from a2a.types import AgentCard
from a2a.utils._jcs import canonicalize  # the SDK's only implementation of RFC 8785
from a2a.utils.signing import _canonicalize_agent_card
from cachetools import LRUCache
from jwt import api_jws

from baton.domain.agents.agent_settings import CardSignature
from baton.domain.tenants.identity import SIGNATURE_ALGORITHMS

KEY_SECONDS = 600.0
"""Seconds for which keys are used before they are read again."""
MIN_KEY_SECONDS = 30.0
"""The minimum age, in seconds, at which keys are read again for a card that is signed by another key."""
MAX_KEY_SETS = 1_000
"""The number of cached key sets."""
MAX_KEY_SET_BYTES = 128 * 1024
MAX_KEYS = 100
"""The number of a set's keys that are read."""
MAX_SIGNATURES = 10
"""The number of a card's signatures that are checked."""
MAX_TEXT = 4_096
"""The maximum length of a protected header or a signature, in characters."""


class UntrustedCard(Exception):
    """The card has no signature of a trusted key. The text says why."""


def sign_card(card: Mapping[str, Any], key: jwt.PyJWK, keys_url: str) -> list[dict[str, str]]:
    """Return a signature of each form of ``card``, by a private ``key`` with an id.

    ``keys_url`` is the address of the public keys, which the signatures name.
    """
    header = {"alg": key.algorithm_name, "jku": keys_url, "kid": key.key_id, "typ": "JOSE"}
    signatures = []
    for form in _make_signed_forms(card):
        token = api_jws.encode(form, key.key, algorithm=key.algorithm_name, headers=header)
        protected, _, signature = token.split(".")
        signatures.append({"protected": protected, "signature": signature})
    return signatures


def verify_card(card: Mapping[str, Any], keys: Iterable[jwt.PyJWK]) -> None:
    """Check that one of ``keys`` has signed ``card``, the JSON as it was received. Raises ``UntrustedCard``.

    The key determines the algorithm, never the signature's header. No address in the header is fetched.
    """
    trusted = {key.key_id: key for key in keys}
    signatures = card.get("signatures")
    if not isinstance(signatures, list) or not signatures:
        raise UntrustedCard("it is not signed")
    try:
        forms = _make_signed_forms(card)
    except Exception:  # noqa: BLE001 - untrusted JSON
        raise UntrustedCard("it has no canonical form") from None
    is_known = False
    for signature in signatures[:MAX_SIGNATURES]:
        key = trusted.get(read_key_id(signature))
        if key is None:
            continue
        is_known = True
        if any(_is_signed(signature, form, key) for form in forms):
            return
    raise UntrustedCard("its signature is wrong" if is_known else "no trusted key has signed it")


def read_key_id(signature: Any) -> str | None:
    """Return the id of the key that a signature names; None if it is unreadable."""
    protected = signature.get("protected") if isinstance(signature, dict) else None
    if not isinstance(protected, str) or len(protected) > MAX_TEXT:
        return None
    try:
        header = json.loads(base64.urlsafe_b64decode(protected + "=" * (-len(protected) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return None
    kid = header.get("kid") if isinstance(header, dict) else None
    return kid if isinstance(kid, str) else None


def read_public_keys(key_set: Any) -> list[jwt.PyJWK]:
    """Return the usable keys of a JWK set (RFC 7517): those with an id and an asymmetric algorithm.

    Raises ``ValueError`` if ``key_set`` is not a JWK set.
    """
    if not isinstance(key_set, dict) or not isinstance(key_set.get("keys"), list):
        raise ValueError("it is not a JWK set: a JSON object with a list of keys")
    jwks = []
    for entry in key_set["keys"][:MAX_KEYS]:
        try:
            key = jwt.PyJWK(entry)
        except (jwt.PyJWTError, AttributeError, KeyError, TypeError, ValueError):
            continue
        if key.key_id and key.algorithm_name in SIGNATURE_ALGORITHMS:
            jwks.append(key)
    return jwks


def _is_signed(signature: Mapping[str, Any], payload: bytes, key: jwt.PyJWK) -> bool:
    """Return whether ``signature`` is the signature of ``payload`` by ``key``."""
    text = signature.get("signature")
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        return False
    encoded = base64.urlsafe_b64encode(payload).rstrip(b"=").decode()
    try:
        api_jws.decode(f"{signature['protected']}.{encoded}.{text}", key, algorithms=[key.algorithm_name])
    except (jwt.PyJWTError, ValueError, TypeError):
        return False
    return True


def _make_signed_forms(card: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Return the canonical text of both forms: of the types of A2A 1.0, and of the JSON itself."""
    fields = {name: value for name, value in card.items() if name != "signatures"}
    parsed: AgentCard = parse_agent_card(copy.deepcopy(fields))
    return _canonicalize_agent_card(parsed).encode(), canonicalize(fields).encode()


class TrustedKeys:
    """The keys that sign trusted cards: a definition's keys, or those at the definition's ``jwks_url``."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._sets: LRUCache[tuple[str, str | None], tuple[list[jwt.PyJWK], float]] = LRUCache(MAX_KEY_SETS)
        """The keys and the time (of ``monotonic``) at which they were read, by address and tenant."""

    async def verify(
        self, card: Mapping[str, Any], signature: CardSignature, client: httpx.AsyncClient, *, tenant_id: str | None
    ) -> None:
        """Check that a trusted key has signed ``card``. Raises ``UntrustedCard``."""
        if signature.jwks_url is not None:
            verify_card(card, await self._read_keys(signature.jwks_url, card, client, tenant_id))
        else:
            verify_card(card, read_public_keys({"keys": list(signature.keys)}))

    async def _read_keys(
        self, url: str, card: Mapping[str, Any], client: httpx.AsyncClient, tenant_id: str | None
    ) -> list[jwt.PyJWK]:
        """Return the keys at ``url``, from the cache unless they are old or ``card`` is signed by another key."""
        now = self._monotonic()
        if (url, tenant_id) in self._sets:
            keys, read_at = self._sets[url, tenant_id]
            signatures = card.get("signatures")
            key_ids = {read_key_id(signature) for signature in signatures} if isinstance(signatures, list) else set()
            is_rotated = key_ids.isdisjoint({key.key_id for key in keys})
            if now < read_at + (MIN_KEY_SECONDS if is_rotated else KEY_SECONDS):
                return keys
        keys = await _fetch_keys(url, client)
        self._sets[url, tenant_id] = keys, now
        return keys


async def _fetch_keys(url: str, client: httpx.AsyncClient) -> list[jwt.PyJWK]:
    """Read the keys at ``url``. Raises ``UntrustedCard``."""
    try:
        response = await client.get(url)
        response.raise_for_status()
        if len(response.content) > MAX_KEY_SET_BYTES:
            raise ValueError("the set of keys is too long")
        return read_public_keys(response.json())
    except (httpx.HTTPError, ValueError, RecursionError):
        raise UntrustedCard("the keys that it must be signed with cannot be read") from None
