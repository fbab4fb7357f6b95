"""Office files that take far more memory than they have bytes: each is refused within a small address space."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from baton_documents.errors import DocumentRefused
from baton_documents.office.archive import check_archive
from baton_documents.office.xml import XmlRoom
from baton_documents.reader import Extractor
from tests import documents
from tests.extraction.limited import read
from tests.office_files import NAMES, SHEET_NAMES, archive, relations, shape, sheet_parts, slide_parts, word_parts

pytestmark = pytest.mark.follows_processes

MEMORY = 480 * 1024 * 1024
"""The address space that a process which reads attachments has beyond its libraries: 512 MB in all."""
Parts = dict[str, str | bytes]
TOO_LARGE, TOO_LONG, TOO_DEEP = "document_too_large_unpacked", "document_too_long", "document_too_deep"
DAMAGED, MISLABELLED = "document_damaged", "document_mislabelled"
MEGABYTE = 1024 * 1024
EMPTY = "<w:p><w:r><w:t>Hello</w:t></w:r></w:p>"


def read_in_bounds(body: bytes, content_type: str) -> str:
    """The reason for which a separate process refuses a file, or what it found."""
    result = read(body, content_type, MEMORY)
    return result.refusal or f"read {list(result.errors)}"


def headers(count: int, size: int) -> Parts:
    """A document with headers of short elements, which take much memory as trees."""
    header = f"<w:hdr {NAMES}>" + "<w:p/>" * (size // 6) + "</w:hdr>"
    return word_parts(
        EMPTY,
        others={f"word/header{number}.xml": header for number in range(count)},
        linked={f"h{number}": ("header", f"header{number}.xml") for number in range(count)},
    )


def layouts(count: int, size: int) -> Parts:
    layout = f"<p:sldLayout {NAMES}>" + "<a:p/>" * (size // 6) + "</p:sldLayout>"
    parts = slide_parts(shape("<a:p/>"))
    return parts | {f"ppt/slideLayouts/layout{number}.xml": layout for number in range(count)}


def attributes(count: int) -> str:
    return " ".join(f'a{number}=""' for number in range(count))


def nest(opening: str, closing: str, depth: int) -> str:
    return opening * depth + closing * depth


WORD: dict[str, tuple[Callable[[], Parts], str]] = {
    "parts that are large together": (lambda: headers(5, 10 * MEGABYTE), TOO_LARGE),
    "short elements": (lambda: headers(1, 20 * MEGABYTE), TOO_LARGE),
    "attributes": (
        lambda: word_parts(EMPTY + f"<w:p {attributes(100)}/>" * 20_000),
        TOO_LARGE,
    ),
    "a tag of many attributes": (
        lambda: word_parts(EMPTY + f"<w:p {attributes(1_000_000)}/>"),
        TOO_LARGE,
    ),
    "names": (lambda: word_parts(EMPTY + "".join(f"<n{n}/>" for n in range(200_000))), TOO_LARGE),
    "a comment": (lambda: word_parts(EMPTY + f"<!--{' ' * 12 * MEGABYTE}-->"), TOO_LARGE),
    "numbers with a long text": (
        lambda: word_parts(
            "<w:p><w:pPr><w:numPr><w:numId w:val='1'/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>" * 10_000,
            numbering=f"<w:abstractNum w:abstractNumId='1'><w:lvl w:ilvl='0'><w:lvlText w:val='{'long ' * 10_000}'/></w:lvl>"
            "</w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='1'/></w:num>",
        ),
        "read []",
    ),
    "deep elements": (lambda: word_parts(nest("<w:sdt>", "</w:sdt>", 100_000)), TOO_DEEP),
    "deep equations": (
        lambda: word_parts(
            f"<w:p><m:oMath>{nest('<m:f><m:num>', '</m:num></m:f>', 5_000)}</m:oMath></w:p>"
        ),
        TOO_DEEP,
    ),
    "deep tables": (lambda: word_parts(nest("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 1_000)), TOO_DEEP),
}  # fmt: skip
SLIDES: dict[str, tuple[Callable[[], Parts], str]] = {
    "layouts that are large together": (lambda: layouts(5, 10 * MEGABYTE), TOO_LARGE),
    "a slide that stands for many": (
        lambda: (
            slide_parts(*[shape("<a:p/>")] * 2)
            | {
                "ppt/_rels/presentation.xml.rels": relations(
                    {f"rId{n}": ("slide", "slides/slide0.xml") for n in range(2)}
                )
            }
        ),
        "read ['The slide is damaged.']",
    ),
    "a shape of many paragraphs": (lambda: slide_parts(shape("<a:p/>" * 600_000)), "read []"),
    "a chart of many series": (
        lambda: (
            slide_parts(
                '<p:graphicFrame><p:nvPr/><a:graphic><a:graphicData><c:chart r:id="r"/></a:graphicData></a:graphic></p:graphicFrame>'
                * 1_000,
                linked={"r": ("chart", "../charts/chart1.xml")},
            )
            | {
                "ppt/charts/chart1.xml": f"<c:chart {NAMES}>"
                + "<c:ser><c:val><c:pt idx='9999'><c:v>1</c:v></c:pt></c:val></c:ser>" * 50_000
                + "<c:ser><c:cat>"
                + "<c:pt idx='1'><c:v>long</c:v></c:pt>" * 100_000
                + "</c:cat></c:ser></c:chart>"
            }
        ),
        "read []",
    ),
    "deep groups": (lambda: slide_parts(nest("<p:grpSp>", "</p:grpSp>", 50_000)), TOO_DEEP),
}


def cells(content: str, **more: str) -> Parts:
    return sheet_parts(f"<row><c t='inlineStr'><is><t>a</t></is></c></row>{content}", **more)  # type: ignore[arg-type]


SHEETS: dict[str, tuple[Callable[[], Parts], str]] = {
    "a cell far away": (lambda: cells('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'), TOO_LONG),
    "a column that no sheet has": (lambda: cells('<row><c r="ZZZZ1"><v>1</v></c></row>'), "read ['The sheet is damaged.']"),
    "a row of many cells": (lambda: cells("<row>" + "<c/>" * 5_000_000 + "</row>"), TOO_LARGE),
    "a tag of many attributes": (
        lambda: cells(f"<row {attributes(1_000_000)}/>"),
        TOO_LARGE,
    ),
    "what stands before the rows": (lambda: sheet_parts("", before="<sheetView/>" * 1_000_000), TOO_LARGE),
    "deep elements": (
        lambda: cells("<row>" + nest("<c>", "</c>", 100_000) + "</row>"),
        "read ['The sheet is damaged.']",
    ),
    "a long text that cells share": (
        lambda: cells('<row><c t="s"><v>0</v></c></row>' * 6_000, shared="<si><t>" + "word " * 5_000 + "</t></si>"),
        TOO_LONG,
    ),
    "a text that is longer than a file may be": (
        lambda: cells('<row><c t="s"><v>0</v></c></row>', shared="<si><t>" + "word " * 4 * MEGABYTE + "</t></si>"),
        TOO_LARGE,
    ),
    "a long formula that cells share": (
        lambda: cells(
            f'<row><c><f t="shared" si="0">{"A1+" * 8_000}1</f></c></row>' + '<row><c><f t="shared" si="0"/></c></row>' * 8_000
        ),
        TOO_LONG,
    ),
    "a drawing of many elements": (
        lambda: cells("")
        | {
            "xl/worksheets/_rels/sheet1.xml.rels": relations({"rId1": ("drawing", "../drawings/drawing1.xml")}),
            "xl/drawings/drawing1.xml": f"<a:b {NAMES}>{'<a:p/>' * 2_000_000}</a:b>",
        },
        "read ['A drawing on the sheet cannot be read.']",
    ),
    "more rows than a sheet has": (lambda: cells("<row/>" * 1_100_000), TOO_LONG),
    "columns that are hidden again and again": (
        lambda: cells("", before="<cols>" + '<col min="1" max="16384" hidden="1"/>' * 100_000 + "</cols>"),
        "read []",
    ),
    "a sheet that stands for many": (
        lambda: cells("", sheets='<sheet name="S" r:id="rId1"/>' * 3),
        "read ['The sheet is damaged.', 'The sheet is damaged.']",
    ),
    "too many sheets": (lambda: cells("", sheets='<sheet name="S" r:id="rId1"/>' * 5_001), TOO_LONG),
    "a share that is enormous": (
        lambda: sheet_parts('<row><c s="1"><v>1e999999999</v></c></row>' * 1_000, formats={"1": "0%"}),
        "read []",
    ),
    "entities in a part of another name": (
        lambda: cells("")
        | {
            "xl/_rels/workbook.xml.rels": relations({"rId1": ("worksheet", "sheet.bin")}),
            "xl/sheet.bin": '<!DOCTYPE a [<!ENTITY a "aaaa">]><worksheet>&a;</worksheet>',
        },
        "document_unsafe",
    ),
    "a broken main part": (lambda: cells("") | {"xl/workbook.xml": "<workbook>"}, DAMAGED),
    "a main part of another kind": (lambda: cells("") | {"xl/workbook.xml": "<x/>"}, DAMAGED),
    "styles": (
        lambda: cells("") | {"xl/styles.xml": f"<styleSheet {SHEET_NAMES}><cellXfs>{'<xf/>' * 2_000_000}</cellXfs></styleSheet>"},
        TOO_LARGE,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "reason"), WORD.values(), ids=WORD)
def test_a_word_document(parts: Callable[[], Parts], reason: str) -> None:
    assert read_in_bounds(archive(parts()), documents.DOCX) == reason


@pytest.mark.parametrize(("parts", "reason"), SLIDES.values(), ids=SLIDES)
def test_a_presentation(parts: Callable[[], Parts], reason: str) -> None:
    assert read_in_bounds(archive(parts()), documents.PPTX) == reason


@pytest.mark.parametrize(("parts", "reason"), SHEETS.values(), ids=SHEETS)
def test_a_workbook(parts: Callable[[], Parts], reason: str) -> None:
    assert read_in_bounds(archive(parts()), documents.XLSX) == reason


def open_document(kind: str, **more: str) -> Parts:
    """A spreadsheet of OpenDocument whose cells are repeated by a number."""
    content = (
        '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
        'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"><office:body><office:spreadsheet><table:table>'
        '<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16384"/>'
        "</table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"
    )
    return {"mimetype": f"application/vnd.oasis.opendocument.{kind}", "content.xml": content, **more}


OTHERS: dict[str, tuple[Parts, str]] = {
    "ODS": (open_document("spreadsheet"), "OpenDocument spreadsheet (ODS)"),
    "ODT": (open_document("text"), "OpenDocument text (ODT)"),
    "ODP": (open_document("presentation-template"), "OpenDocument presentation (ODP)"),
    "an ODS that also looks like a workbook": (
        open_document("spreadsheet", **{"[Content_Types].xml": "<Types/>", "xl/workbook.xml": "<x/>"}),
        "ODS",
    ),
    "a workbook that also looks like an ODS": (cells("") | open_document("spreadsheet"), "ODS"),
    "XLSB": (cells("") | {"xl/workbook.bin": b"\x83\x01"}, "XLSB"),
    "EPUB": ({"mimetype": "application/epub+zip"}, "EPUB"),
    "iWork": ({"Index/Document.iwa": b"\0"}, "iWork"),
    "an archive": ({"a.txt": "a"}, "an archive"),
    "an archive with the names of a document": (
        {"[Content_Types].xml": "<Types/>", "_rels/.rels": "<Relationships/>", "word/document.xml": "<a/>"},
        "an archive",
    ),
    "a file with two main parts": (
        cells("")
        | {"_rels/.rels": relations({"a": ("officeDocument", "xl/workbook.xml"), "b": ("officeDocument", "b.xml")})},
        "an archive",
    ),
    "a drawing of Visio": (
        cells("")
        | {
            "[Content_Types].xml": str(cells("")["[Content_Types].xml"]).replace(
                "vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml", "vnd.ms-visio.drawing.main+xml"
            )
        },
        "an Office file of another kind",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "name"), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("content_type", [documents.XLSX, documents.DOCX])
def test_a_file_of_another_format_is_named(parts: Parts, name: str, content_type: str) -> None:
    from baton_documents.errors import DocumentRefused
    from baton_documents.reader import Extractor

    with pytest.raises(DocumentRefused) as refused:
        Extractor().detect(archive(parts), "a", content_type)
    assert refused.value.reason == MISLABELLED
    assert name in refused.value.detail
    if "OpenDocument" in refused.value.detail or name == "XLSB":
        assert "Save it as" in refused.value.detail


def make_overlapping_entries() -> bytes:
    """Two entries of one content, which is stored once."""
    body = archive(word_parts(EMPTY) | {"word/media/a.bin": b"0" * 1000, "word/media/b.bin": b"0" * 1000})
    with zipfile.ZipFile(io.BytesIO(body)) as zip_file:
        first, second = zip_file.getinfo("word/media/a.bin"), zip_file.getinfo("word/media/b.bin")
    location = body.rindex(b"word/media/b.bin") - 46
    assert struct.unpack_from("<I", body, location + 42) == (second.header_offset,)
    return body[: location + 42] + struct.pack("<I", first.header_offset) + body[location + 46 :]


def pack_differently() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as zip_file:
        for name, body in word_parts(EMPTY).items():
            zip_file.writestr(name, body)
    return out.getvalue()


def with_names(*names: str) -> bytes:
    return archive(word_parts(EMPTY) | dict.fromkeys(names, "<a/>"))


ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "entries that share bytes": (make_overlapping_entries, DAMAGED),
    "another method of packing": (pack_differently, DAMAGED),
    "names that differ in case": (lambda: with_names("WORD/document.xml"), DAMAGED),
    "names that differ in slashes": (lambda: with_names("word\\document.xml"), DAMAGED),
    "names that differ in dots": (lambda: with_names("word/../word/document.xml"), DAMAGED),
    "an entry that is packed very well": (
        lambda: archive(word_parts(EMPTY) | {"word/media/a.bmp": bytes(40 * MEGABYTE)}),
        TOO_LARGE,
    ),
    "many entries": (lambda: archive(word_parts(EMPTY) | {f"a/{n}": b"" for n in range(25_000)}), TOO_LARGE),
}  # fmt: skip


@pytest.mark.parametrize(("value", "reason"), ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive(value: Callable[[], bytes], reason: str) -> None:
    assert read_in_bounds(value(), documents.DOCX) == reason


def test_a_file_that_says_to_be_too_large_is_refused_before_its_parts_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted: list[str] = []
    add = XmlRoom.add
    monkeypatch.setattr(XmlRoom, "add", lambda room, content: (counted.append(content.name), add(room, content))[1])
    part = f"<w:hdr {NAMES}>" + "<w:p/>" * (4 * MEGABYTE // 6) + "</w:hdr>"
    body = archive(word_parts(EMPTY) | {f"word/header{number}.xml": part for number in range(12)})
    with pytest.raises(DocumentRefused) as refusal:
        check_archive(body)
    assert refusal.value.reason == TOO_LARGE
    assert sorted(counted) == ["[Content_Types].xml", "_rels/.rels"]


def test_a_long_presentation_is_read_in_few_parts() -> None:
    body = archive(slide_parts(*[""] * 1_000))
    parts = Extractor().inspect(body, "a.pptx", documents.PPTX).parts
    assert [last - first + 1 for first, last in parts] == [250] * 4


@pytest.mark.nightly
def test_large_documents_within_the_bounds_are_read_in_that_memory() -> None:
    """A file at the limit is read: the bounds hold what they promise."""
    marks = "<w:bookmarkEnd w:id=''/>" * 700_000
    assert read_in_bounds(archive(word_parts(EMPTY + f"<w:p>{marks}</w:p>")), documents.DOCX) == "read []"
    rows = '<row><c t="s"><v>0</v></c></row>' * 2_000
    parts = cells(rows, shared="<si><t>" + "word " * 5_000 + "</t></si>")
    assert read_in_bounds(archive(parts), documents.XLSX) == "read []"
