"""Tenants' own agents: what every store does about them."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from typing import Any

import pytest

from baton.domain.agents.agent_version import AgentEntry, AgentList, AgentVersion, Candidate, EntryChange
from baton.domain.times import from_millis
from baton.ports.agents.agents import AgentsChanged
from tests.contracts.stores import Stores

VALUES: dict[str, Any] = {"id": "tutor", "name": "Tütor 😀", "description": "Helps.", "system_prompt": "Ask."}


class AgentDefinitionsContract:
    """Versions of tenants' agents, and the list of the newest."""

    async def test_a_tenant_without_agents_has_an_empty_list(self, stores: Stores) -> None:
        assert await stores.agent_definitions.list(stores.ada) == AgentList()
        assert list(await stores.agent_definitions.versions(stores.ada, "tutor", limit=10)) == []
        assert list(await stores.agent_definitions.read(stores.ada, [("tutor", 1)])) == []
        assert list(await stores.agent_definitions.read(stores.ada, [])) == []

    async def test_a_version_comes_back_whole_and_is_listed(self, stores: Stores) -> None:
        version = make_version(stores, 1, comment="The first.", restores=7)
        listed = await append(stores, version, 90, after=AgentList())
        assert listed == await stores.agent_definitions.list(stores.bob)
        assert listed == AgentList(1, {"tutor": AgentEntry(1, 90)})
        assert list(await stores.agent_definitions.read(stores.bob, [("tutor", 1), ("tutor", 2)])) == [version]

    async def test_a_deletion_is_a_version_without_fields(self, stores: Stores) -> None:
        first = await append(stores, make_version(stores, 1), 90, after=AgentList())
        gone = AgentVersion("tutor", 2, None, "ada", stores.clock.now())
        listed = await append(stores, gone, 0, after=first)
        assert listed.entries["tutor"].is_deleted
        assert listed.present == {}
        assert list(await stores.agent_definitions.read(stores.ada, [("tutor", 2)])) == [gone]

    async def test_an_entry_comes_back_whole(self, stores: Stores) -> None:
        listed = await append(stores, make_version(stores, 1), 90, after=AgentList())
        entry = AgentEntry(1, 90).with_candidate(Candidate(5, 80, 10)).withdraw(3).with_candidate(Candidate(4, 70, 0))
        entry = replace(entry, changed=EntryChange(from_millis(1_700_000_000_001), "ada", "shared"))
        for changed in (entry, entry.delete(6)):
            listed = listed.with_entry("tutor", changed)
            await stores.agent_definitions.put(stores.ada, listed)
            stored = await stores.agent_definitions.list(stores.ada)
            assert (stored, stored.entries["tutor"].changed) == (listed, changed.changed)
            assert [
                version.number for version in await stores.agent_definitions.versions(stores.ada, "tutor", limit=9)
            ] == [1]

    async def test_versions_are_listed_from_the_newest_page_by_page(self, stores: Stores) -> None:
        listed = AgentList()
        for number in range(1, 13):
            listed = await append(stores, make_version(stores, number), 90, after=listed)
        page = await stores.agent_definitions.versions(stores.ada, "tutor", limit=5)
        assert [item.number for item in page] == [12, 11, 10, 9, 8]
        page = await stores.agent_definitions.versions(stores.ada, "tutor", limit=5, before=4)
        assert [item.number for item in page] == [3, 2, 1]
        assert list(await stores.agent_definitions.versions(stores.ada, "tutor", limit=5, before=1)) == []

    async def test_a_page_of_long_versions_is_full(self, stores: Stores) -> None:
        listed = AgentList()
        for number in range(1, 31):
            long_version = replace(
                make_version(stores, number), values={**VALUES, "system_prompt": secrets.token_urlsafe(45_000)}
            )
            listed = await append(stores, long_version, 60_000, after=listed)
        page = await stores.agent_definitions.versions(stores.ada, "tutor", limit=29)
        assert [version.number for version in page] == list(range(30, 1, -1))

    async def test_of_changes_at_once_one_wins_and_nothing_of_the_others_is_kept(self, stores: Stores) -> None:
        versions = [make_version(stores, 1, agent_id=f"tutor-{number}") for number in range(4)]
        outcomes = await asyncio.gather(
            *(append(stores, version, 90, after=AgentList()) for version in versions), return_exceptions=True
        )
        won = [outcome for outcome in outcomes if isinstance(outcome, AgentList)]
        assert [await stores.agent_definitions.list(stores.ada)] == won
        assert all(isinstance(outcome, AgentList | AgentsChanged) for outcome in outcomes)
        stored = await stores.agent_definitions.read(stores.ada, [(version.agent_id, 1) for version in versions])
        assert [item.agent_id for item in stored] == list(won[0].entries)

    async def test_a_change_of_an_older_list_is_refused(self, stores: Stores) -> None:
        first = await append(stores, make_version(stores, 1), 90, after=AgentList())
        await append(stores, make_version(stores, 2), 91, after=first)
        for after in (AgentList(), first):
            with pytest.raises(AgentsChanged):
                await append(stores, make_version(stores, 3), 92, after=after)
        assert (await stores.agent_definitions.list(stores.ada)).entries["tutor"].number == 2

    async def test_every_tenant_has_agents_of_its_own(self, stores: Stores) -> None:
        await append(stores, make_version(stores, 1), 90, after=AgentList())
        await append(
            stores,
            make_version(stores, 1, agent_id="tutor-2"),
            90,
            after=await stores.agent_definitions.list(stores.ada),
        )
        assert [
            version.agent_id for version in await stores.agent_definitions.versions(stores.ada, "tutor", limit=9)
        ] == ["tutor"]
        assert await stores.agent_definitions.list(stores.stranger) == AgentList()
        assert list(await stores.agent_definitions.versions(stores.stranger, "tutor", limit=10)) == []
        assert list(await stores.agent_definitions.read(stores.stranger, [("tutor", 1)])) == []


async def append(stores: Stores, version: AgentVersion, size: int, *, after: AgentList) -> AgentList:
    """Store a version and put it in force. Return the new list."""
    entry = after.entries.get(version.agent_id, AgentEntry(0, 0))
    entry = entry.put(version.number, size) if version.values is not None else entry.delete(version.number)
    listed = after.with_entry(version.agent_id, entry)
    await stores.agent_definitions.put(stores.ada, listed, version)
    return listed


def make_version(stores: Stores, number: int, *, agent_id: str = "tutor", **more: Any) -> AgentVersion:
    """A version that is not stored yet."""
    return AgentVersion(agent_id, number, {**VALUES, "id": agent_id}, "ada", stores.clock.now(), **more)
