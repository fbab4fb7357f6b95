"""Dead deliveries to webhooks in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton.domain.cursors import decode_text, encode_text
from baton.domain.tenants.identity import Scope
from baton.domain.threads.webhook_delivery import DEAD_LIFETIME, DeadDelivery
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock


class FakeDeadDeliveries:
    """``ports.threads.webhooks.DeadDeliveries``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.stored: dict[tuple[str, str], DeadDelivery] = {}

    async def put(self, dead: DeadDelivery) -> None:
        at = from_millis(to_millis(dead.died_at))
        self.stored[dead.delivery.tenant_id, dead.id] = replace(dead, died_at=at)

    async def get(self, scope: Scope, delivery_id: str) -> DeadDelivery | None:
        dead = self.stored.get((scope.tenant_id, delivery_id))
        return dead if dead is not None and self._is_kept(dead) else None

    async def page(self, scope: Scope, *, limit: int, cursor: str | None) -> tuple[Sequence[DeadDelivery], str | None]:
        before = decode_text(cursor) if cursor else "~"
        mine = [dead for (tenant, _), dead in self.stored.items() if tenant == scope.tenant_id and self._is_kept(dead)]
        listed = sorted((dead for dead in mine if _make_key(dead) < before), key=_make_key, reverse=True)
        return listed[:limit], encode_text(_make_key(listed[limit - 1])) if len(listed) > limit else None

    async def remove(self, scope: Scope, delivery_id: str) -> None:
        self.stored.pop((scope.tenant_id, delivery_id), None)

    def _is_kept(self, dead: DeadDelivery) -> bool:
        return dead.died_at + DEAD_LIFETIME > self._clock.now()


def _make_key(dead: DeadDelivery) -> str:
    return f"{to_millis(dead.died_at):015d}#{dead.id}"
