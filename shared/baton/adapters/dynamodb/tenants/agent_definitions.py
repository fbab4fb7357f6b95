"""Tenants' own agents on DynamoDB: an item for each version, and one small list of the newest."""

from __future__ import annotations

from collections.abc import Sequence

from baton.adapters.dynamodb import agent_keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import pack, unpack
from baton.adapters.dynamodb.conditional_writes import make_revision_condition
from baton.adapters.dynamodb.table import TableStore, TransactionFailed, Write
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent_version import AgentEntry, AgentList, AgentVersion
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.agents.agents import AgentsChanged

AT_ONCE = 10
"""Versions that are read at the same time. Each takes a thread of the AWS client's pool."""


class DynamoAgentDefinitions(TableStore):
    """``AgentDefinitions`` on the conversation table."""

    async def list(self, scope: Scope) -> AgentList:
        item = await self._table.get(agent_keys.agent_list(scope))
        if item is None:
            return AgentList()
        packed: dict[str, list[int]] = unpack(item["body"])
        entries = {agent_id: AgentEntry(number, size) for agent_id, (number, size) in packed.items()}
        return AgentList(item["revision"], entries)

    async def append(self, scope: Scope, version: AgentVersion, size: int, *, after: AgentList) -> AgentList:
        entries = {**after.entries, version.agent_id: AgentEntry(version.number, size)}
        agent_list = AgentList(after.revision + 1, entries)
        listed: Item = {
            **agent_keys.agent_list(scope),
            "revision": agent_list.revision,
            "body": pack({agent_id: [entry.number, entry.size] for agent_id, entry in entries.items()}),
        }
        version_item: Item = {
            **agent_keys.agent_version(scope, version.agent_id, version.number),
            "created_by": version.created_by,
            "created_at": to_millis(version.created_at),
            "body": pack(version.values) if version.values is not None else None,
            "comment": version.comment,
            "restores": version.restores,
        }
        try:
            await self._table.transact(
                Write.put(listed, **make_revision_condition(after.revision)), Write.put(version_item)
            )
        except TransactionFailed:
            raise AgentsChanged from None
        return agent_list

    async def read(self, scope: Scope, wanted: Sequence[tuple[str, int]]) -> Sequence[AgentVersion]:
        # One by one, since functions without the grant for batches read agents too.
        versions: list[AgentVersion] = []
        for start in range(0, len(wanted), AT_ONCE):
            batch = wanted[start : start + AT_ONCE]
            items = await gather_all(*(self._table.get(agent_keys.agent_version(scope, *version)) for version in batch))
            versions += [_to_version(item) for item in items if item is not None]
        return versions

    async def versions(
        self, scope: Scope, agent_id: str, *, limit: int, before: int | None = None
    ) -> Sequence[AgentVersion]:
        prefix = agent_keys.agent_versions(agent_id)
        last = f"{prefix}~"
        if before is not None:
            last = agent_keys.agent_version(scope, agent_id, max(0, before - 1))["SK"]
        items = await self._table.read_all(
            agent_keys.own_agents(scope), first=prefix, last=last, newest_first=True, limit=limit, enough=1
        )
        return [_to_version(item) for item in items]


def _to_version(item: Item) -> AgentVersion:
    _, agent_id, number = item["SK"].split("#")
    return AgentVersion(
        agent_id,
        int(number),
        unpack(item["body"]) if "body" in item else None,
        created_by=item["created_by"],
        created_at=from_millis(item["created_at"]),
        comment=item.get("comment"),
        restores=item.get("restores"),
    )
