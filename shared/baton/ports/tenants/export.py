"""The port to the stored data of whole tenants, for an export."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from baton.domain.tenants.identity import Scope


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record of a tenant in the table."""

    kind: str
    """The name of its kind, as in the counts of a removal."""
    partition: str
    key: str
    """Its sort key."""
    values: Mapping[str, Any]
    """Its attributes in plain JSON, without secrets."""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """The records of one page of the table."""

    records: Sequence[StoredRecord] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    """The numbers of records that exports leave out, by kind."""
    position: str | None = None
    """The position of the next page; None after the last. It may contain keys of other tenants."""


class TenantRecords(Protocol):
    """All records of a tenant in the table, whatever they are."""

    async def read_page(self, scope: Scope, position: str | None) -> RecordPage:
        """Return the tenant's records of the page at ``position``, which is None for the first one.

        A page may have no records of the tenant: it is a part of the whole table. Raises ``StoreUnavailable``.
        """


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a tenant in the bucket."""

    name: str
    """Its key without the tenant."""
    size: int
    """Bytes."""
    stored_at: datetime
    url: str | None = None
    """The address of its bytes for a few minutes; None for the body of a record, unless the body is damaged."""
    body: Any = None
    """The value of a record's attribute that was too large for the table."""


class TenantFiles(Protocol):
    """All objects of a tenant in the bucket, in their present versions."""

    def list(self, scope: Scope, after: str | None) -> AsyncGenerator[StoredObject, None]:
        """Yield the tenant's objects in the order of their names, those behind ``after``.

        Raises ``StoreUnavailable``.
        """


class CursorSeal(Protocol):
    """A cipher for cursors whose content clients may not see. Methods read its key in a thread."""

    async def seal(self, scope: Scope, cursor: Mapping[str, object]) -> str:
        """Return the cursor for clients of the tenant."""

    async def open(self, scope: Scope, sealed: str) -> Mapping[str, object]:
        """Return the content of a cursor. Raises ``InvalidRequest`` if it was not sealed for the tenant."""
