"""Rows of a table that a chunk begins with stand below the names of their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton_documents.chunks.chunk import Chunk
from baton_documents.chunks.division import divide_into_chunks
from baton_documents.chunks.table_headers import MAX_HEADER, find_header_rows, shorten_header
from baton_documents.results import TextBlock
from tests.extraction.chunks.texts import TABLE, heading, paragraph, sentences

HEADER = "part | supplier | lead time in days"
ROWS = [f"PN-{number:03} | Supplier {number % 7} | {number % 9}" for number in range(1, 201)]


def table(rows: Sequence[str], page: int | None = None) -> TextBlock:
    return TextBlock(TABLE, "\n".join(rows), page)


def headers(*blocks: TextBlock) -> list[str | None]:
    """The header of each chunk, one of which must begin inside a table."""
    chunks = divide_into_chunks(blocks)
    assert len(chunks) > 1
    return [chunk.table_header for chunk in chunks]


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        (["part | price", "Bolt | 0.40"], ["part | price"]),
        (["| part | price |", "|------|-------|", "| Bolt | 0.40 |"], ["| part | price |"]),
        (["part | price", "--- | ---:", "Bolt | 0.40"], ["part | price"]),
        (["Stock of 2026", "part | price", "Bolt | 0.40"], ["Stock of 2026", "part | price"]),
        (["Spring | | Autumn", "part | units | price | units", "Bolt | 3 | 0.40 | 7"], None),
        ([" | Spring | | Autumn", "part | units | price | units | price", "Bolt | 3 | 0.40 | 7 | 0.5"], None),
        ([" | 2024 | 2025", "North | 3 | 4"], [" | 2024 | 2025"]),
        (["region | 2024 | 2025", "North | 3 | 4"], ["region | 2024 | 2025"]),
        ([" | Monday | Tuesday", "Ada | early | late", "Bob | late | early"], [" | Monday | Tuesday"]),
        (["1 | 2 | 3", "4 | 5 | 6"], []),
        (["2026-01-05 | 12.50 | 7 %", "2026-01-06 | 13.00 | 8 %"], []),
        (["name", "Ada", "Bob"], ["name"]),
        (["", "part | price", "Bolt | 0.40"], ["part | price"]),
        (["part | price"], ["part | price"]),
        ([""], []),
    ],
)
def test_the_header_is_the_rows_that_name_the_columns(rows: list[str], header: list[str] | None) -> None:
    assert list(find_header_rows("\n".join(rows))) == (rows[:2] if header is None else header)


def test_every_chunk_but_the_first_has_the_header() -> None:
    result = headers(table([HEADER, *ROWS]))
    assert result == [None] + [HEADER] * (len(result) - 1)


def test_a_header_of_two_rows_is_repeated_whole() -> None:
    rows = [
        "Spring | | Autumn",
        "part | units | price | units",
        *(f"Bolt {n} | {n} | {n}.40 | {n}" for n in range(200)),
    ]
    assert headers(table(rows))[1:] == ["\n".join(rows[:2])] * (len(headers(table(rows))) - 1)


def test_a_table_of_numbers_has_no_header() -> None:
    assert set(headers(table([f"{n} | {n * 7} | {n % 11}.5 | 2026-01-{n % 28 + 1:02}" for n in range(200)]))) == {None}


def test_what_begins_with_other_text_has_no_header_in_front() -> None:
    result = divide_into_chunks([table([HEADER, *ROWS[:60]]), heading("Service"), paragraph(sentences(40))])
    assert [HEADER if chunk.text.startswith("PN-") else None for chunk in result] == [
        chunk.table_header for chunk in result
    ]


@pytest.mark.parametrize("kind", [paragraph, heading])
@pytest.mark.parametrize("footer", [[], ["Page 1 of 3", "Stock list"]])
def test_rows_on_the_next_page_have_the_header_of_the_page_before(
    footer: list[str], kind: Callable[..., TextBlock]
) -> None:
    """Lines at the ends of pages are headings where they are larger than the table."""
    ends = [kind(text, page=1) for text in footer]
    results = headers(
        heading("Stock list"), table([HEADER, *ROWS[:40]], 1), *ends, table(ROWS[40:80], 2), table(ROWS[80:], 3)
    )
    assert results == [None] + [HEADER] * (len(results) - 1)


def test_a_header_that_each_page_repeats_is_not_doubled() -> None:
    blocks = [table([HEADER, *ROWS[start : start + 40]], page) for page, start in enumerate(range(0, 200, 40), 1)]
    for chunk in divide_into_chunks(blocks):
        assert (chunk.table_header is None) == chunk.text.startswith(HEADER)


def test_rows_behind_an_empty_row_have_the_header() -> None:
    result = headers(table([HEADER, *ROWS[:100]]), table(ROWS[100:]))
    assert result == [None] + [HEADER] * (len(result) - 1)


@pytest.mark.parametrize("between", [[heading("Other parts", page=2)], [paragraph(sentences(4), 2)]])
def test_another_table_has_its_own_header(between: list[TextBlock]) -> None:
    other = ["pump | 4 | flow", *(f"P{n} | {n} | {n * 7} litres in each minute" for n in range(120))]
    assert headers(table([HEADER, *ROWS], 1), *between, table(other, 2))[-1] == other[0]


COLUMNS = [f"column {number}" for number in range(500)]


def test_the_header_of_a_wide_table_is_cut_between_cells() -> None:
    rows = [" | ".join(COLUMNS), *(" | ".join(f"v{row}.{n}" for n in range(500)) for row in range(3))]
    chunks = divide_into_chunks([table(rows)])
    visible = [chunk for chunk in chunks if chunk.table_header]
    assert len(visible) > 3
    for chunk in visible:
        cells = (chunk.table_header or "").split(" | ")
        assert len(chunk.table_header or "") <= MAX_HEADER
        assert set(cells) - {"..."} <= set(COLUMNS)
        begins = chunk.text.split(" | ")[1]  # the first cell may be cut
        if "\n" not in chunk.text.split(" | ", 1)[0]:
            assert f"column {begins.split('.')[1]}" in cells


def test_a_header_of_one_enormous_cell_is_cut() -> None:
    [row] = find_header_rows("x" * 10_000 + "\nPN-1 | 7")
    assert len(shorten_header([row]) or "") == MAX_HEADER


@pytest.mark.parametrize("rule", ["-", "---|:--:", "| - |", " :-- | --: "])
def test_the_line_below_a_header_is_none_of_its_rows(rule: str) -> None:
    assert find_header_rows(f"a | b\n{rule}\n1 | 2") == ("a | b",)


@pytest.mark.parametrize("row", ["-" * 19_900 + "x", "- " * 9_900 + "x", "|:-" * 6_600 + "x"])
def test_a_long_row_of_dashes_is_read_as_any_other(row: str) -> None:
    table = f"a | b\n{row}\n1 | 2\n"
    for _ in range(100):
        assert find_header_rows(table)[0] == "a | b"


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=300), max_size=3), st.integers(0, 99))
def test_no_header_is_longer_than_it_may_be(rows: list[str], column: int) -> None:
    assert len(shorten_header(rows, column) or "") <= MAX_HEADER + len(rows)


@given(st.lists(st.lists(st.sampled_from(["part", "7", "", "W1", "2026"]), min_size=1, max_size=4), max_size=90))
def test_a_header_is_rows_of_its_table_that_are_not_in_the_text(cells: list[list[str]]) -> None:
    rows = [" | ".join(row) for row in cells if any(row)]
    chunks: list[Chunk] = divide_into_chunks([table(rows), paragraph(sentences(30))])
    for chunk in chunks:
        if chunk.table_header is not None:
            assert chunk.table_header.split("\n") == rows[: chunk.table_header.count("\n") + 1]
            assert chunk.ordinal > 0
