"""The part of an item that no key or condition needs: in the item itself, or in S3 if it is large."""

from __future__ import annotations

from dataclasses import dataclass

from baton.adapters.dynamodb.table import Item
from baton.adapters.s3_bodies import S3Bodies
from baton.domain.identity import Scope

MAX_INLINE = 300 * 1024
"""Bytes of packed bodies kept in an item, which may have 400 KB with everything."""


@dataclass(frozen=True, slots=True)
class ItemBodies:
    """Packed bodies of the items of threads."""

    s3: S3Bodies

    async def kept(
        self, scope: Scope, thread_id: str, packed: bytes, *, name: str = "body", room: int = MAX_INLINE
    ) -> Item:
        """The attribute for an item that keeps ``packed``: the bytes, or their checksum if ``room`` is too small."""
        if len(packed) > room:
            return {f"{name}_sha256": await self.s3.put(scope, thread_id, packed)}
        return {name: packed}

    def is_inline(self, item: Item, *, name: str = "body") -> bool:
        """Whether the item itself has what ``kept`` kept."""
        return name in item

    async def read(self, scope: Scope, thread_id: str, item: Item, *, name: str = "body") -> bytes:
        """What ``kept`` kept. Raises ``StoreUnavailable`` when it is damaged."""
        if self.is_inline(item, name=name):
            packed: bytes = item[name]
            return packed
        return await self.s3.get(scope, thread_id, item[f"{name}_sha256"])
