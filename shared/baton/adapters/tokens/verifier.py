"""Verification of JWTs: of OIDC issuers, and embed tokens that host applications sign."""

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
from baton.domain.tenants.identity import LANGUAGE_TAG, MAX_USER_NAME, OidcIssuer, Scope, is_printable, is_reserved_user
from baton.domain.web_url import is_web_url
from baton.ports.clock import Clock, SystemClock, read_machine_time
from baton.ports.tenants.identity import Identity


class TokenRefused(ValueError):
    """The token fails one of Baton's own checks. The text names the check and does not quote the token."""


class ReservedUser(TokenRefused):
    """The token is valid, but its user has an id that no user may have. The caller is informed."""

    detail = "The user id in the token's sub is reserved. The application must give this user another id."

    def __init__(self) -> None:
        super().__init__("its sub is me, . or .., which addresses give another meaning")


_REASONS: dict[type[Exception], str] = {
    jwt.ExpiredSignatureError: "it has expired",
    jwt.ImmatureSignatureError: "its iat or nbf lies in the future",
    jwt.InvalidSignatureError: (
        "it was signed with another key than the one that its kid names; get a new token, or sign with that key"
    ),
    jwt.InvalidAlgorithmError: "its algorithm is not the one of its key",
    jwt.InvalidAudienceError: "its aud does not name this service",
    jwt.InvalidIssuedAtError: "its iat is not a time",
    InvalidSubjectError: "its sub is not a string",
    jwt.InvalidKeyError: "its key cannot check it",
    jwt.DecodeError: "it is not a signed JWT",
    InvalidRequest: "its tenant is not a tenant id, or its sub not 1 to 256 printable characters",
}


def describe_refusal(error: Exception) -> str:
    """Return the reason why a token was refused with ``error``, for the log."""
    if isinstance(error, TokenRefused):
        return str(error)
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"it lacks the claim {error.claim}"  # the name of a required claim, and not text of the token
    for kind in type(error).__mro__:
        if kind in _REASONS:
            return _REASONS[kind]
    return f"a claim or header is of the wrong type ({type(error).__name__})"


MAX_TOKEN = 8192
"""The maximum length of a token, in characters."""
MAX_PERMISSIONS = 64
MAX_PICTURE = 1_000
"""The maximum length of the address of a user's picture, in characters."""
PERMISSION = re.compile(r"[!#-\[\]-~]{1,64}")
"""An OAuth scope token (RFC 6749, section 3.3). 64 of them, joined, fit an API Gateway authorizer's 8 KB of context."""
EMBED_AUDIENCE = "baton"
MAX_EXPIRY = 253_402_300_799
"""The last second of the year 9999."""
LEEWAY = 30
"""Seconds by which an issuer's clock may be ahead of Baton's (``iat``, ``nbf``).

There is no leeway for ``exp``, which is checked again for every frame of a connection.
"""

_log = logging.getLogger(__name__)
_REFUSED = "The token is not valid here. Ask the application that gave it to you for a new one."
_UNUSABLE = (jwt.PyJWTError, InvalidRequest, ValueError, TypeError, KeyError, OverflowError, RecursionError)


class JwtVerifier:
    """``TokenVerifier`` for the OIDC issuers that ``issuers`` returns now, and for embed tokens (``iss: baton-embed``).

    The key determines the algorithm, never the token. The reason of a refusal is logged. Callers learn only that a
    token has expired, or that its user id is reserved.

    With ``subject_tokens`` the scope of an identity holds the sealed token, for calls that act for the user.
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
            identity = self._identify(token)
            if identity.expires_at <= read_machine_time(self._clock):
                raise jwt.ExpiredSignatureError
        except _UNUSABLE as error:
            # The log has no text of the error, which may quote the token.
            _log.warning("Token refused: %s.", describe_refusal(error))
            count(Metric.TOKENS_REFUSED)
            if isinstance(error, jwt.ExpiredSignatureError):
                raise TokenExpired from None
            raise Unauthorized(error.detail if isinstance(error, ReservedUser) else _REFUSED) from None
        if self._subject_tokens is None:
            return identity
        sealed = self._subject_tokens.seal(identity.scope, token, identity.expires_at)
        return replace(identity, scope=replace(identity.scope, subject_token=sealed))

    def find_unreadable_issuers(self) -> dict[str, str]:
        """Return the issuers whose keys cannot be read, with the reason. Blocks for some seconds an issuer."""
        problems = {keys.issuer.issuer: keys.find_read_problem() for keys in self._issuers.list_key_sets().values()}
        return {name: problem for name, problem in problems.items() if problem is not None}

    def _identify(self, token: str) -> Identity:
        """Return the identity of a token with a valid signature.

        Raises one of ``_UNUSABLE``, and ``StoreUnavailable`` or ``InternalError`` if the keys cannot be read.
        """
        unverified = jwt.decode_complete(token, options={"verify_signature": False})
        payload, header = unverified["payload"], unverified["header"]
        name, kid, algorithm = payload.get("iss"), header.get("kid"), header.get("alg")
        if not (isinstance(name, str) and isinstance(kid, str) and isinstance(algorithm, str)):
            raise TokenRefused("its iss, or kid or alg in its header, is missing or not a string")
        if name == EMBED_ISSUER:
            return self._verify_embed_token(token, kid, has_audience="aud" in payload)
        keys = self._issuers.list_key_sets().get(name)
        if keys is None:
            raise TokenRefused(f"its iss is neither {EMBED_ISSUER} nor an issuer of tokenIssuers in the settings")
        issuer = keys.issuer
        if algorithm not in issuer.algorithms:
            raise TokenRefused("its algorithm is not one that is set for its issuer")
        key = keys.find(kid, algorithm)
        if key is None:
            raise TokenRefused("its issuer publishes no key with the id in its kid")
        claims = _decode_claims(token, key, key.algorithm_name, issuer.audience)
        tenant = issuer.tenant if issuer.tenant is not None else _require_claim(claims, issuer.tenant_claim)
        return _to_identity(claims, tenant, claims.get(issuer.permissions_claim))

    def _verify_embed_token(self, token: str, kid: str, *, has_audience: bool) -> Identity:
        """Return the identity of an embed token. Raises as ``_identify`` does."""
        key = self._embed_keys.find(kid) if self._embed_keys is not None else None
        if key is None:
            raise TokenRefused(
                "no usable embed key has the id in its kid; add the key to the embed keys, or correct kid"
            )
        claims = _decode_claims(token, key.key, key.algorithm, EMBED_AUDIENCE if has_audience else None)
        tenant = _require_claim(claims, "tenant")
        if key.tenant not in (ANY_TENANT, tenant):
            raise TokenRefused("its tenant is not the one of its embed key")
        return _to_identity(claims, tenant, claims.get("permissions"))


def _require_claim(claims: dict[str, Any], name: str) -> Any:
    if name not in claims:
        raise jwt.MissingRequiredClaimError(name)
    return claims[name]


def _decode_claims(token: str, key: Any, algorithm: str, audience: str | tuple[str, ...] | None) -> dict[str, Any]:
    """Return the claims of a token that ``key`` has signed. Raises PyJWT's errors."""
    return jwt.decode(
        token,
        key,
        algorithms=[algorithm],
        audience=audience,
        leeway=LEEWAY,
        options={"require": ["exp", "sub"], "enforce_minimum_key_length": True},
    )


def _to_identity(claims: dict[str, Any], tenant: object, permissions: object) -> Identity:
    """Return the identity that verified ``claims`` name. Raises ``TokenRefused`` and ``InvalidRequest``."""
    exp = claims["exp"]
    # PyJWT also accepts "1700000000" and true as a time.
    if not isinstance(tenant, str) or isinstance(exp, bool) or not isinstance(exp, (int, float)):
        raise TokenRefused("its tenant is not a string or its exp not a number")
    if exp > MAX_EXPIRY:
        raise TokenRefused("its exp lies beyond the calendar")
    if is_reserved_user(claims["sub"]):
        raise ReservedUser
    scope = Scope(
        tenant,
        claims["sub"],
        _read_permissions(permissions),
        name=read_name(claims.get("name")),
        picture=read_picture(claims.get("picture")),
        locale=read_locale(claims.get("locale")),
    )
    return Identity(scope, datetime.fromtimestamp(int(exp), UTC))


def read_name(claim: object) -> str | None:
    """Return the value of OpenID Connect's claim ``name`` (Core, section 5.1); None if it cannot be shown."""
    return claim if isinstance(claim, str) and is_printable(claim, MAX_USER_NAME) else None


def read_picture(claim: object) -> str | None:
    """Return the address in OpenID Connect's claim ``picture``; None for one that browsers should not load."""
    if not isinstance(claim, str) or len(claim) > MAX_PICTURE or not claim.startswith("https://"):
        return None
    return claim if is_web_url(claim) else None


def read_locale(claim: object) -> str | None:
    """Return the language tag in OpenID Connect's claim ``locale``, with ``-`` for the ``_`` of some providers.

    Return None if it is not a language tag.
    """
    tag = claim.replace("_", "-") if isinstance(claim, str) else ""
    return tag if LANGUAGE_TAG.fullmatch(tag) else None


def _read_permissions(claim: object) -> frozenset[str]:
    """Return the permissions in a list or in a string with spaces; empty without a claim. Raises ``TokenRefused``."""
    if claim is None:
        return frozenset()
    names = claim.split() if isinstance(claim, str) else claim
    if not isinstance(names, list) or len(names) > MAX_PERMISSIONS:
        raise TokenRefused(f"its permissions are not a list or a string of at most {MAX_PERMISSIONS} names")
    if not all(isinstance(name, str) and PERMISSION.fullmatch(name) for name in names):
        raise TokenRefused("one of its permissions is not a scope token of 1 to 64 characters")
    return frozenset(names)
