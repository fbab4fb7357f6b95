"""Verify tokens."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import jwt
from jwt.exceptions import InvalidSubjectError

from baton.adapters.tokens.embed_keys import ANY_TENANT, EMBED_ISSUER, EmbedKeys
from baton.adapters.tokens.issuer import TrustedIssuers
from baton.adapters.tokens.subject_tokens import SubjectTokens
from baton.domain.errors import InvalidRequest, TokenExpired, Unauthorized
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import OidcIssuer, Scope, is_reserved_user
from baton.ports.clock import Clock, SystemClock
from baton.ports.tenants.identity import Identity


class TokenRefused(ValueError):
    """The token fails a check here. The text names the check and quotes nothing of the token."""


class ReservedUser(TokenRefused):
    """The user of a token that is signed well has an id that no user may have. Its caller may know."""

    detail = "The user id in the token's sub is reserved. The application must give this user another id."

    def __init__(self) -> None:
        super().__init__("its sub is me, . or .., which addresses give another meaning")


_REASONS: dict[type[Exception], str] = {
    jwt.ExpiredSignatureError: "it has expired",
    jwt.ImmatureSignatureError: "its iat or nbf lies in the future",
    jwt.InvalidSignatureError: "its signature was not made with the key that its kid names",
    jwt.InvalidAlgorithmError: "its algorithm is not the one of its key",
    jwt.InvalidAudienceError: "its aud does not name this service",
    jwt.InvalidIssuedAtError: "its iat is not a time",
    InvalidSubjectError: "its sub is not a string",
    jwt.InvalidKeyError: "its key cannot check it",
    jwt.DecodeError: "it is not a signed JWT",
    InvalidRequest: "its tenant is not a tenant id, or its sub not 1 to 256 printable characters",
}


def reason(error: Exception) -> str:
    """Return why a token was refused with ``error``."""
    if isinstance(error, TokenRefused):
        return str(error)
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"it lacks the claim {error.claim}"  # a claim name of ours, not of the token
    for kind in type(error).__mro__:
        if kind in _REASONS:
            return _REASONS[kind]
    return f"a claim or header is of the wrong type ({type(error).__name__})"


MAX_TOKEN = 8192
MAX_PERMISSIONS = 64
PERMISSION = re.compile(r"[!#-\[\]-~]{1,64}")
"""An OAuth scope token (RFC 6749, section 3.3). 64 of them, joined, fit an API Gateway authorizer's 8 KB of context."""
EMBED_AUDIENCE = "baton"
MAX_EXPIRY = 253_402_300_799
"""The last second of the year 9999."""
LEEWAY = 30
"""Seconds by which an issuer's clock may be ahead of ours (``iat``, ``nbf``).

There is no leeway for ``exp``, which is checked for every frame of a connection too.
"""

_log = logging.getLogger(__name__)
_REFUSED = "The token is not valid here. Ask the application that gave it to you for a new one."
_UNUSABLE = (jwt.PyJWTError, InvalidRequest, ValueError, TypeError, KeyError, OverflowError, RecursionError)


class JwtVerifier:
    """A verifier of tokens: of the OIDC issuers that ``issuers`` returns now, and of those signed with an embed key.

    The ``iss`` of the latter is ``baton-embed``.

    The key determines the algorithm, never the token. The reason of a refusal is logged; callers learn only that a
    token has expired, or that its user id is reserved.

    With ``subject_tokens`` the identity's scope has the token, sealed, for calls that act for the user.
    """

    def __init__(
        self,
        issuers: Callable[[], Iterable[OidcIssuer]],
        embed_keys: EmbedKeys | None,
        *,
        allow_http: bool = False,
        clock: Clock | None = None,
        subject_tokens: SubjectTokens | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuers = TrustedIssuers(issuers, allow_http=allow_http, monotonic=monotonic)
        self._embed_keys = embed_keys
        self._subject_tokens = subject_tokens
        self._clock = clock or SystemClock()

    def verify(self, token: str) -> Identity:
        """Return the identity that ``token`` proves; see ``ports.tenants.identity.TokenVerifier``."""
        try:
            if len(token) > MAX_TOKEN:
                raise TokenRefused(f"it is longer than {MAX_TOKEN} characters")
            identity = self._identity(token)
            if identity.expires_at <= self._clock.now():
                raise jwt.ExpiredSignatureError
        except _UNUSABLE as error:
            # Not the error's text, which may quote the token.
            _log.warning("Token refused: %s.", reason(error))
            count(Metric.TOKENS_REFUSED)
            if isinstance(error, jwt.ExpiredSignatureError):
                raise TokenExpired from None
            raise Unauthorized(error.detail if isinstance(error, ReservedUser) else _REFUSED) from None
        if self._subject_tokens is None:
            return identity
        sealed = self._subject_tokens.seal(identity.scope, token, identity.expires_at)
        return replace(identity, scope=replace(identity.scope, subject_token=sealed))

    def unreadable_issuers(self) -> dict[str, str]:
        """Return the issuers whose keys cannot be read, and why. Each request takes some seconds at most."""
        reasons = {keys.issuer.issuer: keys.unreadable() for keys in self._issuers.by_name().values()}
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def _identity(self, token: str) -> Identity:
        unverified = jwt.decode_complete(token, options={"verify_signature": False})
        payload, header = unverified["payload"], unverified["header"]
        name, kid, algorithm = payload.get("iss"), header.get("kid"), header.get("alg")
        if not (isinstance(name, str) and isinstance(kid, str) and isinstance(algorithm, str)):
            raise TokenRefused("its iss, or kid or alg in its header, is missing or not a string")
        if name == EMBED_ISSUER:
            return self._from_host(token, kid, has_audience="aud" in payload)
        keys = self._issuers.by_name().get(name)
        if keys is None:
            raise TokenRefused(f"its iss is neither {EMBED_ISSUER} nor an issuer of tokenIssuers in the settings")
        issuer = keys.issuer
        if algorithm not in issuer.algorithms:
            raise TokenRefused("its algorithm is not one that is set for its issuer")
        key = keys.find(kid, algorithm)
        if key is None:
            raise TokenRefused("its issuer has no key of the id that its kid names")
        claims = _decode(token, key, key.algorithm_name, issuer.audience)
        tenant = issuer.tenant if issuer.tenant is not None else _claim(claims, issuer.tenant_claim)
        return _read(claims, tenant, claims.get(issuer.permissions_claim))

    def _from_host(self, token: str, kid: str, *, has_audience: bool) -> Identity:
        key = self._embed_keys.find(kid) if self._embed_keys is not None else None
        if key is None:
            raise TokenRefused("there is no usable embed key of the id that its kid names")
        claims = _decode(token, key.key, key.algorithm, EMBED_AUDIENCE if has_audience else None)
        tenant = _claim(claims, "tenant")
        if key.tenant not in (ANY_TENANT, tenant):
            raise TokenRefused("its tenant is not the one of its embed key")
        return _read(claims, tenant, claims.get("permissions"))


def _claim(claims: dict[str, Any], name: str) -> Any:
    if name not in claims:
        raise jwt.MissingRequiredClaimError(name)
    return claims[name]


def _decode(token: str, key: Any, algorithm: str, audience: str | tuple[str, ...] | None) -> dict[str, Any]:
    return jwt.decode(
        token,
        key,
        algorithms=[algorithm],
        audience=audience,
        leeway=LEEWAY,
        options={"require": ["exp", "sub"], "enforce_minimum_key_length": True},
    )


def _read(claims: dict[str, Any], tenant: object, permissions: object) -> Identity:
    exp = claims["exp"]
    # PyJWT also accepts "1700000000" and true as a time.
    if not isinstance(tenant, str) or isinstance(exp, bool) or not isinstance(exp, (int, float)):
        raise TokenRefused("its tenant is not a string or its exp not a number")
    if exp > MAX_EXPIRY:
        raise TokenRefused("its exp lies beyond the calendar")
    if is_reserved_user(claims["sub"]):
        raise ReservedUser
    return Identity(Scope(tenant, claims["sub"], _permissions(permissions)), datetime.fromtimestamp(int(exp), UTC))


def _permissions(claim: object) -> frozenset[str]:
    if claim is None:
        return frozenset()
    names = claim.split() if isinstance(claim, str) else claim
    if not isinstance(names, list) or len(names) > MAX_PERMISSIONS:
        raise TokenRefused(f"its permissions are not a list or a string of at most {MAX_PERMISSIONS} names")
    if not all(isinstance(name, str) and PERMISSION.fullmatch(name) for name in names):
        raise TokenRefused("one of its permissions is not a scope token of 1 to 64 characters")
    return frozenset(names)
