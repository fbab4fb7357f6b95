"""Media types as they are sent, and the formats that they and names leave to the content."""

from __future__ import annotations

import pytest

from baton_documents.formats import MEDIA_TYPES, DocumentFormat
from baton_documents.media_types import (
    SYNONYMS,
    TEXTS,
    MediaType,
    choose_text_format,
    find_formats,
    find_type,
    is_media_type,
)

PDF, DOCX, PPTX, XLSX = DocumentFormat.PDF, DocumentFormat.DOCX, DocumentFormat.PPTX, DocumentFormat.XLSX
HTML, MARKDOWN, TEXT, CSV = DocumentFormat.HTML, DocumentFormat.MARKDOWN, DocumentFormat.TEXT, DocumentFormat.CSV
OFFICE = "application/vnd.openxmlformats-officedocument"
BINARY = {PDF, DOCX, PPTX, XLSX}


@pytest.mark.parametrize(
    ("sent", "essence", "charset"),
    [
        ("text/csv", "text/csv", None),
        ("  Text/CSV ", "text/csv", None),
        ("text/csv;charset=UTF-8", "text/csv", "utf-8"),
        ('text/html; charset="windows-1251"; level=1', "text/html", "windows-1251"),
        ("text/html; Charset = 'gbk'", "text/html", "gbk"),
        ('text/plain; title="a; charset=koi8-r"; charset=utf-8', "text/plain", "utf-8"),
        ("text/plain; charset=", "text/plain", None),
        ("text/plain; charset=a b", "text/plain", None),
        ("text/plain; charset=" + "x" * 65, "text/plain", None),
        ("text/plain; charset=\r\nX: y", "text/plain", None),
        ("", "", None),
        (None, "", None),
        ("nonsense", "", None),
        ("a/b/c", "", None),
        ("text/plain; x=" + "y" * 300, "", None),
    ],
)
def test_a_media_type_is_read_with_its_charset(sent: str | None, essence: str, charset: str | None) -> None:
    assert MediaType.parse(sent) == MediaType(essence, charset)
    assert is_media_type(sent or "") == (bool(essence) or not sent)
    assert MediaType.parse(str(MediaType(essence, charset))) == MediaType(
        essence or "application/octet-stream", charset
    )


@pytest.mark.parametrize("essence", MEDIA_TYPES)
def test_a_registered_type_stands_for_its_format_whatever_the_name(essence: str) -> None:
    for name in ("", "a", "a.png", "a.pdf"):
        assert find_formats(MediaType(essence), name) == (MEDIA_TYPES[essence],)


@pytest.mark.parametrize("essence", SYNONYMS)
def test_a_synonym_stands_for_a_registered_type(essence: str) -> None:
    assert find_formats(MediaType(essence), "") == (MEDIA_TYPES[SYNONYMS[essence]],)


@pytest.mark.parametrize(
    ("essence", "name", "texts", "others"),
    [
        ("", "a.csv", (CSV,), BINARY),
        ("application/octet-stream", "A.MD", (MARKDOWN,), BINARY),
        ("binary/octet-stream", "a.htm", (HTML,), BINARY),
        ("application/x-octet-stream", "a.csv", (CSV,), BINARY),
        ("*/*", "a.md", (MARKDOWN,), BINARY),
        ("application/octet-stream", "a.tsv", (CSV,), BINARY),
        ("application/octet-stream", "a.docx", (), BINARY),
        ("application/octet-stream", "report", TEXTS, BINARY),
        ("application/octet-stream", "Report 1.2 (final).unknown", TEXTS, BINARY),
        ("application/octet-stream", "data.bin", TEXTS, BINARY),
        ("application/zip", "a.docx", (), {DOCX, PPTX, XLSX}),
        ("application/x-zip-compressed", "", (), {DOCX, PPTX, XLSX}),
        ("application/vnd.ms-excel", "a.csv", (CSV,), {XLSX}),
        ("application/vnd.ms-excel", "a.xlsx", (), {XLSX}),
        ("application/vnd.ms-excel", "", (CSV,), {XLSX}),
        ("application/msword", "a.docx", (), {DOCX}),
        ("text/plain", "a.md", (MARKDOWN,), set()),
        ("text/plain", "a.csv", (CSV,), set()),
        ("text/plain", "a.html", (TEXT,), set()),
        ("text/plain", "a.py", (TEXT,), set()),
        ("text/plain", "", (TEXT,), set()),
        ("text/xml", "a.md", (MARKDOWN,), set()),
        ("application/xml", "page.xhtml", (HTML,), set()),
    ],
)
def test_a_type_that_stands_for_several_leaves_it_to_the_name_and_the_content(
    essence: str, name: str, texts: tuple[DocumentFormat, ...], others: set[DocumentFormat]
) -> None:
    formats = find_formats(MediaType(essence), name)
    assert tuple(item for item in formats if item in TEXTS) == texts
    assert {item for item in formats if item not in TEXTS} == others


@pytest.mark.parametrize(
    ("essence", "name"),
    [
        ("image/png", "a.pdf"),
        ("application/rtf", "a.rtf"),
        ("application/json", "a.json"),
        ("audio/mpeg", "a.txt"),
        ("application/octet-stream", "photo.png"),
        ("", "archive.zip"),
        ("", "table.csv.gz"),
        ("application/zip", "archive.zip"),
        ("application/vnd.ms-excel", "old.xls"),
        ("application/msword", "old.doc"),
        ("text/xml", "feed.xml"),
        ("nonsense/unknown", "a.txt"),
    ],
)
def test_other_files_are_no_documents(essence: str, name: str) -> None:
    assert find_formats(MediaType(essence), name) == ()
    assert find_type(MediaType(essence), name) is None


@pytest.mark.parametrize(
    ("essence", "name", "registered"),
    [
        ("application/x-pdf", "", "application/pdf"),
        ("application/csv", "a.txt", "text/csv"),
        ("application/xhtml+xml", "a.html", "application/xhtml+xml"),
        ("", "a.xhtml", "application/xhtml+xml"),
        ("application/zip", "a.docx", f"{OFFICE}.wordprocessingml.document"),
        ("application/msword", "", f"{OFFICE}.wordprocessingml.document"),
        ("text/plain", "a.md", "text/markdown"),
        ("text/plain", "a.log", "text/plain"),
        ("", "", "application/octet-stream"),
    ],
)
def test_a_document_has_a_registered_type_as_soon_as_it_is_known(essence: str, name: str, registered: str) -> None:
    assert find_type(MediaType(essence, "gbk"), name) == MediaType(registered, "gbk")


@pytest.mark.parametrize(
    ("essence", "name", "body", "form"),
    [
        ("", "", b"<!doctype html><p>a", HTML),
        ("", "", b'<?xml version="1.0"?>\n<!-- a -->\n<html>', HTML),
        ("", "", b"a", TEXT),
        ("", "a.txt", b"<html>", TEXT),
        ("application/vnd.ms-excel", "", b"a;b", CSV),
        ("application/pdf", "a.pdf", b"a", None),
        ("image/png", "a.txt", b"a", None),
    ],
)
def test_the_content_distinguishes_pages_from_other_texts(
    essence: str, name: str, body: bytes, form: DocumentFormat | None
) -> None:
    assert choose_text_format(find_formats(MediaType(essence), name), body) is form
