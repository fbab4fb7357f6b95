"""The keys with which host applications sign tokens for their users."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any

import jwt

from baton.adapters.cached_value import ParsedText
from baton.domain.errors import NotFound
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import TENANT_ID
from baton.ports.tenants.identity import Secrets

EMBED_ISSUER = "baton-embed"
ALGORITHMS = frozenset({"HS256", "EdDSA", "ES256", "RS256"})
ANY_TENANT = "*"
"""The tenant of a key whose tokens may name any tenant, for the local cloud only."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EmbedKey:
    """One host's key, bound to one algorithm and one tenant."""

    tenant: str
    """The tenant that tokens of this key may name, or ``ANY_TENANT``."""
    algorithm: str
    key: Any = field(repr=False)
    """The key as PyJWT has prepared it."""


class EmbedKeys:
    """The embed keys of the secret ``name``: ``{"<kid>": {"tenant", "algorithm", "key"}}``.

    An entry that cannot be used is logged and left out; the other hosts' keys keep working. The tenant ``*`` is for
    the local cloud only, which sets ``allow_any_tenant``.
    """

    def __init__(self, secrets: Secrets, name: str, *, allow_any_tenant: bool = False) -> None:
        self._secrets = secrets
        self._name = name
        self._allow_any_tenant = allow_any_tenant
        self._keys = ParsedText(self._parse_keys)

    def find(self, kid: str) -> EmbedKey | None:
        """Return the key ``kid``; None if there is none. For an unknown id the secret is read again.

        It is read again at most every 30 s. Raises the errors of ``Secrets``, but a missing secret counts as no keys.
        """
        try:
            embed_key = self._keys.parse(self._secrets.get(self._name)).get(kid)
            return embed_key or self._keys.parse(self._secrets.renew(self._name)).get(kid)
        except NotFound as error:
            _log.error("No embed token can be checked: %s", error)
            count(Metric.KEYS_UNREADABLE)
            return None

    def _parse_keys(self, text: str) -> dict[str, EmbedKey]:
        """Return the usable keys of the secret's text, and log the problems of the others."""
        try:
            keys, problems = read_embed_keys(text, allow_any_tenant=self._allow_any_tenant)
        except ValueError:
            _log.error("The secret %s is not a JSON object; no embed token can be checked.", self._name)
            count(Metric.KEYS_UNREADABLE)
            return {}
        for kid, problem in problems.items():
            _log.error("The embed key %s cannot be used: %s", kid, problem)
            count(Metric.KEYS_UNREADABLE)
        return keys


def read_embed_keys(text: str, *, allow_any_tenant: bool = False) -> tuple[dict[str, EmbedKey], dict[str, str]]:
    """Return the usable keys of a secret, and the problems of the others, both by key id.

    Raises ``ValueError`` if the text is not a JSON object.
    """
    entries = json.loads(text)
    if not isinstance(entries, dict):
        raise ValueError("not a JSON object")
    keys, problems = {}, {}
    for kid, entry in entries.items():
        try:
            keys[kid] = _parse_key(entry, allow_any_tenant)
        except KeyError as missing:
            problems[kid] = f"{missing.args[0]} is missing"
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            problems[kid] = str(error)
    return keys, problems


def _parse_key(entry: Any, allow_any_tenant: bool) -> EmbedKey:
    """Return a usable key.

    Raises ``KeyError`` for a missing field, otherwise ``ValueError``, PyJWT's errors, or ``TypeError`` for an encrypted
    key.
    """
    if not isinstance(entry, dict):
        raise ValueError("it is not a JSON object with tenant, algorithm and key")
    tenant, algorithm, text = entry["tenant"], entry["algorithm"], entry["key"]
    for name, value in (("tenant", tenant), ("algorithm", algorithm), ("key", text)):
        if not isinstance(value, str):
            raise ValueError(f"{name} is not a text")
    if tenant == ANY_TENANT:
        if not allow_any_tenant:
            raise ValueError("the tenant * is for the local cloud only")
    elif not TENANT_ID.fullmatch(tenant):
        raise ValueError("tenant is not a tenant id")
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(sorted(ALGORITHMS))}")
    signer = jwt.get_algorithm_by_name(algorithm)
    # PyJWT refuses a public key as an HMAC secret, which is an algorithm confusion attack.
    key = signer.prepare_key(text)
    length_problem = signer.check_key_length(key)
    if length_problem:
        raise ValueError(length_problem)
    return EmbedKey(tenant, algorithm, key)
