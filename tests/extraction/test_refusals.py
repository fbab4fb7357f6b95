"""Files that are not read, each with a separate code and within bounds of memory and time."""

from __future__ import annotations

import contextlib
import io
import random
import re
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baton_documents import reader as extractor
from baton_documents.errors import DocumentRefused
from baton_documents.formats import MEDIA_TYPES, DocumentFormat
from baton_documents.office import archive as office_archive
from baton_documents.reader import Extractor
from tests import documents
from tests.examples import examples

FILES = Path(__file__).parent / "files"
WORD = documents.word(("Normal", "Text."))
SLIDES = documents.presentation(("Title", ["Text."]))
SHEETS = documents.workbook(One=[["a", "b"]])
PAGES = documents.pdf([("Title", ["Text."])])


def refusal(body: bytes, name: str, content_type: str) -> str:
    """The code with which a file is refused, at the first step that does."""
    with pytest.raises(DocumentRefused) as refused:
        read(body, name, content_type)
    assert refused.value.detail
    return refused.value.reason


def read(body: bytes, name: str, content_type: str) -> None:
    extractor = Extractor()
    form = extractor.detect(body, name, content_type)
    for part in extractor.list_parts(body, form):
        extractor.extract(body, form, part)


@pytest.mark.parametrize("content_type", MEDIA_TYPES)
@pytest.mark.parametrize("body", [b"", b" \r\n\t "])
def test_an_empty_file(body: bytes, content_type: str) -> None:
    assert refusal(body, "a", content_type) == "document_empty"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (WORD, documents.PDF),
        (PAGES, documents.DOCX),
        (SLIDES, documents.DOCX),
        (SHEETS, documents.PPTX),
        (WORD, "text/plain"),
        (PAGES, "text/markdown"),
        (b"just text", documents.PDF),
        (b"<!doctype html><p>a page", documents.XLSX),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "text/csv"),
        (b"binary\0text", "text/plain"),
        (bytes(range(256)), "text/html"),
    ],
)
def test_a_mislabelled_file(body: bytes, content_type: str) -> None:
    assert refusal(body, "a", content_type) == "document_mislabelled"


FOREIGN = {
    "RTF": (FILES / "handbook.rtf").read_bytes(),
    "a mail": (FILES / "mail.eml").read_bytes(),
    "a received mail": b"Received: from a.example\r\n\tby b.example;\r\nSubject: a\r\nFrom: a@b.example\r\n\r\nHello",
    "a mailbox": b"From a@b.example Sat Jan  3 01:05:34 2026\nMessage-ID: <1@b>\nSubject: a\n\nHello",
    "a saved page": b"From: <Saved by Blink>\nMIME-Version: 1.0\nContent-Type: multipart/related\n\n--x",
    "PostScript": b"%!PS-Adobe-3.0\n/Times findfont",
    "RTF behind a mark": b"\xef\xbb\xbf{\\rtf1 a}",
}


@pytest.mark.parametrize("content_type", ["text/plain", "text/markdown", "text/csv", "application/octet-stream"])
@pytest.mark.parametrize("body", FOREIGN.values(), ids=FOREIGN)
def test_a_text_in_another_format_says_what_to_save_it_as(body: bytes, content_type: str) -> None:
    with pytest.raises(DocumentRefused, match="which is not read") as refused:
        read(body, "a.txt" if content_type == "application/octet-stream" else "a", content_type)
    assert refused.value.reason == "document_mislabelled"


@pytest.mark.parametrize(
    "text",
    ["From: Ann\nTo: Bob\nSubject: Pumps\n\nThey are on.", "Note: {\\rtf1 is markup}", "Received: 4 pumps\nno mail"],
)
def test_a_memo_is_no_mail(text: str) -> None:
    read(text.encode(), "a.txt", "text/plain")


def test_a_type_that_is_not_read() -> None:
    assert refusal(b"x", "a.rtf", "application/rtf") == "document_unsupported"


def test_a_parameter_of_a_content_type_changes_nothing() -> None:
    assert Extractor().detect(b"text", "a.txt", "Text/Plain; charset=utf-8") is DocumentFormat.TEXT


def test_a_pdf_with_a_password() -> None:
    assert refusal(documents.pdf([("", ["x"])], password="secret"), "a.pdf", documents.PDF) == "document_encrypted"


def test_an_office_file_with_a_password() -> None:
    """The file is a container of the older format, with the encrypted document in it."""
    body = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512) + "EncryptedPackage".encode("utf-16-le") + bytes(512)
    assert refusal(body, "a.docx", documents.DOCX) == "document_encrypted"


def test_an_older_office_file() -> None:
    body = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2048)
    assert refusal(body, "a.docx", documents.DOCX) == "document_mislabelled"


def test_a_scanned_pdf_has_pages_without_text() -> None:
    extractor, body = Extractor(), documents.make_scanned_pdf()
    form = extractor.detect(body, "scan.pdf", documents.PDF)
    (part,) = extractor.list_parts(body, form)
    text = extractor.extract(body, form, part)
    assert text.blocks == ()
    assert [error.page for error in text.page_errors] == [1, 2]


@pytest.mark.parametrize(("body", "content_type"), [(WORD, documents.DOCX), (SHEETS, documents.XLSX)])
def test_macros(body: bytes, content_type: str) -> None:
    with_code = documents.change_archive(body, word__vbaProject_bin=b"code")
    assert refusal(with_code, "a", content_type) == "document_macros"
    types = b'<Types><Override ContentType="application/vnd.ms-word.document.macroEnabled.main+xml"/></Types>'
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.infolist():
            target.writestr(entry, types if entry.filename == "[Content_Types].xml" else source.read(entry))
    assert refusal(out.getvalue(), "a", content_type) == "document_macros"
    assert refusal(body, "a.docm", content_type) == "document_macros"


def test_a_bomb_that_says_how_large_it_is() -> None:
    bomb = documents.change_archive(WORD, word__media__image_png=bytes(office_archive.MAX_UNPACKED))
    assert refusal(bomb, "a.docx", documents.DOCX) == "document_too_large_unpacked"


def test_a_part_that_would_take_too_much_memory_as_a_tree() -> None:
    bomb = documents.change_archive(WORD, word__document_xml=b" " * (office_archive.MAX_XML + 1))
    assert refusal(bomb, "a.docx", documents.DOCX) == "document_too_large_unpacked"


def test_a_bomb_that_says_that_it_is_small() -> None:
    body = documents.change_archive(WORD, word__document_xml=b"<a>" + b" " * 1_000_000 + b"</a>")
    lying = body.replace((1_000_007).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != body
    assert refusal(lying, "a.docx", documents.DOCX) == "document_damaged"


def test_too_many_entries() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(office_archive.MAX_ENTRIES + 1):
            archive.writestr(str(number), b"")
    assert refusal(out.getvalue(), "a.docx", documents.DOCX) == "document_too_large_unpacked"


def test_two_entries_of_one_name() -> None:
    out = io.BytesIO(WORD)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(out, "a") as archive:
        archive.writestr("word/document.xml", b"<another/>")
    assert refusal(out.getvalue(), "a.docx", documents.DOCX) == "document_damaged"


ENTITIES = (
    b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><w>&b;</w>"""
)
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><w>&a;</w>"""


@pytest.mark.parametrize("xml", [ENTITIES, OUTSIDE, OUTSIDE.decode().encode("utf-16")])
def test_entities(xml: bytes) -> None:
    assert refusal(documents.change_archive(WORD, word__document_xml=xml), "a", documents.DOCX) == "document_unsafe"
    assert refusal(documents.change_archive(SHEETS, xl__workbook_xml=xml), "a", documents.XLSX) == "document_unsafe"


def test_a_relation_to_a_file_outside_is_not_followed() -> None:
    """A template that is attached from elsewhere: nothing of it is read, and the text is."""
    relation = b"""<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
    <Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/>
    <Relationship Id="rId9" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes" Target="http://127.0.0.1:9/notes.xml" TargetMode="External"/>
    <Relationship Id="rId8" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate" Target="file:///etc/passwd" TargetMode="External"/></Relationships>"""  # noqa: E501
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(WORD)) as source, zipfile.ZipFile(out, "w") as target:
        for entry in source.infolist():
            is_relations = entry.filename == "word/_rels/document.xml.rels"
            target.writestr(entry, relation if is_relations else source.read(entry))
    extractor = Extractor()
    text = extractor.extract(out.getvalue(), DocumentFormat.DOCX, (1, 1))
    assert [block.text for block in text.blocks] == ["Text."]


@pytest.mark.parametrize(
    "cell",
    [
        b'<c r="XFD1048576" t="s"><v>1</v></c>',
        b'<c r="xfd1048576" t="s"><v>1</v></c>',
        b'<c r="&#88;FD1048576" t="s"><v>1</v></c>',
        b'</row><row r="1048576">' + b"<c><v>1</v></c>" * 20,
    ],
)
@pytest.mark.parametrize("location", ["xl/worksheets/sheet1.xml", "xl/worksheets/sheet1.bin"])
def test_a_sheet_with_a_cell_at_the_end_of_the_world(cell: bytes, location: str) -> None:
    """Room would be taken for all cells up to it, up to seventeen billion."""
    assert refusal(with_cells(cell, location), "a", documents.XLSX) == "document_too_long"


def test_the_refusal_of_a_sheet_says_how_far_it_reaches() -> None:
    cell = b'</row><row r="1048576"><c r="XFD1048576"><v>1</v></c>'
    with pytest.raises(DocumentRefused, match=r"column 16,384 and row 1,048,576"):
        read(with_cells(cell, "xl/worksheets/sheet1.xml"), "a", documents.XLSX)


def test_a_sheet_whose_cells_share_a_long_text() -> None:
    """Each cell would have a copy of it."""
    cells = b"".join(b'</row><row><c t="s"><v>0</v></c>' for _ in range(10_000))
    shared = b"<si><t>" + b"word " * 10_000 + b"</t></si>"
    body = documents.change_archive(
        with_cells(cells, "xl/worksheets/sheet1.xml"), xl__sharedStrings_xml=b"<sst>" + shared + b"</sst>"
    )
    assert refusal(body, "a", documents.XLSX) == "document_too_long"


def with_cells(cells: bytes, location: str) -> bytes:
    """The workbook with other cells behind the first one of its sheet, which is stored under another name."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(SHEETS)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            body = source.read(entry)
            if entry.filename == "xl/worksheets/sheet1.xml":
                changed = re.sub(rb'<c r="B1".*?</c>', cells, body)
                assert changed != body
                target.writestr(location, changed)
            else:
                target.writestr(entry, body.replace(b"worksheets/sheet1.xml", location.removeprefix("xl/").encode()))
    return out.getvalue()


def test_elements_that_are_nested_deeply() -> None:
    assert refusal(b"<div>" * 5_000_000, "a.html", "text/html") == "document_too_deep"
    assert refusal(b"<b><p>" * 100_000, "a.html", "text/html") == "document_too_deep"


def test_lists_that_are_nested_deeply_in_markdown_are_read() -> None:
    body = b"".join(b"  " * depth + b"- item\n" for depth in range(2_000)) + b">" * 100_000 + b"\n\n# End\n"
    text = Extractor().extract(body, DocumentFormat.MARKDOWN, (1, 1))
    assert text.blocks[-1].text == "End"


@pytest.mark.parametrize("body", [PAGES[: len(PAGES) // 2], b"%PDF-1.7\n" + bytes(2_000), b"%PDF-1.4\n%%EOF"])
def test_a_damaged_pdf(body: bytes) -> None:
    assert refusal(body, "a.pdf", documents.PDF) == "document_damaged"


@pytest.mark.parametrize(("body", "content_type"), [(WORD, documents.DOCX), (SHEETS, documents.XLSX)])
def test_a_damaged_office_file(body: bytes, content_type: str) -> None:
    assert refusal(body[: len(body) // 2], "a", content_type) == "document_damaged"
    main = "word__document_xml" if content_type == documents.DOCX else "xl__workbook_xml"
    assert refusal(documents.change_archive(body, **{main: b"<not xml"}), "a", content_type) == "document_damaged"


@pytest.mark.parametrize(("body", "content_type"), [(WORD, documents.DOCX), (SHEETS, documents.XLSX)])
def test_an_archive_whose_entries_would_lie_before_its_beginning(body: bytes, content_type: str) -> None:
    offset = int.from_bytes(body[-6:-2], "little")  # of the central directory, in the archive's last record
    moved = body[:-6] + (offset + 60_000).to_bytes(4, "little") + body[-2:]
    assert refusal(moved, "a", content_type) == "document_damaged"


def test_a_page_that_cannot_be_read_is_left_out() -> None:
    slide = documents.presentation(("One", ["a"]), ("Two", ["b"]))
    broken = documents.change_archive(
        slide,
        ppt__slides__slide1_xml=b"""<p:sld xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"><p:wrong/></p:sld>""",
    )
    text = Extractor().extract(broken, DocumentFormat.PPTX, (1, 2))
    assert [error.page for error in text.page_errors] == [1]
    assert [block.text for block in text.blocks] == ["Two", "b"]


FILES = {documents.DOCX: WORD, documents.PPTX: SLIDES, documents.XLSX: SHEETS, documents.PDF: PAGES}


@given(st.sampled_from(sorted(FILES)), st.integers())
@settings(max_examples=examples(60), deadline=None)
def test_a_file_with_any_bytes_changed_is_read_or_refused(content_type: str, seed: int) -> None:
    body = bytearray(FILES[content_type])
    chance = random.Random(seed)  # noqa: S311 - a test's choice
    for _ in range(chance.randint(1, 20)):
        body[chance.randrange(len(body))] = chance.randrange(256)
    extractor = Extractor()
    with contextlib.suppress(DocumentRefused):
        form = extractor.detect(bytes(body), "a", content_type)
        for part in extractor.list_parts(bytes(body), form):
            extractor.extract(bytes(body), form, part)


@given(st.binary(max_size=3_000), st.sampled_from(sorted(MEDIA_TYPES)))
def test_any_bytes_are_read_or_refused(body: bytes, content_type: str) -> None:
    extractor = Extractor()
    with contextlib.suppress(DocumentRefused):
        form = extractor.detect(body, "a", content_type)
        extractor.extract(body, form, extractor.list_parts(body, form)[0])


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"<!---->" * 500 + b"x", documents.PDF),
        (b"---\ntitle: a" + b" " * 1_000_000 + b"b\n---\nText.", "text/markdown"),
        (b"<meta charset=punycode><p>" + b"a" * 300_000 + b"-" + b"9a" * 1_000_000, "text/html"),
        (b"<meta charset=undefined><p>Text.", "text/html"),
    ],
)
def test_text_that_makes_careless_expressions_and_codecs_slow_is_read_at_once(body: bytes, content_type: str) -> None:
    with contextlib.suppress(DocumentRefused):
        read(body, "a", content_type)


@pytest.mark.parametrize(("content_type", "piece"), [("text/html", b"<p>a"), ("text/markdown", b"a\n\n")])
def test_a_text_of_too_many_blocks_is_refused(content_type: str, piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extractor, "MAX_BLOCKS", 1_000)
    result = Extractor()
    form = result.detect(piece * 1_001, "a", content_type)
    with pytest.raises(DocumentRefused) as raised:
        result.extract(piece * 1_001, form, (1, 1))
    assert raised.value.reason == "document_too_long"
    assert len(result.extract(piece * 1_000, form, (1, 1)).blocks) == 1_000
