"""Packed bodies of items, stored in the item or, if large, in S3."""

from __future__ import annotations

from dataclasses import dataclass

from baton.adapters.dynamodb.attributes import Item
from baton.adapters.s3_bodies import S3Bodies
from baton.domain.identity import Scope

MAX_INLINE = 300 * 1024
"""Bytes of packed bodies in an item. DynamoDB's limit of a whole item is 400 KB."""


@dataclass(frozen=True, slots=True)
class ItemBodies:
    """Packed bodies of the items of threads."""

    s3: S3Bodies

    async def kept(
        self, scope: Scope, thread_id: str, packed: bytes, *, name: str = "body", room: int = MAX_INLINE
    ) -> Item:
        """Return the attribute for ``packed``: the bytes, or their checksum in S3 if they exceed ``room``."""
        if len(packed) > room:
            return {f"{name}_sha256": await self.s3.put(scope, thread_id, packed)}
        return {name: packed}

    def is_inline(self, item: Item, *, name: str = "body") -> bool:
        """Whether the item itself has what ``kept`` kept."""
        return name in item

    async def read(self, scope: Scope, thread_id: str, item: Item, *, name: str = "body") -> bytes:
        """Read the body of an item. Raises ``StoreUnavailable`` if it is damaged."""
        if self.is_inline(item, name=name):
            packed: bytes = item[name]
            return packed
        return await self.s3.get(scope, thread_id, item[f"{name}_sha256"])
