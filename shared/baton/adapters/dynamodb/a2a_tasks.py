"""A2A tasks, and the addresses at which their clients want to be notified."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from baton.adapters.dynamodb import keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.shapes import Shape
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.table_stores import TableStore, TimedTableStore
from baton.adapters.dynamodb.writes import IS_NEW, ConditionFailed
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import Scope
from baton.domain.threads.a2a_task import MarkStatus, TaskMark
from baton.domain.threads.push_config import LIFETIME, MAX_CONFIGS, PushConfig, find_displaced
from baton.domain.times import from_millis, to_millis
from baton.ports.clock import Clock

if TYPE_CHECKING:
    from baton.adapters.tokens.receiver_secrets import ReceiverSecrets


class DynamoA2ATasks(TableStore):
    """``A2ATasks`` on the conversation table."""

    async def get(self, scope: Scope, thread_id: str, root: str) -> TaskMark | None:
        return await self._table.read(keys.a2a_task(scope, thread_id, root), _to_mark)

    async def mark(self, scope: Scope, thread_id: str, mark: TaskMark) -> TaskMark:
        item: Item = {
            **keys.a2a_task(scope, thread_id, mark.root),
            "user_id": mark.user_id,
            "task_mark": mark.status.value,
            "at": to_millis(mark.at),
            "message_id": mark.message_id,
            "reason": mark.reason,
        }
        try:
            await self._table.put(
                item,
                condition=f"{IS_NEW} OR (task_mark <> :canceled AND user_id = :user)",
                values={":canceled": MarkStatus.CANCELED.value, ":user": mark.user_id},
            )
        except ConditionFailed as failure:
            if failure.item is None:
                raise
            return _to_mark(failure.item)
        return mark


_MARK = Shape(TaskMark)


def _to_mark(item: Item) -> TaskMark:
    return _MARK.of_json(item, root=item["SK"].removeprefix(keys.A2A_TASK), status=item["task_mark"])


_CONFIG = Shape(PushConfig)
TOO_MANY = f"A task has at most {MAX_CONFIGS} push notification configurations."


class DynamoPushConfigs(TimedTableStore):
    """``PushConfigs`` on the conversation table."""

    def __init__(self, table: Table, clock: Clock, secrets: ReceiverSecrets) -> None:
        super().__init__(table, clock)
        self._secrets = secrets

    async def put(self, scope: Scope, thread_id: str, config: PushConfig) -> None:
        # Two calls at the same time may both pass. The limit protects the table, so it need not be exact.
        others = [
            push_config
            for push_config in await self.of_thread(scope, thread_id)
            if (push_config.root, push_config.id) != (config.root, config.id)
        ]
        if sum(push_config.root == config.root for push_config in others) >= MAX_CONFIGS:
            raise InvalidRequest(TOO_MANY)
        for oldest in find_displaced(config, others):
            await self.delete(scope, thread_id, oldest.root, oldest.id)
        item: Item = {
            **keys.push_config(scope, thread_id, config.root, config.id),
            "root": config.root,
            "config_id": config.id,
            "user_id": config.user_id,
            "url": config.url,
            "line": config.line.value,
            "set_at": to_millis(config.set_at),
            "expires_at": int((config.set_at + LIFETIME).timestamp()),
            "scheme": config.scheme,
        }
        if config.secrets:
            item["sealed"] = await asyncio.to_thread(self._secrets.seal, _make_binding(item), config.secrets)
        await self._table.put(item)

    async def get(self, scope: Scope, thread_id: str, root: str, config_id: str) -> PushConfig | None:
        item = await self._table.get(keys.push_config(scope, thread_id, root, config_id))
        config = self._read_config(scope, item) if item is not None else None
        if item is None or config is None:
            return None
        if "sealed" not in item:  # there are no secrets, or an earlier version stored them unsealed
            return replace(config, token=item.get("token"), credentials=item.get("credentials"))
        secrets = await asyncio.to_thread(self._secrets.open, _make_binding(item), item["sealed"])
        if secrets is None:  # the key has changed, and the receiver would refuse a request without them
            return None
        return replace(config, token=secrets.get("token"), credentials=secrets.get("credentials"))

    async def of_task(self, scope: Scope, thread_id: str, root: str) -> Sequence[PushConfig]:
        configs = [config for config in await self.of_thread(scope, thread_id) if config.root == root]
        return sorted(configs, key=lambda config: config.id)

    async def of_thread(self, scope: Scope, thread_id: str) -> Sequence[PushConfig]:
        items = await self._table.read_all(keys.partition(scope, thread_id), prefix=keys.PUSH)
        return [config for item in items if (config := self._read_config(scope, item)) is not None]

    async def delete(self, scope: Scope, thread_id: str, root: str, config_id: str) -> None:
        await self._table.delete(keys.push_config(scope, thread_id, root, config_id))

    def _read_config(self, scope: Scope, item: Item) -> PushConfig | None:
        """Return the config without its secrets; None if another user set it or it has expired."""
        expires_at = from_millis(item["set_at"]) + LIFETIME
        if item["user_id"] != scope.user_id or expires_at <= self._clock.now():
            return None
        return _CONFIG.of_json(item, id=item["config_id"], token=None, credentials=None)


def _make_binding(item: Item) -> str:
    """Return the text to which an item's sealed secrets are bound, so that they cannot be opened in another item."""
    return f"{item['PK']} {item['SK']} {item['user_id']} {item['url']}"
