"""A show of slides is read as it is presented."""

from __future__ import annotations

import pytest

from baton_documents.reader import Extractor
from baton_documents.results import BlockKind, ExtractedText
from tests import documents
from tests.office_files import NAMES, archive, relations, shape, slide_content, slide_parts, strict


def read(body: bytes) -> ExtractedText:
    extractor = Extractor()
    form = extractor.detect(body, "a.pptx", documents.PPTX)
    (part,) = extractor.list_parts(body, form)
    return extractor.extract(body, form, part)


def texts(body: bytes) -> list[str]:
    return [block.text for block in read(body).blocks]


def line(text: str, properties: str = "", of_run: str = "") -> str:
    return f"<a:p><a:pPr {properties}/><a:r><a:rPr>{of_run}</a:rPr><a:t>{text}</a:t></a:r></a:p>"


def make_numbered(text: str, scheme: str = "arabicPeriod", level: int = 0, start: int = 1) -> str:
    return (
        f'<a:p><a:pPr lvl="{level}"><a:buAutoNum type="{scheme}" startAt="{start}"/></a:pPr>'
        f"<a:r><a:t>{text}</a:t></a:r></a:p>"
    )


def frame(content: str) -> str:
    return (
        '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="3" name="f"/><p:cNvGraphicFramePr/><p:nvPr/>'
        f"</p:nvGraphicFramePr><a:graphic><a:graphicData>{content}</a:graphicData></a:graphic></p:graphicFrame>"
    )


EQUATION = "<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath>"
CELL = "<a:tc {}><a:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>"
SHAPES = {
    "a text": (shape(line("a")), ["a"]),
    "a break and a field": (
        shape('<a:p><a:r><a:t>a</a:t></a:r><a:br/><a:fld type="slidenum"><a:t>7</a:t></a:fld></a:p>'),
        ["a\n7"],
    ),
    "a title is first": (
        shape(line("b")) + shape(line("a"), placeholder='<p:ph type="ctrTitle"/>'),
        ["a", "b"],
    ),
    "shapes in groups": (f"<p:grpSp><p:nvGrpSpPr/>{shape(line('a'))}<p:grpSp><p:nvGrpSpPr/>{shape(line('b'))}</p:grpSp></p:grpSp>", ["a", "b"]),
    "a place that is no number": (
        shape(line("a")).replace("<p:spPr/>", '<p:spPr><a:xfrm><a:off x="--1" y="1"/></a:xfrm></p:spPr>'),
        ["a"],
    ),
    "a hidden shape": (shape(line("a"), properties='hidden="1"') + shape(line("b")), ["b"]),
    "a hidden group": (
        f'<p:grpSp><p:nvGrpSpPr><p:cNvPr id="4" name="g" hidden="1"/></p:nvGrpSpPr>{shape(line("a"))}</p:grpSp>' + shape(line("b")),
        ["b"],
    ),
    "a shape in two forms": (
        f"<mc:AlternateContent><mc:Choice Requires='x'>{shape(line('a'))}</mc:Choice><mc:Fallback>{shape(line('a'))}</mc:Fallback></mc:AlternateContent>",
        ["a"],
    ),
    "an equation": (
        shape(f"<a:p><a:r><a:t>x = </a:t></a:r><mc:AlternateContent><mc:Choice Requires='a14'><a14:m>{EQUATION}</a14:m>"
        "</mc:Choice><mc:Fallback><a:r><a:t>picture</a:t></a:r></mc:Fallback></mc:AlternateContent></a:p>"),
        ["x = a/b"],
    ),
    "numbers": (shape(make_numbered("a") + make_numbered("b") + line("c") + make_numbered("d")), ["1. a", "2. b", "c", "1. d"]),
    "numbers of levels": (
        shape(make_numbered("a") + make_numbered("b", "alphaLcParenR", 1) + make_numbered("c", "alphaLcParenR", 1) + make_numbered("d") + make_numbered("e", "alphaLcParenR", 1)),
        ["1. a", "a) b", "b) c", "2. d", "a) e"],
    ),
    "numbers around a deeper line": (shape(make_numbered("a") + line("b", 'lvl="1"') + make_numbered("c")), ["1. a", "b", "2. c"]),
    "numbers from elsewhere": (shape(make_numbered("a", "romanUcPeriod", start=4) + make_numbered("b", "romanUcPeriod", start=4)), ["IV. a", "V. b"]),
    "numbers in brackets": (shape(make_numbered("a", "arabicParenBoth")), ["(1) a"]),
    "numbers of the shape": (
        shape("<a:lstStyle><a:lvl1pPr><a:buAutoNum type='arabicPlain'/></a:lvl1pPr></a:lstStyle>" + line("a") + line("b")),
        ["1 a", "2 b"],
    ),
    "a symbol font": (shape(line("\uf0fe", of_run='<a:sym typeface="Wingdings"/>')), ["☑"]),
    "a table": (
        frame(
            "<a:tbl><a:tr>" + CELL.format('gridSpan="2"', "a") + CELL.format('hMerge="1"', "not shown") + "</a:tr>"
            "<a:tr>" + CELL.format('rowSpan="2"', "b") + CELL.format("", "c") + "</a:tr>"
            "<a:tr>" + CELL.format('vMerge="1"', "not shown") + CELL.format("", "d") + "</a:tr></a:tbl>"
        ),
        ["a\nb | c\nb | d"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("shapes", "expected"), SHAPES.values(), ids=SHAPES)
def test_a_slide_is_read_as_it_is_presented(shapes: str, expected: list[str]) -> None:
    assert texts(archive(slide_parts(shapes))) == expected
    assert texts(archive(strict(slide_parts(shapes)))) == expected


def test_a_hidden_slide_is_left_out_named_and_counts() -> None:
    hidden = f'<p:sld {NAMES} show="0">{slide_content(shape(line("hidden")))}</p:sld>'
    text = read(archive(slide_parts(shape(line("a")), hidden, shape(line("b")))))
    assert text.pages == 3
    assert [(block.page, block.text) for block in text.blocks] == [(1, "a"), (3, "b")]
    [error] = text.page_errors
    assert (error.page, error.message) == (2, "The slide is hidden, so it is left out.")


def test_a_chart_is_a_table_below_its_title() -> None:
    def series(name: str, *values: str) -> str:
        points = "".join(f'<c:pt idx="{number}"><c:v>{value}</c:v></c:pt>' for number, value in enumerate(values))
        return (
            f'<c:ser><c:tx><c:strRef><c:strCache><c:pt idx="0"><c:v>{name}</c:v></c:pt></c:strCache></c:strRef></c:tx>'
            '<c:cat><c:strRef><c:strCache><c:pt idx="0"><c:v>May</c:v></c:pt><c:pt idx="1"><c:v>June</c:v></c:pt>'
            f'<c:pt idx="99999999999"><c:v>nowhere</c:v></c:pt></c:strCache></c:strRef></c:cat>'
            f"<c:val><c:numRef><c:numCache>{points}</c:numCache></c:numRef></c:val></c:ser>"
        )

    chart = (
        f"<c:chartSpace {NAMES}><c:chart><c:title><c:tx><c:rich>{line('Sales')}</c:rich></c:tx></c:title><c:plotArea>"
        f"<c:barChart>{series('North', '1', '2')}{series('South', '3')}</c:barChart></c:plotArea></c:chart></c:chartSpace>"
    )
    parts = slide_parts(
        frame('<c:chart r:id="rId5"/>'), linked={"rId5": ("chart", "../charts/chart1.xml")}, charts__chart1=""
    )
    parts["ppt/charts/chart1.xml"] = chart
    del parts["ppt/charts__chart1.xml"]
    assert texts(archive(parts)) == ["Sales", " | North | South\nMay | 1 | 3\nJune | 2"]


def test_a_diagram_is_a_list() -> None:
    def point(text: str, kind: str = "node") -> str:
        return f'<dgm:pt type="{kind}"><dgm:t>{line(text)}</dgm:t></dgm:pt>'

    parts = slide_parts(frame('<dgm:relIds r:dm="rId5"/>'), linked={"rId5": ("diagramData", "../diagrams/data1.xml")})
    parts["ppt/diagrams/data1.xml"] = (
        f"<dgm:dataModel {NAMES}><dgm:ptLst>{point('Plan')}{point('not shown', 'pres')}{point('Do')}</dgm:ptLst></dgm:dataModel>"
    )
    blocks = read(archive(parts)).blocks
    assert [(block.kind, block.text, block.page) for block in blocks] == [
        (BlockKind.LIST_ITEM, "Plan", 1),
        (BlockKind.LIST_ITEM, "Do", 1),
    ]


def test_notes_without_content_leave_their_slide() -> None:
    parts = slide_parts(shape(line("a")), linked={"rId5": ("notesSlide", "../notesSlides/notes1.xml")})
    parts["ppt/notesSlides/notes1.xml"] = f"<p:notes {NAMES}/>"
    text = read(archive(parts))
    assert [block.text for block in text.blocks] == ["a"]
    assert [error.message for error in text.page_errors] == ["The speaker's notes cannot be read."]


def test_notes_follow_their_slide() -> None:
    parts = slide_parts(shape(line("a")), linked={"rId5": ("notesSlide", "../notesSlides/notes1.xml")})
    notes = shape(line("7"), placeholder='<p:ph type="sldNum"/>') + shape(
        line("Speak slowly."), placeholder='<p:ph type="body"/>'
    )
    parts["ppt/notesSlides/notes1.xml"] = f"<p:notes {NAMES}>{slide_content(notes)}</p:notes>"
    assert texts(archive(parts)) == ["a", "Speak slowly."]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (frame('<p:oleObj progId="Excel.Sheet.12"/>'), "An embedded object (Excel.Sheet.12) cannot be read."),
        (frame('<c:chart r:id="rId77"/>'), "A chart cannot be read."),
        (frame('<cx:chart r:id="rId77"/>'), "A chart of a newer kind cannot be read."),
        (frame('<dgm:relIds r:dm="rId77"/>'), "A diagram cannot be read."),
    ],
)
def test_what_cannot_be_read_is_named(shapes: str, message: str) -> None:
    text = read(archive(slide_parts(shape(line("a")), shapes + shape(line("b")))))
    assert [(error.page, error.message) for error in text.page_errors] == [(2, message)]
    assert [block.text for block in text.blocks] == ["a", "b"]


def test_a_slide_that_is_not_there_is_named() -> None:
    parts = slide_parts(shape(line("a")), shape(line("b")))
    del parts["ppt/slides/slide0.xml"]
    text = read(archive(parts))
    assert [(error.page, error.message) for error in text.page_errors] == [(1, "The slide is damaged.")]
    assert [block.text for block in text.blocks] == ["b"]
    parts["ppt/_rels/presentation.xml.rels"] = relations({})
    assert [error.page for error in read(archive(parts)).page_errors] == [1, 2]


def test_a_layout_may_number_the_lists_of_its_slides() -> None:
    location = '<p:ph idx="1"/>'
    numbers = '<a:lstStyle><a:lvl1pPr><a:buAutoNum type="alphaUcPeriod"/></a:lvl1pPr></a:lstStyle>'
    parts = slide_parts(
        shape(line("a") + line("b"), placeholder=location)
        + shape("<a:p><a:pPr><a:buNone/></a:pPr><a:r><a:t>c</a:t></a:r></a:p>", placeholder=location),
        linked={
            "rId5": ("slideLayout", "../slideLayouts/layout1.xml"),
            "rId6": ("notesSlide", "../notesSlides/notes1.xml"),
        },
    )
    notes = shape(line("d"), placeholder='<p:ph type="body" idx="1"/>')
    parts["ppt/notesSlides/notes1.xml"] = f"<p:notes {NAMES}>{slide_content(notes)}</p:notes>"
    layout = (
        f"<p:sldLayout {NAMES}>{slide_content(shape(numbers + line('Click here'), placeholder=location))}</p:sldLayout>"
    )
    assert texts(archive(parts | {"ppt/slideLayouts/layout1.xml": layout})) == ["A. a", "B. b", "c", "d"]
    assert texts(archive(parts | {"ppt/slideLayouts/layout1.xml": "<p:sldLayout xmlns:p='x'/>"})) == [
        "a",
        "b",
        "c",
        "d",
    ]


def test_superscripts_of_slides_keep_their_mark() -> None:
    runs = '<a:p><a:r><a:t>m</a:t></a:r><a:r><a:rPr baseline="30000"/><a:t>2</a:t></a:r><a:r><a:t> of CO</a:t></a:r>'
    runs += '<a:r><a:rPr baseline="-25000"/><a:t>2</a:t></a:r></a:p>'
    assert texts(archive(slide_parts(shape(runs)))) == ["m² of CO2"]
