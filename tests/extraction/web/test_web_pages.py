"""Web pages are read as a reader sees them."""

from __future__ import annotations

import pytest

from baton_documents.html import page as html_page
from baton_documents.results import BlockKind


def texts(html: str) -> list[str]:
    return [block.text for block in html_page.extract(html.encode()).blocks]


HIDDEN = """
<p hidden>secret</p>
<p HIDDEN="">secret</p>
<div hidden=hidden><p>secret</p></div>
<p style="display:none">secret</p>
<p style="Display : NONE !important">secret</p>
<p style="color:red;display/**/:none;">secret</p>
<p style="d\\69splay:none">secret</p>
<p style="display:block;display:none">secret</p>
<p style="visibility:hidden">secret</p>
<p style="visibility: collapse">secret</p>
<p style="opacity:0">secret</p>
<p style="opacity:0.0">secret</p>
<p style="font-size:0">secret</p>
<p style="font-size:0px">secret</p>
<p style="position:absolute;left:-9999px">secret</p>
<p style="position:fixed;top:-100em">secret</p>
<p style="position:absolute;right:-5000px">secret</p>
<p style="text-indent:-9999px">secret</p>
<p style="margin-left:-10000px">secret</p>
<p style="transform:translateX(-9999px)">secret</p>
<p style="transform:scale(0)">secret</p>
<p style="position:absolute;clip:rect(0,0,0,0)">secret</p>
<p style="position:absolute;clip:rect(1px, 1px, 1px, 1px)">secret</p>
<p style="clip-path:inset(50%)">secret</p>
<p style="height:0;overflow:hidden">secret</p>
<p style="max-height:0px;overflow:hidden">secret</p>
<p style="width:1px;height:1px;overflow:hidden">secret</p>
<p style="color:transparent">secret</p>
<p style="color:#fff;background:#fff">secret</p>
<template><p>secret</p></template>
<noscript>secret</noscript>
<script>secret</script>
<dialog>secret</dialog>
<datalist><option>secret</datalist>
<input type=hidden value=secret>
<input type=password value=secret>
<ul hidden><li>secret</ul>
<table hidden><tr><th>secret<td>b</table>
<table><tr hidden><td>secret<td>b</table>
<table><tr><td>a<td style="display:none">secret</table>
<!-- secret -->
""".strip()


@pytest.mark.parametrize("hidden", HIDDEN.splitlines())
def test_hidden_text_is_left_out(hidden: str) -> None:
    result = " ".join(texts(f"<p>before</p>{hidden}<p>after</p>"))
    assert "secret" not in result
    assert result.startswith("before")
    assert result.endswith("after")


def test_hidden_text_leaves_no_quotes_and_boxes() -> None:
    hidden = "<q>a</q><span role=checkbox>b</span><table><tr><td><ol><li>c</ol></table>"
    assert texts(f'<div style="visibility:hidden">{hidden}</div>') == []


SHOWN = """
<p aria-hidden=true>shown</p>
<p hidden=until-found>shown</p>
<p style="display:block">shown</p>
<p style="visibility:hidden"><b style="visibility:visible">shown</b> secret</p>
<p style="display:none;display:block">shown</p>
<p style="opacity:0.5;font-size:0.8em">shown</p>
<p style="position:relative;left:-3px">shown</p>
<p style="color:#fff;background:#000">shown</p>
<p style="left:-9999px">shown</p>
<p style="background:url(display:none)">shown</p>
<p data-style="display:none">shown</p>
<p style="height:0">shown</p>
<details><summary>More</summary>shown</details>
<dialog open>shown</dialog>
<h2><button>shown</button></h2>
<p>sho&shy;wn</p>
""".strip()


@pytest.mark.parametrize("visible", SHOWN.splitlines())
def test_shown_text_is_kept(visible: str) -> None:
    result = " ".join(texts(visible))
    assert "shown" in result
    assert "secret" not in result


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<ol><li>a<li>b</ol>", ["1. a", "2. b"]),
        ("<ol start=5><li>a<li value=9>b<li>c</ol>", ["5. a", "9. b", "10. c"]),
        ("<ol reversed><li>a<li>b</ol>", ["2. a", "1. b"]),
        ("<ol type=a start=26><li>a<li>b</ol>", ["z. a", "aa. b"]),
        ("<ol type=A><li>a</ol>", ["A. a"]),
        ("<ol type=i start=4><li>a</ol>", ["iv. a"]),
        ("<ol type=I start=1999><li>a</ol>", ["MCMXCIX. a"]),
        ("<ol start=-1><li>a<li>b<li>c</ol>", ["-1. a", "0. b", "1. c"]),
        ("<ol start=x><li>a</ol>", ["1. a"]),
        ("<ol type=a start=0><li>a</ol>", ["0. a"]),
        (
            "<ol><li>a<ol type=a><li>b</ol><li><p>c</p><p>d</p><li><ul><li>e</ul></ol>",
            ["1. a", "a. b", "2. c", "d", "e"],
        ),
        ("<ol><li hidden>a<li>b</ol>", ["1. b"]),
        ("<ol style='list-style: none'><li>a</ol>", ["a"]),
        ("<ul><li>a</ul>", ["a"]),
    ],
)
def test_items_of_lists_have_their_numbers(html: str, expected: list[str]) -> None:
    result = html_page.extract(html.encode()).blocks
    assert [block.text for block in result] == expected
    assert {block.kind for block in result} == {BlockKind.LIST_ITEM}


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<label>Name: <input value='Ada Lovelace'></label>", "Name: Ada Lovelace"),
        ("<label>Day <input type=date value=2026-03-14></label>", "Day 2026-03-14"),
        ("<input type=checkbox checked> Express <input type=checkbox> Insurance", "\u2611 Express \u2610 Insurance"),
        ("<label><input type=radio>Air</label> <label><input type=radio checked>Sea</label>", "\u2610 Air \u2611 Sea"),
        ("Size <select><option>S<option selected>M<option>L</select>", "Size M"),
        ("Size <select><option value=1>S<option>M</select>", "Size S"),
        ("<select multiple><option selected>S<option>M<option selected label=Large>L</select>", "S, Large"),
        ("Sizes <select multiple><option>S</select>", "Sizes"),
        ("<select><optgroup label=x><option>S<option selected>M</optgroup></select>", "M"),
        ("Note <textarea>one\ntwo</textarea>", "Note one\ntwo"),
        ("Search <input type=search placeholder=words> <button>Go</button><input type=submit value=Send>", "Search"),
    ],
)
def test_values_of_forms_are_read(html: str, expected: str) -> None:
    assert texts(f"<form><p>{html}</p></form>") == [expected]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("10<sup>6</sup> m<sup>2</sup>", "10\u2076 m\u00b2"),
        ("the 1<sup>st</sup> of M<sup>me</sup> Curie", "the 1st of Mme Curie"),
        ("e<sup>x</sup>, e<sup>2x+y</sup>", "e^x, e^(2x+y)"),
        ("as said<sup><a href=#n>[3]</a></sup>", "as said[3]"),
        ("H<sub>2</sub>O, x<sub>max</sub>, 101<sub>2</sub>", "H2O, x_max, 101_2"),
        ("a&nbsp;&amp; b&lt;c &eacute;&#x1F600;", "a & b<c \u00e9\U0001f600"),
        ("one<br>two<wbr>three<br/>four", "one\ntwothree\nfour"),
        ("he said <q>yes</q>", "he said \u201cyes\u201d"),
        ("di&shy;vi&#8203;ded", "divided"),
        ("<math><mi>E</mi><mo>=</mo><mi>m</mi><msup><mi>c</mi><mn>2</mn></msup></math>", "E = mc\u00b2"),
        ("<math><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mn>2</mn></mfrac></math>", "(a + 1)/2"),
        (
            "<math><msqrt><mi>x</mi></msqrt><mo>&leq;</mo><msub><mi>x</mi><mi>i</mi></msub></math>",
            "\u221a(x) \u2264 x_i",
        ),
        ("<math><semantics><mi>x</mi><annotation>\\LaTeX</annotation></semantics></math>", "x"),
    ],
)
def test_inline_elements_are_readable(html: str, expected: str) -> None:
    assert texts(f"<p>{html}</p>") == [expected]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            "<tr><th>Day<th colspan=2>Hours<th>Room<tr><td>Mon<td>9<td>10<td>A",
            "Day | Hours |  | Room\nMon | 9 | 10 | A",
        ),
        ("<tr><td rowspan=2>Mon<td>9<tr><td>10<tr><td>Tue<td>11", "Mon | 9\nMon | 10\nTue | 11"),
        ("<tr><td>a<td rowspan=3>b<td>c<tr><td>d<td>e", "a | b | c\nd | b | e"),
        ("<tr><td rowspan=0>a<td>b<tr><td>c<tbody><tr><td>d<td>e", "a | b\na | c\nd | e"),
        ("<tfoot><tr><td>Sum<td>3</tfoot><thead><tr><th>A<th>B</thead><tbody><tr><td>1<td>2", "A | B\n1 | 2\nSum | 3"),
        ("<tr><th>Colours<td><ul><li>red<li>blue</ul><td>x<br>y", "Colours | red; blue | x y"),
        ("<tr><td><input type=checkbox checked><td>Tea<td><input value=2>", "\u2611 | Tea | 2"),
        ("<tr><td>a<td><p>b</p><p>c</p>", "a | b c"),
    ],
)
def test_cells_stand_in_their_rows_and_columns(rows: str, expected: str) -> None:
    (table,) = html_page.extract(f"<table>{rows}</table>".encode()).blocks
    assert table.kind is BlockKind.TABLE
    assert table.text == expected


def test_a_caption_stands_before_its_table() -> None:
    assert texts("<table><caption>Prices <b>2026</b></caption><tr><th>A<th>B<tr><td>1<td>2</table>") == [
        "Prices 2026",
        "A | B\n1 | 2",
    ]


def test_a_table_of_layout_is_read_as_what_is_in_it() -> None:
    html = "<table role=presentation><tr><td>left<td>right</table><table><tr><td><table><tr><td>1<td>2</table></table>"
    assert texts(html) == ["left", "right", "1 | 2"]


def test_preformatted_text_keeps_its_white_space() -> None:
    assert texts("<pre>\n  a\n    b<br>c <div>d</div></pre><p>e</p>") == ["  a\n    b\nc \nd", "e"]


def test_terms_stand_before_their_definitions() -> None:
    assert texts("<dl><dt>Pump<dd>moves water<dt>Valve<dd>stops it</dl>") == [
        "Pump", "moves water", "Valve", "stops it",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>Hello <?php echo 1 ?>there</p>", ["Hello there"]),
        ("<style>.x{display:none}</style><p>Hello <?php ?>there</p>", ["Hello there"]),
        ("<p>Hello <math><mi>x</mi><?php ?><mn>2</mn></math></p>", ["Hello x2"]),
        ("<h2><a aria-expanded=false>More</a><?php ?></h2><?php ?><div hidden>Text</div>", ["More", "Text"]),
    ],
)
def test_processing_instructions_are_left_out(html: str, expected: list[str]) -> None:
    assert texts(html) == expected
