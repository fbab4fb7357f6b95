"""Ports for deliveries to webhooks that were given up, and for signatures of sent and received requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from baton.domain.tenants.identity import Scope
from baton.domain.tenants.inbound_hook import InboundHook
from baton.domain.tenants.webhook import Webhook
from baton.domain.threads.webhook_delivery import DeadDelivery


class DeadDeliveries(Protocol):
    """Dead deliveries, in the partitions of their threads, so that forgetting a thread removes them.

    Every method raises ``StoreUnavailable``. Callers must have checked that they may read the tenant's deliveries.
    """

    async def put(self, dead: DeadDelivery) -> None:
        """Store a delivery for ``DEAD_LIFETIME``, in place of an earlier record of the same delivery."""

    async def get(self, scope: Scope, delivery_id: str) -> DeadDelivery | None:
        """Return the tenant's dead delivery with this id; None if there is none."""

    async def page(self, scope: Scope, *, limit: int, cursor: str | None) -> tuple[Sequence[DeadDelivery], str | None]:
        """Return a page of the tenant's dead deliveries, the newest first, and the next cursor.

        A page may have fewer than ``limit`` deliveries. Raises ``InvalidRequest`` for a cursor that this list did not
        hand out.
        """

    async def remove(self, scope: Scope, delivery_id: str) -> None:
        """Remove a dead delivery. A missing delivery is not an error."""


class HookVerifier(Protocol):
    """A verifier of the signed requests of hooks."""

    async def verify(
        self, hook: InboundHook | None, headers: Mapping[str, Sequence[str]], body: bytes, now: datetime
    ) -> str:
        """Return the id of the event in a request. The names in ``headers`` are in lower case.

        Raises ``Unauthorized`` if the request has no valid signature of about the time ``now``, or if ``hook`` is None;
        ``InternalError`` and ``StoreUnavailable`` if the hook's secret cannot be read or used.
        """


class WebhookSigner(Protocol):
    """Signatures by the secrets of webhooks."""

    async def sign(self, webhook: Webhook, event_id: str, at: datetime, body: bytes) -> Mapping[str, str]:
        """Return the headers of Standard Webhooks for a request at the time ``at``.

        Raises ``InternalError`` and ``StoreUnavailable`` if the webhook's secret cannot be read or used.
        """
