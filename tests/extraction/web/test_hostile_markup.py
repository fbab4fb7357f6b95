"""Web pages and Markdown that are made to take a reader's memory and time."""

from __future__ import annotations

import pytest

from baton_documents.errors import DocumentRefused
from baton_documents.html import limits as html_limits
from baton_documents.html import page as html_page
from baton_documents.html import tables as html_tables
from baton_documents.results import BlockKind
from baton_documents.text import markdown
from tests.extraction.limited import outcome

pytestmark = pytest.mark.follows_processes

MANY = 300_000

MARKDOWN = {
    "images": "![" * MANY,
    "brackets": "[" * MANY,
    "links": "[a](" * MANY,
    "stars": "*a **b" * MANY,
    "code spans": "".join(f"{'`' * (number % 500)} " for number in range(5_000)),
    "tags": "<a " * MANY,
    "entities": "&" * MANY,
    "quotes in quotes": "> " * MANY + "a",
    "lines of quotes": ("> " * 100 + "a\n") * 2_000,
    "lists in lists": "- " * MANY + "a",
    "numbered lists in lists": "1. " * MANY + "a",
    "quotes in lists": "> - " * MANY + "a",
    "indented lists": "\n".join("  " * number + "- a" for number in range(1_000)),
    "columns": "|a" * 50_000 + "\n" + "|-" * 50_000 + "\n|a",
    "short rows of wide tables": "|a" * 1_000 + "\n" + "|-" * 1_000 + "\n" + "a\n" * 10_000,
    "references": "[a]: b\n" * 15_000,
    "a reference without an end": "[a\n" * 15_000,
    "fences": "```\n" * 15_001,
    "a fence without an end": "```\n" + "a\n" * MANY,
    "growing fences": "\n".join("`" * number for number in range(3, 1_500)),
    "front matter without an end": "---\n" + "a: b\n" * MANY,
}


@pytest.mark.parametrize("text", MARKDOWN.values(), ids=MARKDOWN.keys())
def test_markdown_is_read_in_linear_time(text: str) -> None:
    assert int(outcome(text.encode(), "text/markdown")) > 0


@pytest.mark.parametrize("text", ["[" * 500, "![a](b) " * 500, "> " * 500 + "a"])
def test_what_the_parser_makes_nothing_of_is_kept_as_written(text: str) -> None:
    (block,) = markdown.extract(text.encode()).blocks
    assert block.text == text.rstrip()


def test_a_table_of_very_many_cells_is_kept_as_written() -> None:
    rows = ["| a " * 60 + "|", "|---" * 60 + "|", *["| b " * 60 + "|"] * 19_000]
    blocks = markdown.extract("\n".join(rows).encode()).blocks
    assert [block.kind for block in blocks] == [BlockKind.PARAGRAPH]
    assert blocks[0].text == "\n".join(rows)


DEEP, BOMB = "document_too_deep", "document_too_large_unpacked"
HTML = {
    "tables in tables": ("<table><tr><td>a" * MANY, DEEP),
    "rows of tables in tables": (("<table>" + "<tr><td>a" * 200) * 200, DEEP),
    "lists in lists": ("<ul><li>" * MANY, DEEP),
    "quotes in quotes": ("<blockquote>" * MANY, DEEP),
    "wrong ends": ("<div></x>" * MANY, DEEP),
    "ends of elements around": ("<span><div></span>" * MANY, DEEP),
    "ends of formatting around": ("<b><div></b>" * MANY, DEEP),
    "groups in groups": ("<select>" + "<option><optgroup>" * MANY, DEEP),
    "scripts that are markup": ("<svg><script>" + "<g>" * MANY, DEEP),
    "attributes": (f"<a {' '.join(f'a{number}' for number in range(MANY))}>x", BOMB),
    "attributes after a tag in one": (f"<a x='>' {' '.join(f'a{number}=1' for number in range(MANY))}>x", BOMB),
    "formatting that goes on": (f"<p>{''.join(f'<font a={n}>' for n in range(900))}</p>" + "<p>x</p>" * MANY, BOMB),
    "options": ("<select>" + "<option selected>a" * MANY, BOMB),
    "tables beside tables": (("<table><tr><td>a" * 49 + "</table>" * 49) * 200, "9800"),
    "a cell over all columns and rows": (
        f"<table><tr>{'<td colspan=1000 rowspan=65534>a' * 5}</tr>{'<tr>' * 50_000}",
        "1",
    ),
    "a long cell over all rows": (f"<table><tr><td rowspan=65534>{'a' * MANY}</tr>{'<tr><td>b' * 50_000}", "1"),
    "cells over columns": ("<table>" + "<tr><td colspan=99999>a<td>b" * 10_000, "1"),
    "attributes without an end": ("<a x='" * MANY, BOMB),
    "comments": ("<!--" * MANY, "0"),
    "comments without an end": ("<!-- - -" * MANY, "0"),
    "scripts": ("<script>" * MANY, "0"),
    "signs": ("<" * MANY, "1"),
    "styles": (f"<p style='{'a:b;' * MANY}'>x", "1"),
    "comments of styles": (f"<p style='color:red;{'/*' * MANY}'>x", "1"),
    "formulas": ("<math><mfrac><mi>a</mi>" * 400, "1"),
}


@pytest.mark.parametrize(("html", "expected"), HTML.values(), ids=HTML.keys())
def test_a_web_page_is_read_or_refused_within_bounds(html: str, expected: str) -> None:
    assert outcome(html.encode(), "text/html") == expected


def test_a_page_in_another_encoding_has_the_same_bounds() -> None:
    with pytest.raises(DocumentRefused):
        html_page.extract(("<div></x>" * 2_000).encode("utf-16"))


def test_a_page_may_have_tables_in_tables_and_what_nobody_has_ended() -> None:
    html = "<table><tr><td>" * html_limits.MAX_TABLES + "<p><b>deep</table>" + "<p><font color=red><li><b>more" * 300
    assert len(html_page.extract(html.encode()).blocks) == 301


def test_a_page_may_have_so_many_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_limits, "MAX_TAGS", 100)
    html_limits.check("<br>" * 100)
    with pytest.raises(DocumentRefused):
        html_limits.check("<br>" * 101)


@pytest.mark.parametrize("around", ["<script>'{}'</script>", "<style>{}</style>", "<!--{}-->"])
def test_tags_in_scripts_and_comments_do_not_count(around: str) -> None:
    raw = around.format("<div><b>" * 2_000)
    assert [block.text for block in html_page.extract(f"{raw}<p>text".encode()).blocks] == ["text"]


def test_a_text_that_covers_many_rows_is_repeated_only_if_it_is_short() -> None:
    long = "a" * (html_tables.MAX_REPEATED + 1)
    html = f"<table><tr><td rowspan=2>short<td rowspan=2>{long}<td>1<tr><td>2</table>"
    (table,) = html_page.extract(html.encode()).blocks
    assert table.text == f"short | {long} | 1\nshort |  | 2"
