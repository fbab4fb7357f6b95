"""The tenants that have stored something to search, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.memory.episodes import FakeEpisodes


@dataclass(frozen=True)
class FakeSearchedTenants:
    """``ports.tenants.tenants.SearchedTenants``."""

    documents: FakeDocuments
    episodes: FakeEpisodes

    async def all(self) -> Mapping[str, Sequence[str]]:
        results: dict[str, set[str]] = {tenant_id: set() for tenant_id in self.episodes.tenants}
        for (tenant_id, agent_id, _), document in self.documents.records.items():
            if document.deleted_at is None:
                results.setdefault(tenant_id, set()).add(agent_id)
        return {tenant_id: sorted(results[tenant_id]) for tenant_id in sorted(results)}
