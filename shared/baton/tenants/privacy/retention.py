"""Start the enforcement of tenants' retention, once a day."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from baton.domain.errors import BatonError, TenantRemoved
from baton.domain.memory.forgetting import ForgetRequest, ForgetSubject
from baton.domain.tenants.identity import Scope
from baton.failures.reports import report_failure
from baton.ports.clock import Clock
from baton.ports.tenants.privacy import ForgetRequests, Forgettings
from baton.ports.tenants.tenants import Retentions

SYSTEM = "baton"
"""The user in whose name a retention is enforced if it is not known who set it."""


@dataclass(frozen=True, slots=True)
class RetentionRuns:
    """Requests to forget, started for each tenant whose retention is due."""

    retentions: Retentions
    requests: ForgetRequests
    forgettings: Forgettings
    clock: Clock

    async def start_due(self) -> int:
        """Start the enforcement for tenants that are due, and return their number.

        A failure of one tenant does not stop the others; it stays due. Raises an ``ExceptionGroup`` of the failures.
        """
        started = 0
        failures: list[Exception] = []
        for tenant_id in await self.retentions.claim_due(self.clock.now()):
            try:
                await self._start(tenant_id)
                started += 1
            except TenantRemoved:
                continue  # its removal removes everything
            except Exception as failure:  # noqa: BLE001 - raised at the end
                report_failure(failure, "retention not started", tenant=tenant_id)
                failures.append(failure)
                with contextlib.suppress(BatonError):  # then it is due again the next day
                    await self.retentions.repeat_soon(Scope(tenant_id, SYSTEM))
        if failures:
            raise ExceptionGroup("The retention of some tenants was not started.", failures)
        return started

    async def _start(self, tenant_id: str) -> None:
        scope = Scope(tenant_id, SYSTEM)
        retention = await self.retentions.get(scope)
        set_by = retention.changed_by or SYSTEM
        scope = replace(scope, user_id=set_by)
        request = ForgetRequest(
            self.clock.new_id(), tenant_id, ForgetSubject.RETENTION, set_by, set_by, self.clock.now()
        )
        opened = await self.requests.open(scope, request)
        await self.forgettings.start(opened)
        if retention.changed_at is not None and opened.requested_at < retention.changed_at:
            # It began before the change, and may have passed over data that the new limits concern.
            await self.retentions.repeat_soon(scope)
