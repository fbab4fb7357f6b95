"""A sheet of a workbook is read as it is shown."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton_documents.errors import DocumentRefused
from baton_documents.reader import Extractor
from baton_documents.results import ExtractedText
from baton_documents.sheets import shared_texts
from baton_documents.sheets.number_formats import NumberFormat, write_plain_number
from baton_documents.sheets.shared_formulas import MovableFormula
from tests import documents
from tests.examples import examples
from tests.office_files import NAMES, archive, relations, sheet_parts, strict

FILES = Path(__file__).parents[1] / "files"


def read(body: bytes) -> ExtractedText:
    extractor = Extractor()
    form = extractor.detect(body, "a.xlsx", documents.XLSX)
    (part,) = extractor.list_parts(body, form)
    return extractor.extract(body, form, part)


def tables(body: bytes) -> list[str]:
    return [block.text for block in read(body).blocks[1:]]


def row(*cells: str, attributes: str = "") -> str:
    return f"<row {attributes}>{''.join(cells)}</row>"


def number(value: str, style: int = 0) -> str:
    return f'<c s="{style}"><v>{value}</v></c>'


def text(value: str) -> str:
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def formula(body: str, value: str = "", kind: str = "", attributes: str = "") -> str:
    return f"<c {kind}><f {attributes}>{body}</f>{value}</c>"


def test_the_prices_have_formulas_and_all_digits() -> None:
    text = read((FILES / "prices.xlsx").read_bytes())
    assert [block.text for block in text.blocks] == [
        "Prices",
        "Article | Net | Tax | Gross | Valid from | Share\n"
        "Lamp | 19.99 € | 19% | =B2*(1+C2) | 2026-03-01 | 27.5%\n"
        "Chair | 0.3 | 19% | =B3*(1+C3) | 2026-04-01 | 0.1",
        "Northern region |  | x\nCard | 4532015112830366 | 0049-30-1",
    ]
    assert text.page_errors == ()


CELLS = {
    "an integer": (number("12"), "12"),
    "a long integer": (number("4532015112830366"), "4532015112830366"),
    "a long integer with an exponent": (number("4.532015112830366E+15"), "4532015112830366"),
    "an integer above those that are exact": (number("12345678901234567890"), "12345678901234567890"),
    "an integer above those with a fraction of zero": (number("9007199254740993.0"), "9007199254740993"),
    "a long integer above those with an exponent": (number("1.2345678901234567E+18"), "1234567890123456700"),
    "an enormous number": (number("1E+20"), "1e+20"),
    "a number with a fraction": (number("0.40"), "0.4"),
    "a number as Excel stores it": (number("19.989999999999998"), "19.99"),
    "a small number": (number("1.0000000000000001E-5"), "0.00001"),
    "true": ('<c t="b"><v>1</v></c>', "TRUE"),
    "false": ('<c t="b"><v>0</v></c>', "FALSE"),
    "an error": ('<c t="e"><v>#DIV/0!</v></c>', "#DIV/0!"),
    "a date of ISO 8601": ('<c t="d"><v>2026-03-01T00:00:00</v></c>', "2026-03-01"),
    "a text": (text("a"), "a"),
    "a text in runs": ('<c t="inlineStr"><is><r><t>a</t></r><r><t xml:space="preserve"> b</t></r></is></c>', "a b"),
    "a reading aid": ('<c t="inlineStr"><is><t>東京</t><rPh sb="0" eb="2"><t>とうきょう</t></rPh></is></c>', "東京"),
    "a shared text": ('<c t="s"><v>0</v></c>', "shared"),
    "a shared text in runs with a reading aid": ('<c t="s"><v>1</v></c>', "東京 station"),
    "an escaped character": ('<c t="s"><v>2</v></c>', "a b_x0041_"),
    "a formula with its result": (formula("1+1", "<v>2</v>"), "2"),
    "a formula with a text as result": (formula("A1", "<v>x</v>", 't="str"'), "x"),
    "a formula with an empty text as result": (formula("A1", "<v></v>", 't="str"') + text("b"), "b"),
    "a formula with an error as result": (formula("1/0", "<v>#DIV/0!</v>", 't="e"'), "#DIV/0!"),
    "a formula without a result": (formula("SUM(B1:B2)&amp;&quot;x&quot;"), '=SUM(B1:B2)&"x"'),
    "a formula with an empty result": (formula("B1", "<v/>"), "=B1"),
    "a formula of a text without a result": (formula("B1", "", 't="str"'), "=B1"),
    "spaces around a value": ("<c><v> 5\n</v></c>", "5"),
}


@pytest.mark.parametrize(("cell", "expected"), CELLS.values(), ids=CELLS)
def test_a_cell_is_read_as_it_is_shown(cell: str, expected: str) -> None:
    shared = (
        "<si><t>shared</t></si><si><r><t>東京</t></r><r><t> station</t></r><rPh sb='0' eb='2'><t>とうきょう</t></rPh></si>"
        "<si><t>a_x000A_b_x005F_x0041_</t></si>"
    )
    parts = sheet_parts(row(cell), shared=shared)
    assert tables(archive(parts)) == [expected]
    assert tables(archive(strict(parts))) == [expected]


FORMATS = [
    ("0%", "0.19", "19%"),
    ("0.0%", "0.275", "27.5%"),
    ("0.00%", "0.5", "50.00%"),
    ("0%", "0.285", "28.5%"),
    ("0.00", "19.5", "19.5"),
    ("0.00", "19.999", "19.999"),
    ("#,##0.00", "1234567.5", "1234567.5"),
    ("#,##0", "1234567", "1234567"),
    ("00000", "123", "00123"),
    ("00000", "1234567", "1234567"),
    ("000-00-0000", "123456789", "123-45-6789"),
    ("(###) ###-####", "5551234567", "(555) 123-4567"),
    ('"Q"0', "3", "Q3"),
    ('0 "kg"', "-5", "-5 kg"),
    ('0.0 "kg"', "5.25", "5.25 kg"),
    ("0", "2.5", "2.5"),
    ("0", "1.2345678901234568E+17", "123456789012345680"),
    ("0.00E+00", "12345", "12345"),
    ("# ?/?", "0.5", "0.5"),
    ('0.0,,"M"', "12345678", "12345678"),
    ("#,##0.00 €", "19.99", "19.99 €"),
    ('"$"#,##0.00', "19.99", "$19.99"),
    ("[$€-407] #,##0.00", "5", "€ 5"),
    ('_-* #,##0.00\\ "€"_-;-* #,##0.00\\ "€"_-', "-5", "-5 €"),
    ('_("$"* #,##0.00_);_("$"* (#,##0.00)', "-5", "-$5"),
    ("#,##0;(#,##0)", "-5", "-5"),
    ("General", "5", "5"),
    ('General" pcs"', "5", "5 pcs"),
    ("@", "5", "5"),
    (";;;", "5", ""),
    ("0;-0;", "0", ""),
    ('"yes";"no";"none"', "0", "none"),
    ("[Red]0", "5", "5"),
    ("[>100]0;0.0", "5", "5"),
    ("[<=9999999]###-####;(###) ###-####", "5551234567", "(555) 123-4567"),
    ("[<=9999999]###-####;(###) ###-####", "1234567", "123-4567"),
    ('[<1]"low";[>=10]"high";0', "0.5", "low"),
    ('_-* #,##0.00_-;-* #,##0.00_-;_-* "-"??_-', "0", "-"),
    ("#\\ ##0", "1234567", "1234 567"),
    ('0"%"', "19", "19%"),
    ("[$-409]d\\-mmm\\-yy;@", "46082", "2026-03-01"),
    ("yyyy-mm-dd", "46082", "2026-03-01"),
    ("dd/mm/yyyy", "46082", "2026-03-01"),
    ("d. mmm", "46082", "2026-03-01"),
    ("[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "46082", "2026-03-01"),
    ("yyyy-mm-dd hh:mm", "46082.520833333", "2026-03-01 12:30:00"),
    ("yyyy-mm-dd", "46082.5", "2026-03-01 12:00:00"),
    ("h:mm", "0.5", "12:00:00"),
    ("mm:ss", "0.000694444", "00:01:00"),
    ("[h]:mm", "1.0833333333", "26:00:00"),
    ("[mm]:ss", "-0.5", "-12:00:00"),
    ("yyyy-mm-dd", "59", "1900-02-28"),
    ("yyyy-mm-dd", "60", "1900-02-29"),
    ("yyyy-mm-dd", "61", "1900-03-01"),
    ("yyyy-mm-dd", "0", "0"),
    ("yyyy-mm-dd", "-5", "-5"),
    ("yyyy-mm-dd", "99999999", "99999999"),
    ('0 "months"', "5", "5 months"),
    ("0\\d", "5", "5d"),
]


@pytest.mark.parametrize(("code", "value", "expected"), FORMATS)
def test_a_number_is_read_in_its_format(code: str, value: str, expected: str) -> None:
    parts = sheet_parts(row(text("a"), number(value, 1)), formats={"1": escape(code, {'"': "&quot;"})})
    assert tables(archive(parts)) == [f"a | {expected}" if expected else "a"]


def test_dates_may_be_counted_from_1904() -> None:
    parts = sheet_parts(
        row(number("0", 1), number("44620", 1)), formats={"1": "yyyy-mm-dd"}, workbook='<workbookPr date1904="1"/>'
    )
    assert tables(archive(parts)) == ["1904-01-01 | 2026-03-01"]


@pytest.mark.parametrize(
    ("built_in", "value", "expected"),
    [
        (9, "0.19", "19%"),
        (10, "0.5", "50.00%"),
        (14, "46082", "2026-03-01"),
        (20, "0.5", "12:00:00"),
        (46, "2", "48:00:00"),
    ],
)
def test_formats_may_be_named_by_numbers(built_in: int, value: str, expected: str) -> None:
    parts = sheet_parts(row(number(value, 1)), formats={"1": "General"})
    styles = str(parts["xl/styles.xml"])
    assert tables(
        archive({**parts, "xl/styles.xml": styles.replace('<xf numFmtId="200"', f'<xf numFmtId="{built_in}"')})
    ) == [expected]


def test_a_format_may_hide_a_text() -> None:
    parts = sheet_parts(row('<c s="1" t="inlineStr"><is><t>secret</t></is></c>', text("b")), formats={"1": ";;;"})
    assert tables(archive(parts)) == ["b"]


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=examples(200))
def test_a_plain_number_has_the_digits_of_its_value(value: float) -> None:
    visible = write_plain_number(repr(value))
    assert float(visible) == float(f"{value:.15g}") or float(visible) == value
    if value.is_integer() and abs(value) < 2**53:
        assert visible.lstrip("-").isdecimal()


@given(st.text('0#?.,%;[]"\\_*@yMdhsE+-/$€ a()AP', max_size=20), st.floats(allow_nan=False))
@settings(max_examples=examples(300))
def test_any_format_shows_something_or_nothing(code: str, value: float) -> None:
    assert isinstance(NumberFormat(code).format(repr(value)), str)


def test_results_that_were_never_calculated_are_formulas() -> None:
    """Some programs store zero for each result, and let Excel calculate all when it opens the file."""
    rows = row(formula("B1*2", "<v>0</v>"), formula("C1*2", "<v>7</v>"), number("0"))
    assert tables(archive(sheet_parts(rows))) == ["0 | 7 | 0"]
    parts = sheet_parts(rows)
    parts["xl/workbook.xml"] = str(parts["xl/workbook.xml"]).replace(
        "</sheets>", '</sheets><calcPr fullCalcOnLoad="1"/>'
    )
    assert tables(archive(parts)) == ["=B1*2 | 7 | 0"]


def test_a_shared_formula_moves_with_its_cells() -> None:
    rows = row('<c r="D2"><f t="shared" ref="D2:D3" si="0">B2*(1+$C$1)</f></c>', attributes='r="2"') + row(
        '<c r="D3"><f t="shared" si="0"/></c>', attributes='r="3"'
    )
    assert tables(archive(sheet_parts(rows))) == ["=B2*(1+$C$1)\n=B3*(1+$C$1)"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("B2*(1+C2)", "C5*(1+D5)"),
        ("$B2+B$2+$B$2", "$B5+C$2+$B$2"),
        ("SUM(A1:B2)", "SUM(B4:C5)"),
        ("SUM(A:B)+SUM($A:A)", "SUM(B:C)+SUM($A:B)"),
        ("SUM(1:2)", "SUM(4:5)"),
        ('IF(A1="B2","C3",D4)', 'IF(B4="B2","C3",E7)'),
        ("'Sheet A1'!A1+Data1!B2", "'Sheet A1'!B4+Data1!C5"),
        ("LOG10(A1)+ATAN2(1,2)", "LOG10(B4)+ATAN2(1,2)"),
        ("Table1[A1]+rate_A1", "Table1[A1]+rate_A1"),
        ("1.5E3*A1", "1.5E3*B4"),
    ],
)
def test_only_relative_references_move(written: str, expected: str) -> None:
    assert MovableFormula(written).move(rows=3, columns=1) == expected


def test_an_array_without_results_is_its_formula_in_all_its_cells() -> None:
    rows = row('<c r="A1"><f t="array" ref="A1:A2">B1:B2*2</f></c>', attributes='r="1"') + row(
        '<c r="A2"/>', attributes='r="2"'
    )
    assert tables(archive(sheet_parts(rows))) == ["=B1:B2*2\n=B1:B2*2"]


def test_cells_without_any_value_are_named() -> None:
    rows = row(text("a"), '<c r="B1"><f t="shared" si="7"/></c>', '<c r="C1" t="s"><v>5</v></c>')
    text_ = read(archive(sheet_parts(rows)))
    assert [(error.page, error.message) for error in text_.page_errors] == [
        (1, "The file has no values for the cells B1, C1. Calculate and save the workbook in Excel again.")
    ]


HIDDEN = {
    "a hidden row": (sheet_parts(row(text("a")) + row(text("b"), attributes='hidden="1"') + row(text("c"))), ["a", "c"]),
    "a row without height": (sheet_parts(row(text("a")) + row(text("b"), attributes='ht="0" customHeight="1"')), ["a"]),
    "a hidden column": (
        sheet_parts(row(text("a"), text("b"), text("c")), before='<cols><col min="2" max="2" hidden="1"/></cols>'),
        ["a | c"],
    ),
    "hidden columns up to the last one": (
        sheet_parts(row(text("a"), text("b")), before='<cols><col min="2" max="999999" hidden="1"/></cols>'),
        ["a"],
    ),
    "a column without width": (
        sheet_parts(row(text("a"), text("b")), before='<cols><col min="1" max="1" width="0" customWidth="1"/></cols>'),
        ["b"],
    ),
    "hidden sheets": (
        sheet_parts(
            row(text("a")),
            sheets='<sheet name="S" sheetId="1" r:id="rId1"/><sheet name="H" sheetId="2" state="hidden" r:id="rId20"/>'
            '<sheet name="V" sheetId="3" state="veryHidden" r:id="rId21"/>',
            sheet2=row(text("b")),
            sheet3=row(text("c")),
        ),
        ["a"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "expected"), HIDDEN.values(), ids=HIDDEN)
def test_what_is_hidden_is_left_out(parts: dict[str, str | bytes], expected: list[str]) -> None:
    result = read(archive(parts))
    assert [block.text for block in result.blocks[1:]] == expected
    assert (result.pages, result.page_errors) == (1, ())


def test_a_table_begins_at_its_first_column_and_ends_at_an_empty_row() -> None:
    rows = "".join(
        f'<row r="{line}"><c r="{location}{line}" t="inlineStr"><is><t>{location}{line}</t></is></c></row>'
        for line, location in ((3, "C"), (4, "D"), (9, "B"))
    )
    assert tables(archive(sheet_parts(rows))) == ["C3\n | D4", "B9"]


@pytest.mark.parametrize("dimension", ["A1", "A1:XFD1048576", "nonsense"])
def test_the_dimension_that_a_sheet_states_is_not_believed(dimension: str) -> None:
    parts = sheet_parts(
        row(text("a"), text("b")),
        before=f"<dimension ref={quoteattr(dimension)}/>",
        behind='<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>',
    )
    assert tables(archive(parts)) == ["a | b"]


def test_a_damaged_sheet_is_named_and_the_others_are_read() -> None:
    sheets = "".join(
        f'<sheet name="{name}" sheetId="{location}" r:id="rId{location}"/>' for name, location in (("A", 20), ("B", 1))
    )
    parts = sheet_parts(row(text("b")), sheets=sheets, broken="<row><c>")
    result = read(archive(parts))
    assert [(error.page, error.message) for error in result.page_errors] == [(1, "The sheet is damaged.")]
    assert [block.text for block in result.blocks] == ["B", "b"]
    del parts["xl/worksheets/broken.xml"]
    assert [error.page for error in read(archive(parts)).page_errors] == [1]


def test_the_texts_that_cells_share_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, shared in (("MAX_SHARED", "<si><t>long text</t></si>"), ("MAX_SHARED_TEXTS", "<si/>" * 9)):
        with monkeypatch.context() as changed:
            changed.setattr(shared_texts, limit, 8)
            with pytest.raises(DocumentRefused) as refused:
                read(archive(sheet_parts(row('<c t="s"><v>0</v></c>'), shared=shared)))
        assert refused.value.reason == "document_too_long"


def with_drawing(content: str) -> dict[str, str | bytes]:
    return sheet_parts(row(text("a"))) | {
        "xl/worksheets/_rels/sheet1.xml.rels": relations({"rId1": ("drawing", "../drawings/drawing1.xml")}),
        "xl/drawings/drawing1.xml": f"<xdr:wsDr {NAMES}>{content}</xdr:wsDr>",
    }


def test_texts_and_titles_of_charts_on_a_sheet_follow_its_cells() -> None:
    def box(words: str, properties: str = "") -> str:
        return (
            f'<xdr:sp><xdr:nvSpPr><xdr:cNvPr id="1" name="b" {properties}/></xdr:nvSpPr>'
            f"<xdr:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
        )

    forms = (
        f"<mc:AlternateContent><mc:Choice Requires='a14'>{box('Prices are net.')}</mc:Choice>"
        f"<mc:Fallback>{box('Prices are net.')}</mc:Fallback></mc:AlternateContent>"
    )
    parts = with_drawing(forms + box("hidden", 'hidden="1"')) | {
        "xl/drawings/_rels/drawing1.xml.rels": relations({"rId1": ("chart", "../charts/chart1.xml")}),
        "xl/charts/chart1.xml": f"<c:chartSpace {NAMES}><c:chart><c:title><a:p><a:r><a:t>Sold</a:t></a:r></a:p></c:title></c:chart><c:ser><c:cat><c:pt idx='0'><c:v>May</c:v></c:pt></c:cat>"
        "<c:val><c:pt idx='0'><c:v>7</c:v></c:pt></c:val></c:ser></c:chartSpace>",
    }
    assert tables(archive(parts)) == ["a", "Prices are net.", "Sold"]


def test_a_drawing_that_is_damaged_is_named() -> None:
    result = read(archive(with_drawing("<not xml")))
    assert [block.text for block in result.blocks] == ["S", "a"]
    assert [(error.page, error.message) for error in result.page_errors] == [
        (1, "A drawing on the sheet cannot be read.")
    ]


def test_a_damaged_chart_leaves_the_texts_of_shapes() -> None:
    box = "<xdr:sp><xdr:txBody><a:p><a:r><a:t>Prices are net.</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
    parts = with_drawing(box) | {
        "xl/drawings/_rels/drawing1.xml.rels": relations({"rId1": ("chart", "../charts/chart1.xml")}),
        "xl/charts/chart1.xml": "<not xml",
    }
    result = read(archive(parts))
    assert [block.text for block in result.blocks] == ["S", "a", "Prices are net."]
    assert [error.message for error in result.page_errors] == ["A drawing on the sheet cannot be read."]


def test_a_part_that_is_no_sheet_is_named() -> None:
    parts = sheet_parts("") | {"xl/worksheets/sheet1.xml": "<html/>"}
    assert [error.message for error in read(archive(parts)).page_errors] == ["The sheet is damaged."]
