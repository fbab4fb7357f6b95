"""Users and conversations that were forgotten since a time, which no restore brings back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.tenants.erased_items import TOMBSTONE
from baton.adapters.dynamodb.tenants.forget_requests import DynamoRetentions
from baton.domain.memory.forgetting import ForgetSubject, compute_cutoff
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock

ANYBODY = "-"
"""A placeholder for the user in scopes of keys that contain the tenant only."""
MARGIN = timedelta(hours=1)
"""The time before the restored time in which ended requests count too, since their last sweep may have been later."""


@dataclass(frozen=True, slots=True)
class PastRequest:
    """A request to forget that is in progress, or has ended after the restored time or less than ``MARGIN`` before."""

    id: str
    subject: ForgetSubject
    user_id: str
    requested_by: str
    cutoff_at: datetime
    """Conversations that began up to this time are forgotten."""
    thread_id: str | None = None
    """The conversation to forget; None for a user."""


@dataclass(frozen=True, slots=True)
class TenantRequests:
    """The requests of one tenant, and the age from which its retention removes conversations."""

    requests: tuple[PastRequest, ...]
    users: dict[str, datetime]
    """The latest cut-off for each forgotten user, by user id."""
    threads: dict[str, datetime]
    """The latest cut-off for each forgotten conversation, by its id."""
    active_since: datetime | None
    """Conversations without activity since this time are removed; None if all are kept."""


@dataclass(slots=True)
class ForgottenSince:
    """The requests to forget since the time of the restored table, read tenant by tenant."""

    source: Table
    live: Table
    at: datetime
    """The time of the restored data."""
    clock: Clock
    _tenants: dict[str, TenantRequests] = field(default_factory=dict, init=False)
    _reading: dict[str, asyncio.Lock] = field(default_factory=dict, init=False)

    async def read_tenant(self, tenant_id: str) -> TenantRequests:
        """Return the requests of a tenant, which are read once."""
        async with self._reading.setdefault(tenant_id, asyncio.Lock()):
            if tenant_id not in self._tenants:
                self._tenants[tenant_id] = await self._read(Scope(tenant_id, ANYBODY))
            return self._tenants[tenant_id]

    def forget_cache(self) -> None:
        """Clear the cached requests, because users may have made new ones during a restore."""
        self._tenants.clear()

    async def has_thread(self, scope: Scope, thread: Item) -> bool:
        """Return whether a conversation of the restored table, or a parent, is forgotten, or the parent is missing.

        Return true for a conversation that is too old, too. The age of a fork is that of its first parent.
        """
        requests = await self.read_tenant(scope.tenant_id)
        seen: Item | None = thread
        while seen is not None:
            if seen.get("thread_status") == TOMBSTONE or _is_forgotten(requests, keys.thread_id_of(scope, seen), seen):
                return True
            parent = seen.get("parent_thread_id")
            if parent is None:
                last_activity = from_millis(seen.get("last_activity_at", 0))
                return requests.active_since is not None and last_activity < requests.active_since
            seen = await self.source.get(keys.thread(scope, parent))
            if seen is None:
                return True  # the conversation that it belongs to was not there any more
        return False

    async def has_user(self, scope: Scope) -> bool:
        """Return whether the user was forgotten."""
        return scope.user_id in (await self.read_tenant(scope.tenant_id)).users

    async def list_user_partitions(self, tenant_id: str) -> set[str]:
        """Return the partitions of the tenant's forgotten users."""
        users = (await self.read_tenant(tenant_id)).users
        return {keys.user_listing(Scope(tenant_id, user_id)) for user_id in users}

    async def _read(self, scope: Scope) -> TenantRequests:
        """Read the requests and the retention of a tenant. Raises ``StoreUnavailable``."""
        requests: list[PastRequest] = []
        async for page in self.live.query(keys.forgetting(scope), prefix=keys.forget_request.prefix):
            requests += [self._parse_request(item) for item in page if self._is_since(item)]
        users: dict[str, datetime] = {}
        threads: dict[str, datetime] = {}
        for request in requests:
            if request.subject is ForgetSubject.USER:
                users[request.user_id] = max(request.cutoff_at, users.get(request.user_id, request.cutoff_at))
            elif request.thread_id is not None:
                earlier = threads.get(request.thread_id, request.cutoff_at)
                threads[request.thread_id] = max(request.cutoff_at, earlier)
        retention = await DynamoRetentions(self.live, self.clock).get(scope)
        return TenantRequests(tuple(requests), users, threads, compute_cutoff(self.clock.now(), retention.threads))

    def _is_since(self, item: Item) -> bool:
        """Return whether a request by a user is in progress, or has ended since ``MARGIN`` before the restored time."""
        if item["subject"] == ForgetSubject.RETENTION.value:
            return False  # the retention of today says the same
        since = to_millis(self.at - MARGIN)
        return "ended_at" not in item or bool(item["ended_at"] >= since)

    def _parse_request(self, item: Item) -> PastRequest:
        """Return the request of an item. A request without a cut-off gets the present time."""
        cutoff_at = from_millis(item["cutoff_at"]) if "cutoff_at" in item else self.clock.now()
        return PastRequest(
            item["SK"].removeprefix(keys.forget_request.prefix),
            ForgetSubject(item["subject"]),
            item["user_id"],
            item["requested_by"],
            cutoff_at,
            item.get("thread_id"),
        )


def _is_forgotten(requests: TenantRequests, thread_id: str, thread: Item) -> bool:
    """Return whether a conversation began up to the cut-off of a request about it or its user."""
    created_at = from_millis(thread.get("created_at", 0))
    cutoffs = (requests.threads.get(thread_id), requests.users.get(str(thread.get("user_id"))))
    return any(cutoff is not None and created_at <= cutoff for cutoff in cutoffs)
