"""The extracted text of each format, verbatim and in the order of reading."""

from __future__ import annotations

from datetime import date

import pytest

from baton_documents.formats import DocumentFormat
from baton_documents.reader import Extractor
from baton_documents.results import BlockKind, ExtractedText
from tests import documents

TABLE = (("Part", "Price"), ("Bolt M8", "0.40"), ("Nut M8", "0.15"))
TABLE_TEXT = "Part | Price\nBolt M8 | 0.40\nNut M8 | 0.15"

HEADING, PARAGRAPH, ITEM, CELLS, CODE = (
    BlockKind.HEADING,
    BlockKind.PARAGRAPH,
    BlockKind.LIST_ITEM,
    BlockKind.TABLE,
    BlockKind.CODE,
)


def extract_text(body: bytes, name: str, content_type: str) -> ExtractedText:
    """All parts of a file, put together."""
    extractor = Extractor()
    form = extractor.detect(body, name, content_type)
    texts = [extractor.extract(body, form, part) for part in extractor.list_parts(body, form)]
    blocks = tuple(block for text in texts for block in text.blocks)
    errors = tuple(error for text in texts for error in text.page_errors)
    return ExtractedText(blocks, texts[0].title, texts[0].pages, errors)


def list_blocks(text: ExtractedText) -> list[tuple[BlockKind, str]]:
    return [(block.kind, block.text) for block in text.blocks]


def test_a_pdf_has_pages_headings_and_paragraphs() -> None:
    pages = [
        (f"Chapter {number}", [f"First line of page {number},", "its second line.", "", "Another paragraph."])
        for number in range(1, 46)
    ]
    body = documents.pdf(pages, title="Handbook")
    text = extract_text(body, "handbook.pdf", documents.PDF)
    assert (text.title, text.pages) == ("Handbook", 45)
    page = [(block.kind, block.text, block.level) for block in text.blocks if block.page == 23]
    assert page == [
        (HEADING, "Chapter 23", 1),
        (PARAGRAPH, "First line of page 23,\nits second line.", None),
        (PARAGRAPH, "Another paragraph.", None),
    ]
    assert [block.page for block in text.blocks] == sorted(3 * [*range(1, 46)])


def test_a_pdf_of_many_pages_is_divided_into_parts() -> None:
    body = documents.pdf([("", ["Text."])] * 45)
    assert Extractor().list_parts(body, DocumentFormat.PDF) == [(1, 20), (21, 40), (41, 45)]


def test_a_table_of_a_pdf_stands_between_the_text_around_it() -> None:
    text = extract_text(documents.pdf([("Prices", ["Above the table."])], table=TABLE), "a.pdf", documents.PDF)
    assert list_blocks(text) == [
        (HEADING, "Prices"),
        (PARAGRAPH, "Above the table."),
        (CELLS, TABLE_TEXT),
        (PARAGRAPH, "Below the table."),
    ]


def test_a_word_document_has_headings_lists_and_tables() -> None:
    body = documents.word(
        ("Title", "Handbook"),
        ("Heading 2", "Tools"),
        ("Normal", "Grüße \U0001f600  with  spaces."),
        ("List Bullet", "Hammer"),
        table=TABLE,
        title="The handbook",
    )
    text = extract_text(body, "a.docx", documents.DOCX)
    assert text.title == "The handbook"
    assert list_blocks(text) == [
        (HEADING, "Handbook"),
        (HEADING, "Tools"),
        (PARAGRAPH, "Grüße \U0001f600  with  spaces."),
        (ITEM, "Hammer"),
        (CELLS, TABLE_TEXT),
    ]
    assert [block.level for block in text.blocks if block.kind is HEADING] == [1, 2]


def test_a_presentation_has_slides_tables_and_notes() -> None:
    body = documents.presentation(
        ("Welcome", ["To", "Baton"]), ("Prices", ["All in euro"]), table=TABLE, notes="Say it slowly."
    )
    text = extract_text(body, "a.pptx", documents.PPTX)
    assert text.pages == 2
    assert [(block.page, block.kind, block.text) for block in text.blocks] == [
        (1, HEADING, "Welcome"),
        (1, ITEM, "To"),
        (1, ITEM, "Baton"),
        (2, HEADING, "Prices"),
        (2, PARAGRAPH, "All in euro"),
        (2, CELLS, TABLE_TEXT),
        (2, PARAGRAPH, "Say it slowly."),
    ]


def test_a_workbook_has_a_table_a_sheet_and_where_rows_are_empty() -> None:
    body = documents.workbook(
        Prices=[["Part", "Price", "Since"], ["Bolt", 0.4, date(2026, 3, 14)], [], ["Total", 12]],
        Empty=[],
        More=[[True, 1e20, "a\nb"]],
    )
    text = extract_text(body, "a.xlsx", documents.XLSX)
    assert text.pages == 3
    assert [(block.page, block.kind, block.text) for block in text.blocks] == [
        (1, HEADING, "Prices"),
        (1, CELLS, "Part | Price | Since\nBolt | 0.4 | 2026-03-14"),
        (1, CELLS, "Total | 12"),
        (3, HEADING, "More"),
        (3, CELLS, "TRUE | 1e+20 | a b"),
    ]


def test_a_web_page_has_its_content_without_navigation_and_scripts() -> None:
    body = b"""<!doctype html><html><head><meta charset=iso-8859-1><title>The
      page</title><style>p{}</style></head><body><nav><a href=/>Home</a></nav><main><h1>Head<em>ing</em></h1>
      <p>One <b>two</b><br>three &amp; gr\xfcn <!-- not this --></p>loose<ul><li>first<li>second <p>its paragraph</ul>
      <div><div>inner</div>outer</div><pre>  a = 1\n    b</pre>
      <table><tr><th>Part<th>Price<tr><td>Bolt M8<td>0.40<tr><td>Nut <b>M8</b><td>0.15</table>
      <table><tr><td><h2>Layout</h2>text</table><script>alert("x")</script></main><footer>Imprint</footer></body></html>"""
    text = extract_text(body, "a.html", "text/html")
    assert text.title == "The page"
    assert list_blocks(text) == [
        (HEADING, "Heading"),
        (PARAGRAPH, "One two\nthree & gr\u00fcn"),
        (PARAGRAPH, "loose"),
        (ITEM, "first"),
        (ITEM, "second"),
        (ITEM, "its paragraph"),
        (PARAGRAPH, "inner"),
        (PARAGRAPH, "outer"),
        (CODE, "  a = 1\n    b"),
        (CELLS, TABLE_TEXT),
        (HEADING, "Layout"),
        (PARAGRAPH, "text"),
    ]


def test_markdown_is_kept_as_it_was_written() -> None:
    body = b"""---
title: "Guide"
---
# Start *here*

A **bold** line
and [another](https://example.com).

Setext
------

- one
  - inner
- two

1. first

| a | b |
|---|---|
| 1 | 2 |

```python
# no heading
x = 1
```

> quoted
"""
    text = extract_text(body, "a.md", "text/markdown")
    assert text.title == "Guide"
    assert list_blocks(text) == [
        (HEADING, "Start *here*"),
        (PARAGRAPH, "A **bold** line\nand [another](https://example.com)."),
        (HEADING, "Setext"),
        (ITEM, "- one\n  - inner"),
        (ITEM, "- two"),
        (ITEM, "1. first"),
        (CELLS, "| a | b |\n|---|---|\n| 1 | 2 |"),
        (CODE, "```python\n# no heading\nx = 1\n```"),
        (PARAGRAPH, "> quoted"),
    ]


def test_long_markdown_is_read_in_pieces_that_fences_do_not_hide_headings_from() -> None:
    section = "## Section\n\nText.\n\n```\n# not a heading\n```\n\n"
    text = extract_text((section * 1_000).encode(), "a.md", "text/markdown")
    assert list_blocks(text) == 1_000 * [
        (HEADING, "Section"),
        (PARAGRAPH, "Text."),
        (CODE, "```\n# not a heading\n```"),
    ]


@pytest.mark.parametrize(
    "encoding",
    ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "marked utf-16-be", "utf-32", "cp1252", "iso-8859-1"],
)
def test_text_is_read_in_its_encoding(encoding: str) -> None:
    written = "Grüße aus Köln.\r\nZweite Zeile, größer als die erste.\r\n\r\nNeuer Absatz für alle Fälle."
    if encoding.startswith("marked"):
        written, encoding = "\ufeff" + written, encoding.removeprefix("marked ")
    text = extract_text(written.encode(encoding), "a.txt", "text/plain")
    assert [block.text for block in text.blocks] == [
        "Grüße aus Köln.\nZweite Zeile, größer als die erste.",
        "Neuer Absatz für alle Fälle.",
    ]


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("cp1251", "Документ описывает, как устроена система и как ею пользоваться каждый день."),
        ("koi8-r", "Документ описывает, как устроена система и как ею пользоваться каждый день."),
        ("shift_jis", "この文書では、システムの仕組みと毎日の使い方について説明します。"),
        ("gb18030", "本文档介绍系统的工作原理以及日常使用方法。请仔细阅读。"),
    ],
)
def test_text_of_another_script_is_read_in_the_encoding_that_it_seems_to_have(encoding: str, written: str) -> None:
    text = extract_text((written * 5).encode(encoding), "a.txt", "text/plain")
    assert [block.text for block in text.blocks] == [written * 5]


def test_the_line_that_names_the_separator_is_no_row_of_a_csv_file() -> None:
    body = b'sep=;\r\nname;"a,b,c"\r\nx;1,5\r\n'
    assert list_blocks(extract_text(body, "a.csv", "text/csv")) == [(CELLS, "name | a,b,c\nx | 1,5")]


def test_only_line_ends_divide_the_rows_of_a_csv_file() -> None:
    body = "name,note\nx,one\u2028two\fthree\n".encode()
    assert list_blocks(extract_text(body, "a.csv", "text/csv")) == [(CELLS, "name | note\nx | one two three")]


@pytest.mark.parametrize("line", ['sep="', "sep=", "sep=ab"])
def test_a_first_line_that_names_no_separator_is_a_row_of_a_csv_file(line: str) -> None:
    body = f"{line}\nname,price\nbolt,1\nnut,2\n".encode()
    [(_, text)] = list_blocks(extract_text(body, "a.csv", "text/csv"))
    assert text.endswith("name | price\nbolt | 1\nnut | 2")


def test_a_zero_byte_in_a_long_text_costs_no_more_than_itself() -> None:
    body = b"a line of a log\n" * 500 + b"\0\n"
    assert list_blocks(extract_text(body, "a.log", "text/plain"))[-1][1].endswith("log\n\ufffd")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_file_is_one_table(separator: str) -> None:
    rows = [["Part", "Price"], ["Bolt M8", "0.40"], ["", ""], ["Nut M8", "0.15"]]
    body = "\r\n".join(separator.join(f'"{cell}"' for cell in row) for row in rows).encode()
    assert list_blocks(extract_text(body, "a.csv", "text/csv")) == [(CELLS, TABLE_TEXT)]


@pytest.mark.parametrize(
    ("front", "title", "fields"),
    [
        ('---\ntitle: "Guide"\ndescription: Pumps\ntags: [a]\n---\n', "Guide", ["description: Pumps\ntags: [a]"]),
        ("+++\ntitle = 'Guide'\nweight = 3\n+++\n", "Guide", ["weight = 3"]),
        ("---  \r\ntitle: Guide\r\n...\r\n", "Guide", []),
        ("---\n\nNo field\n\n---\n", None, ["---", "No field", "---"]),
    ],
)
def test_fields_before_markdown_are_read_and_its_title_is_the_documents(
    front: str, title: str | None, fields: list[str]
) -> None:
    text = extract_text(f"{front}Text.".encode(), "a.md", "text/markdown")
    assert (text.title, [block.text for block in text.blocks]) == (title, [*fields, "Text."])
