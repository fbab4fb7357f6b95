"""Tenants' own agents on DynamoDB: an item for each version, and one small list of those in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple

from baton.adapters.dynamodb import agent_keys
from baton.adapters.dynamodb.attributes import Item
from baton.adapters.dynamodb.bodies import pack, unpack
from baton.adapters.dynamodb.conditional_writes import make_revision_condition
from baton.adapters.dynamodb.table_stores import TableStore
from baton.adapters.dynamodb.writes import TransactionFailed, Write
from baton.concurrency.tasks import gather_all
from baton.domain.agents.agent_version import AgentEntry, AgentList, AgentVersion, Candidate, EntryChange
from baton.domain.tenants.identity import Scope
from baton.domain.times import from_millis, to_millis
from baton.ports.agents.agents import AgentsChanged

AT_ONCE = 10
"""The number of versions that are read at the same time. Each takes a connection to DynamoDB."""


class DynamoAgentDefinitions(TableStore):
    """``AgentDefinitions`` on the conversation table."""

    async def list(self, scope: Scope) -> AgentList:
        item = await self._table.get(agent_keys.agent_list(scope))
        if item is None:
            return AgentList()
        sizes: dict[str, list[int]] = unpack(item["body"])
        # Apart from the sizes, because an earlier release reads only the sizes.
        rollouts: dict[str, Item] = unpack(item["rollouts"]) if "rollouts" in item else {}
        entries = {
            agent_id: _to_entry(number, size, rollouts.get(agent_id, {}))
            for agent_id, (number, size, *_) in sizes.items()
        }
        return AgentList(item["revision"], entries)

    async def put(self, scope: Scope, agents: AgentList, version: AgentVersion | None = None) -> None:
        rollouts = {agent_id: _pack_rollout(entry) for agent_id, entry in agents.entries.items()}
        rollouts = {agent_id: rollout for agent_id, rollout in rollouts.items() if rollout}
        list_item: Item = {
            **agent_keys.agent_list(scope),
            "revision": agents.revision,
            "body": pack({agent_id: [entry.number, entry.size] for agent_id, entry in agents.entries.items()}),
            "rollouts": pack(rollouts) if rollouts else None,
        }
        writes = [Write.put(list_item, **make_revision_condition(agents.revision - 1))]
        if version is not None:
            version_item: Item = {
                **agent_keys.agent_version(scope, version.agent_id, version.number),
                "created_by": version.created_by,
                "created_at": to_millis(version.created_at),
                "body": pack(version.values) if version.values is not None else None,
                "comment": version.comment,
                "restores": version.restores,
            }
            writes.append(Write.put(version_item))
        try:
            await self._table.transact(*writes)
        except TransactionFailed:
            raise AgentsChanged from None

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
            agent_keys.own_agents(scope), first=prefix, last=last, newest_first=True, limit=limit, enough=limit
        )
        return [_to_version(item) for item in items[:limit]]


def _to_entry(number: int, size: int, rollout: Item) -> AgentEntry:
    """Return an entry. Further values of its lists are left out: a later release may have appended them."""
    return AgentEntry(
        number,
        size,
        candidate=Candidate(*rollout["candidate"][:3]) if "candidate" in rollout else None,
        last=rollout.get("last", 0),
        withdrawn=tuple((first, last) for first, last, *_ in rollout.get("withdrawn", ())),
        never_in_force=tuple((first, last) for first, last, *_ in rollout.get("neverInForce", ())),
        deleted=rollout.get("deleted"),
        changed=_to_change(*rollout["changed"][:3]) if "changed" in rollout else None,
    )


def _to_change(at: int, by: str, outcome: str) -> EntryChange:
    return EntryChange(from_millis(at), by, outcome)


def _pack_rollout(entry: AgentEntry) -> Item:
    """Return the fields of an entry besides number and size; empty for most entries."""
    change = entry.changed
    rollout: Item = {
        "candidate": list(astuple(entry.candidate)) if entry.candidate is not None else None,
        "last": entry.last,
        "withdrawn": [list(bounds) for bounds in entry.withdrawn],
        "neverInForce": [list(bounds) for bounds in entry.never_in_force],
        "deleted": entry.deleted,
        "changed": [to_millis(change.at), change.by, change.outcome] if change is not None else None,
    }
    return {name: value for name, value in rollout.items() if value}


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
