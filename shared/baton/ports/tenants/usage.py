"""The storage that tenants use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from baton.domain.tenants.identity import Scope


@dataclass(frozen=True, slots=True)
class StoredObjects:
    """A number of objects, and their bytes."""

    objects: int = 0
    size: int = 0
    """Bytes."""


class TenantObjects(Protocol):
    """The objects of tenants in the bucket: documents, uploads, and bodies too large for the table."""

    async def count(self, scope: Scope, after: str | None) -> tuple[StoredObjects, str | None]:
        """Count the tenant's objects after a position, and return the position of the rest; None if none is left.

        A call counts a few thousand. Earlier versions of objects are not counted. Raises ``StoreUnavailable``.
        """
