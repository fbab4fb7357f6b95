"""A document as a whole: its sections, pages, tables and text."""

from __future__ import annotations

import pytest

from baton_documents import BlockKind, DocumentFormat, DocumentRefused, ProcessLimits, read, read_in_process
from tests import documents

MARKDOWN = """Before.

# Pumps

Read this.

## Oil

| Pump | Oil |
| --- | --- |
| M10 | 7.5 l |

# Valves
"""
MIB = 1024 * 1024


def test_sections_have_the_path_of_their_headings() -> None:
    sections = read(MARKDOWN.encode(), "manual.md").sections
    assert [(section.headings, len(section.blocks)) for section in sections] == [
        ((), 1),
        (("Pumps",), 1),
        (("Pumps", "Oil"), 1),
        (("Valves",), 0),
    ]
    assert sections[1].text == "Read this."


def test_tables_have_rows_of_cells() -> None:
    [table] = read(MARKDOWN.encode(), "manual.md").tables
    assert (table.rows, table.page) == ((("Pump", "Oil"), ("M10", "7.5 l")), None)


def test_titles_that_programs_give_are_left_out() -> None:
    assert read(b"# Untitled document\n", "a.md").title is None
    assert read(b"# Pumps\n", "a.md").title == "Pumps"


def test_pages_without_text_are_listed_too() -> None:
    body = documents.workbook(Prices=[["Tea", 3]], Empty=[])
    document = read(body, "prices.xlsx")
    assert (document.format, document.page_count) == (DocumentFormat.XLSX, 2)
    assert [(page.number, page.text) for page in document.pages] == [(1, "# Prices\n\nTea | 3"), (2, "")]


def test_a_text_without_a_name_and_a_type_is_plain_text() -> None:
    [block] = read(b"# No heading").blocks
    assert (block.kind, block.text) == (BlockKind.PARAGRAPH, "# No heading")


def test_the_charset_of_the_type_counts() -> None:
    assert read("Да".encode("cp1251"), content_type="text/plain; charset=windows-1251").text == "Да"


def test_a_document_is_the_same_from_a_process_of_its_own() -> None:
    body = documents.pdf([("Spring", ["Sow peas."]), ("Autumn", ["Dig."])])
    assert read_in_process(body, "garden.pdf") == read(body, "garden.pdf")


def test_a_document_without_text_is_refused() -> None:
    with pytest.raises(DocumentRefused) as refused:
        read(documents.make_scanned_pdf(), "scan.pdf")
    assert refused.value.reason == "document_without_text"


def test_a_document_that_takes_too_much_memory_is_refused() -> None:
    limits = ProcessLimits(memory_bytes=64 * MIB, seconds=30, answer_bytes=MIB)
    with pytest.raises(DocumentRefused) as refused:
        read_in_process(b"x " * 100 * MIB, "large.txt", limits=limits)
    assert refused.value.reason == "document_too_complex"
