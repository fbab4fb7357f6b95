"""The port to counts of the storage that tenants use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from baton.domain.tenants.identity import Scope


@dataclass(frozen=True, slots=True)
class StoredObjects:
    """A number of objects, and their size."""

    objects: int = 0
    size: int = 0
    """The total size, in bytes."""


class TenantObjects(Protocol):
    """The objects of tenants in the bucket: documents, uploads, and bodies too large for the table."""

    async def count(self, scope: Scope, after: str | None) -> tuple[StoredObjects, str | None]:
        """Count a part of the tenant's objects after a position, and return the next position; None at the end.

        A call counts a few thousand objects. Earlier versions of objects are not counted. Raises ``StoreUnavailable``.
        """
