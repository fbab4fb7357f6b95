"""PDF files that are made to take a reader's memory and time."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import pytest

from baton_documents.errors import DocumentRefused
from baton_documents.pdf import costs as pdf_costs
from baton_documents.pdf import pdf
from tests import documents
from tests.extraction.limited import outcome
from tests.extraction.pdf.lettered_pdf import make_lettered
from tests.extraction.pdf.pdf_objects import bomb, deflate, form, one_page, stream
from tests.extraction.pdf.pdf_objects import pdf as file_of

pytestmark = pytest.mark.follows_processes

HELLO = b"BT /F 12 Tf 10 700 Td (Hello there) Tj ET "
BOMB, DEEP, LONG = "document_too_large_unpacked", "document_too_deep", "document_too_long"
FIRST = b"/XObject<</X 10 0 R>>"


def make_nested_forms(levels: int, calls: int, call: bytes = b"/X Do ", *, at: int = 10) -> dict[int, bytes]:
    """Form XObjects from an object on that call the next one so many times."""
    forms = {at + level: form(call * calls, b"/XObject<</X %d 0 R>>" % (at + 1 + level)) for level in range(levels - 1)}
    return {**forms, at - 1 + levels: form(b"BT /F 1 Tf 1 1 Td (a) Tj ET", b"/Font<</F 4 0 R>>")}


def glyphs(levels: int) -> dict[int, bytes]:
    """Type 3 fonts whose glyphs show text in the next one."""
    results = {}
    for level in range(levels):
        inner = b"/Font<</T %d 0 R>>" % (12 + 2 * level) if level < levels - 1 else b"/Font<</T 4 0 R>>"
        results[10 + 2 * level] = (
            b"<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/FirstChar 97/LastChar 98"
            b"/Widths[1 1]/Encoding<</Differences[97/a/b]>>/CharProcs<</a %d 0 R/b %d 0 R>>/Resources<<%s>>>>"
            % (11 + 2 * level, 11 + 2 * level, inner)
        )
        results[11 + 2 * level] = stream(b"1 0 d0 BT /T 1 Tf (abababab) Tj ET")
    return results


GLYPH = b"/Font<</F 4 0 R/T 10 0 R>>/XObject<</X 20 0 R>>"
GLYPHS = {
    10: b"<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/FirstChar 97/LastChar 97/Widths[1]"
    b"/Encoding<</Differences[97/a]>>/CharProcs<</a 11 0 R>>>>",
    11: stream(b"1 0 d0 /X Do"),
}
"""A Type 3 font without resources, whose glyph calls a form of the page."""


def make_doubled_nodes(levels: int, entries: bytes = b"") -> dict[int, bytes]:
    """Nodes of a tree from the object 10 on, each of which refers to the next one twice."""
    return {10 + level: b"<<%s/Kids[%d 0 R %d 0 R]>>" % (entries, 11 + level, 11 + level) for level in range(levels)}


def tree_of_pages(levels: int, count: int) -> bytes:
    page = b"<</Type/Page/MediaBox[0 0 9 9]>>"
    nodes = make_doubled_nodes(levels, b"/Type/Pages/Count %d" % count)
    root = b"<</Type/Pages/Kids[10 0 R]/Count %d>>" % count
    return file_of({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: root, 10 + levels: page, **nodes})


def with_fields(fields: Mapping[int, bytes]) -> bytes:
    return one_page(HELLO, objects=fields, catalog=b"/AcroForm<</Fields[10 0 R]>>")


def make_packed_file(megabytes: int) -> bytes:
    """A file whose font is in a stream of objects that is large when it is unpacked."""
    objects = bomb(megabytes, b"/Type/ObjStm/N 1/First 4", b"4 0 <</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    head = one_page(HELLO, objects={10: objects})
    before = head[: head.index(b"xref\n0")].replace(b"4 0 obj", b"7 0 obj", 1)
    rows = b"".join(
        b"\1" + before.index(b"\n%d 0 obj" % number).__add__(1).to_bytes(4, "big") + b"\0\0"
        if b"\n%d 0 obj" % number in before
        else (b"\2" + (10).to_bytes(4, "big") + b"\0\0" if number == 4 else bytes(7))
        for number in range(11)
    )
    start = len(before)
    table = stream(rows + b"\1" + start.to_bytes(4, "big") + b"\0\0", b"/Type/XRef/Size 12/W[1 4 2]/Root 1 0 R")
    return before + b"11 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF" % (table, start)


def large_table() -> bytes:
    body = file_of({1: b"<</Type/Catalog>>"})
    return body.replace(b"xref\n0 2", b"xref\n0 2147483647").replace(b"/Size 2", b"/Size 2147483647")


FILES = {
    "calls in calls": (one_page(b"/X Do", FIRST, make_nested_forms(8, 4)), BOMB),
    "calls in calls, twice a level": (one_page(b"/X Do", FIRST, make_nested_forms(24, 2)), BOMB),
    "many calls of many calls": (one_page(b"/X Do " * 200, FIRST, make_nested_forms(2, 200)), BOMB),
    "calls with comments": (one_page(b"/X %\nDo " * 200, FIRST, make_nested_forms(2, 200, b"/X%a\rDo\n")), BOMB),
    "calls by other spellings": (one_page(b"/#58 Do " * 200, FIRST, make_nested_forms(2, 200, b"/#58 Do ")), BOMB),
    "calls over more operands": (
        one_page(b"/X/X(a)/X Do " * 200, FIRST, make_nested_forms(2, 200, b"/Y[]/X Do ")),
        BOMB,
    ),
    "calls by names of another script": (
        one_page("/Ж Do ".encode() * 200, "/XObject<</Ж 10 0 R>>".encode(), make_nested_forms(2, 200)),
        BOMB,
    ),
    "calls by names in an older encoding": (
        one_page(b"/\xe9 Do " * 200, b"/XObject<</\xe9 10 0 R>>", make_nested_forms(2, 200)),
        BOMB,
    ),
    "calls with the caller's resources": (
        one_page(
            b"/A Do",
            b"/XObject<<%s>>" % b"".join(b"/%c %d 0 R" % (65 + n, 10 + n) for n in range(20)),
            {10 + n: form(b"/%c Do " % (66 + n) * 3, None) for n in range(20)},
        ),
        BOMB,
    ),
    "a form that calls itself": (one_page(b"/X Do", FIRST, {10: form(b"/X Do /X Do", FIRST)}), BOMB),
    "calls in deflated streams": (
        one_page(
            deflate(b"/X Do " * 200),
            FIRST,
            {10: deflate(b"/Y Do " * 200, b"/Subtype/Form/Resources<</XObject<</Y 11 0 R>>>>"), 11: form(b"")},
        ),
        BOMB,
    ),
    "calls in encoded streams": (
        one_page(stream((b"/X Do " * 101).hex().encode(), b"/Filter/ASCIIHexDecode"), FIRST, make_nested_forms(2, 101)),
        BOMB,
    ),
    "calls behind a predictor": (
        one_page(
            stream(
                zlib.compress(b"".join(b"\0/X Do \n" for _ in range(200))),
                b"/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 7>>",
            ),
            FIRST,
            make_nested_forms(2, 200),
        ),
        BOMB,
    ),
    "one stream many times": (one_page(b"q Q " * 100_000, contents=b"[" + b"5 0 R " * 50_000 + b"]"), BOMB),
    "one short stream many times": (one_page(HELLO, contents=b"[" + b"5 0 R " * 50_000 + b"]"), BOMB),
    "text without an end": (one_page(deflate(b"BT /F 1 Tf " + b"(a) Tj " * 2_000_000 + b"ET")), BOMB),
    "long strings": (one_page(deflate(b"BT /F 1 Tf (" + b"a" * 20_000_000 + b") Tj ET")), BOMB),
    "a deflated bomb": (one_page(bomb(100)), BOMB),
    "a bomb in a bomb": (
        one_page(stream(zlib.compress(zlib.compress(bytes(2**26))), b"/Filter[/FlateDecode/FlateDecode]")),
        BOMB,
    ),
    "a form that is a bomb": (one_page(b"/X Do", FIRST, {10: bomb(100, b"/Subtype/Form")}), BOMB),
    "a font that is a bomb": (
        one_page(
            b"BT /B 9 Tf (a) Tj ET",
            b"/Font<</B 10 0 R>>",
            {
                10: b"<</Type/Font/Subtype/TrueType/BaseFont/X/FirstChar 97/LastChar 97/Widths[500]"
                b"/FontDescriptor 11 0 R>>",
                11: b"<</Type/FontDescriptor/FontName/X/Flags 4/FontFile2 12 0 R>>",
                12: bomb(100),
            },
        ),
        BOMB,
    ),
    "letters that are a bomb": (
        one_page(
            b"BT /B 9 Tf (a) Tj ET",
            b"/Font<</B 10 0 R>>",
            {10: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 11 0 R>>", 11: bomb(100)},
        ),
        BOMB,
    ),
    "a colour space that is a bomb": (
        one_page(b"/C cs " + HELLO, b"/ColorSpace<</C[/ICCBased 10 0 R]>>", {10: bomb(100, b"/N 3")}),
        BOMB,
    ),
    "a stream of objects that is a bomb": (make_packed_file(100), BOMB),
    "glyphs of glyphs": (one_page(b"BT /T 9 Tf (ab) Tj ET", b"/Font<</T 10 0 R>>", glyphs(40)), BOMB),
    "glyphs that call forms in forms": (
        one_page(b"BT /T 9 Tf (a) Tj ET", GLYPH, {**GLYPHS, **make_nested_forms(8, 4, at=20)}),
        BOMB,
    ),
    "a glyph that is a bomb": (
        one_page(b"BT /T 9 Tf (a) Tj ET", GLYPH, {**GLYPHS, 11: bomb(100, beginning=b"1 0 d0 ")}),
        BOMB,
    ),
    "fields of fields": (with_fields({**make_doubled_nodes(30, b"/T(a)"), 40: b"<</T(a)/FT/Tx>>"}), LONG),
    "fields in a circle": (with_fields({10: b"<</T(a)/Kids[10 0 R 10 0 R]>>"}), DEEP),
    "thousands of fields": (
        one_page(
            HELLO,
            objects={10: b"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(b)/Rect[0 0 9 9]>>"},
            page=b"/Annots[%s]" % (b"10 0 R " * 200_000),
            catalog=b"/AcroForm<</Fields[10 0 R]>>",
        ),
        BOMB,
    ),
    "pages of pages": (tree_of_pages(30, 1), LONG),
    "pages of pages, all counted": (tree_of_pages(30, 2**30), "document_damaged"),
    "pages in a circle": (
        file_of({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Count 1/Kids[2 0 R 2 0 R]>>"}),
        DEEP,
    ),
    "a circle of one": (
        file_of({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"<</Type/Pages/Count 1/Kids[2 0 R]>>"}),
        DEEP,
    ),
    "a table of two thousand million objects": (large_table(), "document_damaged"),
    "no end of references": (file_of({1: b"<</Type/Catalog/Pages 2 0 R>>", 2: b"2 0 R"}), "document_damaged"),
}


@pytest.mark.parametrize(("body", "expected"), FILES.values(), ids=FILES.keys())
def test_a_hostile_file_is_refused_within_bounds(body: bytes, expected: str) -> None:
    assert outcome(body, documents.PDF) == expected


HARMLESS = {
    "calls": one_page(HELLO + b"/X Do " * 50, FIRST, make_nested_forms(3, 10)),
    "levels": one_page(HELLO + b"/X Do", FIRST, make_nested_forms(24, 1)),
    "points of a chart": one_page(HELLO + b"/X Do " * 50_000, FIRST, {10: form(b"0 0 1 1 re f", None)}),
    "glyphs that show text in their own font": one_page(
        HELLO, b"/Font<</F 4 0 R/T 10 0 R>>", {**GLYPHS, 11: stream(b"1 0 d0 BT /T 1 Tf (aaaa) Tj ET")}
    ),
    "patterns in patterns": one_page(
        HELLO + b"/Pattern cs /P scn 0 0 600 700 re f",
        b"/Pattern<</P 10 0 R>>",
        {
            10 + level: stream(
                b"/Pattern cs /P scn 0 0 9 9 re f " * 9,
                b"/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 9 9]/XStep 1/YStep 1"
                b"/Resources<</Pattern<</P %d 0 R>>>>" % (11 + level),
            )
            for level in range(20)
        },
    ),
    "appearances that are bombs": one_page(
        HELLO,
        objects={
            10: b"<</Type/Annot/Subtype/Stamp/Rect[0 0 9 9]/AP<</N 11 0 R>>>>",
            11: form(b"/X Do /X Do", b"/XObject<</X 12 0 R>>"),
            **{12 + n: form(b"/X Do /X Do", b"/XObject<</X %d 0 R>>" % (13 + n)) for n in range(30)},
            42: bomb(100, b"/Subtype/Form"),
        },
        page=b"/Annots[10 0 R]",
    ),
    "appearances of fields that are bombs": one_page(
        HELLO,
        objects={
            10: b"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(b)/Rect[0 0 9 9]/AP<</N 11 0 R>>>>",
            11: form(b"/X Do /X Do", b"/XObject<</X 12 0 R>>"),
            **{12 + n: form(b"/X Do /X Do", b"/XObject<</X %d 0 R>>" % (13 + n)) for n in range(30)},
            42: form(HELLO),
        },
        page=b"/Annots[10 0 R]",
        catalog=b"/AcroForm<</Fields[10 0 R]/NeedAppearances true>>",
    ),
    "many fields": one_page(
        HELLO,
        objects={10: b"<</Type/Annot/Subtype/Widget/FT/Tx/T(a)/V(b)/Rect[0 0 9 9]>>"},
        page=b"/Annots[%s]" % (b"10 0 R " * 2_000),
        catalog=b"/AcroForm<</Fields[10 0 R]>>",
    ),
    "an option thousands of times": one_page(
        HELLO,
        objects={10: b"<</Type/Annot/Subtype/Widget/FT/Ch/T(a)/V(b)/Rect[0 0 9 9]/Opt[%s]>>" % (b"(a)" * 200_000)},
        page=b"/Annots[10 0 R]",
        catalog=b"/AcroForm<</Fields[10 0 R]>>",
    ),
    "crossing lines": one_page(
        HELLO + b"".join(b"%d 0 m %d 700 l S 0 %d m 600 %d l S " % (n, n, n, n) for n in range(0, 600, 1))
    ),
    "tables of lines": one_page(
        HELLO + b"".join(b"%d 9 m %d 609 l S 9 %d m 609 %d l S " % (n, n, n, n) for n in range(9, 610, 13))
    ),
    "white text on many grounds": one_page(
        HELLO
        + b"".join(b"0 g %d 0 9 9 re f " % (n % 600) for n in range(20_000))
        + b"1 g BT /F 9 Tf "
        + b"1 1 Td (a) Tj " * 20_000
        + b"ET"
    ),
    "clips of many points": one_page(
        HELLO
        + b"".join(b"%d %d l " % (n % 100, n % 77) for n in range(2_000)).join((b"0 0 m ", b"h W n "))
        + b"BT /F 9 Tf 1 600 Td (a) Tj ET " * 5_000
    ),
    "words in columns": one_page(
        b"BT /F 1 Tf "
        + b"".join(b"1 0 0 1 %d %d Tm (ab) Tj " % (n % 40 * 15, 780 - n // 40) for n in range(28_000))
        + b"ET"
    ),
    "letters from the right": make_lettered(
        [(60.0, 780.0 - n % 90 * 8, "\u05d0\u05d1 \u05d2\u05d3 AB 12 (" * 8) for n in range(700)]
    ),
    "brackets from the right": make_lettered(
        [(60.0 + n % 400, 700.0 - n % 90 * 6, f"\u05d0{'(' * 40}\u05d1{')' * 40}") for n in range(700)]
    ),
    "marks on a letter": make_lettered(
        [(60.0 + n % 400, 700.0, "\u05d0\u05b8\u05b8\u05b8" * 20) for n in range(700)], marks=["\u05b8"]
    ),
    "a picture that is a bomb": one_page(
        HELLO + b"/X Do",
        FIRST,
        {10: bomb(100, b"/Subtype/Image/Width 9999/Height 9999/BitsPerComponent 8/ColorSpace/DeviceGray")},
    ),
    "nested arrays": one_page(HELLO + b"[" * 100_000, page=b"/A " + b"[" * 400 + b"]" * 400),
    "nested dictionaries": one_page(HELLO, page=b"/A" + b"<</A" * 400 + b" 1" + b">>" * 400),
    "outlines in a circle": one_page(
        HELLO,
        objects={10: b"<</First 11 0 R/Last 11 0 R>>", 11: b"<</Title(a)/Next 11 0 R/First 11 0 R/Parent 11 0 R>>"},
        catalog=b"/Outlines 10 0 R",
    ),
    "forms that know all forms": one_page(
        HELLO,
        b"/XObject 9 0 R",
        {
            9: b"<<%s>>" % b"".join(b"/%c %d 0 R" % (65 + n, 10 + n) for n in range(20)),
            **{10 + n: form(b"", b"/XObject 9 0 R/Properties<</L 30 0 R>>") for n in range(20)},
            30: b"<</Type/OCG/Name(a)>>",
        },
        catalog=b"/OCProperties<</OCGs[30 0 R]/D<</OFF[30 0 R]>>>>",
    ),
    "names in a circle": one_page(HELLO, objects={10: b"<</Kids[10 0 R 10 0 R]>>"}, catalog=b"/Names<</Dests 10 0 R>>"),
}


@pytest.mark.parametrize("body", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_is_not_carried_out_or_not_much_does_no_harm(body: bytes) -> None:
    assert int(outcome(body, documents.PDF)) > 0


def test_the_pages_beside_one_that_draws_too_much_are_read() -> None:
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %s/Resources<</Font<</F 4 0 R>>%s>>>>"
    body = file_of(
        {
            1: b"<</Type/Catalog/Pages 2 0 R>>",
            2: b"<</Type/Pages/Kids[3 0 R 6 0 R]/Count 2>>",
            3: page % (b"5 0 R", FIRST),
            4: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            5: stream(b"/X Do " * 200),
            6: page % (b"7 0 R", b""),
            7: stream(HELLO),
            **make_nested_forms(2, 200),
        }
    )
    assert pdf.count_pages(body) == 2
    text = pdf.extract(body, 1, 2)
    assert [(error.page, error.message) for error in text.page_errors] == [(1, "The page draws too much to be read.")]
    assert [(block.page, block.text) for block in text.blocks] == [(2, "Hello there")]


@pytest.mark.parametrize("is_read", [True, False])
@pytest.mark.parametrize(
    ("forms", "most"),
    [(make_nested_forms(2, 1), (pdf_costs.MAX_EXECUTIONS - 1) // 2), (make_nested_forms(1, 1), pdf_costs.MAX_MARKERS)],
    ids=["calls of calls", "markers"],
)
def test_a_page_may_carry_out_so_many_streams(forms: dict[int, bytes], most: int, *, is_read: bool) -> None:
    body = one_page(b"/X Do " * (most if is_read else most + 1), FIRST, forms)
    if is_read:
        assert pdf.count_pages(body) == 1
    else:
        with pytest.raises(DocumentRefused):
            pdf.count_pages(body)
