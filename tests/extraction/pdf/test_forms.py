"""Values and marks of forms in PDF files stand where a reader sees them."""

from __future__ import annotations

import io

import pytest
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Table

from baton_documents.pdf import pdf
from tests.extraction.pdf.drawn_pdf import draw_columns, draw_page, wrap_lines
from tests.extraction.pdf.pdf_objects import form, one_page
from tests.extraction.pdf.pdf_pages import HARBOUR, PARKING


def text(body: bytes) -> str:
    result = pdf.extract(body, 1, 1)
    assert not result.page_errors
    return "\n".join(block.text for block in result.blocks)


def test_a_form_that_a_program_has_filled_in() -> None:
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4)
    canvas.drawString(60, 700, "Name:")
    canvas.acroForm.textfield(name="name", value="Ada Lovelace", x=110, y=694, width=200, height=18)
    canvas.acroForm.checkbox(name="express", checked=True, x=60, y=660, size=14)
    canvas.drawString(80, 663, "Express shipping")
    canvas.acroForm.checkbox(name="insured", checked=False, x=200, y=660, size=14)
    canvas.drawString(220, 663, "Insurance")
    for name, x in (("air", 60), ("sea", 140)):
        canvas.acroForm.radio(name="way", value=name, selected=name == "sea", x=x, y=630, size=14)
        canvas.drawString(x + 20, 633, f"By {name}")
    canvas.drawString(60, 603, "Size:")
    canvas.acroForm.choice(name="size", value="Medium", options=["Small", "Medium"], x=110, y=598, width=80, height=18)
    canvas.acroForm.listbox(
        name="colours", value="red", options=["red", "blue"], x=110, y=540, width=80, height=40
    )  # fmt: skip
    canvas.drawString(60, 560, "Colour:")
    canvas.drawString(60, 500, "Signed in London.")
    canvas.save()
    assert text(out.getvalue()).split("\n") == [
        "Name: Ada Lovelace",
        "\u2611 Express shipping \u2610 Insurance",
        "\u2610 By air \u2611 By sea",
        "Size: Medium",
        "Colour: red",
        "Signed in London.",
    ]


def with_widgets(*widgets: bytes, content: bytes = b"BT /F 12 Tf 60 700 Td (Name:) Tj ET") -> bytes:
    """A page with fields that have no appearances."""
    objects = {10 + number: b"<</Type/Annot/Subtype/Widget%s>>" % widget for number, widget in enumerate(widgets)}
    numbers = b" ".join(b"%d 0 R" % number for number in objects)
    return one_page(
        content, objects=objects, page=b"/Annots[%s]" % numbers, catalog=b"/AcroForm<</Fields[%s]>>" % numbers
    )


BESIDE = b"/Rect[110 695 300 715]"


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (b"/FT/Tx/T(a)/V(Ada)", "Name: Ada"),
        (b"/FT/Tx/T(a)/V<FEFF00C400640061>", "Name: \u00c4da"),
        (b"/FT/Tx/T(a)/DV(Nobody)", "Name:"),
        (b"/FT/Tx/T(a)/V()", "Name:"),
        (b"/FT/Tx/T(a)/Ff 4096/V(one\rtwo)", "Name: one\ntwo"),
        (b"/FT/Tx/T(a)/Ff 8192/V(secret)", "Name:"),
        (b"/FT/Tx/T(a)/V(secret)/F 2", "Name:"),
        (b"/FT/Tx/T(a)/V(secret)/F 32", "Name:"),
        (b"/FT/Tx/T(a)/V(Ada)/F 4", "Name: Ada"),
        (b"/FT/Ch/T(a)/Ff 131072/Opt[(S)(M)(L)]/V(M)", "Name: M"),
        (b"/FT/Ch/T(a)/Ff 131072/Opt[[(s)(Small)][(m)(Medium)]]/V(m)", "Name: Medium"),
        (b"/FT/Ch/T(a)/Ff 393216/Opt[(S)(M)]/V(Huge)", "Name: Huge"),
        (b"/FT/Ch/T(a)/Ff 2097152/Opt[(S)(M)(L)]/V[(S)(L)]", "Name: S, L"),
        (b"/FT/Btn/T(a)/V/Yes/AS/Yes", "Name: \u2611"),
        (b"/FT/Btn/T(a)/V/Off/AS/Off", "Name: \u2610"),
        (b"/FT/Btn/T(a)/V/Yes", "Name: \u2611"),
        (b"/FT/Btn/T(a)", "Name: \u2610"),
        (b"/FT/Btn/T(a)/Ff 65536/MK<</CA(Send)>>", "Name:"),
        (b"/FT/Sig/T(a)", "Name:"),
    ],
)
def test_values_without_appearances_are_read(field: bytes, expected: str) -> None:
    assert text(with_widgets(field + BESIDE)) == expected


def test_of_several_buttons_each_has_a_state() -> None:
    kid = b"<</Type/Annot/Subtype/Widget/Parent 10 0 R/Rect[%d 695 %d 711]/AS/%s>>"
    body = one_page(
        b"BT /F 12 Tf 80 700 Td (Air) Tj 100 0 Td (Sea) Tj ET",
        objects={
            10: b"<</FT/Btn/Ff 32768/T(way)/V/Sea/Kids[11 0 R 12 0 R]>>",
            11: kid % (60, 76, b"Off"),
            12: kid % (160, 176, b"Sea"),
        },
        page=b"/Annots[11 0 R 12 0 R]",
        catalog=b"/AcroForm<</Fields[10 0 R]>>",
    )
    assert text(body) == "\u2610 Air \u2611 Sea"


@pytest.mark.parametrize(
    ("group", "names", "expected"),
    [
        (b"/V/Sea", (b"Air", b"Sea"), "\u2610 Air \u2611 Sea"),
        (b"/V(Sea)", (b"Air", b"Sea"), "\u2610 Air \u2611 Sea"),
        (b"/V/1", (b"0", b"1"), "\u2610 Air \u2611 Sea"),
        (b"/Opt[(Air)(Sea)]/V(Air)", (b"0", b"1"), "\u2611 Air \u2610 Sea"),
        (b"/Opt[(Air)(Sea)]/V<FEFF005300650061>", (b"0", b"1"), "\u2610 Air \u2611 Sea"),
        (b"/V/Sea", (b"Sea", b"Sea"), "\u2611 Air \u2611 Sea"),
        (b"/V/Off", (b"Air", b"Sea"), "\u2610 Air \u2610 Sea"),
        (b"/V/Rail", (b"Air", b"Sea"), "\u2610 Air \u2610 Sea"),
        (b"/DV/Sea", (b"Air", b"Sea"), "\u2610 Air \u2610 Sea"),
        (b"/Parent 13 0 R", (b"Air", b"Sea"), "\u2610 Air \u2611 Sea"),
        (b"/Parent 10 0 R", (b"Air", b"Sea"), "\u2610 Air \u2610 Sea"),
    ],
)
def test_buttons_without_a_state_have_that_of_their_group(
    group: bytes, names: tuple[bytes, bytes], expected: str
) -> None:
    kid = b"<</Type/Annot/Subtype/Widget/Parent 10 0 R/Rect[%d 695 %d 711]/AP<</N<</Off 12 0 R/%s 12 0 R>>>>>>"
    body = one_page(
        b"BT /F 12 Tf 80 700 Td (Air) Tj 100 0 Td (Sea) Tj ET",
        objects={
            10: b"<</FT/Btn/Ff 32768/T(way)/Kids[11 0 R 14 0 R]%s>>" % group,
            11: kid % (60, 76, names[0]),
            12: form(b""),
            13: b"<</T(above)/V/Sea>>",
            14: kid % (160, 176, names[1]),
        },
        page=b"/Annots[11 0 R 14 0 R]",
        catalog=b"/AcroForm<</Fields[10 0 R]>>",
    )
    assert text(body) == expected


def test_a_field_outside_of_the_page_is_not_read() -> None:
    assert text(with_widgets(b"/FT/Tx/T(a)/V(secret)/Rect[900 695 990 715]")) == "Name:"


def test_fields_without_labels_are_lines_between_the_others() -> None:
    content = b"BT /F 12 Tf 60 700 Td (above) Tj 0 -80 Td (below) Tj ET"
    fields = (
        b"/FT/Tx/T(a)/V(first)/Rect[60 670 100 682]",
        b"/FT/Tx/T(b)/V(second)/Rect[120 670 160 682]",
        b"/FT/Tx/T(c)/V(third)/Rect[60 650 100 662]",
    )
    assert text(with_widgets(*fields, content=content)).split() == ["above", "first", "second", "third", "below"]


def test_a_page_that_has_fields_only_is_read() -> None:
    assert text(with_widgets(b"/FT/Tx/T(a)/V(Ada)" + BESIDE, content=b"")) == "Ada"


def test_notes_on_a_page_are_read_if_they_are_shown() -> None:
    note = b"<</Type/Annot/Subtype/FreeText/Rect[110 695 300 715]/Contents(%s)/DA(/F 12 Tf)%s>>"
    body = one_page(
        b"BT /F 12 Tf 60 700 Td (Total:) Tj ET",
        objects={10: note % (b"paid", b""), 11: note % (b"secret", b"/F 2"), 12: form(b"")},
        page=b"/Annots[10 0 R 11 0 R]",
    )
    assert text(body) == "Total: paid"


def test_a_value_in_a_cell_belongs_to_its_row() -> None:
    def draw(canvas: Canvas) -> None:
        rows = [["Part", "Amount"], ["Bolt", ""], ["Nut", ""]]
        style = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
        table = Table(rows, colWidths=[80, 80], rowHeights=[20, 20, 20], style=style)
        table.wrapOn(canvas, 200, 200)
        table.drawOn(canvas, 60, 600)
        for row, value in enumerate(("12", "7")):
            canvas.acroForm.textfield(
                name=f"amount{row}", value=value, x=145, y=622 - 20 * row, width=60, height=15, borderWidth=0
            )

    assert text(draw_page(draw)) == "Part | Amount\nBolt | 12\nNut | 7"


def test_a_field_in_a_column_stays_in_it() -> None:
    def draw(canvas: Canvas) -> None:
        draw_columns(canvas, [wrap_lines(HARBOUR, 200), wrap_lines(PARKING, 200)], [60, 300], 700)
        canvas.acroForm.checkbox(name="seen", checked=True, x=300, y=560, size=12)
        canvas.drawString(320, 562, "I have read it.")

    assert " ".join(text(draw_page(draw)).split()) == f"{HARBOUR} {PARKING} \u2611 I have read it."
