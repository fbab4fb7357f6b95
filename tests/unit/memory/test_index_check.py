"""Comparing the index of episodes with the stored episodes."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from baton.domain.documents.search import IndexDocument, IndexedText, IndexName, SearchFilter
from baton.domain.memory.episode import Episode, EpisodeRef, EpisodeStatus
from baton.domain.runs.usage import Usage
from baton.domain.tenants.identity import Scope
from baton.domain.threads.thread import EndReason
from baton.memory.episodes.index_check import EpisodeKey, IndexCheck
from baton.ports.documents.search import IndexedSource
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.contracts.search import MARCH, document, list_ids

TENANT = "acme"


def episode(user: str, number: int = 1, **overrides: object) -> Episode:
    ref = EpisodeRef(str(uuid.uuid5(uuid.NAMESPACE_DNS, user)), number, 0, 2, EndReason.USER_CLOSED, MARCH)
    whole = Episode(ref, user, ("assistant",), EpisodeStatus.COMPLETE, MARCH, 2, Usage(0, 0))
    return replace(whole, **overrides)  # type: ignore[arg-type]


@dataclass
class Stored:
    """Stored episodes of one tenant."""

    episodes: list[Episode] = field(default_factory=list)
    unlisted: list[Episode] = field(default_factory=list)
    """Stored a moment ago, so that no list shows them yet."""

    async def of_tenant(self, scope: Scope) -> AsyncIterator[Episode]:
        for index_document in self.episodes if scope.tenant_id == TENANT else ():
            yield index_document

    async def find(self, scope: Scope, episode_id: str) -> EpisodeRef | None:
        for item in (*self.episodes, *self.unlisted):
            if (item.user_id, item.ref.id) == (scope.user_id, episode_id):
                return item.ref
        return None


class Index(FakeSearchIndex):
    """An index that counts how often it is read."""

    reads = 0

    def list(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> AsyncIterator[IndexDocument]:
        self.reads += 1
        return super().list(scope, index, chosen)

    async def count(self, scope: Scope, index: IndexName, chosen: SearchFilter) -> int:
        self.reads += 1
        return await super().count(scope, index, chosen)


class Sources:
    """``SearchAdministration.sources`` over the fake index."""

    def __init__(self, search: FakeSearchIndex) -> None:
        self.search = search

    async def list_sources(self, index: IndexName, tenant_id: str | None = None) -> AsyncIterator[IndexedSource]:
        for (name, tenant, user), documents in self.search.documents.items():
            if tenant_id not in (None, tenant):
                continue
            for source in sorted({item.source_id for item in documents.values()}) if name is index else ():
                results = [item for item in documents.values() if item.source_id == source]
                yield IndexedSource(tenant, user, source, len(results), sum(item.embedder is None for item in results))


class World:
    """An index, stored episodes, and their check."""

    def __init__(self, *episodes: Episode, knows_owners: bool = True) -> None:
        self.search = Index()
        self.stored = Stored(list(episodes))
        administration = Sources(self.search) if knows_owners else None
        self.check = IndexCheck(self.stored, self.search, administration, self.index, embeds=True)  # type: ignore[arg-type]

    async def index(self, scope: Scope, entry: Episode) -> None:
        documents = [document(f"{entry.ref.id}#{n}", "green", source_id=entry.ref.id) for n in range(2)]
        await self.search.put(scope, IndexName.EPISODES, documents)


def make_key(entry: Episode) -> EpisodeKey:
    return EpisodeKey(entry.user_id, entry.ref.id)


async def test_an_index_of_all_episodes_is_sound() -> None:
    ada, bob = episode("ada"), episode("bob")
    world = World(ada, bob)
    for item in (ada, bob):
        await world.index(Scope(TENANT, item.user_id), item)
    [result] = await world.check.verify([TENANT])
    assert result.is_sound
    assert (result.episodes, result.indexed, result.documents) == (2, 2, 4)


async def test_missing_orphaned_and_plain_documents_are_found_and_mended() -> None:
    whole, missing, plain, gone = episode("ada", 1), episode("ada", 2), episode("bob", 1), episode("bob", 2)
    world = World(whole, missing, plain)
    for item in (whole, gone):
        await world.index(Scope(TENANT, item.user_id), item)
    without_vector = document("x", "", source_id=plain.ref.id, views={"turn": IndexedText("green")}, embedder=None)
    await world.search.put(Scope(TENANT, "bob"), IndexName.EPISODES, [replace(without_vector, id=f"{plain.ref.id}#0")])
    [result] = await world.check.verify([])
    assert (result.missing, result.without_vectors, result.orphaned) == (
        (make_key(missing),),
        (make_key(plain),),
        (make_key(gone),),
    )
    again = await world.check.repair(result)
    assert again.is_sound
    assert (again.episodes, again.indexed, again.documents) == (3, 3, 6)


async def test_a_tenant_without_any_document_is_checked_by_name() -> None:
    world = World(episode("ada"))
    assert await world.check.verify([]) == []
    [result] = await world.check.verify([TENANT])
    assert result.missing


async def test_only_the_named_tenants_are_checked_without_others() -> None:
    gone = episode("ada")
    world = World()
    for tenant in (TENANT, "other"):
        await world.index(Scope(tenant, "ada"), gone)
    [result] = await world.check.verify([TENANT], with_others=False)
    assert (result.tenant_id, result.orphaned) == (TENANT, (make_key(gone),))
    assert {check.tenant_id for check in await world.check.verify([TENANT])} == {TENANT, "other"}


async def test_episodes_that_are_still_being_closed_are_not_missed() -> None:
    pending, silent = episode("ada", 1, status=EpisodeStatus.PENDING), episode("ada", 2, message_count=0)
    [result] = await World(pending, silent).check.verify([TENANT])
    assert result.is_sound


async def test_what_was_stored_meanwhile_is_not_deleted() -> None:
    new = episode("ada")
    world = World()
    world.stored.unlisted = [new]
    await world.index(Scope(TENANT, "ada"), new)
    [result] = await world.check.verify([])
    assert result.orphaned == (make_key(new),)
    await world.check.repair(result)
    assert await list_ids(world.search, Scope(TENANT, "ada"), IndexName.EPISODES) != []


async def test_repairing_leaves_other_tenants_and_users_alone() -> None:
    gone = episode("ada")
    world = World()
    for scope in (Scope(TENANT, "ada"), Scope(TENANT, "bob"), Scope("other", "ada")):
        await world.index(scope, gone)
    results = {check.tenant_id: check for check in await world.check.verify([])}
    await world.check.repair(replace(results[TENANT], orphaned=(make_key(gone),)))
    remaining = [
        bool(await list_ids(world.search, scope, IndexName.EPISODES))
        for scope in (Scope(TENANT, "ada"), Scope(TENANT, "bob"), Scope("other", "ada"))
    ]
    assert remaining == [False, True, True]


async def test_an_engine_that_knows_no_owners_is_checked_for_users_with_episodes() -> None:
    ada, missing, gone = episode("ada", 1), episode("ada", 2), episode("ada", 3)
    world = World(ada, missing, knows_owners=False)
    for item in (ada, gone):
        await world.index(Scope(TENANT, "ada"), item)
    [result] = await world.check.verify([TENANT])
    assert (result.missing, result.orphaned) == ((make_key(missing),), (make_key(gone),))
    assert (await world.check.repair(result)).is_sound


@pytest.mark.parametrize("knows_owners", [True, False])
async def test_a_lost_index_gets_the_episodes_that_it_does_not_have(knows_owners: bool) -> None:
    whole, missing, pending = episode("ada", 1), episode("bob", 1), episode("bob", 2, status=EpisodeStatus.PENDING)
    world = World(whole, missing, pending, knows_owners=knows_owners)
    await world.index(Scope(TENANT, "ada"), whole)
    assert [done async for done in world.check.rebuild(TENANT)] == [False, True, False]
    assert [done async for done in world.check.rebuild(TENANT)] == [False, False, False]
    [result] = await world.check.verify([TENANT])
    assert (result.is_sound, result.indexed) == (True, 2)


async def test_each_users_index_is_read_once_whatever_number_of_episodes_it_has() -> None:
    episodes = [episode(user, number) for number in range(1, 9) for user in ("ada", "bob")]
    world = World(*episodes, knows_owners=False)
    for item in episodes[:8]:
        await world.index(Scope(TENANT, item.user_id), item)
    world.search.reads = 0
    assert [done async for done in world.check.rebuild(TENANT)] == [False] * 8 + [True] * 8
    assert world.search.reads == 2
