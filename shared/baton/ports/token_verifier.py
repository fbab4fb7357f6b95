"""Tokens and whom they speak for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from baton.domain.identity import Scope


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a token speaks for, and until when."""

    scope: Scope
    expires_at: datetime
    """Aware, UTC, later than now."""


class TokenVerifier(Protocol):
    """Decides whether a token can be trusted."""

    def verify(self, token: str) -> Identity:
        """The identity that ``token`` proves.

        Raises ``TokenExpired`` for a good token whose time is over, ``Unauthorized`` for every other bad one, and
        ``StoreUnavailable`` while the keys to judge by cannot be read. Thread-safe. Blocks for some seconds when keys
        must be fetched: asynchronous code calls it in a thread (FastAPI does so for a plain ``def`` dependency).
        """
        ...
