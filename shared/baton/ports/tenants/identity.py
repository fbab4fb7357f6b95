"""Ports for the verification of tokens, and for secrets of the operator."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.tenants.identity import Scope


@dataclass(frozen=True, slots=True)
class Identity:
    """The user that a token identifies, and its expiry."""

    scope: Scope
    expires_at: datetime
    """Aware, UTC, later than now."""


class TokenVerifier(Protocol):
    """A verifier of tokens, which decides whether a token can be trusted."""

    def verify(self, token: str) -> Identity:
        """Return the identity that ``token`` proves.

        Raises ``TokenExpired`` for a token with a valid signature that has expired; ``Unauthorized`` for every other
        invalid token, and ``StoreUnavailable`` or ``InternalError`` if the keys cannot be read. An expired token with a
        further fault may raise ``Unauthorized`` instead.

        Thread-safe. It may block for some seconds to fetch keys, so asynchronous code calls it in a thread (FastAPI
        does so for a plain ``def`` dependency).
        """


class Secrets(Protocol):
    """Secrets by name. Thread-safe; blocks for a network call when the value is not cached.

    Every method raises ``NotFound`` for a secret without a value, ``InternalError`` for one that may not be read, and
    ``StoreUnavailable`` if the store does not answer and no recent value is cached.
    """

    def get(self, name: str) -> str:
        """Return the value, at most some minutes old."""

    def renew(self, name: str) -> str:
        """Return the value, at most some seconds old, for a caller whose value stopped working (rotation)."""
