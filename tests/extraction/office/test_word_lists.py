"""Numbers of lists and headings, as Word shows them."""

from __future__ import annotations

import pytest

from baton_documents.results import BlockKind
from tests.office_files import archive, word_parts
from tests.word_markup import STYLES, paragraph, read, run, style, texts


def level(number: int, form: str, text: str, more: str = "") -> str:
    return f'<w:lvl w:ilvl="{number}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


NUMBERING = "".join(
    (
        '<w:abstractNum w:abstractNumId="10">',
        level(0, "decimal", "%1."),
        level(1, "decimal", "%1.%2"),
        level(2, "lowerLetter", "(%3)"),
        level(3, "lowerRoman", "%4)"),
        '</w:abstractNum><w:abstractNum w:abstractNumId="20">',
        level(0, "upperRoman", "Article %1", '<w:pStyle w:val="Clause"/>'),
        level(1, "decimal", "§ %1.%2", '<w:pStyle w:val="Part"/><w:isLgl/>'),
        '</w:abstractNum><w:abstractNum w:abstractNumId="30">',
        level(0, "bullet", "\uf0b7", '<w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr>'),
        level(1, "bullet", "\uf0a8", '<w:rPr><w:rFonts w:ascii="Wingdings"/></w:rPr>'),
        '</w:abstractNum><w:abstractNum w:abstractNumId="40"><w:numStyleLink w:val="Shared"/></w:abstractNum>',
        '<w:num w:numId="1"><w:abstractNumId w:val="10"/></w:num>',
        '<w:num w:numId="2"><w:abstractNumId w:val="20"/></w:num>',
        '<w:num w:numId="3"><w:abstractNumId w:val="30"/></w:num>',
        '<w:num w:numId="4"><w:abstractNumId w:val="10"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/>',
        '</w:lvlOverride></w:num><w:num w:numId="5"><w:abstractNumId w:val="40"/></w:num>',
        '<w:num w:numId="6"><w:abstractNumId w:val="10"/><w:lvlOverride w:ilvl="0">',
        level(0, "ordinal", "%1:"),
        "</w:lvlOverride></w:num>",
        '<w:num w:numId="7"><w:abstractNumId w:val="10"/></w:num>',
    )
)


def item(text: str, list_id: int, depth: int = 0, more: str = "") -> str:
    numbers = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/></w:numPr>'
    return paragraph(run(text), properties=f"{more}{numbers}")


LISTS = {
    "levels": (
        item("a", 1) + item("b", 1, 1) + item("c", 1, 1) + item("d", 1, 2) + item("e", 1, 3) + item("f", 1) + item("g", 1, 1),
        ["1. a", "1.1 b", "1.2 c", "(a) d", "i) e", "2. f", "2.1 g"],
    ),
    "a list goes on behind other text": (item("a", 1) + paragraph(run("x")) + item("b", 1), ["1. a", "x", "2. b"]),
    "lists of one definition go on": (item("a", 1) + item("b", 7), ["1. a", "2. b"]),
    "a list that starts elsewhere": (item("a", 1) + item("b", 4) + item("c", 4), ["1. a", "5. b", "6. c"]),
    "a level that is not begun": (item("a", 1, 1), ["1.1 a"]),
    "a level of its own": (item("a", 6) + item("b", 6), ["1st: a", "2nd: b"]),
    "a definition of a style": (item("a", 5), ["1. a"]),
    "headings numbered by style": (
        paragraph(run("A"), properties=style("H1"))
        + paragraph(run("B"), properties=style("H2"))
        + paragraph(run("C"), properties=style("Own"))
        + paragraph(run("D"), properties=style("H1")),
        ["1. A", "1.1 B", "1.2 C", "2. D"],
    ),
    "levels tied to styles": (
        paragraph(run("a"), properties=style("Clause"))
        + paragraph(run("b"), properties=style("Part"))
        + paragraph(run("c"), properties=style("Clause")),
        ["Article I a", "§ 1.1 b", "Article II c"],
    ),
    "a heading without its style's number": (
        paragraph(run("A"), properties=style("H1") + '<w:numPr><w:numId w:val="0"/></w:numPr>'),
        ["A"],
    ),
    "bullets": (item("a", 3), ["a"]),
    "boxes as bullets": (item("a", 3, 1), ["☐ a"]),
    "a list that is not there": (item("a", 99), ["a"]),
    "an empty paragraph counts": (item("", 1) + item("b", 1), ["2. b"]),
    "a hidden paragraph does not count": (
        item("a", 1) + item("", 1, more="<w:rPr><w:vanish/></w:rPr>") + item("b", 1),
        ["1. a", "2. b"],
    ),
    "a moved paragraph counts once": (
        "<w:p><w:pPr><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr><w:rPr><w:moveFrom/></w:rPr></w:pPr>"
        f"<w:moveFrom>{run('a')}</w:moveFrom></w:p>" + item("b", 1),
        ["1. b"],
    ),
    "numbers in tables": (
        f"<w:tbl><w:tr><w:tc>{item('', 1)}</w:tc><w:tc>{paragraph(run('a'))}</w:tc></w:tr>"
        f"<w:tr><w:tc>{item('', 1)}</w:tc><w:tc>{paragraph(run('b'))}</w:tc></w:tr></w:tbl>",
        ["1. | a\n2. | b"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), LISTS.values(), ids=LISTS)
def test_lists_have_the_numbers_that_word_shows(body: str, expected: list[str]) -> None:
    assert texts(archive(word_parts(body, styles=STYLES, numbering=NUMBERING))) == expected


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("decimal", ["1", "2", "3", "4"]),
        ("decimalZero", ["01", "02", "03", "04"]),
        ("upperRoman", ["I", "II", "III", "IV"]),
        ("lowerRoman", ["i", "ii", "iii", "iv"]),
        ("upperLetter", ["A", "B", "C", "D"]),
        ("lowerLetter", ["a", "b", "c", "d"]),
        ("ordinal", ["1st", "2nd", "3rd", "4th"]),
        ("cardinalText", ["One", "Two", "Three", "Four"]),
        ("ordinalText", ["First", "Second", "Third", "Fourth"]),
        ("chicago", ["*", "†", "‡", "§"]),
        ("decimalEnclosedCircle", ["①", "②", "③", "④"]),
        ("japaneseCounting", ["一", "二", "三", "四"]),
        ("aFormatOfLaterYears", ["1", "2", "3", "4"]),
    ],
)
def test_numbers_have_their_formats(form: str, numbers: list[str]) -> None:
    numbering = (
        f'<w:abstractNum w:abstractNumId="1">{level(0, form, "%1)")}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    )
    body = "".join(item("a", 1) for _ in numbers)
    assert texts(archive(word_parts(body, numbering=numbering))) == [f"{number}) a" for number in numbers]


def test_a_restart_is_only_as_deep_as_a_level_says() -> None:
    never = level(1, "decimal", "%2.").replace("<w:numFmt", '<w:lvlRestart w:val="0"/><w:numFmt')
    numbering = (
        f'<w:abstractNum w:abstractNumId="1">{level(0, "decimal", "%1.")}{never}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    )
    body = item("a", 1) + item("b", 1, 1) + item("c", 1) + item("d", 1, 1)
    assert texts(archive(word_parts(body, numbering=numbering))) == ["1. a", "1. b", "2. c", "2. d"]


def test_numbered_items_are_list_items_with_their_own_marks() -> None:
    (block,) = read(archive(word_parts(item("a", 1), numbering=NUMBERING))).blocks
    assert (block.kind, block.text, block.verbatim) == (BlockKind.LIST_ITEM, "1. a", "1. a")
