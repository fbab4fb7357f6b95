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
"""The number of cached tokens."""
MAX_TOKEN = 16_384
"""The maximum length of an accepted token, in characters."""
MARGIN_SECONDS = 30.0
"""A token is used until this many seconds before its end."""
DEFAULT_LIFETIME_SECONDS = 60.0
"""The assumed lifetime, in seconds, of a token whose lifetime is unknown."""
MAX_LIFETIME_SECONDS = 3_600.0
"""The maximum seconds for which a token is used, even if it is valid for longer."""
USER_ERRORS = frozenset(
    {"access_denied", "consent_required", "interaction_required", "invalid_grant", "invalid_request", "login_required"}
)
"""Errors with which an endpoint refuses the user's token: ``invalid_request`` by RFC 8693, often ``invalid_grant``."""
REFUSED = "Your token is not accepted for what this needs. Sign in again and repeat your request."

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TokenExchanges:
    """Token exchanges at permitted addresses. New tokens are cached until shortly before their end.

    A cached token is used only for the same user, user's token and target.
    """

    http: Callable[[], httpx.AsyncClient]
    """Makes a guarded client for one call."""
    subjects: SubjectTokens
    seconds: float = EXCHANGE_SECONDS
    """The time limit of a request to a token endpoint."""
    monotonic: Callable[[], float] = time.monotonic
    _tokens: LRUCache[tuple[str, str, str, str], tuple[str, float]] = field(
        init=False, default_factory=lambda: LRUCache(MAX_TOKENS)
    )
    """The tokens, and the time (of ``monotonic``) until which each is used."""

    async def obtain_token(self, scope: Scope, target: ExchangeTarget, client_secret: str) -> str:
        """Return a token with which to act for the scope's user at ``target``.

        ``client_secret`` is Baton's secret at the token endpoint. Raises as ``SubjectTokens.open`` does,
        ``Unauthorized`` if the endpoint refuses the user's token, and ``InternalError`` if it cannot be used.
        """
        subject, seconds = await asyncio.to_thread(self.subjects.open, scope)
        digest = hashlib.sha256(subject.encode()).hexdigest()
        key = (scope.tenant_id, scope.user_id, digest, target.model_dump_json())
        cached = self._tokens.get(key)
        if cached is not None and self.monotonic() < cached[1]:
            return cached[0]
        requested_at = self.monotonic()
        token, lifetime = _read_token(await self._request_token(target, client_secret, subject), subject)
        usable_seconds = min(lifetime, seconds) - MARGIN_SECONDS
        self._tokens[key] = (token, requested_at + usable_seconds)
        return token

    async def _request_token(self, target: ExchangeTarget, client_secret: str, subject: str) -> dict[str, Any]:
        """Return the endpoint's successful answer. Raises ``Unauthorized`` and ``InternalError``."""
        form = {
            "grant_type": GRANT,
            "subject_token": subject,
            "subject_token_type": TOKEN_TYPE + target.subject_token_type,
            "requested_token_type": f"{TOKEN_TYPE}access_token",
        }
        restrictions = {"audience": target.audience, "resource": target.resource, "scope": target.scope}
        form |= {name: value for name, value in restrictions.items() if value is not None}
        # RFC 6749, section 2.3.1: id and secret are encoded like the fields of a form.
        credentials = httpx.BasicAuth(quote(target.client_id, safe=""), quote(client_secret, safe=""))
        async with self.http() as http:
            try:
                async with asyncio.timeout(self.seconds):  # the client's own timeout limits only silence
                    response = await http.post(
                        target.token_url,
                        data=form,
                        auth=credentials,
                        headers={"Accept": "application/json", "User-Agent": "baton"},
                        follow_redirects=False,
                    )
            except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
                raise _log_unusable(f"it cannot be called ({type(error).__name__})") from None
        try:
            answer = response.json()
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise _log_unusable(f"it answered HTTP {response.status_code} without a JSON object")
        if response.status_code == httpx.codes.OK:
            return answer
        code = answer.get("error")
        if isinstance(code, str) and code in USER_ERRORS and response.status_code in (400, 401, 403):
            _log.warning("A token endpoint has refused a user's token: %s.", code)
            raise Unauthorized(REFUSED)
        reason = code if isinstance(code, str) and code.isidentifier() and len(code) < 50 else "no error of OAuth"
        raise _log_unusable(f"it answered HTTP {response.status_code} ({reason})")


def _read_token(answer: dict[str, Any], subject: str) -> tuple[str, float]:
    """Return the token and its lifetime, at most ``MAX_LIFETIME_SECONDS``. Raises ``InternalError``."""
    token, kind = answer.get("access_token"), answer.get("token_type")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise _log_unusable("it issues another type of token than bearer")
    if not isinstance(token, str) or not 0 < len(token) <= MAX_TOKEN or not token.isascii() or not token.isprintable():
        raise _log_unusable("its token cannot be sent in a header")
    if token == subject:
        raise _log_unusable("it returns the user's own token, which must not be passed on")
    lifetime = answer.get("expires_in")
    if isinstance(lifetime, bool) or not isinstance(lifetime, int | float) or not lifetime > 0:
        return token, DEFAULT_LIFETIME_SECONDS
    return token, float(min(lifetime, MAX_LIFETIME_SECONDS))  # a larger integer may not fit a float


def _log_unusable(reason: str) -> InternalError:
    """Log the ``reason`` why a token endpoint cannot be used, and return the error without it."""
    _log.error("A token endpoint cannot be used: %s.", reason)
    return InternalError("The token endpoint cannot be used.")
