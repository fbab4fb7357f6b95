"""Reasons of refused tokens for the log. They contain no value of the token, which may be a secret or an attack."""

from __future__ import annotations

import jwt
from jwt.exceptions import InvalidSubjectError

from baton.domain.errors import InvalidRequest


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
