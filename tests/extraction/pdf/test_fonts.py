"""Text in fonts that the file names and does not hold is read alike on all machines, whatever fonts they have."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence

import pypdfium2.raw as pdfium_c
import pytest
from pdfminer.cmapdb import CMapDB

from baton_documents.pdf import fonts as pdf_fonts
from baton_documents.pdf import pdf
from tests.extraction.pdf.pdf_objects import one_page, stream

SIZE = 10
TEXTS = {
    "Japan1": ("就業規則第三条", "年次有給休暇は年間20日とする。", "申請はHR部に行うこと。"),
    "GB1": ("第三条年休假", "员工每年有20天带薪年假。", "应提前两周申请HR批准。"),
    "CNS1": ("第三條年休假", "員工每年有20天帶薪年假。", "應提前兩週申請HR批准。"),
    "Korea1": ("제삼조연차휴가", "직원은연간20일을받는다.", "이주전에HR에신청한다."),
}
ENCODINGS = {
    "Japan1": ("UniJIS-UTF16", "90ms-RKSJ", "cp932"),
    "GB1": ("UniGB-UTF16", "GBK-EUC", "gbk"),
    "CNS1": ("UniCNS-UTF16", "ETen-B5", "big5"),
    "Korea1": ("UniKS-UTF16", "KSCms-UHC", "cp949"),
}
"""An encoding with codes of Unicode, an older one, and Python's name of that."""
HALF = {
    "Japan1": b"1 230 500 231 632 500",
    "GB1": b"1 95 500 814 939 500",
    "CNS1": b"1 98 500 13648 13742 500",
    "Korea1": b"1 100 500 8094 8190 500",
}
"""The numbers of Latin letters in a collection, which are half as wide as others."""


def lines(body: bytes) -> list[str]:
    document = pdf.extract(body, 1, 1)
    assert not document.page_errors
    return [line for block in document.blocks for line in block.text.split("\n")]


def make_text_object(x: float, y: float, codes: str) -> bytes:
    """A text object."""
    return b"BT /U %d Tf 1 0 0 1 %.1f %.1f Tm <%s> Tj ET " % (SIZE, x, y, codes.encode())


def pieces(texts: Sequence[str], *, is_vertical: bool, is_spread: bool) -> Iterator[tuple[float, float, str]]:
    """Parts of lines and their places: whole lines, or each letter by itself."""
    for number, text in enumerate(texts):
        along = 0.0
        for part in text if is_spread else [text]:
            yield (
                (500 - 2 * SIZE * number, 740 - along, part)
                if is_vertical
                else (60 + along, 740 - 2 * SIZE * number, part)
            )
            along += SIZE * (1.0 if is_vertical or not part.isascii() else 0.5)


def composite(collection: str, encoding: str, encode: Callable[[str], str], *, is_spread: bool) -> bytes:
    """A file whose font names a collection of characters, as programs for China, Japan and Korea write it."""
    font = (
        b"<</Type/Font/Subtype/Type0/BaseFont/Song/Encoding/%s/DescendantFonts[<</Type/Font/Subtype/CIDFontType0"
        b"/BaseFont/Song/CIDSystemInfo<</Registry(Adobe)/Ordering(%s)/Supplement 2>>/W[%s]>>]>>"
        % (encoding.encode(), collection.encode(), HALF[collection])
    )
    parts = pieces(TEXTS[collection], is_vertical=encoding.endswith("-V"), is_spread=is_spread)
    content = b"".join(make_text_object(x, y, encode(part)) for x, y, part in parts)
    return one_page(content, b"/Font<</U 10 0 R>>", {10: font})


@pytest.mark.parametrize("is_spread", [False, True], ids=["lines", "letters"])
@pytest.mark.parametrize("direction", ["H", "V"])
@pytest.mark.parametrize("collection", TEXTS)
def test_collections_of_characters(collection: str, direction: str, *, is_spread: bool) -> None:
    unicode_name, older_name, codec = ENCODINGS[collection]
    unicode_map = CMapDB.get_cmap(f"{unicode_name}-H")
    encodings: dict[str, Callable[[str], str]] = {
        unicode_name: lambda text: text.encode("utf-16-be").hex(),
        older_name: lambda text: text.encode(codec).hex(),
        "Identity": lambda text: "".join(f"{cid:04x}" for cid in unicode_map.decode(text.encode("utf-16-be"))),
    }
    for name, encode in encodings.items():
        body = composite(collection, f"{name}-{direction}", encode, is_spread=is_spread)
        assert lines(body) == list(TEXTS[collection]), name


def make_named_font_file(font: bytes, text: str, digits: int, first: int) -> bytes:
    """A file in which each letter is a text object, in a font that says which letters it has."""
    codes = {letter: first + number for number, letter in enumerate(sorted(set(text) - {" "}))}
    names = "".join(f"<{code:0{digits}x}> <{letter.encode('utf-16-be').hex()}>\n" for letter, code in codes.items())
    table = (
        f"/CIDInit /ProcSet findresource begin begincmap /CMapType 2 def 1 begincodespacerange <{0:0{digits}x}> "
        f"<{'f' * digits}> endcodespacerange {len(codes)} beginbfchar\n{names}endbfchar endcmap end"
    )
    content = b"".join(
        make_text_object(60 + 6 * location, 700, f"{codes[letter]:0{digits}x}")
        for location, letter in enumerate(text)
        if letter != " "
    )
    return one_page(content, b"/Font<</U 10 0 R>>", {10: font, 11: stream(table.encode())})


def simple(kind: bytes, family: bytes, text: str) -> bytes:
    """A file with a font of at most 256 letters, which are named by their numbers in Unicode."""
    letters = b"".join(b"/uni%04X" % ord(letter) for letter in sorted(set(text) - {" "}))
    font = (
        b"<</Type/Font/Subtype/%s/BaseFont/%s/FirstChar 32/LastChar 255/Widths[%s]/ToUnicode 11 0 R"
        b"/Encoding<</BaseEncoding/WinAnsiEncoding/Differences[65%s]>>>>" % (kind, family, b"600 " * 224, letters)
    )
    return make_named_font_file(font, text, 2, 65)


def make_numbered_font_file(family: bytes, text: str) -> bytes:
    """A file with a font whose letters have numbers."""
    font = (
        b"<</Type/Font/Subtype/Type0/BaseFont/%s/Encoding/Identity-H/ToUnicode 11 0 R"
        b"/DescendantFonts[<</Type/Font/Subtype/CIDFontType2/BaseFont/%s"
        b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/DW 600>>]>>" % (family, family)
    )
    return make_named_font_file(font, text, 4, 3)


@pytest.mark.parametrize("family", [b"ArialMT", b"TimesNewRoman,Bold", b"Courier", b"ABCDEF+Garuda"])
@pytest.mark.parametrize(
    "text",
    [
        "Отпуск в год и стаж",
        "Άδεια ή όχι",
        "Աշխատանքի կանոն",
        "החוקה הזאת",
        "العمل اليوم",
        "การทางาน",
        "कम नम",
        "Rules I and II",
    ],
)
def test_words_in_any_script_whose_letters_are_placed_one_by_one(text: str, family: bytes) -> None:
    seen = text[::-1] if "\u0590" <= text[0] < "\u0700" else text
    for body in (
        simple(b"TrueType", family, seen),
        simple(b"Type1", family, seen),
        make_numbered_font_file(family, seen),
    ):
        assert lines(body) == [text]


@pytest.mark.parametrize("family", ["DejaVuSans", "LiberationSans", "IPAGothic", "NotoSansCJKjp-Regular", "Arial"])
def test_no_font_of_the_system_is_taken(family: str) -> None:
    body = one_page(
        b"BT /F 10 Tf 60 700 Td (Rules) Tj ET",
        objects={4: b"<</Type/Font/Subtype/TrueType/BaseFont/%s/Encoding/WinAnsiEncoding>>" % family.encode()},
    )
    with pdf._lock, pdf._open(body) as document:
        page = document[0]
        font = pdfium_c.FPDFTextObj_GetFont(next(iter(page.get_objects())).raw)
        size = ctypes.c_size_t()
        pdfium_c.FPDFFont_GetFontData(font, None, 0, size)
        content = (ctypes.c_uint8 * size.value)()
        pdfium_c.FPDFFont_GetFontData(font, content, size.value, size)
        page.close()
    assert bytes(content) == pdf_fonts.make_box_font("Helvetica")
