"""Resolve secrets in headers when they are sent, and redact them in responses and logs."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from typing import TYPE_CHECKING
from urllib.parse import quote

from cachetools import LRUCache

from baton.concurrency.tasks import gather_all
from baton.domain.errors import NotFound, Unauthorized
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import USER_IS_UNPROVEN, HeaderValue, SecretReference, TokenExchange
from baton.ports.tenants.identity import Secrets

if TYPE_CHECKING:
    from baton.adapters.tokens.exchange import TokenExchanges

REDACTED = "[secret]"
MAX_USER_TOKENS = 32
"""The number of users' exchanged tokens that are redacted: the most recently used."""
MAX_SECRETS = 300
"""The number of secrets that are redacted: the most recently used, including earlier values of rotated secrets."""
MIN_SECRET_LENGTH = 4
"""The minimum length of a redacted value, in characters. Shorter values would match everywhere."""


@dataclass(frozen=True)
class HeaderValues:
    """The values of headers: resolves references to secrets, and redacts those secrets in the texts of peers."""

    secrets: Secrets
    parameters: Secrets
    stage: str
    """The deployment's stage, a part of the names of its secrets and parameters."""
    exchanges: TokenExchanges | None = None
    """Exchanges users' tokens; None makes calls that act for a user fail."""
    _recent_tokens: _RecentSecrets = field(init=False, default_factory=lambda: _RecentSecrets(MAX_USER_TOKENS))
    _recent_secrets: _RecentSecrets = field(init=False, default_factory=lambda: _RecentSecrets(MAX_SECRETS))

    async def resolve(self, headers: Mapping[str, HeaderValue], scope: Scope | None = None) -> dict[str, str]:
        """Return the headers with secrets and tokens in place of references. Secrets may be some minutes old.

        ``scope`` is the scope of the user for whom the call is made; None without a user. Raises ``NotFound``
        for an unknown reference, ``InternalError`` for one that may not be read, ``StoreUnavailable``, and
        ``Unauthorized`` if a header acts for the user and there is no token of the user to exchange.
        """
        references = {name: value for name, value in headers.items() if isinstance(value, SecretReference)}
        resolved = await gather_all(
            *(asyncio.to_thread(self._resolve_reference, reference) for reference in references.values())
        )
        values = dict(zip(references, resolved, strict=True))
        for name, value in headers.items():
            if isinstance(value, TokenExchange):
                values[name] = await self._exchange_token(value, scope)
        return {name: value if isinstance(value, str) else values[name] for name, value in headers.items()}

    async def _exchange_token(self, value: TokenExchange, scope: Scope | None) -> str:
        """Return the header's value with a token of the scope's user. Raises as ``resolve`` does."""
        if self.exchanges is None or scope is None:
            raise Unauthorized(USER_IS_UNPROVEN)
        target = value.token_exchange
        secret = await asyncio.to_thread(self._resolve_reference, target.client_secret)
        token = await self.exchanges.obtain_token(scope, target, secret)
        self._recent_tokens.add(token)
        return value.format.replace("{}", token)

    def redact(self, text: str) -> str:
        """Return ``text`` without the resolved secrets, because a peer may echo them."""
        for form in merge(self._recent_secrets.forms, self._recent_tokens.forms, key=len, reverse=True):
            text = text.replace(form, REDACTED)
        return text

    def _resolve_reference(self, reference: SecretReference) -> str:
        """Return the header's value, and remember its secret. Raises as ``resolve`` does."""
        name = reference.resolve_name(self.stage)
        store = self.secrets if reference.secret is not None else self.parameters
        secret = store.get(name)
        if reference.key is not None:
            secret = _read_field(secret, reference.key, name)
        secret = secret.strip()
        if not secret or not secret.isascii() or not secret.isprintable():
            raise NotFound(f"The value of {name} cannot be sent in a header.")
        if len(secret) >= MIN_SECRET_LENGTH:
            self._recent_secrets.add(secret)
        return reference.format.replace("{}", secret)


class _RecentSecrets:
    """The most recently used secrets, in the forms in which a peer may write them. Threads may share it."""

    def __init__(self, capacity: int) -> None:
        self._lock = threading.Lock()
        self._secrets: LRUCache[str, None] = LRUCache(capacity)
        self.forms: Sequence[str] = ()
        """The secrets as they are, in JSON and in URLs; the longest first, because one may be a part of another."""

    def add(self, secret: str) -> None:
        """Add a secret, or mark it as the most recently used."""
        with self._lock:
            is_known = secret in self._secrets
            self._secrets[secret] = None
            if not is_known:
                forms = {
                    form for value in self._secrets for form in (value, json.dumps(value)[1:-1], quote(value, safe=""))
                }
                self.forms = sorted(forms, key=len, reverse=True)


def _read_field(text: str, key: str, name: str) -> str:
    """Return the field ``key`` of the secret ``name``, whose ``text`` is a JSON object. Raises ``NotFound``."""
    try:
        value = json.loads(text)[key]
    except (ValueError, KeyError, TypeError):
        # The cause is dropped, because it would quote the secret.
        raise NotFound(f"The secret {name} is no JSON object with the field {key}.") from None
    if not isinstance(value, str):
        raise NotFound(f"The field {key} of the secret {name} is no text.")
    return value
