"""Verification of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.identity import Scope


@dataclass(frozen=True, slots=True)
class Identity:
    """The user that a token identifies, and its expiry."""

    scope: Scope
    expires_at: datetime
    """Aware, UTC, later than now."""


class TokenVerifier(Protocol):
    """Decides whether a token can be trusted."""

    def verify(self, token: str) -> Identity:
        """Return the identity that ``token`` proves.

        Raises ``TokenExpired`` for an otherwise valid token that has expired, ``Unauthorized`` for every other invalid
        one, and ``StoreUnavailable`` if the keys cannot be read. Thread-safe. It may block for some seconds to fetch
        keys, so asynchronous code calls it in a thread (FastAPI does so for a plain ``def`` dependency).
        """
        ...
