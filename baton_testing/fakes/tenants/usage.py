"""The storage of tenants in memory."""

from __future__ import annotations

from baton.domain.tenants.identity import Scope
from baton.ports.tenants.usage import StoredObjects
from baton_testing.fakes.documents.files import FakeFiles

PAGE = 2
"""The objects of a page, few so that tests read several pages."""


class FakeTenantObjects:
    """``ports.tenants.usage.TenantObjects`` over uploads."""

    def __init__(self, files: FakeFiles) -> None:
        self._files = files

    async def count(self, scope: Scope, after: str | None) -> tuple[StoredObjects, str | None]:
        sizes = {
            f"{thread_id}/files/{file_id}": len(body)
            for (tenant_id, thread_id, file_id), body in self._files.bodies.items()
            if tenant_id == scope.tenant_id
        }
        names = sorted(name for name in sizes if after is None or name > after)
        page = names[:PAGE]
        counted = StoredObjects(len(page), sum(sizes[name] for name in page))
        return counted, page[-1] if len(names) > PAGE else None
