"""The tenants that have documents or episodes to search, found in the ``listing`` index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing

from baton.adapters.dynamodb import agent_keys, keys
from baton.adapters.dynamodb.shards import LISTING
from baton.adapters.dynamodb.table_stores import TableStore


class DynamoSearchedTenants(TableStore):
    """``SearchedTenants`` on the conversation table.

    No item lists the tenants, because it would be written with every first conversation. The index has keys only, so
    that a million entries take about 20,000 read units.
    """

    async def all(self) -> Mapping[str, Sequence[str]]:
        agent_ids: dict[str, set[str]] = {}
        name, partition_key, _ = LISTING
        async with aclosing(self._table.scan(name, partition_key)) as pages:
            async for entries in pages:
                for listing in {entry[partition_key] for entry in entries}:
                    tenant_id, _, rest = listing.partition("#")
                    kind, _, agent_id = rest.partition("#")
                    if kind == f"~{agent_keys.documents.name}":
                        agent_ids.setdefault(tenant_id, set()).add(agent_id)
                    elif kind == f"~{keys.tenant_episodes.name}":
                        agent_ids.setdefault(tenant_id, set())
        return {tenant_id: sorted(agent_ids[tenant_id]) for tenant_id in sorted(agent_ids)}
