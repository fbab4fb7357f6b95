"""Libraries of the project: searched beside an agent's own documents, for users of all tenants."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from baton.composition.app import build
from baton.domain.documents.document import parse_original_key
from baton.domain.documents.search import IndexName, SearchQuery, SearchResult
from baton.domain.errors import InvalidRequest
from baton.domain.tenants.identity import PROJECT_TENANT, ProjectScope, Scope, make_stored_scope
from baton_documents.chunks.chunk import Chunk
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.fakes.ports import FakePorts
from tests.harness.remembered import learn

ADA, BOB = Scope("acme", "ada"), Scope("globex", "bob")
PROJECT = ProjectScope()
QUESTION = "How is the pump started?"


class CountedIndex(FakeSearchIndex):
    """An index that counts the searches in progress."""

    at_once = most = 0

    async def search(self, scope: Scope, index: IndexName, query: SearchQuery) -> SearchResult:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return await super().search(scope, index, query)


class Shop:
    """Documents of agents and of the project's libraries, and a search in them."""

    def __init__(self) -> None:
        self.search, self.embedder, self.documents = CountedIndex(), FakeEmbedder(), FakeDocuments()
        ports = FakePorts(search=self.search, documents=self.documents, embedder=self.embedder)
        self.knowledge = build(ports).knowledge.search

    async def finds(self, scope: Scope, *libraries: str, agent: str = "desk") -> Mapping[str, str | None]:
        """Return the library of each text that the agent finds."""
        results = await self.knowledge.search(scope, agent, QUESTION, libraries=libraries, limit=10)
        return {
            chunk.text: chunk.source.citation.library for chunk in results.chunks if chunk.source.citation is not None
        }


@pytest.fixture
def shop() -> Shop:
    return Shop()


async def test_users_of_every_tenant_find_a_library_that_the_agent_lists(shop: Shop) -> None:
    await learn(shop, PROJECT, "manual", "The pump is started by hand.")
    for scope in (ADA, BOB):
        assert await shop.finds(scope, "manual") == {"The pump is started by hand.": "manual"}
        assert await shop.finds(scope) == {}
        assert await shop.finds(scope, "terms") == {}
        assert await shop.finds(scope, agent="manual") == {}


async def test_an_agents_own_documents_stay_its_tenants(shop: Shop) -> None:
    await learn(shop, ADA, "desk", "Ada starts the pump at noon.")
    await learn(shop, ADA, "manual", "Ada's own manual of the pump.")
    await learn(shop, PROJECT, "manual", "The pump is started by hand.")
    assert await shop.finds(ADA, "manual") == {
        "The pump is started by hand.": "manual",
        "Ada starts the pump at noon.": None,
    }
    assert await shop.finds(BOB, "manual") == {"The pump is started by hand.": "manual"}


async def test_documents_of_libraries_rank_as_if_they_were_the_agents_own(shop: Shop) -> None:
    texts = ["A pump has a valve.", "The pump is started by hand: how, the label says.", "The yard is closed."]
    one = Shop()
    for number, text in enumerate(texts):
        await learn(shop, PROJECT if number % 2 else ADA, "manual" if number % 2 else "desk", text)
        await learn(one, ADA, "desk", text)
    assert list(await shop.finds(ADA, "manual")) == list(await one.finds(ADA))


async def test_equal_ids_of_a_tenants_document_and_of_a_librarys_do_not_meet(shop: Shop) -> None:
    await learn(shop, ADA, "desk", "Mine: the pump is started at noon.")
    [own] = shop.documents.records.values()
    other = Shop()
    await learn(other, PROJECT, "manual", "The pump is started by hand.")
    [record] = other.documents.records.values()
    assert record.id == own.id
    await shop.documents.create(PROJECT, record)
    owner = next(iter(other.search.documents))
    shop.search.documents[owner] = other.search.documents[owner]
    results = await shop.knowledge.search(ADA, "desk", QUESTION, libraries=["manual"], limit=10)
    assert {chunk.id: chunk.text for chunk in results.chunks} == {
        f"{own.id}@1#0": "Mine: the pump is started at noon.",
        f"manual/{own.id}@1#0": "The pump is started by hand.",
    }


async def test_a_librarys_document_needs_its_permission(shop: Shop) -> None:
    await learn(shop, PROJECT, "manual", "The pump is started by hand.", permission="pump:read")
    assert await shop.finds(ADA, "manual") == {}
    assert await shop.finds(Scope("acme", "ada", frozenset({"pump:read"})), "manual") != {}


async def test_several_libraries_are_searched_at_once_with_one_embedding(shop: Shop) -> None:
    libraries = [f"shelf-{number}" for number in range(8)]
    for number, name in enumerate(libraries):
        text = f"Pump {number} is started by hand, with a lever of kind {number} and {number + 7} turns."
        await learn(shop, PROJECT, name, text, chunk=Chunk(0, text))
    before = len(shop.embedder.embedded)
    assert set((await shop.finds(ADA, *libraries)).values()) == set(libraries)
    assert shop.search.most == 9
    assert shop.embedder.embedded[before:] == [QUESTION]


@pytest.mark.parametrize("tenant", [PROJECT_TENANT, "~project/x", "~Project", "~"])
def test_no_request_can_name_the_owner_of_libraries(tenant: str) -> None:
    with pytest.raises(InvalidRequest):
        Scope(tenant, "ada")
    with pytest.raises(InvalidRequest):
        make_stored_scope(tenant.replace(PROJECT_TENANT, "~p"), "ada")


def test_stored_records_lead_to_the_projects_scope_and_to_tenants() -> None:
    assert make_stored_scope(PROJECT_TENANT, "ada") == PROJECT
    assert make_stored_scope("acme", "ada") == ADA
    assert not PROJECT.permissions


def test_files_of_libraries_are_recognised_by_their_keys_and_no_other_tilde_is() -> None:
    location = f"~documents/manual/doc_{'0' * 32}/1/original"
    ref = parse_original_key(f"{PROJECT_TENANT}/{location}")
    assert ref is not None
    assert (ref.tenant_id, ref.agent_id) == (PROJECT_TENANT, "manual")
    assert parse_original_key(f"~other/{location}") is None
