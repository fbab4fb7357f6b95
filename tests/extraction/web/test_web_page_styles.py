"""Text of web pages that their style sheets hide is left out, and nothing else."""

from __future__ import annotations

import pytest

from baton_documents.html import cascade as html_cascade
from baton_documents.html import page as html_page
from baton_documents.html import style_sheets as html_sheets
from tests.extraction.limited import outcome

ELEMENT = '<div class="outer"><i class="before">x</i><p id="x" class="a b" data-k="v">text</p></div>'
HIDES = """
.a {display:none}
.a {DISPLAY : NONE}
.a {dis\\70lay:none}
#x {visibility:hidden}
p {visibility:collapse}
p.a#x {opacity:0}
.a {position:absolute; left:-9999px}
.a {position:absolute} .b {left:-9999px}
.a {height:0} .b {overflow:hidden}
.a {position:absolute;clip:rect(0,0,0,0)}
.a {font-size:0}
.a {text-indent:-9999px}
.a {color:#fff;background:#fff}
.a {color:transparent}
.none, .a {display:none}
.a::before, .a {display:none}
%%, .a {display:none}
.outer .a {display:none}
.outer > .a {display:none}
html body > div > p {display:none}
.before + .a {display:none}
.before ~ p {display:none}
.outer {display:none}
.outer {visibility:hidden}
[data-k] {display:none}
[data-k="v"] {display:none}
p:not(.open) {display:none}
p:not( .open , .shown ) {display:none}
p:is(.none, .a) {display:none}
:where(.a) {display:none}
.a {display:none} :where(#x) {display:block}
:is(.none, #x) {display:none} .a.b {display:block}
.outer p:last-child {display:none}
.a {display:block} .a {display:none}
.a.b {display:none} .a {display:block}
#x {display:none} .a.b {display:block}
.a {display:none !important} #x {display:block}
@layer base {#x {display:block}} .a {display:none}
@media screen {.a {display:none}}
@media all {.a {display:none}}
@media print, screen {.a {display:none}}
@media only screen and (min-width: 768px) {.a {display:none}}
@media (min-width:48em) and (max-width:1600px) {.a {display:none}}
@media (width >= 768px) {.a {display:none}}
@media screen {@media (min-width:1px) {.a {display:none}}}
@supports (display:grid) {.a {display:none}}
@import url(other.css); .a {display:none}
@charset "utf-8"; .a {display:none}
<!-- .a {display:none} -->
/* .a {} */ .a {/* x */display/**/:/**/none}
.a {color:red;;;x y z;display:none
.a {display:none} .a:hover {display:block}
.a {display:none} .outer:hover > .a {display:block}
.a {display:none} .a:not(:has(x)) {display:block}
.a {display:none} @media print {.a {display:block}}
.a {display:none} @media (max-width:600px) {.a {display:block}}
""".strip().splitlines()
SHOWS = """
.a {display:block}
.none {display:none}
.none .a {display:none}
.before > .a {display:none}
.a + .a {display:none}
body + .a {display:none}
.A {display:none} /* in a page with a document type */
.a:hover {display:none}
.a:not(.none, .b) {display:none}
.a:not() {display:none}
.a:is(body .b) {display:none}
.a:is(.none, :hover) {display:none}
:where(#x) {display:none} p {display:block}
.a::after {display:none}
.a:nth-child(2) {display:none}
.a:unknown {display:none}
.a[ {display:none}
> .a {display:none}
} .a {display:none}
.a > {display:none}
.a >> p {display:none}
.a {left:-9999px}
.a {height:0}
.a {content:"display:none"}
.a {display:none} .a {display:block}
.a {display:none} .a.b {display:block}
.a.b {display:block} .a {display:none}
.a {display:none} #x {display:flex}
.a {visibility:hidden} .a {visibility:visible}
.outer {visibility:hidden} .a {visibility:visible}
.a {display:none} .a {display:block !important}
.a {display:block !important} #x {display:none}
.a {background-color:#fff;color:#fff} .b {background:#000}
.a {height:0;overflow:hidden} .b {height:auto}
.a {position:absolute;left:-9999px} .b {left:0}
.a {position:absolute;left:-9999px} .b {position:static}
@layer base {#x {display:none}} .a {display:block}
.a {opacity:0;animation:appear 1s forwards}
body {opacity:0}
html {display:none}
@media print {.a {display:none}}
@media not screen {.a {display:none}}
@media (max-width:600px) {.a {display:none}}
@media screen and (max-width:600px) {.a {display:none}}
@media (orientation:portrait) {.a {display:none}}
@media (width < 768px) {.a {display:none}}
.a {display:none} @media (min-width:768px) {.a {display:block}}
@supports not (display:grid) {.a {display:none}}
@keyframes k {from {opacity:0}}
@font-face {display:none}
@container (width > 1px) {.a {display:none}}
@import url(.a{display:none});
/* .a {display:none}
@media screen
""".strip().splitlines()


def text(page: str) -> str:
    return " ".join(block.text for block in html_page.extract(page.encode()).blocks)


@pytest.mark.parametrize("sheet", HIDES)
def test_an_element_is_hidden_by_a_style_sheet(sheet: str) -> None:
    assert "text" not in text(f"<!doctype html><style>{sheet}</style><p>before</p>{ELEMENT}<p>after</p>")


@pytest.mark.parametrize("sheet", SHOWS)
def test_an_element_is_shown_with_a_style_sheet(sheet: str) -> None:
    assert "text" in text(f"<!doctype html><style>{sheet}</style><p>before</p>{ELEMENT}<p>after</p>")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<style>p {display:none}</style><p style='display:block'>text", "text"),
        ("<style>p {display:none !important}</style><p style='display:block'>text", ""),
        ("<style>p {display:none !important}</style><p style='display:block !important'>text", "text"),
        ("<style>p {display:block !important}</style><p style='display:none'>text", "text"),
        ("<style>p {position:absolute}</style><p style='left:-9999px'>text", ""),
        ("<style media=print>p {display:none}</style><p>text", "text"),
        ("<style media=screen>p {display:none}</style><p>text", ""),
        ("<style type=text/less>p {display:none}</style><p>text", "text"),
        ("<style>p {display:none}</style><style>p {display:block}</style><p>text", "text"),
        ("<p>text</p><style>p {display:none}</style>", ""),
        ("<noscript><style>p {display:none}</style></noscript><p>text", "text"),
        ("<link rel=stylesheet href=a.css><p>text", "text"),
        ("<style>.m {display:none}</style><ul><li>a<li class=m>b<li>c</ul>", "a c"),
        ("<style>.m {display:none}</style><table><tr><th>a<th class=m>b<tr><td>1<td class=m>2</table>", "a\n1"),
        ("<style>b {visibility:hidden} i {visibility:visible}</style><p>a <b>b <i>c</i> d</b> e", "a c e"),
    ],
)
def test_styles_of_elements_and_sheets_are_one(page: str, expected: str) -> None:
    assert text(page) == expected


MANY, LONG = 50_000, "a" * 150
HOSTILE = {
    "selectors": (
        f"<style>{''.join(f'.a{n} {{display:none}}' for n in range(9_000))}</style>" + "<p class=a>x" * MANY,
        str(MANY),
    ),
    "one rule of many selectors": (
        f"<style>{','.join(f'.a{n} p' for n in range(18_000))} {{display:none}}</style>" + "<p class=a>x" * MANY,
        str(MANY),
    ),
    "selectors of all elements": (
        f"<style>{''.join(f'p:not(.a{n}) {{opacity:.5;height:0}}' for n in range(5_000))}</style>" + "<p>x" * MANY,
        str(MANY),
    ),
    "descendants": (f"<style>{'div ' * 40_000} {{display:none}}</style>" + "<div>" * 900 + "x", "1"),
    "siblings": (f"<style>{'b ~ ' * 40_000} b {{display:none}}</style><p>" + "<b>x</b>" * MANY, "1"),
    "a long class": (
        f"<style>{','.join(f'.a{n}' for n in range(20_000))} {{display:none}}</style><p class='{'a ' * 1_000_000}'>x",
        "1",
    ),
    "a long value": (
        f"<style>{''.join(f'[b*={LONG}{n}] {{display:none}}' for n in range(900))}</style><p b='{'a' * 1_000_000}'>x",
        "1",
    ),
    "brackets": (f"<style>p{'(' * 100_000}</style><p>x", "1"),
    "brackets in a selector": (f"<style>p{'[' * 50_000}{']' * 50_000} {{display:none}}</style><p>x", "1"),
    "brackets in a value": (f"<style>p {{display:{'(' * 50_000}{')' * 50_000}}}</style><p>x", "1"),
    "not in not": (f"<style>p{':not(' * 30_000}a{')' * 30_000} {{display:none}}</style><p>x", "1"),
    "media in media": (f"<style>{'@media all {' * 15_000}p {{display:none}}</style><p>x", "1"),
    "blocks": (f"<style>{'{' * 190_000}</style><p>x", "1"),
    "nested rules": (f"<style>{'p {' * 60_000}</style><p>x", "1"),
    "comments": (f"<style>{'/*' * 90_000}</style><p>x", "1"),
    "declarations": (f"<style>p {{{'a:b;' * 49_000}}}</style><p>x", "1"),
    "no declarations": (f"<style>p {{{'a b:c;' * 30_000}}}</style><p>x", "1"),
    "lines": ("<style>" + "\n" * 190_000 + "</style><p>x", "1"),
    "elements": ("<style>b {display:none}</style>" + "<br>" * 900_000 + "<p>x", "1"),
}


SLOW = ("elements", "selectors of all elements", "one rule of many selectors", "a long class")
"""Style sheets that take seconds of processor time; others reach the same bounds."""


@pytest.mark.follows_processes
@pytest.mark.parametrize(
    ("page", "expected"),
    [pytest.param(*case, id=name, marks=pytest.mark.nightly if name in SLOW else ()) for name, case in HOSTILE.items()],
)
def test_a_style_sheet_is_applied_within_bounds_or_not_at_all(page: str, expected: str) -> None:
    assert outcome(page.encode(), "text/html") == expected


def test_a_page_has_so_many_rules_characters_and_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    page = "<style>p {display:none} b {display:none}</style><p>one</p><b>two</b>"
    assert text(page) == ""
    monkeypatch.setattr(html_cascade, "MAX_HIDING_RULES", 1)
    assert text(page) == "two"
    monkeypatch.setattr(html_cascade, "MAX_STEPS", 50)
    assert text(page) == "one two"
    monkeypatch.undo()
    monkeypatch.setattr(html_sheets, "MAX_CHARACTERS", 30)
    assert text(page) == "one two"
