"""Documents by their type, name and content; and one text for the same bytes wherever they come from."""

from __future__ import annotations

import pytest

from baton_documents.encodings.text_encoding import decode_text
from baton_documents.errors import DocumentRefused
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import TEXTS, MediaType
from baton_documents.reader import Extractor
from baton_documents.results import ExtractedText
from tests import documents
from tests.encoded_texts import ENCODED, encode

FILES = {
    DocumentFormat.DOCX: documents.word(("Normal", "Text.")),
    DocumentFormat.PPTX: documents.presentation(("Title", ["Text."])),
    DocumentFormat.XLSX: documents.workbook(One=[["a", "b"]]),
    DocumentFormat.PDF: documents.pdf([("Title", ["Text."])]),
    DocumentFormat.HTML: b"<!doctype html><p>Text.",
    DocumentFormat.TEXT: b"Text.",
}
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
SILENT = ["", "application/octet-stream", "binary/octet-stream", "Application/Octet-Stream; x=y"]


@pytest.mark.parametrize("content_type", SILENT)
@pytest.mark.parametrize("form", FILES)
def test_a_type_that_says_nothing_gives_way_to_the_content(form: DocumentFormat, content_type: str) -> None:
    assert Extractor().detect(FILES[form], "report", content_type) is form


@pytest.mark.parametrize("content_type", ["application/zip", "application/x-zip-compressed"])
@pytest.mark.parametrize("form", [DocumentFormat.DOCX, DocumentFormat.PPTX, DocumentFormat.XLSX])
def test_an_office_file_may_be_announced_as_an_archive(form: DocumentFormat, content_type: str) -> None:
    assert Extractor().detect(FILES[form], f"report.{form}", content_type) is form


@pytest.mark.parametrize(
    ("name", "content_type", "form"),
    [
        ("a.csv", "application/vnd.ms-excel", "csv"),
        ("a.csv", "application/csv", "csv"),
        ("a.csv", "text/comma-separated-values; charset=utf-8", "csv"),
        ("a.csv", "TEXT/CSV", "csv"),
        ("a.csv", "", "csv"),
        ("a.csv", "text/plain", "csv"),
        ("a.tsv", "text/tab-separated-values", "csv"),
        ("a.md", "text/x-markdown", "markdown"),
        ("a.md", "application/octet-stream", "markdown"),
        ("a.md", "text/xml", "markdown"),
        ("a.txt", "", "text"),
        ("a.html", "application/xhtml+xml", "html"),
    ],
)
def test_texts_are_distinguished_by_type_and_name(name: str, content_type: str, form: str) -> None:
    assert Extractor().detect(b"a;b\n1;2\n", name, content_type) == form


@pytest.mark.parametrize(
    ("body", "name", "content_type", "reason"),
    [
        (b"just text", "a.pdf", "application/octet-stream", "document_mislabelled"),
        (b"just text", "a.pdf", "application/x-pdf", "document_mislabelled"),
        (b"just text", "a.xlsx", "application/vnd.ms-excel", "document_mislabelled"),
        (b"just text", "a.docx", "application/zip", "document_mislabelled"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a", "application/octet-stream", "document_unsupported"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a.png", "image/png", "document_unsupported"),
        (OLE + bytes(2048), "a.csv", "application/vnd.ms-excel", "document_unsupported"),
        (FILES[DocumentFormat.PDF], "a.csv", "application/vnd.ms-excel", "document_mislabelled"),
        (FILES[DocumentFormat.DOCX], "a.xlsx", "application/vnd.ms-excel", "document_mislabelled"),
        (FILES[DocumentFormat.PDF], "a.md", "text/x-markdown", "document_mislabelled"),
        (bytes(range(256)), "a", "", "document_mislabelled"),
    ],
)
def test_no_type_makes_a_format_of_content_that_has_another(
    body: bytes, name: str, content_type: str, reason: str
) -> None:
    with pytest.raises(DocumentRefused) as refused:
        Extractor().detect(body, name, content_type)
    assert refused.value.reason == reason


def words(extracted: ExtractedText) -> str:
    return "\n".join(block.text for block in extracted.blocks)


@pytest.mark.parametrize(("text", "labels"), ENCODED)
@pytest.mark.parametrize("form", TEXTS)
def test_the_same_bytes_are_the_same_text_in_a_document_and_a_page(
    text: str, labels: tuple[str, ...], form: DocumentFormat
) -> None:
    essence = {"html": "text/html", "markdown": "text/markdown", "csv": "text/csv"}.get(form, "text/plain")
    line = " ".join(text.split())
    for label in labels:
        for charset in (label, None):
            body = encode(line, label)
            announced = str(MediaType(essence, charset))
            assert decode_text(body, MediaType.parse(announced)) == line
            extractor = Extractor()
            assert extractor.detect(body, "a", announced) is form
            document = words(extractor.extract(body, form, (1, 1), charset))
            assert document == words(extractor.extract(line.encode(), form, (1, 1), "utf-8"))
