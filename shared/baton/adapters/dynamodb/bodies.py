"""Bodies of items as packed JSON, stored in the item or, if large, in S3."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from pydantic_core import from_json

from baton.adapters.aws.s3_records import S3Bodies
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.dictionaries import STRUCTURE, TEXTS
from baton.adapters.dynamodb.table import Table
from baton.adapters.dynamodb.table_stores import TableStore
from baton.domain.errors import StoreUnavailable
from baton.domain.tenants.identity import Scope
from baton.domain.times import to_millis

DAMAGED = "Something stored is damaged. Please report this to the operator."

_FORMAT = b"\x04"
_DICTIONARIES = {b"\x03": STRUCTURE, _FORMAT: TEXTS}
"""Dictionaries by the first byte of packed values. The bytes 1 and 2 belonged to drafts of the format."""


def pack(value: Any) -> bytes:
    """Return a value as compressed JSON. Lone surrogates, which some models write, become ``U+FFFD``."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_to_plain)
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    deflate = zlib.compressobj(level=6, wbits=-15, zdict=TEXTS)
    return _FORMAT + deflate.compress(raw) + deflate.flush()


def unpack(packed: bytes) -> Any:
    """Return the value that ``pack`` packed; see ``unpack_sized``."""
    return unpack_sized(packed)[0]


def unpack_sized(packed: bytes) -> tuple[Any, int]:
    """Return the value that ``pack`` packed, and the size of its JSON in bytes.

    Raises ``ValueError`` for a format that this version does not know, and ``StoreUnavailable`` for damaged bytes.
    """
    dictionary = _DICTIONARIES.get(packed[:1])
    if dictionary is None:
        raise ValueError(f"unknown packing format {packed[:1]!r}: written by another version of Baton")
    inflate = zlib.decompressobj(wbits=-15, zdict=dictionary)
    try:
        raw = inflate.decompress(packed[1:]) + inflate.flush()
        try:
            return from_json(raw), len(raw)
        except ValueError:
            return json.loads(raw), len(raw)  # slower, but takes values that are nested more than 200 deep
    except (zlib.error, ValueError) as error:
        raise StoreUnavailable(DAMAGED) from error


def _to_plain(value: Any) -> Any:
    """Return the JSON form of a value that ``json`` cannot encode.

    Times become whole milliseconds, days ISO 8601 texts, and durations seconds to the millisecond.
    """
    match value:
        case datetime():
            return to_millis(value)
        case date():
            return value.isoformat()
        case timedelta():
            return value // timedelta(milliseconds=1) / 1000
        case Mapping():
            return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


MAX_INLINE = 300 * 1024
"""The maximum size of packed bodies in an item, in bytes. DynamoDB limits a whole item to 400 KB."""


@dataclass(frozen=True, slots=True)
class ItemBodies:
    """Packed bodies of the items of threads."""

    s3: S3Bodies

    async def store(
        self, scope: Scope, thread_id: str, packed: bytes, *, name: str = "body", room: int = MAX_INLINE
    ) -> Item:
        """Return the attribute ``name`` for ``packed``: the bytes or, beyond ``room`` bytes, the checksum of an object.

        The object is stored in S3.
        """
        if len(packed) > room:
            return {f"{name}_sha256": await self.s3.put(scope, thread_id, packed)}
        return {name: packed}

    def is_inline(self, item: Item) -> bool:
        """Return whether the attribute ``body`` is in the item itself, and not in S3."""
        return "body" in item

    async def read(self, scope: Scope, thread_id: str, item: Item, *, name: str = "body") -> bytes:
        """Read the packed body ``name`` of an item. Raises ``StoreUnavailable``, also for a damaged body in S3."""
        if name in item:
            packed: bytes = item[name]
            return packed
        return await self.s3.get(scope, thread_id, item[f"{name}_sha256"])


class BodyStore(TableStore):
    """Records on a table, with bodies that may be large."""

    def __init__(self, table: Table, bodies: S3Bodies) -> None:
        super().__init__(table)
        self._bodies = ItemBodies(bodies)
