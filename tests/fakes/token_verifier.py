"""Verifying tokens without keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from baton.domain.errors import Unauthorized
from baton.domain.tenants.identity import Scope
from baton.ports.clock import Clock
from baton.ports.tenants.identity import Identity


@dataclass(frozen=True)
class OpenVerifier:
    """``ports.tenants.identity.TokenVerifier`` that takes a token's word: ``tenant,user,permission,...``."""

    clock: Clock
    seconds: Callable[[], float] = lambda: 3600.0

    def verify(self, token: str) -> Identity:
        match token.split(","):
            case [tenant_id, user_id, *permissions]:
                scope = Scope(tenant_id, user_id, frozenset(permissions))
                return Identity(scope, self.clock.now() + timedelta(seconds=self.seconds()))
        raise Unauthorized
