"""Searching an agent's documents: the index proposes, and the documents' records decide."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pytest

from baton.composition.app import build
from baton.domain.documents.document import Document
from baton.domain.documents.numbered_passages import Citation
from baton.domain.documents.search import IndexName
from baton.domain.errors import EmbedderUnavailable, SearchUnavailable, StoreUnavailable
from baton.domain.memory.found_item import FoundItem
from baton.domain.tenants.identity import Scope
from baton_documents.chunks.chunk import Chunk, ChunkPart
from baton_documents.media_types import XLSX
from baton_testing.fakes.documents.documents import FakeDocuments
from baton_testing.fakes.documents.embedder import FakeEmbedder
from baton_testing.fakes.documents.search_index import FakeSearchIndex
from tests.contracts.knowledge import KnowledgeContract
from tests.fakes.ports import FakePorts
from tests.harness.remembered import MARCH, learn

ADA = Scope("acme", "ada")
QUESTION = "How is the pump started?"


class TestFakeSearchIndex(KnowledgeContract):
    """Over the double of the search index."""

    @pytest.fixture
    def index(self) -> FakeSearchIndex:
        return FakeSearchIndex()


class CountedDocuments(FakeDocuments):
    """Records that can fail, and count how often they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.failure: Exception | None = None

    async def get_many(self, scope: Scope, agent_id: str, document_ids: Collection[str]) -> Mapping[str, Document]:
        self.reads += 1
        if self.failure is not None:
            raise self.failure
        return await super().get_many(scope, agent_id, document_ids)


class Library:
    """Documents, and a search in them."""

    def __init__(self) -> None:
        self.search, self.embedder, self.documents = FakeSearchIndex(), FakeEmbedder(), CountedDocuments()
        ports = FakePorts(search=self.search, documents=self.documents, embedder=self.embedder)
        self.knowledge = build(ports).knowledge.search

    async def texts(self, query: str = QUESTION, *, limit: int = 10) -> list[str]:
        results = await self.knowledge.search(ADA, "knowledge", query, limit=limit)
        return [chunk.text for chunk in results.chunks]


def cite(result: FoundItem) -> Citation:
    assert result.source.citation is not None
    return result.source.citation


@pytest.fixture
def library() -> Library:
    return Library()


async def test_a_chunk_is_found_with_its_place_in_the_document(library: Library) -> None:
    chunk = Chunk(2, "The pump is started by hand.", ("Pumps", "Starting"), 3, 4)
    await learn(library, ADA, "knowledge", chunk.text, title="Handbook", url="https://a.example/h", chunk=chunk)
    [result] = (await library.knowledge.search(ADA, "knowledge", QUESTION, limit=5)).chunks
    citation = cite(result)
    assert (citation.title, citation.section, citation.pages) == ("Handbook", "Pumps > Starting", "3-4")
    assert (citation.url, citation.chunk_id) == ("https://a.example/h", "document-0@1#2")
    assert result.text == chunk.text
    assert result.cosine is not None
    assert library.embedder.queries == [QUESTION]


async def test_a_chunk_of_a_workbook_stands_on_a_sheet(library: Library) -> None:
    chunk = Chunk(0, "The pump is started by hand.", ("Pumps",), 2, 2)
    await learn(library, ADA, "knowledge", chunk.text, chunk=chunk, content_type=XLSX)
    [result] = (await library.knowledge.search(ADA, "knowledge", QUESTION, limit=5)).chunks
    source = cite(result).as_source(None)
    assert (source["pageUnit"], source["page"], source["section"]) == ("sheet", 2, "Pumps")


CROSSING = "The pump is started by hand, says the first chapter.\n\nValves\n\nValves close themselves in winter."
CROSSES = Chunk(
    0,
    CROSSING,
    ("Valves",),
    57,
    58,
    None,
    (ChunkPart(0, ("Pumps",), 57), ChunkPart(CROSSING.index("Valves"), ("Valves",), 58)),
)


@pytest.mark.parametrize(
    ("query", "section", "pages"), [(QUESTION, "Pumps", "57"), ("Which valves close in winter?", "Valves", "58")]
)
async def test_a_chunk_that_crosses_a_heading_is_cited_with_the_place_of_what_was_asked(
    library: Library, query: str, section: str, pages: str
) -> None:
    await learn(library, ADA, "knowledge", CROSSING, chunk=CROSSES)
    [result] = (await library.knowledge.search(ADA, "knowledge", query, limit=5)).chunks
    assert (cite(result).section, cite(result).pages) == (section, pages)


LONG = "\n".join(f"Pump {number} | {number * 3} litres | by hand" for number in range(60))


@pytest.mark.parametrize("title", ["Handbook", "Hand\nbook"])
@pytest.mark.parametrize("headings", [(), ("Pumps", "Flow")])
@pytest.mark.parametrize("header", ["pump | flow | started", None])
async def test_rows_that_an_earlier_release_has_indexed_have_their_header_too(
    library: Library, title: str, headings: tuple[str, ...], header: str | None
) -> None:
    instance = await learn(
        library, ADA, "knowledge", LONG, title=title, chunk=Chunk(1, LONG, headings, table_header=header)
    )
    fields = {name: value for name, value in instance.fields.items() if name != "table_header"}
    await library.search.put(ADA, IndexName.KNOWLEDGE, [replace(instance, fields=fields)])
    [result] = (await library.knowledge.search(ADA, "knowledge", "flow of pump 41", limit=5)).chunks
    assert (result.table_header, result.text) == (header, LONG)


async def test_the_passage_of_rows_stands_below_their_header(library: Library) -> None:
    header = "pump | flow | started"
    await learn(library, ADA, "knowledge", LONG, chunk=Chunk(1, LONG, table_header=header))
    [result] = (await library.knowledge.search(ADA, "knowledge", "flow of pump 41", limit=5)).chunks
    assert result.passage is not None
    assert result.passage.startswith(f"{header}\nPump ")
    assert result.passage.removeprefix(f"{header}\n") in result.text


async def test_a_chunk_that_alone_has_a_code_is_cited_with_the_passage_and_the_page_of_the_code(
    library: Library,
) -> None:
    first = "How the pump is started: the pump is started by hand, the pump is started by lever. " * 6
    text = f"{first}\n\n{'Other words of all kinds. ' * 12}\n\nThe seal has the number PN-173."
    parts = (ChunkPart(0, ("Pumps",), 3), ChunkPart(len(first), ("Seals",), 4))
    await learn(library, ADA, "knowledge", text, chunk=Chunk(0, text, ("Pumps",), 3, 4, None, parts))
    [result] = (await library.knowledge.search(ADA, "knowledge", "How is pump PN-173 started by hand?", limit=5)).chunks
    assert result.terms == ("pn-173",)
    assert result.passage is not None
    assert "PN-173" in result.passage
    assert (cite(result).section, cite(result).pages) == ("Seals", "4")


async def test_scores_keep_the_order_of_what_is_found(library: Library) -> None:
    for number in range(30):
        await learn(library, ADA, "knowledge", f"How is the pump started? The pump number {number} by hand.")
    await learn(library, ADA, "knowledge", f"{'Boats are green and slow. ' * 9} See PN-173 of Nováková.")
    results = (await library.knowledge.search(ADA, "knowledge", "How is the pump PN-173 started?", limit=40)).chunks
    assert "PN-173" in " ".join(chunk.text for chunk in results[:5])
    scores = [chunk.score for chunk in results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


async def test_records_are_read_once_and_only_if_something_was_found(library: Library) -> None:
    assert await library.texts() == []
    assert library.documents.reads == 0
    for number in range(12):
        await learn(library, ADA, "knowledge", f"The pump number {number} is started by hand.")
    await library.texts()
    assert library.documents.reads == 1


async def test_a_deleted_document_is_not_used_while_its_chunks_are_still_there(library: Library) -> None:
    await learn(library, ADA, "knowledge", "The pump is started by hand.", deleted_at=MARCH)
    assert await library.texts() == []


async def test_a_chunk_without_a_record_is_not_used(library: Library) -> None:
    await learn(library, ADA, "knowledge", "The pump is started by hand.")
    library.documents.records.clear()
    assert await library.texts() == []


async def test_nothing_is_used_while_the_records_cannot_be_read(library: Library) -> None:
    await learn(library, ADA, "knowledge", "The pump is started by hand.")
    library.documents.failure = StoreUnavailable()
    with pytest.raises(StoreUnavailable):
        await library.texts()


async def test_a_text_that_was_uploaded_twice_is_found_once(library: Library) -> None:
    text = "The pump is started by hand, after the valve was opened and the tank was filled with water from the well."
    await learn(library, ADA, "knowledge", text)
    await learn(library, ADA, "knowledge", f"{text} Really.")
    await learn(library, ADA, "knowledge", "The pump is never started at night.")
    assert len(await library.texts()) == 2


async def test_texts_that_differ_in_a_number_are_both_found(library: Library) -> None:
    for number in (4, 5):
        await learn(library, ADA, "knowledge", f"Pump {number} is started with lever {number}.")
    assert len(await library.texts()) == 2


async def test_without_an_embedder_words_decide(library: Library) -> None:
    await learn(library, ADA, "knowledge", "The pump is started by hand.")
    library.embedder.failure = EmbedderUnavailable()
    results = await library.knowledge.search(ADA, "knowledge", QUESTION, limit=5)
    assert len(results.chunks) == 1
    assert results.words_only == "embedder_unavailable: searched by words only"


async def test_an_index_of_another_model_is_searched_by_words(library: Library) -> None:
    await learn(library, ADA, "knowledge", "The pump is started by hand.")
    library.embedder.dimensions = 8
    results = await library.knowledge.search(ADA, "knowledge", QUESTION, limit=5)
    assert len(results.chunks) == 1
    assert results.words_only == "wrong_dimension: searched by words only"


async def test_a_search_engine_that_fails_is_an_error(library: Library) -> None:
    library.search.failure = SearchUnavailable()
    with pytest.raises(SearchUnavailable):
        await library.texts()
