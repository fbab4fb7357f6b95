"""A document is divided into chunks along its headings, paragraphs and sentences; nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given

from baton_documents.chunks.division import MAX_CHUNK, MIN_CHUNK, divide_into_chunks
from baton_documents.results import BlockKind, TextBlock
from tests.extraction.chunks.texts import documents, heading, paragraph, sentences


def without_space(text: str) -> str:
    return "".join(text.split())


@given(documents)
def test_no_text_is_lost_and_its_order_stays(blocks):
    chunks = divide_into_chunks(blocks)

    assert "".join(without_space(chunk.text) for chunk in chunks) == without_space(
        "".join(block.text for block in blocks)
    )
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


@given(documents)
def test_chunks_are_neither_empty_nor_too_long(blocks):
    assert all(0 < len(chunk.text) <= MAX_CHUNK and chunk.text.strip() for chunk in divide_into_chunks(blocks))


@given(documents)
def test_pages_are_those_of_the_text(blocks):
    pages = {block.page for block in blocks}
    for chunk in divide_into_chunks(blocks):
        assert {chunk.first_page, chunk.last_page} <= pages | {None}
        assert (chunk.first_page is None) == (chunk.last_page is None)
        assert chunk.first_page is None or chunk.first_page <= chunk.last_page


def test_long_text_becomes_chunks_of_whole_sentences_within_the_bounds():
    chunks = divide_into_chunks([heading("Pumps"), paragraph(sentences(100))])

    assert all(MIN_CHUNK <= len(chunk.text) <= MAX_CHUNK for chunk in chunks)
    assert all(chunk.text.endswith(".") for chunk in chunks)
    assert all(chunk.headings == ("Pumps",) for chunk in chunks)


def test_a_chunk_begins_at_a_heading_rather_than_in_a_section():
    chunks = divide_into_chunks(
        [
            heading("Pumps"),
            heading("Starting", 2),
            paragraph(sentences(18)),
            heading("Stopping", 2),
            paragraph(sentences(18, "lever")),
        ]
    )

    assert [chunk.headings for chunk in chunks] == [("Pumps", "Starting"), ("Pumps", "Stopping")]
    assert chunks[1].text.startswith("Stopping\n\nSentence 0")


def test_short_sections_share_a_chunk_which_has_the_path_of_the_longest():
    chunks = divide_into_chunks(
        [
            heading("Pumps"),
            paragraph("Short."),
            heading("Starting", 2),
            paragraph(sentences(6)),
            heading("Stopping", 2),
            paragraph(sentences(2)),
        ]
    )

    assert [chunk.headings for chunk in chunks] == [("Pumps", "Starting")]


def test_a_heading_stays_with_its_text():
    chunks = divide_into_chunks([paragraph(sentences(24)), heading("Stopping"), paragraph(sentences(24))])

    assert not any(chunk.text.endswith("Stopping") for chunk in chunks)


def test_a_heading_ends_the_sections_of_its_level():
    chunks = divide_into_chunks(
        [
            *(heading("A"), heading("B", 3), paragraph(sentences(18))),
            *(heading("C", 2), paragraph(sentences(18))),
            *(heading("D"), paragraph(sentences(18))),
        ]
    )

    assert [chunk.headings for chunk in chunks] == [("A", "B"), ("A", "C"), ("D",)]


def test_rows_of_a_long_table_stay_whole_and_name_its_header_once_more():
    rows = [f"{index} | pump {index} | {index * 7} litres in each minute" for index in range(120)]
    table = "\n".join(["Number | Name | Flow", *rows])
    chunks = divide_into_chunks([TextBlock(BlockKind.TABLE, table)])

    assert len(chunks) > 2
    assert [line for chunk in chunks for line in chunk.text.splitlines()] == table.splitlines()
    assert [chunk.table_header for chunk in chunks] == [None] + ["Number | Name | Flow"] * (len(chunks) - 1)


def test_code_that_fits_is_kept_together():
    code = "\n".join(f"    value_{index} = compute({index})" for index in range(30))
    chunks = divide_into_chunks(
        [paragraph(sentences(15)), TextBlock(BlockKind.CODE, code), paragraph(sentences(15, "lever"))]
    )

    assert sum(code.strip() in chunk.text for chunk in chunks) == 1


def test_a_word_without_end_is_divided_within_the_bounds():
    chunks = divide_into_chunks([paragraph("x" * 10_000)])

    assert all(MIN_CHUNK <= len(chunk.text) <= MAX_CHUNK for chunk in chunks)


def test_a_language_without_spaces_is_divided_at_its_sentences():
    chunks = divide_into_chunks([paragraph("水泵运行前必须手动打开阀门。" * 300)])

    assert len(chunks) > 2
    assert all(chunk.text.endswith("。") for chunk in chunks)


def test_a_sentence_across_two_pages_stays_in_one_chunk():
    first = sentences(17) + " The last valve is opened"
    chunks = divide_into_chunks([paragraph(first, 1), paragraph("by the second engineer. " + sentences(12), 2)])

    [chunk] = [chunk for chunk in chunks if "The last valve" in chunk.text]
    assert "is opened\nby the second engineer." in chunk.text
    assert (chunk.first_page, chunk.last_page) == (1, 2)


def test_abbreviations_end_no_sentence():
    text = "The pump (cf. Fig. 3) was built by Dr. Moss, e.g. for mines. " * 60
    chunks = divide_into_chunks([paragraph(text)])

    assert all(chunk.text.endswith("mines.") for chunk in chunks)


def test_a_short_document_is_one_chunk_and_an_empty_one_none():
    assert [chunk.text for chunk in divide_into_chunks([paragraph("Short.")])] == ["Short."]
    assert divide_into_chunks([paragraph(" \n ")]) == []
    assert divide_into_chunks([]) == []


@pytest.mark.parametrize("row", ["." * 1_000_000, "…" * 1_000_000 + "x", '."' * 500_000, "。" * 500_000])
def test_long_rows_of_marks_are_divided_like_other_text(row: str) -> None:
    chunks = divide_into_chunks([TextBlock(BlockKind.PARAGRAPH, row)])
    assert "".join(chunk.text for chunk in chunks) == row
