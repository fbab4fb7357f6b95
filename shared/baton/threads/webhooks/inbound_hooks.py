"""Requests to hooks: each is verified, mapped to a user, a conversation and an event, and begins a run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aws_lambda_powertools import Logger

from baton.concurrency.tasks import work_for
from baton.domain.errors import (
    BatonError,
    InternalError,
    MalformedJson,
    MessageIdConflict,
    NotFound,
    ThreadUnavailable,
    Unauthorized,
)
from baton.domain.json_values import refuse_constant
from baton.domain.metrics import Metric, count
from baton.domain.tenants.identity import Scope
from baton.domain.tenants.inbound_hook import HookSettings, InboundHook, find_text, find_value
from baton.ports.clock import Clock, read_machine_time
from baton.ports.tenants.audit import AuditLog
from baton.ports.threads.webhooks import HookVerifier
from baton.tenants.removed_tenants import RemovedTenants
from baton.threads.schedules.event_starts import EventStarts
from baton.threads.schedules.incoming_event import IncomingEvent

logger = Logger(child=True)


@dataclass(frozen=True, slots=True)
class InboundHooks:
    """Runs that requests to hooks begin. The audit names ``hook:<id>`` as the user who has sent the event."""

    settings: Callable[[], HookSettings]
    """A function that returns the current hooks. It raises ``BatonError`` if there are no settings."""
    verifier: HookVerifier
    starts: EventStarts
    audit: AuditLog
    clock: Clock
    removed_tenants: RemovedTenants

    async def take(self, hook_id: str, headers: Mapping[str, Sequence[str]], body: bytes) -> None:
        """Begin the run of a request, once for each id of an event.

        Raises ``NotFound`` for an unknown hook, ``Unauthorized`` for a request without a valid signature,
        ``TenantRemoved``, ``MalformedJson``, ``InternalError`` if the hook's secret cannot be used, and the errors of
        ``EventStarts.begin``. Refusals of signed requests are audited, but not those of a removed tenant.
        """
        hook = self.settings().find(hook_id)
        try:
            event_id = await self.verifier.verify(hook, headers, body, read_machine_time(self.clock))
        except Unauthorized:
            if hook is None:
                raise NotFound("There is no such hook.") from None
            raise
        except InternalError as failure:
            logger.error("hook secret unusable", hook=hook_id, reason=failure.detail)
            count(Metric.KEYS_UNREADABLE)
            raise InternalError from None  # the caller is unknown, and must not learn the name of a secret
        assert hook is not None  # noqa: S101 - no other request is verified
        work_for(hook.tenant)
        sender = Scope(hook.tenant, f"hook:{hook.id}")
        await self.removed_tenants.check(sender)
        try:
            await self._begin(hook, sender, event_id, body)
        except ThreadUnavailable:
            raise  # audited with its conversation
        except BatonError as refusal:
            if refusal.status < 500:
                detail = {"hookId": hook.id, "eventId": event_id, "code": refusal.code, "reason": refusal.detail}
                await self.audit.record(sender, "event.send", thread_id=None, outcome="refused", detail=detail)
            raise

    async def _begin(self, hook: InboundHook, sender: Scope, event_id: str, body: bytes) -> None:
        """Begin the run of a verified request. Raises ``MalformedJson`` and the errors of ``EventStarts.begin``."""
        try:
            value = json.loads(body, parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            raise MalformedJson from None
        owner = Scope(hook.tenant, find_text(hook.user, value, "user"))
        thread_id = find_text(hook.thread, value, "thread")
        data = value if hook.data is None else find_value(hook.data, value, "data")
        event = IncomingEvent.parse(event_id, find_text(hook.type, value, "type"), data, hook_id=hook.id)
        with suppress(MessageIdConflict):  # an event with this id but another body was accepted before
            await self.starts.begin(sender, owner, thread_id, event, agent_id=hook.agent_id)
