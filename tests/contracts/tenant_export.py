"""The contract of what reads the stored data of whole tenants, for exports."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from baton.domain.tenants.identity import Scope
from baton.ports.tenants.export import RecordPage, TenantFiles, TenantRecords


@dataclass
class Exporting:
    """The readers under test, and the means to store something to be read."""

    records: TenantRecords
    files: TenantFiles
    put: Callable[[Scope, str], Awaitable[None]]
    """Put a record of more than 300 KB with this sort key into the partition ``t`` of a tenant."""
    upload: Callable[[Scope, str], Awaitable[None]]
    """Put an object with this name."""

    def __post_init__(self) -> None:
        tenant_id = f"t{uuid.uuid4().hex}"
        self.ada, self.similar = Scope(tenant_id, "ada"), Scope(f"{tenant_id}-2", "ada")

    async def read(self, scope: Scope) -> list[RecordPage]:
        """All pages of a tenant."""
        pages = [await self.records.read_page(scope, None)]
        while (position := pages[-1].position) is not None:
            pages.append(await self.records.read_page(scope, position))
        return pages

    async def list(self, scope: Scope, after: str | None = None) -> list[str]:
        """The names of a tenant's objects behind ``after``."""
        return [stored.name async for stored in self.files.list(scope, after)]


class TenantRecordsContract:
    async def test_the_records_of_a_tenant_are_read_once_and_in_order(self, exporting: Exporting) -> None:
        for number in range(6):
            await exporting.put(exporting.ada, f"MSG#{number}")
            await exporting.put(exporting.similar, f"MSG#{number + 10}")
        pages = await exporting.read(exporting.ada)
        assert len(pages) > 1
        records = [record for page in pages for record in page.records]
        assert [record.key for record in records] == [f"MSG#{number}" for number in range(6)]
        assert {record.partition for record in records} == {f"{exporting.ada.tenant_id}#t"}

    async def test_pages_of_other_tenants_have_no_records_and_do_not_end_an_export(self, exporting: Exporting) -> None:
        for number in range(6):
            await exporting.put(exporting.similar, f"MSG#{number}")
        pages = await exporting.read(exporting.ada)
        assert len(pages) > 1
        assert not any(page.records or page.left_out for page in pages)


class TenantFilesContract:
    async def test_objects_are_in_the_order_of_their_names_behind_a_name(self, exporting: Exporting) -> None:
        for name in ("t/files/c", "t/files/a", "s/files/z", "t/files/b"):
            await exporting.upload(exporting.ada, name)
        await exporting.upload(exporting.similar, "t/files/x")
        names = ["s/files/z", "t/files/a", "t/files/b", "t/files/c"]
        assert await exporting.list(exporting.ada) == names
        assert await exporting.list(exporting.ada, "t/files/a") == names[2:]
        assert await exporting.list(exporting.ada, "t/files/aa") == names[2:]
        assert await exporting.list(exporting.ada, names[-1]) == []
