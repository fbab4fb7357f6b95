"""Chunks that cross headings and pages: found parts are cited with their own places."""

from __future__ import annotations

from itertools import pairwise

import pytest

from baton.domain.documents.document import Document, DocumentVersion, VersionStatus
from baton.knowledge.chunk_documents import MAX_PLACES, MAX_SECTION, ChunkPosition, find_position, make_chunk_documents
from baton_documents.chunks.chunk import Chunk, ChunkPart
from baton_documents.chunks.division import divide_into_chunks
from baton_documents.results import BlockKind, TextBlock
from tests.harness.remembered import MARCH

VERSION = DocumentVersion(1, VersionStatus.READY, "a.pdf", "application/pdf", 9, "ada", MARCH)
DOCUMENT = Document("doc_1", "knowledge", "Zephyr", MARCH, MARCH, active=VERSION)


def chapter(number: int, text: str) -> list[TextBlock]:
    heading = TextBlock(BlockKind.HEADING, f"Chapter {number}", number, 1)
    return [heading, TextBlock(BlockKind.PARAGRAPH, text, number)]


MANUAL = (
    *chapter(57, "The cryostat is refilled every eleven days. Nobody else may open the valve meanwhile."),
    *chapter(58, "The mirror is washed in May. " * 30),
)


def locate(chunk: Chunk, passage: int | None, query: str) -> ChunkPosition:
    [document] = make_chunk_documents(DOCUMENT, VERSION, [chunk], [], None)
    return find_position(chunk.text, document.fields, passage, query)


def test_a_chunk_knows_where_each_of_its_parts_stands() -> None:
    [chunk] = divide_into_chunks(MANUAL)
    first, second = chunk.parts
    assert (first.start, first.headings, first.page) == (0, ("Chapter 57",), 57)
    assert (second.headings, second.page) == (("Chapter 58",), 58)
    assert chunk.text[second.start :].startswith("Chapter 58")


def test_a_chunk_below_one_heading_and_on_one_page_has_no_parts() -> None:
    [chunk] = divide_into_chunks(chapter(3, "The dome is closed at dawn. " * 20))
    assert chunk.parts == ()
    assert locate(chunk, 0, "dome") == ChunkPosition("Chapter 3", 3, 3)


def test_the_parts_follow_one_another_through_the_whole_text() -> None:
    for chunk in divide_into_chunks(b for n in range(60) for b in chapter(n, f"Number {n} is here.")):
        assert chunk.parts[0].start == 0
        assert all(one.start < two.start for one, two in pairwise(chunk.parts))
        for part in chunk.parts:
            assert chunk.text[part.start :].startswith(part.headings[-1])


@pytest.mark.parametrize("passage", [None, 0])
def test_a_fact_before_the_next_heading_is_cited_with_its_own_heading_and_page(passage: int | None) -> None:
    [chunk] = divide_into_chunks(MANUAL)
    assert chunk.headings == ("Chapter 58",)
    question = "How often must the cryostat be refilled?"
    assert locate(chunk, passage, question) == ChunkPosition("Chapter 57", 57, 57)


def test_a_passage_behind_the_heading_is_cited_with_that_heading() -> None:
    [chunk] = divide_into_chunks(MANUAL)
    assert locate(chunk, 2, "How often must the cryostat be refilled?") == ChunkPosition("Chapter 58", 58, 58)
    assert locate(chunk, None, "When is the mirror washed?") == ChunkPosition("Chapter 58", 58, 58)


def test_among_parts_without_any_of_the_words_the_longest_of_the_passage_counts() -> None:
    chunk = Chunk(
        0, "One. Two, which is longer.", ("B",), 1, 2, None, (ChunkPart(0, ("A",), 1), ChunkPart(5, ("B",), 2))
    )
    assert locate(chunk, None, "Elephants?") == ChunkPosition("B", 2, 2)


def test_a_chunk_of_too_many_parts_is_cited_as_a_whole() -> None:
    parts = tuple(ChunkPart(number * 3, (f"H{number}",), number) for number in range(MAX_PLACES + 1))
    chunk = Chunk(0, "ab " * (MAX_PLACES + 1), ("All",), 0, MAX_PLACES, None, parts)
    [document] = make_chunk_documents(DOCUMENT, VERSION, [chunk], [], None)
    assert "places" not in document.fields
    assert locate(chunk, None, "ab") == ChunkPosition("All", 0, MAX_PLACES)


def test_what_the_index_holds_of_a_part_is_bounded() -> None:
    chunk = Chunk(0, "One. Two.", (), parts=(ChunkPart(0, ("x" * 900, "In")), ChunkPart(5)))
    section = locate(chunk, None, "one").section
    assert section is not None
    assert len(section) == MAX_SECTION
    assert section.endswith(" > In")


def test_chunks_of_an_earlier_release_are_cited_as_a_whole() -> None:
    fields = {"section": "Pumps", "first_page": 3, "last_page": 4}
    assert find_position("The pump is started.", fields, None, "pump") == ChunkPosition("Pumps", 3, 4)
