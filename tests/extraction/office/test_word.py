"""A Word document is read as it is shown: each feature is one row."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton_documents.results import BlockKind
from tests.examples import examples
from tests.office_files import NAMES, archive, strict, word_parts
from tests.word_markup import STYLES, box, char, field, math, paragraph, read, run, style, term, texts

FILES = Path(__file__).parents[1] / "files"


def test_the_agreement_is_read_as_word_shows_it() -> None:
    assert texts((FILES / "agreement.docx").read_bytes()) == [
        "Contract number QX-4471",
        "Supply agreement",
        "The parties agree as follows.",
        "1. Delivery takes place within ten working days.",
        "2. Payment is due thirty days after the invoice.",
        "3. The warranty period is twenty-four months.",
        "The penalty is computed as P = 0.05 × V × d where V is the value of the late goods.",
        "The place of jurisdiction is Newtown.",
        "Visible rebate: 3 percent.",
        "Customer: Marigold Works",
        "☑ Express shipping",
        "☐ Insurance",
    ]


CHECK_BOX = '<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{}"/></w14:checkbox></w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>'
RUNS = {
    "plain text": (run("one") + run(" two"), "one two"),
    "a tab, breaks and hyphens": (
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</w:t><w:noBreakHyphen/><w:t>e</w:t>"
        "<w:softHyphen/><w:t>f\u00adg</w:t></w:r>",
        "a\tb\nc\nd\u2011efg",
    ),
    "a page break": ('<w:r><w:t>a</w:t><w:br w:type="page"/><w:t>b</w:t></w:r>', "a\nb"),
    "an insertion": (f"<w:ins>{run('new')}</w:ins>", "new"),
    "a deletion": (run("a") + "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>", "a"),
    "a deletion that keeps its text": (run("a") + f"<w:del>{run('old')}</w:del>", "a"),
    "text moved here": (f"<w:moveTo>{run('here')}</w:moveTo>", "here"),
    "text moved away": (run("a") + f"<w:moveFrom>{run('away')}</w:moveFrom>", "a"),
    "an insertion that was deleted": (run("a") + f"<w:ins><w:del>{run('old')}</w:del></w:ins>", "a"),
    "hidden text": (run("a") + run("secret", "<w:vanish/>"), "a"),
    "text that is hidden in web pages only": (run("a", "<w:webHidden/>"), "a"),
    "text that is not hidden": (run("a", '<w:vanish w:val="0"/>'), "a"),
    "a hidden tab": ("<w:r><w:t>a</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:tab/><w:t>b</w:t></w:r>", "a"),
    "older properties of a run": (run("a", "<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>"), "a"),
    "a link": (f'<w:hyperlink r:id="rId1">{run("a link")}</w:hyperlink>', "a link"),
    "a smart tag": (f'<w:smartTag w:element="city">{run("Rome")}</w:smartTag>', "Rome"),
    "custom markup": (f"<w:customXml>{run('a')}</w:customXml>", "a"),
    "a content control": (f"<w:sdt><w:sdtPr/><w:sdtContent>{run('Ann')}</w:sdtContent></w:sdt>", "Ann"),
    "a direction": (f'<w:bdo w:val="rtl">{run("a")}</w:bdo>', "a"),
    "a field": (field(" REF a \\h ", run("the result")), "the result"),
    "a field without a result": (run("a") + field(' XE "index" ', None), "a"),
    "a field in the instruction of another": (
        field(f" IF {field(' MERGEFIELD a ', run('inner'))} = 1 ", run("outer")),
        "outer",
    ),
    "a field in the result of another": (field(" TOC ", run("a ") + field(" PAGEREF ", run("7"))), "a 7"),
    "a field without an end": (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>' + run("shown all the same"),
        "shown all the same",
    ),
    "a simple field": (f'<w:fldSimple w:instr=" AUTHOR ">{run("Ann")}</w:fldSimple>', "Ann"),
    "a button": (field(" MACROBUTTON NoMacro [Click here] ", None), "[Click here]"),
    "a symbol's field": (field(' SYMBOL 254 \\f "Wingdings" \\s 12 ', None), "☑"),
    "a check box of a form": (
        field("FORMCHECKBOX", "", "<w:ffData><w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox></w:ffData>"),
        "☑",
    ),
    "an empty check box of a form": (
        field("FORMCHECKBOX", None, '<w:ffData><w:checkBox><w:default w:val="0"/></w:checkBox></w:ffData>'),
        "☐",
    ),
    "a check box of a form that is ticked by default": (
        field("FORMCHECKBOX", "", '<w:ffData><w:checkBox><w:default w:val="1"/></w:checkBox></w:ffData>'),
        "☑",
    ),
    "a list of a form": (
        field(
            "FORMDROPDOWN",
            "",
            '<w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="blue"/></w:ddList></w:ffData>',
        ),
        "blue",
    ),
    "a text of a form": (field("FORMTEXT", run("typed"), "<w:ffData><w:textInput/></w:ffData>"), "typed"),
    "a check box control": (CHECK_BOX.format(1, run("☒")) + run(" a"), "☒ a"),
    "a check box control without its mark": (CHECK_BOX.format(1, "") + CHECK_BOX.format(0, ""), "☑☐"),
    "a symbol": ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>', "☑"),
    "symbols of all kinds": (
        "".join(
            f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'
            for font, code in (
                ("Wingdings", "F0A8"),
                ("Wingdings", "F06F"),
                ("Wingdings", "00FD"),
                ("Wingdings", "F0FC"),
                ("Wingdings", "F0FB"),
                ("Wingdings 2", "F052"),
                ("Wingdings 2", "F0A3"),
                ("Wingdings 2", "F053"),
                ("Wingdings 2", "F050"),
                ("Webdings", "F063"),
                ("Symbol", "F061"),
                ("MS Gothic", "2610"),
            )
        ),
        "☐☐☒✓✗☑☐☒✓☐α☐",
    ),
    "text in a symbol font": (run("\uf0fe", '<w:rFonts w:ascii="Wingdings" w:hAnsi="Wingdings"/>'), "☑"),
    "letters in a symbol font": (run("m", '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>') + run("g"), "μg"),
    "a private character without a font": (run("\uf0b7 a"), "• a"),
    "a reading aid": (
        "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>とうきょう</w:t></w:r></w:rt>"
        "<w:rubyBase><w:r><w:t>東京</w:t></w:r></w:rubyBase></w:ruby></w:r>",
        "東京(とうきょう)",
    ),
    "alternatives": (
        '<w:r><mc:AlternateContent><mc:Choice Requires="w14"><w:t>once</w:t></mc:Choice><mc:Fallback><w:t>once</w:t>'
        "</mc:Fallback></mc:AlternateContent></w:r>",
        "once",
    ),
    "alternatives of which the first has no text": (
        '<mc:AlternateContent><mc:Choice Requires="x"><w:r><w:drawing/></w:r></mc:Choice>'
        f"<mc:Fallback>{run('a')}</mc:Fallback></mc:AlternateContent>",
        "a",
    ),
    "a comment's mark": (run("a") + '<w:r><w:commentReference w:id="1"/></w:r>', "a"),
    "drawn letters": ('<w:r><w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict></w:r>', "DRAFT"),
    "an equation": (run("so ") + math(term("P = 0.05 × V × d")) + run(" holds"), "so P = 0.05 × V × d holds"),
    "a deleted equation": (run("a") + f"<w:del>{math(term('x'))}</w:del>", "a"),
    "equations on lines of their own": (
        f"<m:oMathPara>{math(term('a=b'))}{math(term('c=d'))}</m:oMathPara>",
        "a=b\nc=d",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("runs", "expected"), RUNS.values(), ids=RUNS)
def test_a_paragraph_is_read_as_it_is_shown(runs: str, expected: str) -> None:
    assert texts(archive(word_parts(paragraph(runs)))) == [expected]
    assert texts(archive(strict(word_parts(paragraph(runs))))) == [expected]


VISIBLE = {
    "run": "{}",
    "insertion": "<w:ins>{}</w:ins>",
    "moved here": "<w:moveTo>{}</w:moveTo>",
    "link": "<w:hyperlink>{}</w:hyperlink>",
    "control": "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>",
    "tag": "<w:smartTag>{}</w:smartTag>",
    "markup": "<w:customXml>{}</w:customXml>",
    "simple field": '<w:fldSimple w:instr="REF a">{}</w:fldSimple>',
    "result": field("REF a", "{}"),
    "alternatives": (
        "<mc:AlternateContent><mc:Choice Requires='a'>{}</mc:Choice><mc:Fallback>{}</mc:Fallback></mc:AlternateContent>"
    ),
}
HIDDEN = {
    "deletion": "<w:del>{}</w:del>",
    "moved away": "<w:moveFrom>{}</w:moveFrom>",
    "instruction": '<w:r><w:fldChar w:fldCharType="begin"/></w:r>{}<w:r><w:fldChar w:fldCharType="end"/></w:r>',
}


@st.composite
def nested_paragraphs(draw: st.DrawFn) -> tuple[str, str]:
    """A paragraph of words in wrappers, and what of it is shown."""
    content, visible = "", ""
    for number in range(draw(st.integers(1, 6))):
        is_hidden = draw(st.booleans())
        xml = run(f"w{number} ", "<w:vanish/>" if is_hidden else "")
        for name in draw(st.lists(st.sampled_from([*VISIBLE, *HIDDEN]), max_size=4)):
            xml = (VISIBLE | HIDDEN)[name].replace("{}", xml)
            is_hidden = is_hidden or name in HIDDEN
        content += xml
        visible += "" if is_hidden else f"w{number} "
    return content, visible.strip()


@given(nested_paragraphs())
@settings(max_examples=examples(150), deadline=None)
def test_each_visible_word_is_read_once_and_no_hidden_one(paragraphs: tuple[str, str]) -> None:
    content, visible = paragraphs
    assert texts(archive(word_parts(paragraph(content) + paragraph(run("end"))))) == [*filter(None, [visible]), "end"]


@pytest.mark.parametrize(
    ("name", "properties", "is_shown"),
    [
        ("Normal", "", True),
        ("Secret", "", False),
        ("Below", "", False),
        ("Shown", "", True),
        ("Normal", char("Quiet"), False),
        ("Normal", char("Quieter"), False),
        ("Secret", '<w:vanish w:val="0"/>', True),
        ("Normal", char("Quiet") + '<w:vanish w:val="false"/>', True),
        ("Secret", char("Quiet"), True),  # two styles that hide show it
        ("Loop", "", True),
        ("Missing", "", True),
    ],
)
def test_styles_hide_text(name: str, properties: str, is_shown: bool) -> None:
    body = paragraph(run("text", properties), properties=style(name)) + paragraph(run("end"))
    assert texts(archive(word_parts(body, styles=STYLES))) == [*(["text"] if is_shown else []), "end"]


def test_text_hidden_by_default_is_left_out_unless_it_says_otherwise() -> None:
    defaults = "<w:docDefaults><w:rPrDefault><w:rPr><w:vanish/></w:rPr></w:rPrDefault></w:docDefaults>"
    body = paragraph(run("hidden"), run("shown", '<w:vanish w:val="0"/>'))
    assert texts(archive(word_parts(body, styles=defaults))) == ["shown"]


def test_a_style_may_have_a_symbol_font() -> None:
    body = paragraph(run("\uf0fe", char("Boxes")), run(" a"))
    assert texts(archive(word_parts(body, styles=STYLES))) == ["☑ a"]


def test_headings_have_the_levels_of_the_styles_that_theirs_is_based_on() -> None:
    body = paragraph(run("a"), properties=style("Own")) + paragraph(run("b"), properties='<w:outlineLvl w:val="2"/>')
    blocks = read(archive(word_parts(body, styles=STYLES))).blocks
    assert [(block.kind, block.level) for block in blocks] == [(BlockKind.HEADING, 2), (BlockKind.HEADING, 3)]


def test_a_text_box_is_read_once_behind_its_paragraph() -> None:
    body = paragraph(run("before"), box(paragraph(run("one")) + paragraph(run("two"))), run(" after"))
    assert texts(archive(word_parts(body))) == ["before after", "one", "two"]


def test_paragraphs_around_a_deleted_end_are_one() -> None:
    body = (
        paragraph(run("First "), properties="<w:rPr><w:del/></w:rPr>")
        + paragraph(run("and second."))
        + paragraph(run("Third."), properties="<w:rPr><w:ins/></w:rPr>")
    )
    assert texts(archive(word_parts(body))) == ["First and second.", "Third."]


def test_notes_follow_in_the_order_of_their_references_unless_those_are_not_shown() -> None:
    def reference(kind: str, number: int, properties: str = "") -> str:
        return f'<w:r><w:rPr>{properties}</w:rPr><w:{kind}Reference w:id="{number}"/></w:r>'

    def note(kind: str, number: int, text: str) -> str:
        return f'<w:{kind} w:id="{number}">{paragraph("<w:r><w:footnoteRef/></w:r>", run(text))}</w:{kind}>'

    body = paragraph(
        run("Text"),
        reference("footnote", 2),
        reference("endnote", 1),
        reference("footnote", 1),
        reference("footnote", 3, "<w:vanish/>"),
        f"<w:del>{reference('footnote', 4)}</w:del>",
    )
    parts = word_parts(
        body,
        footnotes="".join(note("footnote", number, f"note {number}") for number in range(1, 5)),
        endnotes=note("endnote", 1, "at the end"),
    )
    assert texts(archive(parts)) == ["Text", "note 2", "at the end", "note 1"]


def test_a_chart_and_a_diagram_are_read_with_the_document() -> None:
    body = paragraph('<w:r><w:drawing><c:chart r:id="rId20"/></w:drawing></w:r>') + paragraph(
        '<w:r><w:drawing><dgm:relIds r:dm="rId21"/></w:drawing></w:r>'
    )
    chart = (
        f"<c:chartSpace {NAMES}><c:chart><c:plotArea><c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>Sold</c:v></c:pt>"
        "</c:strCache></c:strRef></c:tx><c:cat><c:strCache><c:pt idx='0'><c:v>May</c:v></c:pt></c:strCache></c:cat>"
        "<c:val><c:numCache><c:pt idx='0'><c:v>7</c:v></c:pt></c:numCache></c:val></c:ser></c:plotArea></c:chart></c:chartSpace>"
    )
    diagram = (
        f"<dgm:dataModel {NAMES}><dgm:ptLst><dgm:pt type='doc'/><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t>"
        "</dgm:pt></dgm:ptLst></dgm:dataModel>"
    )
    parts = word_parts(
        body,
        others={"word/charts/chart1.xml": chart, "word/diagrams/data1.xml": diagram},
        linked={"rId20": ("chart", "charts/chart1.xml"), "rId21": ("diagramData", "diagrams/data1.xml")},
    )
    assert texts(archive(parts)) == [" | Sold\nMay | 7", "Plan"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            paragraph(run("Rate "), '<w:r><w:object><o:OLEObject ProgID="Equation.3"/></w:object></w:r>'),
            'An embedded object (Equation.3) cannot be read (at "Rate").',
        ),
        (
            paragraph(run("Insured "), '<w:r><w:object><w:control w:name="CheckBox1"/></w:object></w:r>'),
            'A control (CheckBox1) cannot be read (at "Insured").',
        ),
        (
            paragraph('<w:r><w:drawing><cx:chart r:id="rId1"/></w:drawing></w:r>'),
            "A chart of a newer kind cannot be read.",
        ),
        ('<w:altChunk r:id="rId1"/>', "An embedded document cannot be read."),
        (paragraph(run("a"), field(" EQ \\x(1) ", None)), 'A field (EQ) cannot be read (at "a").'),
        (paragraph('<w:r><w:drawing><c:chart r:id="rId77"/></w:drawing></w:r>'), "A chart cannot be read."),
    ],
)
def test_what_cannot_be_read_is_named(content: str, message: str) -> None:
    text = read(archive(word_parts(content + paragraph(run("end")))))
    assert [error.message for error in text.page_errors] == [message]
    assert text.blocks[-1].text == "end"


def test_the_main_part_may_have_any_name() -> None:
    parts = word_parts(paragraph(run("Hello.")))
    renamed = {
        name.replace("document.xml", "document2.xml"): body.replace("word/document.xml", "word/document2.xml")
        if isinstance(body, str)
        else body
        for name, body in parts.items()
    }
    assert texts(archive(renamed)) == ["Hello."]


def make_headed(settings: str = "", section: str = "") -> dict[str, str | bytes]:
    """A document with headers of three kinds and a footer, whose section has further properties."""
    contents = {
        "usual": paragraph(run("Usual")) + paragraph(run("Page ") + field("PAGE", "7") + run(" of 9")),
        "first": paragraph(run("First")),
        "even": paragraph(run("Usual")),
        "foot": f"<w:tbl><w:tr><w:tc>{paragraph(run('Foot'))}</w:tc></w:tr></w:tbl>",
    }
    kinds = {"usual": "default", "first": "first", "even": "even"}
    references = "".join(f'<w:headerReference r:id="{name}" w:type="{kind}"/>' for name, kind in kinds.items())
    body = f'{paragraph(run("Text"))}<w:sectPr>{references}<w:footerReference r:id="foot" w:type="default"/>{section}</w:sectPr>'
    others = {f"word/{name}.xml": f"<w:hdr {NAMES}>{content}</w:hdr>" for name, content in contents.items()}
    others["word/settings.xml"] = f"<w:settings {NAMES}>{settings}</w:settings>"
    linked = {name: ("footer" if name == "foot" else "header", f"{name}.xml") for name in contents}
    return word_parts(body, others=others, linked={**linked, "s": ("settings", "settings.xml")})


@pytest.mark.parametrize(
    ("settings", "section", "expected"),
    [
        ("", "", ["Usual", "Foot", "Text"]),
        ("", "<w:titlePg/>", ["Usual", "First", "Foot", "Text"]),
        ("<w:evenAndOddHeaders/>", '<w:titlePg w:val="0"/>', ["Usual", "Foot", "Text"]),
    ],
)
def test_headers_and_footers_that_are_shown_stand_once_before_the_text(
    settings: str, section: str, expected: list[str]
) -> None:
    assert texts(archive(make_headed(settings, section))) == expected
    assert texts(archive(strict(make_headed(settings, section)))) == expected


@pytest.mark.parametrize(
    ("properties", "text", "expected"),
    [
        ('<w:vertAlign w:val="superscript"/>', "2 ", "m\u00b2 x"),
        ('<w:vertAlign w:val="superscript"/>', "n+k", "m^(n+k)x"),
        ('<w:vertAlign w:val="subscript"/>', "2", "m2x"),
        ('<w:vertAlign w:val="baseline"/>', "2", "m2x"),
    ],
)
def test_superscripts_cannot_be_taken_for_a_part_of_the_word(properties: str, text: str, expected: str) -> None:
    assert texts(archive(word_parts(paragraph(run("m"), run(text, properties), run("x"))))) == [expected]


def test_comments_and_pictures_are_named_as_left_out() -> None:
    picture = "<w:r><w:drawing><a:blip/></w:drawing></w:r>"
    comments = f'<w:comments {NAMES}><w:comment w:id="1">{paragraph(run("Why?"))}</w:comment></w:comments>'
    parts = word_parts(
        paragraph(run("Text"), picture),
        others={"word/comments.xml": comments},
        linked={"c": ("comments", "comments.xml")},
    )
    result = read(archive(parts))
    assert [block.text for block in result.blocks] == ["Text"]
    assert [error.message for error in result.page_errors] == ["1 picture is left out.", "1 comment is left out."]
