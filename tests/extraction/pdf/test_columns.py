"""Columns of PDF files are read one after the other, and rows of tables row by row."""

from __future__ import annotations

from itertools import chain
from random import Random
from textwrap import wrap

import pytest
from reportlab.lib import colors
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table

from baton_documents.pdf import pdf
from tests.extraction.pdf.drawn_pdf import draw_columns, draw_page, wrap_lines
from tests.extraction.pdf.pdf_pages import HARBOUR, PARKING

CONCERT = (
    "In the evening a brass band plays on the square. Whoever wants to sit should bring a chair of their own, because "
    "the benches are kept for those who cannot stand for long. It ends with fireworks over the water at eleven."
)
NOTICE = (
    "This notice is about the festival of the town and goes over the whole width of the page, as the introduction of a "
    "newsletter does before its columns begin, and it takes more than one line."
)


def texts(body: bytes) -> list[str]:
    return [" ".join(block.text.split()) for block in pdf.extract(body, 1, 1).blocks]


def check_order(results: list[str], *parts: str) -> None:
    """The page has these parts whole and in this order, and nothing else."""
    assert " ".join(results) == " ".join(parts)


@pytest.mark.parametrize("shift", [0, 5], ids=["on common lines", "on lines of their own"])
def test_two_columns_that_are_drawn_row_by_row(shift: float) -> None:
    columns = [wrap_lines(HARBOUR, 200), wrap_lines(PARKING, 200)]
    check_order(texts(draw_page(lambda canvas: draw_columns(canvas, columns, [60, 300], 700, shift))), HARBOUR, PARKING)


def test_three_columns() -> None:
    columns = [wrap_lines(text, 140) for text in (HARBOUR, PARKING, CONCERT)]
    check_order(
        texts(draw_page(lambda canvas: draw_columns(canvas, columns, [60, 220, 380], 700))), HARBOUR, PARKING, CONCERT
    )


def test_a_heading_over_both_columns_stands_before_them() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica-Bold", 22)
        canvas.drawCentredString(300, 750, "The newsletter of the harbour town")
        canvas.setFont("Helvetica", 10)
        draw_columns(canvas, [wrap_lines(HARBOUR, 200), wrap_lines(PARKING, 200)], [60, 300], 700)

    check_order(texts(draw_page(draw)), "The newsletter of the harbour town", HARBOUR, PARKING)


def test_columns_below_and_above_paragraphs_of_the_whole_width() -> None:
    def draw(canvas: Canvas) -> None:
        for row, line in enumerate(wrap_lines(NOTICE, 440)):
            canvas.drawString(60, 760 - 12 * row, line)
        draw_columns(canvas, [wrap_lines(HARBOUR, 200), wrap_lines(PARKING, 200)], [60, 300], 700)
        canvas.setFont("Helvetica-Bold", 14)
        canvas.drawString(60, 560, "What follows")
        canvas.setFont("Helvetica", 10)
        for row, line in enumerate(wrap_lines(CONCERT, 440)):
            canvas.drawString(60, 540 - 12 * row, line)

    check_order(texts(draw_page(draw)), NOTICE, HARBOUR, PARKING, "What follows", CONCERT)


def test_columns_with_headings_of_their_own_and_of_other_lengths() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica-Bold", 14)
        canvas.drawString(60, 720, "Boats")
        canvas.drawString(300, 720, "Cars")
        canvas.setFont("Helvetica", 10)
        draw_columns(canvas, [wrap_lines(f"{HARBOUR} {CONCERT}", 200), wrap_lines(PARKING, 200)], [60, 300], 700)

    check_order(texts(draw_page(draw)), "Boats", f"{HARBOUR} {CONCERT}", "Cars", PARKING)


def test_header_and_footer_are_in_no_column() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(60, 800, "Harbour news")
        canvas.drawString(460, 800, "June 2026")
        draw_columns(canvas, [wrap_lines(HARBOUR, 200), wrap_lines(PARKING, 200)], [60, 300], 700)
        canvas.drawString(60, 40, "Printed in town")
        canvas.drawString(480, 40, "Page 1")

    check_order(texts(draw_page(draw)), "Harbour news June 2026", HARBOUR, PARKING, "Printed in town Page 1")


def test_columns_that_are_drawn_one_after_the_other() -> None:
    def draw(canvas: Canvas) -> None:
        draw_columns(canvas, [wrap_lines(HARBOUR, 200)], [60], 700)
        draw_columns(canvas, [wrap_lines(PARKING, 200)], [300], 700)

    check_order(texts(draw_page(draw)), HARBOUR, PARKING)


@pytest.mark.parametrize(("rotation", "x", "y"), [(90, 842, 0), (180, 595, 842), (270, 0, 595)])
def test_columns_on_a_turned_page(rotation: int, x: float, y: float) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.translate(x, y)
        canvas.rotate(rotation)
        draw_columns(canvas, [wrap_lines(HARBOUR, 200), wrap_lines(PARKING, 200)], [60, 300], 700)

    check_order(texts(draw_page(draw, rotation=rotation)), HARBOUR, PARKING)


def test_a_word_that_is_divided_at_the_end_of_a_line_is_whole_again() -> None:
    left = [
        "The harbour festival opens",
        "on the second Saturday of",
        "June at ten in the morn-",
        "ing near pier seven.",
    ]
    right = [
        "Parking is free behind the",
        "fish market for visitors who",
        "arrive before nine and who",
        "show a printed ticket.",
    ]
    result = texts(draw_page(lambda canvas: draw_columns(canvas, [left, right], [60, 300], 700)))
    assert "June at ten in the morning near pier seven." in " ".join(result)
    assert " ".join(result).index("seven.") < " ".join(result).index("Parking")


def test_words_that_are_divided_at_the_ends_of_right_lines_are_whole_again() -> None:
    left = [
        "The museum shows the col-",
        "lection of old clocks and",
        "opens every day at ten ex-",
        "cept on Mondays, when the",
        "staff repairs the mecha-",
        "nisms of the large old",
        "and well known tower.",
    ]
    right = [
        "Tickets are sold near the",
        "entrance; groups of ten or",
        "more pay half of the price",
        "if they announce their vi-",
        "sit a week in advance and",
        "come before noon, says di-",
        "rector Schmidt.",
    ]
    result = " ".join(texts(draw_page(lambda canvas: draw_columns(canvas, [left, right], [50, 310], 700))))
    for whole in (
        "collection of",
        "ten except on",
        "staff repairs the mechanisms of",
        "their visit a",
        "director Schmidt",
    ):
        assert whole in result
    assert result.index("known tower.") < result.index("Tickets are")


def test_a_word_that_is_divided_at_the_end_of_a_column_is_whole_again() -> None:
    left, right = wrap_lines(f"{HARBOUR} It is a won-", 200), wrap_lines(f"derful day. {PARKING}", 200)
    result = " ".join(texts(draw_page(lambda canvas: draw_columns(canvas, [left, right], [60, 300], 700))))
    assert "It is a wonderful day. Parking" in result


@pytest.mark.parametrize(
    "rows",
    [
        [("Part", "Price"), ("Bolt M8", "0.40"), ("Nut M8", "0.15"), ("Washer", "0.05")],
        [
            ("Item description", "Where to find it"),
            ("Large winter jacket", "Second floor, left"),
            ("Small summer dress", "Ground floor, right"),
            ("Shoes for children", "Third floor, at the lift"),
        ],
        [("Name:", "Ada Lovelace"), ("Address:", "12 St James's Square, London"), ("Born:", "10 December 1815")],
        [("Monday", "9:00", "closed"), ("Tuesday", "9:00", "18:00"), ("Wednesday", "10:00", "18:00")],
        [("1.", "Open the valve"), ("2.", "Start the pump"), ("3.", "Read the pressure"), ("4.", "Close the valve")],
    ],
    ids=["prices", "places", "labels", "hours", "steps"],
)
def test_rows_of_a_table_without_lines_are_read_row_by_row(rows: list[tuple[str, ...]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    lefts = [60, 300, 420][: len(columns)]
    result = texts(draw_page(lambda canvas: draw_columns(canvas, columns, lefts, 700)))
    check_order(result, *chain.from_iterable(rows))


def test_rows_between_rules_are_lines() -> None:
    rows = [("Part", "Price", "Stock"), ("Bolt M8", "0.40", "12"), ("Nut M8", "0.15", "7")]

    def draw(canvas: Canvas) -> None:
        for number, row in enumerate(rows):
            for index, cell in enumerate(row):
                canvas.drawString(60 + 120 * index, 700 - 18 * number, cell)
            canvas.line(60, 695 - 18 * number, 400, 695 - 18 * number)

    (block,) = pdf.extract(draw_page(draw), 1, 1).blocks
    assert block.text.split("\n") == [" ".join(row) for row in rows]


def test_a_table_with_lines_in_a_column_stays_in_it() -> None:
    def draw(canvas: Canvas) -> None:
        draw_columns(canvas, [wrap_lines(f"{HARBOUR} {CONCERT}", 200), wrap_lines(PARKING, 200)], [60, 300], 700)
        table = Table([["Part", "Price"], ["Bolt", "0.40"]], style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
        table.wrapOn(canvas, 200, 200)
        table.drawOn(canvas, 300, 530)

    check_order(texts(draw_page(draw)), f"{HARBOUR} {CONCERT}", PARKING, "Part | Price Bolt | 0.40")


def test_long_cells_with_lines_are_no_columns() -> None:
    def draw(canvas: Canvas) -> None:
        cells = [["\n".join(wrap_lines(text, 180)) for text in row] for row in ((HARBOUR, PARKING), (CONCERT, NOTICE))]
        table = Table(cells, style=[("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
        table.wrapOn(canvas, 500, 500)
        table.drawOn(canvas, 60, 400)

    check_order(texts(draw_page(draw)), f"{HARBOUR} | {PARKING} {CONCERT} | {NOTICE}")


SAMPLE = 40
"""Pages of a kind."""
VOCABULARY = f"{HARBOUR} {PARKING} {CONCERT} {NOTICE}".lower().split()


def prose(random: Random, letters: int) -> list[str]:
    """Lines as full as so many letters let them be."""
    words = random.choices(VOCABULARY, k=random.randint(30, 120))
    for index in range(0, len(words), random.randint(6, 14)):
        words[index] = words[index].capitalize()
    return wrap(" ".join(words), letters)


def cells(random: Random, rows: int, most: int) -> list[str]:
    return [" ".join(random.choices(VOCABULARY, k=random.randint(1, most))).capitalize()[:40] for _ in range(rows)]


def read_as_drawn(columns: list[list[str]], expected: list[str]) -> bool:
    result = texts(draw_page(lambda canvas: draw_columns(canvas, columns, [50, 310], 780)))
    return "".join(result).replace(" ", "").replace("-", "") == "".join(expected).replace(" ", "").replace("-", "")


@pytest.mark.parametrize("letters", [24, 32, 40])
def test_nearly_all_columns_are_read_one_after_the_other(letters: int) -> None:
    random = Random(7)  # noqa: S311 - the same pages each time
    pages = [[prose(random, letters), prose(random, letters)] for _ in range(SAMPLE)]
    assert sum(read_as_drawn(columns, [*columns[0], *columns[1]]) for columns in pages) >= 0.95 * SAMPLE


@pytest.mark.parametrize("most", [1, 3, 6])
def test_nearly_all_tables_without_lines_are_read_row_by_row(most: int) -> None:
    random = Random(7)  # noqa: S311 - the same pages each time
    pages = [[cells(random, 12, most), cells(random, 12, most)] for _ in range(SAMPLE)]
    rows = [list(chain.from_iterable(zip(*columns, strict=True))) for columns in pages]
    read = [read_as_drawn(columns, expected) for columns, expected in zip(pages, rows, strict=True)]
    assert sum(read) >= 0.95 * SAMPLE
