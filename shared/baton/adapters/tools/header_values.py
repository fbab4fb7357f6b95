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

HIDDEN = "[secret]"
MAX_EXCHANGED = 32
"""Exchanged tokens of users that are redacted: those of the newest calls."""
MAX_SECRETS = 300
"""Secrets that are redacted: those of the newest calls, with earlier values of the ones that were rotated."""
SHORTEST = 4
"""Characters of the shortest value that is redacted. Shorter ones would match everywhere."""


@dataclass(frozen=True)
class HeaderValues:
    """The values of headers with their references resolved. It remembers the secrets for redaction."""

    secrets: Secrets
    parameters: Secrets
    stage: str
    exchanges: TokenExchanges | None = None
    """The place where users' tokens are exchanged; without it calls that act for a user fail."""
    _exchanged: _Hidden = field(init=False, default_factory=lambda: _Hidden(MAX_EXCHANGED))
    _resolved: _Hidden = field(init=False, default_factory=lambda: _Hidden(MAX_SECRETS))

    async def resolve(self, headers: Mapping[str, HeaderValue], scope: Scope | None = None) -> dict[str, str]:
        """Return the headers with their values; secrets are at most some minutes old.

        ``scope`` is that of the user for whom the call is made. Raises ``NotFound`` for an unknown reference,
        ``InternalError`` for one that may not be read, ``StoreUnavailable``, and ``Unauthorized`` if a header acts for
        the user and there is no token of the user to exchange.
        """
        references = {name: value for name, value in headers.items() if isinstance(value, SecretReference)}
        resolved = await gather_all(*(asyncio.to_thread(self._value, reference) for reference in references.values()))
        values = dict(zip(references, resolved, strict=True))
        for name, value in headers.items():
            if isinstance(value, TokenExchange):
                values[name] = await self._exchange_value(value, scope)
        return {name: value if isinstance(value, str) else values[name] for name, value in headers.items()}

    async def _exchange_value(self, value: TokenExchange, scope: Scope | None) -> str:
        if self.exchanges is None or scope is None:
            raise Unauthorized(USER_IS_UNPROVEN)
        target = value.token_exchange
        secret = await asyncio.to_thread(self._value, target.client_secret)
        token = await self.exchanges.token(scope, target, secret)
        self._exchanged.add(token)
        return value.format.replace("{}", token)

    def redacted(self, text: str) -> str:
        """Return ``text`` without the resolved secrets, because a peer may echo them."""
        for form in merge(self._resolved.forms, self._exchanged.forms, key=len, reverse=True):
            text = text.replace(form, HIDDEN)
        return text

    def _value(self, reference: SecretReference) -> str:
        parameter = reference.name_in(self.stage)
        store = self.secrets if reference.secret is not None else self.parameters
        secret = store.get(parameter)
        if reference.key is not None:
            secret = _field(secret, reference.key, parameter)
        secret = secret.strip()
        if not secret or not secret.isascii() or not secret.isprintable():
            raise NotFound(f"The value of {parameter} cannot be sent in a header.")
        if len(secret) >= SHORTEST:
            self._resolved.add(secret)
        return reference.format.replace("{}", secret)


class _Hidden:
    """The secrets that were used last, in the forms in which a peer may write them. Threads may share it."""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._secrets: LRUCache[str, None] = LRUCache(most)
        self.forms: Sequence[str] = ()
        """The longest first, because one secret may be a part of another."""

    def add(self, secret: str) -> None:
        """Keep a secret as the one that was used last."""
        with self._lock:
            is_known = secret in self._secrets
            self._secrets[secret] = None
            if not is_known:
                forms = {
                    form for value in self._secrets for form in (value, json.dumps(value)[1:-1], quote(value, safe=""))
                }
                self.forms = sorted(forms, key=len, reverse=True)


def _field(text: str, key: str, parameter: str) -> str:
    try:
        value = json.loads(text)[key]
    except (ValueError, KeyError, TypeError):
        # Without the cause, which would quote the secret.
        raise NotFound(f"The secret {parameter} is no JSON object with the field {key}.") from None
    if not isinstance(value, str):
        raise NotFound(f"The field {key} of the secret {parameter} is no text.")
    return value
