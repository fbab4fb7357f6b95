"""Attached files are recognised as documents and texts as the reader of documents recognises them."""

from __future__ import annotations

import io
import zipfile

import pytest

from baton.adapters.models.attachments.file_types import FileKind, detect_file_type
from baton_documents.formats import DocumentFormat
from baton_documents.media_types import TEXTS, MediaType
from tests.encoded_texts import ENCODED, encode


@pytest.mark.parametrize(("text", "labels"), ENCODED)
@pytest.mark.parametrize("form", TEXTS)
def test_the_same_bytes_are_the_same_text_in_an_attachment(
    text: str, labels: tuple[str, ...], form: DocumentFormat
) -> None:
    essence = {"html": "text/html", "markdown": "text/markdown", "csv": "text/csv"}.get(form, "text/plain")
    line = " ".join(text.split())
    for label in labels:
        for charset in (label, None):
            file = detect_file_type(encode(line, label), f"a.{form}", str(MediaType(essence, charset)))
            assert (file.kind, file.mime_type, file.text) == (FileKind.TEXT, essence, line)


@pytest.mark.parametrize("name", ["1" * 60_000, "word/document" + "1" * 60_000, "1x" * 30_000, "1" * 60_000 + ".xml"])
def test_an_archive_is_recognised_whatever_its_names_are(name: str) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for number in range(50):
            archive.writestr(f"{number}/{name}", b"")
        archive.writestr("word/document2.xml", b"")
    assert detect_file_type(written.getvalue(), "a.docx", None).kind is FileKind.DOCUMENT
