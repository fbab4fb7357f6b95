"""Requests to forget, and the retention of tenants' data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.key_forms import Key
from baton.adapters.dynamodb.shapes import Shape
from baton.adapters.dynamodb.table_stores import TimedTableStore
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed
from baton.concurrency.tasks import gather_all
from baton.domain.memory.forgetting import (
    ENFORCED_EVERY,
    GIVEN_UP_AFTER,
    MARK_KEPT,
    ForgetRequest,
    ForgetStatus,
    ForgetSubject,
    Retention,
)
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis

_DAYS = ("threads", "episodes", "audit", "uploads")
_REQUEST = Shape(ForgetRequest)
_RETENTION = Shape(Retention)


class DynamoRetentions(TimedTableStore):
    """``Retentions`` on the conversation table."""

    async def get(self, scope: Scope) -> Retention:
        return await self._table.read(keys.retention(scope), _RETENTION.of_json) or Retention()

    async def put(self, scope: Scope, retention: Retention) -> None:
        item: Item = {
            **keys.retention(scope),
            "changed_by": retention.changed_by,
            "changed_at": to_millis(retention.changed_at or self._clock.now()),
            **{name: getattr(retention, name) for name in _DAYS},
        }
        await self._table.put(item)
        # The list is written second, because a listed tenant must have a retention.
        due = keys.retention_due(scope.tenant_id)
        if retention.is_limited:
            await self._table.put({**due, "due_at": to_millis(self._clock.now())})
        else:
            await self._table.delete(due)

    async def find_due_time(self, scope: Scope) -> datetime | None:
        return await self._table.read(keys.retention_due(scope.tenant_id), lambda item: from_millis(item["due_at"]))

    async def repeat_soon(self, scope: Scope) -> None:
        await self._table.change(
            keys.retention_due(scope.tenant_id),
            "SET due_at = :now",
            {":now": to_millis(self._clock.now())},
            condition="attribute_exists(PK)",  # otherwise the limit has been removed meanwhile
        )

    async def claim_due(self, now: datetime) -> Sequence[str]:
        claimed: list[str] = []
        async for page in self._table.query(keys.RETENTIONS):
            for item in page:
                is_claimed = item["due_at"] <= to_millis(now) and await self._table.change(
                    keys.retention_due(item["SK"]),
                    "SET due_at = :next",
                    {":next": to_millis(now + ENFORCED_EVERY), ":seen": item["due_at"]},
                    condition="due_at = :seen",  # otherwise another sweep was faster
                )
                if is_claimed:
                    claimed.append(item["SK"])
        return claimed


class DynamoForgetRequests(TimedTableStore):
    """``ForgetRequests`` on the conversation table."""

    async def open(self, scope: Scope, request: ForgetRequest) -> ForgetRequest:
        # The request first, so that a reader that finds the mark also finds the request.
        await self._table.put(_make_item(scope, request))
        try:
            await self._table.update(
                _make_mark_key(scope, request.subject, request.thread_id),
                "SET request_id = :id, request_status = :running, requested_at = :at, cutoff_at = :at, "
                "expires_at = :expires",
                {
                    ":id": request.id,
                    ":running": ForgetStatus.RUNNING.value,
                    ":at": to_millis(request.requested_at),
                    ":stale": to_millis(request.requested_at - GIVEN_UP_AFTER),
                    ":expires": int((request.requested_at + MARK_KEPT).timestamp()),
                },
                condition=f"{IS_NEW} OR request_status <> :running OR requested_at < :stale OR request_id = :id",
            )
        except ConditionFailed as failure:
            running = await self.get(scope, (failure.item or {}).get("request_id", ""))
            if running is None:
                raise
            await self._table.delete(keys.forget_request(scope, request.id))
            return running
        return request

    async def get(self, scope: Scope, request_id: str) -> ForgetRequest | None:
        return await self._table.read(keys.forget_request(scope, request_id), partial(_to_request, scope))

    async def find_latest(self, scope: Scope, thread_id: str) -> ForgetRequest | None:
        return await self._find_marked(scope, ForgetSubject.THREAD, thread_id)

    async def find_latest_of_retention(self, scope: Scope) -> ForgetRequest | None:
        return await self._find_marked(scope, ForgetSubject.RETENTION, None)

    async def _find_marked(self, scope: Scope, subject: ForgetSubject, thread_id: str | None) -> ForgetRequest | None:
        """Return the latest request for a subject; None if there is none."""
        mark = await self._table.get(_make_mark_key(scope, subject, thread_id))
        return await self.get(scope, mark["request_id"]) if mark is not None else None

    async def save(self, scope: Scope, request: ForgetRequest) -> None:
        await self._table.put(_make_item(scope, request))
        await self._table.change(
            _make_mark_key(scope, request.subject, request.thread_id),
            "SET request_status = :status, cutoff_at = :cutoff, expires_at = :expires",
            {
                ":id": request.id,
                ":status": request.status.value,
                ":cutoff": to_millis(request.cutoff_at or request.requested_at),
                ":expires": int((self._clock.now() + MARK_KEPT).timestamp()),
            },
            condition="request_id = :id",  # otherwise a later request has taken its place
        )

    async def find_cutoff(self, scope: Scope, thread_id: str) -> datetime | None:
        user, thread = await gather_all(
            self._table.get(_make_mark_key(scope, ForgetSubject.USER, None)),
            self._table.get(_make_mark_key(scope, ForgetSubject.THREAD, thread_id)),
        )
        marks = [mark["cutoff_at"] for mark in (user, thread) if mark is not None]
        return from_millis(max(marks)) if marks else None


def _make_mark_key(scope: Scope, subject: ForgetSubject, thread_id: str | None) -> Key:
    if subject is ForgetSubject.RETENTION:
        return {"PK": keys.forgetting(scope), "SK": "RETENTION"}
    return keys.forgotten_user(scope) if thread_id is None else keys.forgotten_thread(scope, thread_id)


def _make_item(scope: Scope, request: ForgetRequest) -> Item:
    return {
        **keys.forget_request(scope, request.id),
        "subject": request.subject.value,
        "user_id": request.user_id,
        "requested_by": request.requested_by,
        "requested_at": to_millis(request.requested_at),
        "request_status": request.status.value,
        "round": request.round,
        "counts": json.dumps(dict(request.counts)),
        "residue": json.dumps(dict(request.residue)),
        "thread_id": request.thread_id,
        "cutoff_at": to_millis(request.cutoff_at) if request.cutoff_at is not None else None,
        "ended_at": to_millis(request.ended_at) if request.ended_at is not None else None,
    }


def _to_request(scope: Scope, item: Item) -> ForgetRequest:
    return _REQUEST.of_json(
        item,
        id=item["SK"].removeprefix(keys.forget_request.prefix),
        tenant_id=scope.tenant_id,
        status=item["request_status"],
        counts=json.loads(item["counts"]),
        residue=json.loads(item["residue"]),
    )
