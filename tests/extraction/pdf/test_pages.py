"""Pages of PDF files are read as a reader sees them; what cannot be read is an error of its page."""

from __future__ import annotations

import io

import pytest
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from baton_documents.pdf import pdf
from baton_documents.results import ExtractedText
from tests.extraction.pdf.drawn_pdf import draw_page
from tests.extraction.pdf.pdf_objects import form, one_page, stream


def page(body: bytes) -> ExtractedText:
    return pdf.extract(body, 1, 1)


def text(body: bytes) -> str:
    result = page(body)
    assert not result.page_errors
    return "\n".join(block.text for block in result.blocks)


SHOWN = b"BT /F 12 Tf 10 700 Td (shown) Tj ET "
HIDDEN = {
    "without ink": b"BT /F 12 Tf 3 Tr 10 680 Td (secret) Tj ET",
    "only as a clip": b"q BT /F 12 Tf 7 Tr 10 680 Td (secret) Tj ET Q",
    "right of the page": b"BT /F 12 Tf 1000 680 Td (secret) Tj ET",
    "left of the page": b"BT /F 12 Tf -300 680 Td (secret) Tj ET",
    "above the page": b"BT /F 12 Tf 10 900 Td (secret) Tj ET",
    "below the page": b"BT /F 12 Tf 10 -20 Td (secret) Tj ET",
    "outside of its clip": b"q 0 0 5 5 re W n BT /F 12 Tf 10 680 Td (secret) Tj ET Q",
    "without size": b"BT /F 0 Tf 10 680 Td (secret) Tj ET",
    "too small for eyes": b"BT /F 0.1 Tf 10 680 Td (secret) Tj ET",
    "scaled to nothing": b"q 0.01 0 0 0.01 10 680 cm BT /F 12 Tf (secret) Tj ET Q",
    "transparent": b"q /G gs BT /F 12 Tf 10 680 Td (secret) Tj ET Q",
    "white on white": b"q 1 g BT /F 12 Tf 10 680 Td (secret) Tj ET Q",
    "white in all colours": b"q 1 1 1 rg BT /F 12 Tf 10 680 Td (secret) Tj ET Q",
    "white without ink": b"q 0 0 0 0 k BT /F 12 Tf 10 680 Td (secret) Tj ET Q",
    "in a layer that is off": b"/OC /M BDC BT /F 12 Tf 10 680 Td (secret) Tj ET EMC",
    "in a part of a layer that is off": b"/OC /M BDC /Span <<>> BDC BT /F 12 Tf 10 680 Td (secret) Tj ET EMC EMC",
    "in a set of layers that are off": b"/OC /S BDC BT /F 12 Tf 10 680 Td (secret) Tj ET EMC",
    "in a form of a layer that is off": b"/Y Do",
    "in a form within a layer that is off": b"/OC /M BDC /X Do EMC",
}
SEEN = {
    "white on black": b"0 g 0 670 200 40 re f 1 g BT /F 12 Tf 10 680 Td (seen) Tj ET",
    "black on white": b"BT /F 12 Tf 10 680 Td (seen) Tj ET",
    "inside of its clip": b"q 0 670 300 40 re W n BT /F 12 Tf 10 680 Td (seen) Tj ET Q",
    "in a layer that is on": b"/OC /N BDC BT /F 12 Tf 10 680 Td (seen) Tj ET EMC",
    "in a form": b"q 1 0 0 1 0 20 cm /Z Do Q",
    "in an outline": b"q 1 Tr 1 g BT /F 12 Tf 10 680 Td (seen) Tj ET Q",
    "large by its matrix": b"q 12 0 0 12 10 680 cm BT /F 1 Tf (seen) Tj ET Q",
}
RESOURCES = (
    b"/Properties<</M 10 0 R/N 11 0 R/S 13 0 R>>/ExtGState<</G <</ca 0/CA 0>>>>/XObject<</X 12 0 R/Y 14 0 R/Z 15 0 R>>"
)
OBJECTS = {
    10: b"<</Type/OCG/Name(Drafts)>>",
    11: b"<</Type/OCG/Name(Texts)>>",
    12: form(b"BT /F 12 Tf 10 660 Td (secret) Tj ET", b"/Font<</F 4 0 R>>"),
    13: b"<</Type/OCMD/OCGs[10 0 R]>>",
    14: form(b"BT /F 12 Tf 10 660 Td (secret) Tj ET", b"/Font<</F 4 0 R>>").replace(b"/Type", b"/OC 10 0 R/Type", 1),
    15: form(b"BT /F 12 Tf 10 660 Td (seen) Tj ET", b"/Font<</F 4 0 R>>").replace(b"/Type", b"/OC 11 0 R/Type", 1),
}
LAYERS = b"/OCProperties<</OCGs[10 0 R 11 0 R]/D<</OFF[10 0 R]>>>>"


@pytest.mark.parametrize("content", HIDDEN.values(), ids=HIDDEN.keys())
def test_hidden_text_is_left_out(content: bytes) -> None:
    assert text(one_page(SHOWN + content, RESOURCES, OBJECTS, catalog=LAYERS)) == "shown"


@pytest.mark.parametrize("content", SEEN.values(), ids=SEEN.keys())
def test_visible_text_is_kept(content: bytes) -> None:
    assert "seen" in text(one_page(SHOWN + content, RESOURCES, OBJECTS, catalog=LAYERS))


def test_text_in_a_layer_that_is_off_and_has_a_name_of_another_script_is_left_out() -> None:
    name = b"<feff05d805d905d505d805d4>"
    objects = {**OBJECTS, 10: b"<</Type/OCG/Name%s>>" % name}
    content = SHOWN + HIDDEN["in a layer that is off"]
    assert text(one_page(content, RESOURCES, objects, catalog=LAYERS)) == "shown"


def test_text_in_a_form_that_is_off_and_has_a_name_of_another_script_is_left_out() -> None:
    resources = RESOURCES.replace(b"/Y 14", "/Ж 14".encode())
    assert text(one_page(SHOWN + "/Ж Do".encode(), resources, OBJECTS, catalog=LAYERS)) == "shown"


@pytest.mark.parametrize("up", [5, -3])
def test_letters_above_and_below_the_line_are_on_it(up: int) -> None:
    assert text(one_page(b"BT /F 12 Tf 10 700 Td (x) Tj /F 8 Tf 6 %d Td (2) Tj ET" % up)) == "x2"


def test_text_outside_of_the_crop_box_is_left_out() -> None:
    content = SHOWN + b"BT /F 12 Tf 10 100 Td (secret) Tj ET"
    assert text(one_page(content, page=b"/CropBox[0 400 612 792]")) == "shown"


def test_layers_may_all_be_off_but_some() -> None:
    content = SHOWN + HIDDEN["in a layer that is off"] + SEEN["in a layer that is on"].replace(b"680", b"640")
    layers = b"/OCProperties<</OCGs[10 0 R 11 0 R]/D<</BaseState/OFF/ON[11 0 R]>>>>"
    assert text(one_page(content, RESOURCES, OBJECTS, catalog=layers)).split() == ["shown", "seen"]


def scan(canvas: Canvas) -> None:
    from PIL import Image

    canvas.drawImage(ImageReader(Image.new("L", (200, 300), 200)), 0, 0, 595, 842)


def without_ink(canvas: Canvas, *lines: str) -> None:
    canvas.saveState()  # the mode holds for what follows, too
    for row, line in enumerate(lines):
        written = canvas.beginText(60, 700 - 14 * row)
        written.setTextRenderMode(3)
        written.textLine(line)
        canvas.drawText(written)
    canvas.restoreState()


def test_the_text_that_a_program_has_read_from_a_scan_is_kept() -> None:
    def draw(canvas: Canvas) -> None:
        scan(canvas)
        without_ink(canvas, "The contract begins on the first of May.", "It ends a year later.")

    assert "The contract begins on the first of May." in text(draw_page(draw))


def test_so_it_is_if_the_page_has_a_stamp() -> None:
    def draw(canvas: Canvas) -> None:
        scan(canvas)
        without_ink(canvas, "The contract begins on the first of May.", "It ends a year later.")
        canvas.drawString(500, 30, "Page 1")

    result = text(draw_page(draw))
    assert "The contract begins" in result
    assert "Page 1" in result


def test_text_without_ink_on_a_picture_with_visible_text_is_left_out() -> None:
    def draw(canvas: Canvas) -> None:
        scan(canvas)
        without_ink(canvas, "secret")
        canvas.drawString(60, 600, "A brochure with a picture behind its text.")

    assert text(draw_page(draw)) == "A brochure with a picture behind its text."


def test_a_scan_without_text_is_an_error_of_its_page() -> None:
    (error,) = page(draw_page(scan)).page_errors
    assert (error.page, error.message) == (1, "The page has no text. It may have been scanned.")


def test_text_that_was_made_curves_is_an_error_of_its_page() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(60):
            curve = canvas.beginPath()
            curve.moveTo(60 + 8 * number, 700)
            curve.curveTo(62 + 8 * number, 710, 64 + 8 * number, 710, 66 + 8 * number, 700)
            canvas.drawPath(curve, fill=1)

    (error,) = page(draw_page(draw)).page_errors
    assert (error.page, error.message) == (1, "The page has no text, only drawings. Its letters may be curves.")


def test_an_empty_page_is_no_error() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.line(60, 800, 500, 800)

    assert page(draw_page(draw)) == ExtractedText((), None, 1)


def font_without_unicode(content: bytes, mapping: bytes = b"") -> bytes:
    font = b"<</Type/Font/Subtype/Type0/BaseFont/AAAAAA+X/Encoding/Identity-H/DescendantFonts[11 0 R]%s>>" % mapping
    return one_page(
        content,
        b"/Font<</G 10 0 R/F 4 0 R>>",
        {
            10: font,
            11: b"<</Type/Font/Subtype/CIDFontType2/BaseFont/AAAAAA+X/CIDSystemInfo<</Registry(Adobe)"
            b"/Ordering(Identity)/Supplement 0>>/FontDescriptor 12 0 R/DW 600>>",
            12: b"<</Type/FontDescriptor/FontName/AAAAAA+X/Flags 4/FontBBox[0 0 1000 1000]/ItalicAngle 0/Ascent 800"
            b"/Descent -200/CapHeight 700/StemV 80>>",
            13: stream(
                b"/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange"
                b" 1 beginbfrange <0000> <00FF> <E000> endbfrange endcmap end"
            ),
        },
    ).replace(b"/Resources<</Font<</F 4 0 R>>/Font", b"/Resources<</Font")


GARBLED = b"BT /G 12 Tf 10 700 Td <002400250026002700280029> Tj 0 -20 Td <002400250026002700280029> Tj ET"


@pytest.mark.parametrize("mapping", [b"", b"/ToUnicode 13 0 R"], ids=["no mapping", "private use"])
def test_letters_without_a_meaning_are_an_error_of_their_page(mapping: bytes) -> None:
    result = page(font_without_unicode(GARBLED, mapping))
    assert result.blocks == ()
    assert [error.page for error in result.page_errors] == [1]
    assert "do not say which letters" in result.page_errors[0].message


def test_a_symbol_between_letters_is_no_error() -> None:
    content = b"BT /F 12 Tf 10 700 Td (Everything else on this page can be read well) Tj /G 12 Tf 300 0 Td <0024> Tj ET"
    assert "Everything else" in text(font_without_unicode(content, b"/ToUnicode 13 0 R"))


def test_ligatures_and_soft_hyphens_are_plain_letters() -> None:
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfbase.pdfmetrics import registerFont

    registerFont(UnicodeCIDFont("HeiseiMin-W3"))

    def draw(canvas: Canvas) -> None:
        canvas.setFont("HeiseiMin-W3", 12)
        canvas.drawString(60, 700, "\ufb01ne e\ufb03cient so\u00adftware")

    assert text(draw_page(draw)) == "fine efficient software"


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Microsoft Word - x.docx", None), ("x.docx", None), ("Slide 1", None), ("Handbook", "Handbook")],
)
def test_only_a_given_title_is_one(title: str, expected: str | None) -> None:
    assert page(draw_page(lambda canvas: canvas.drawString(60, 700, "text"), title=title)).title == expected


def test_vertical_text_stands_apart() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.drawString(60, 700, "Text of the page.")
        canvas.saveState()
        canvas.translate(30, 300)
        canvas.rotate(90)
        canvas.drawString(0, 0, "Margin note")
        canvas.restoreState()
        canvas.drawString(60, 688, "More of it.")

    assert [block.text for block in page(draw_page(draw)).blocks] == ["Text of the page.", "Margin note", "More of it."]


def test_pages_of_a_file_that_is_protected_without_a_password_are_read() -> None:
    from reportlab.lib.pdfencrypt import StandardEncryption

    out = io.BytesIO()
    canvas = Canvas(out, encrypt=StandardEncryption("", ownerPassword="owner", canCopy=0))
    canvas.drawString(60, 700, "Everybody may read this.")
    canvas.save()
    assert text(out.getvalue()) == "Everybody may read this."


@pytest.mark.parametrize(
    ("font", "code", "expected"),
    [
        (b"ABCDEF+Wingdings-Regular", b"F0FE", "\u2611 x"),
        (b"Wingdings", b"F0A8", "\u2610 x"),
        (b"Wingdings", b"00FE", "\u2611 x"),
        (b"Wingdings", b"2713", "\u2713 x"),
        (b"ABCDEF+Wingdings2", b"F052", "\u2611 x"),
        (b"ABCDEF+SymbolMT", b"F0B7", "\u2022 x"),
        (b"SymbolMT", b"F061", "\u03b1 x"),
        (b"SymbolMT", b"03B1", "\u03b1 x"),
        (b"Webdings", b"F061", "\u2713 x"),
        (b"Icons", b"F0B7", "\u2022 x"),
        (b"Icons", b"F0FE", "\u2611 x"),
        (b"Helvetica", b"00FE", "\u00fe x"),
    ],
)
def test_letters_of_symbol_fonts_are_pictures(font: bytes, code: bytes, expected: str) -> None:
    cmap = b"begincmap 1 begincodespacerange<00><FF>endcodespacerange 1 beginbfchar<41><%s>endbfchar endcmap" % code
    body = one_page(
        b"BT /S 12 Tf 60 700 Td (A) Tj /F 12 Tf 20 0 Td (x) Tj ET",
        objects={
            4: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            10: b"<</Type/Font/Subtype/TrueType/BaseFont/%s/ToUnicode 11 0 R/FirstChar 65/LastChar 65/Widths[600]>>"
            % font,
            11: stream(cmap),
            3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 5 0 R"
            b"/Resources<</Font<</F 4 0 R/S 10 0 R>>>>>>",
        },
    )
    assert " ".join(block.text for block in pdf.extract(body, 1, 1).blocks) == expected
