"""The records of a tenant in the table, for an export."""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import unpack
from baton.adapters.dynamodb.item_kinds import find_kind
from baton.adapters.dynamodb.table import get_key
from baton.adapters.dynamodb.table_stores import TableStore
from baton.adapters.dynamodb.tenants.tenant_items import name_kind, read_keys
from baton.concurrency.tasks import off_loop
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.ports.tenants.export import RecordPage, StoredRecord

SECRETS = frozenset({"sealed", "token", "credentials"})
"""Attributes that no export has: what a receiver of push notifications has entrusted to Baton."""
_UUID_BYTES = 16


class DynamoTenantRecords(TableStore):
    """``TenantRecords`` on the conversation table. An item of an unknown kind is exported."""

    async def read_page(self, scope: Scope, position: str | None) -> RecordPage:
        keys, following = await read_keys(self._table, scope, position, consistent=False)
        excluded_keys = [key for key in keys if not _is_exported(key)]
        exported_keys = [get_key(key) for key in keys if _is_exported(key)]
        items = await self._table.get_many(exported_keys, consistent=True)
        size = sum(len(value) for item in items for value in item.values() if isinstance(value, bytes))
        # Unpacking takes as long as work on about four times the size.
        records = await off_loop(size * 4, _to_records, items)
        return RecordPage(records, Counter(map(name_kind, excluded_keys)), following)


def _is_exported(item: Item) -> bool:
    kind = find_kind(item)
    return kind is None or kind.is_exported


def _to_records(items: Sequence[Item]) -> list[StoredRecord]:
    """Return the records of items, in the order of their keys."""
    return [_to_record(item) for item in sorted(items, key=lambda item: (item["PK"], item["SK"]))]


def _to_record(item: Item) -> StoredRecord:
    values = {name: _to_plain(value) for name, value in item.items() if name not in SECRETS | {"PK", "SK"}}
    return StoredRecord(name_kind(item), item["PK"], item["SK"], values)


def _to_plain(value: Any) -> Any:
    """Return the JSON form of an attribute's value."""
    if isinstance(value, Mapping):
        return {name: _to_plain(member) for name, member in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(map(_to_plain, value), key=repr)
    if isinstance(value, list):
        return [_to_plain(member) for member in value]
    return _decode_bytes(value) if isinstance(value, bytes) else value


def _decode_bytes(content: bytes) -> Any:
    """Return the value of a packed body, the text of a UUID, or other bytes in base64."""
    try:
        return unpack(content)
    except (ValueError, StoreUnavailable):  # it is not packed, or damaged
        pass
    return str(uuid.UUID(bytes=content)) if len(content) == _UUID_BYTES else {"base64": b64encode(content).decode()}
