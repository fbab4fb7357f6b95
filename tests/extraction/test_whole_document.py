"""A document as one text, as a model reads it."""

from __future__ import annotations

import pytest

from baton_documents import whole_document
from baton_documents.errors import DocumentRefused
from baton_documents.formats import DocumentFormat
from tests import documents


def test_sheets_are_named_and_numbered() -> None:
    body = documents.workbook(Prices=[["Item", "Price"], ["Tea", 3]], Stock=[["Tea", 7]])
    result = whole_document.read(body, "a.xlsx", DocumentFormat.XLSX)
    assert result.text == ("[sheet 1]\n\n# Prices\n\nItem | Price\nTea | 3\n\n[sheet 2]\n\n# Stock\n\nTea | 7")


def test_slides_are_numbered() -> None:
    body = documents.presentation(("Plan", ["Think", "Act"]), notes="Slowly.")
    result = whole_document.read(body, "a.pptx", DocumentFormat.PPTX)
    assert result.text == "[slide 1]\n\n# Plan\n\n- Think\n\n- Act\n\nSlowly."


def test_a_long_document_is_read_only_as_far_as_it_is_given() -> None:
    body = documents.workbook(**{f"S{number}": [["x" * 30_000] * 4] for number in range(9)})
    result = whole_document.read(body, "a.xlsx", DocumentFormat.XLSX)
    assert (len(result.text), result.pages, result.is_cut) == (whole_document.MAX_CHARACTERS, 9, True)


def test_a_text_of_the_most_characters_is_not_cut() -> None:
    text = "x" * whole_document.MAX_CHARACTERS
    whole = whole_document.read(text.encode(), "a.txt", DocumentFormat.TEXT)
    assert (whole.text == text, whole.is_cut) == (True, False)


def test_a_document_without_text_is_refused() -> None:
    with pytest.raises(DocumentRefused) as raised:
        whole_document.read(documents.make_scanned_pdf(), "scan.pdf", DocumentFormat.PDF)
    assert raised.value.reason == "document_without_text"


def test_only_a_pdf_without_text_may_have_been_scanned() -> None:
    with pytest.raises(DocumentRefused) as raised:
        whole_document.read(documents.word(("Normal", "")), "a.docx", DocumentFormat.DOCX)
    assert raised.value.reason == "document_without_text"
    assert "scanned" not in str(raised.value)


def test_a_document_with_macros_is_refused() -> None:
    body = documents.change_archive(documents.workbook(One=[["a"]]), **{"xl/vbaProject.bin": b"x"})
    with pytest.raises(DocumentRefused) as raised:
        whole_document.read(body, "a.xlsx", DocumentFormat.XLSX)
    assert raised.value.reason == "document_macros"
