"""Exchange of users' tokens for narrower ones (RFC 8693), for calls that act for a user."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from cachetools import LRUCache

from baton.adapters.tokens.subject_tokens import SubjectTokens
from baton.domain.errors import InternalError, Unauthorized
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.secret import ExchangeTarget

GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"  # noqa: S105 - a name, no token
EXCHANGE_SECONDS = 5.0
"""Seconds for which a call that acts for a user waits for a token endpoint."""
MAX_TOKENS = 1_000
"""Tokens that are kept."""
MAX_TOKEN = 16_384
"""Characters of a token that is accepted."""
MARGIN_SECONDS = 30.0
"""A token is used until this long before its end."""
UNTOLD_SECONDS = 60.0
"""The assumed lifetime, in seconds, of a token whose lifetime is unknown."""
LONGEST_SECONDS = 3_600.0
OF_THE_USER = frozenset(
    {"access_denied", "consent_required", "interaction_required", "invalid_grant", "invalid_request", "login_required"}
)
"""Errors with which an endpoint refuses the user's token. RFC 8693 has ``invalid_request`` for it, others
``invalid_grant``."""
REFUSED = "Your token is not accepted for what this needs. Sign in again and repeat your request."

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TokenExchanges:
    """Token exchanges at permitted addresses. New tokens are kept until shortly before their end.

    A kept token is used for the same user, user's token and target only. ``http`` makes a guarded client for one call.
    """

    http: Callable[[], httpx.AsyncClient]
    subjects: SubjectTokens
    seconds: float = EXCHANGE_SECONDS
    monotonic: Callable[[], float] = time.monotonic
    _tokens: LRUCache[tuple[str, str, str, str], tuple[str, float]] = field(
        init=False, default_factory=lambda: LRUCache(MAX_TOKENS)
    )
    """Each token, and until when it is used."""

    async def token(self, scope: Scope, target: ExchangeTarget, client_secret: str) -> str:
        """Return a token with which to act for the scope's user at ``target``.

        Raises ``Unauthorized`` if there is no token of the user's or it is refused, ``TokenExpired``, and
        ``InternalError`` if the endpoint cannot be used.
        """
        subject, seconds = await asyncio.to_thread(self.subjects.open, scope)
        digest = hashlib.sha256(subject.encode()).hexdigest()
        key = (scope.tenant_id, scope.user_id, digest, target.model_dump_json())
        cached = self._tokens.get(key)
        if cached is not None and self.monotonic() < cached[1]:
            return cached[0]
        asked_at = self.monotonic()
        token, lifetime = _read(await self._ask(target, client_secret, subject), subject)
        usable = min(lifetime, seconds, LONGEST_SECONDS) - MARGIN_SECONDS
        self._tokens[key] = (token, asked_at + usable)
        return token

    async def _ask(self, target: ExchangeTarget, client_secret: str, subject: str) -> dict[str, Any]:
        form = {
            "grant_type": GRANT,
            "subject_token": subject,
            "subject_token_type": TOKEN_TYPE + target.subject_token_type,
            "requested_token_type": f"{TOKEN_TYPE}access_token",
        }
        narrowed = {"audience": target.audience, "resource": target.resource, "scope": target.scope}
        form |= {name: value for name, value in narrowed.items() if value is not None}
        # RFC 6749, section 2.3.1: id and secret are encoded like the fields of a form.
        credentials = httpx.BasicAuth(quote(target.client_id, safe=""), quote(client_secret, safe=""))
        async with self.http() as http:
            try:
                async with asyncio.timeout(self.seconds):  # the client's own limit is one of silence
                    response = await http.post(
                        target.token_url,
                        data=form,
                        auth=credentials,
                        headers={"Accept": "application/json", "User-Agent": "baton"},
                        follow_redirects=False,
                    )
                answer = response.json()
            except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
                raise _unusable(f"it cannot be used ({type(error).__name__})") from None
        if not isinstance(answer, dict):
            raise _unusable("its answer is no JSON object")
        if response.status_code == httpx.codes.OK:
            return answer
        code = answer.get("error")
        if isinstance(code, str) and code in OF_THE_USER and response.status_code in (400, 401, 403):
            _log.warning("A token endpoint has refused a user's token: %s.", code)
            raise Unauthorized(REFUSED)
        reason = code if isinstance(code, str) and code.isidentifier() and len(code) < 50 else "no error of OAuth"
        raise _unusable(f"it answered HTTP {response.status_code} ({reason})")


def _read(answer: dict[str, Any], subject: str) -> tuple[str, float]:
    """Return the token and its lifetime in seconds. Raises ``InternalError``."""
    token, kind = answer.get("access_token"), answer.get("token_type")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise _unusable("what it issues is no bearer token")
    if not isinstance(token, str) or not 0 < len(token) <= MAX_TOKEN or not token.isascii() or not token.isprintable():
        raise _unusable("what it issues cannot be sent in a header")
    if token == subject:
        raise _unusable("it returns the user's own token, which must not be passed on")
    lifetime = answer.get("expires_in")
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float) or not lifetime > 0:
        return token, UNTOLD_SECONDS
    return token, float(lifetime)


def _unusable(reason: str) -> InternalError:
    _log.error("A token endpoint cannot be used: %s.", reason)
    return InternalError("The token endpoint cannot be used.")
