"""Letters that a file does not map to Unicode: known by their names, or left out and named as an error of the page."""

from __future__ import annotations

from baton_documents.pdf import pdf
from baton_documents.results import ExtractedText
from tests.extraction.pdf.pdf_objects import one_page, stream

WORDS = b"BT /F 12 Tf 10 700 Td (All other words of this page are in a font whose letters are known.) Tj ET "
GLYPH = stream(b"600 0 0 0 600 700 d1 0 0 600 700 re f")


def page(text: bytes, names: bytes) -> ExtractedText:
    """A page with a text in a font of drawn glyphs, which has names for its codes from 0 and from 97 on."""
    font = (
        b"<</Type/Font/Subtype/Type3/FontBBox[0 0 600 700]/FontMatrix[.001 0 0 .001 0 0]/FirstChar 0/LastChar 122"
        b"/Widths[%s]/Encoding<</Differences[%s]>>/CharProcs<<%s>>/Resources<<>>>>"
        % (b"600 " * 123, names, b"".join(name + b" 11 0 R" for name in set(names.split()) if name[:1] == b"/"))
    )
    content = WORDS + b"BT /T 12 Tf 10 680 Td <%s> Tj ET" % text.hex().encode()
    body = one_page(content, b"/Font<</F 4 0 R/T 10 0 R>>", {10: font, 11: GLYPH})
    return pdf.extract(body, 1, 1)


def last_line(document: ExtractedText) -> str:
    return document.blocks[-1].text.split("\n")[-1]


def test_letters_by_the_names_of_their_glyphs() -> None:
    document = page(b"\0ab\1", b"0 /pi /eacute 97 /x /uni4E2D")
    assert last_line(document) == "πx中é"
    assert not document.page_errors


def test_letters_by_the_codes_in_their_names() -> None:
    document = page(b"abc", b"97 /a97 /a98 /a99")
    assert last_line(document) == "abc"
    assert not document.page_errors


def test_letters_without_a_meaning_are_left_out_and_named() -> None:
    document = page(b"abc", b"97 /x /g77 /y")
    assert last_line(document) == "xy"
    assert "\ufffd" not in last_line(document)
    (error,) = document.page_errors
    assert (error.page, error.message) == (
        1,
        "Some letters of the page are left out: their fonts do not say which letters they show.",
    )
